/* Reads any bytes as a message: its slices lie in the line, and what is put into an envelope comes out as it was. */
#include "lib/acp/msg.h"

#include <stdlib.h>

#include "lib/acp/requests.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static bool
inside(struct slice all, struct slice s)
{
	return !s.p || (s.n > 0 && s.p >= all.p && s.p + s.n <= all.p + all.n);
}

static void
check_message(struct slice line, const struct msg *m)
{
	struct buf key = {0};

	expect(inside(line, m->text) && inside(m->text, m->id) && inside(m->text, m->method));
	expect(inside(m->text, m->params) && inside(m->text, m->result) && inside(m->text, m->error));
	expect(inside(m->text, msg_session(m)) && inside(m->text, msg_update_kind(m)));
	expect(m->kind == MSG_NOTIFICATION || m->id.p);
	expect((m->kind == MSG_RESPONSE) == !m->method.p);
	if (m->id.p)
		expect(msg_id_key(m->id, &key) == 0 && key.n > 0);
	buf_free(&key);
}

/* Off as it went on, byte for byte; the slices that are written one by one are the whole. */
static void
check_envelope(struct slice line, const struct msg *m, enum acp_dialect dialect)
{
	struct buf with = {0}, wrapped = {0}, joined = {0}, back = {0};
	struct splices on = {.n = 0}, off = {.n = 0};
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct json_error error;
	struct msg e, inner;
	const char *why;
	size_t i, n;

	expect(msg_wrap(m, dialect, NULL, &on, &with) == 0 && splice_write(line, on.at, on.n, &wrapped) == 0);
	n = splice_parts(line, on.at, on.n, parts);
	for (i = 0; i < n; i++)
		expect(buf_add(&joined, parts[i].iov_base, parts[i].iov_len) == 0);
	expect(slice_eq(buf_slice(&wrapped), buf_slice(&joined)));
	/* One level deeper than a message may be is the only reason not to be one. */
	if (msg_scan(buf_slice(&wrapped), &e, &error) != MSG_NOISE) {
		expect(e.kind == m->kind && e.what == ACP_PROXY_SUCCESSOR && slice_eq(e.id, m->id));
		expect(msg_open_envelope(&e, &inner, NULL, &why) == 0 && inner.kind == m->kind);
		msg_unwrap(&e, &inner, &off);
		expect(splice_write(buf_slice(&wrapped), off.at, off.n, &back) == 0);
		expect(slice_eq(buf_slice(&back), line));
	}
	buf_free(&with);
	buf_free(&wrapped);
	buf_free(&joined);
	buf_free(&back);
}

static void
check_unwrapped(struct slice line, const struct msg *m)
{
	struct splices off = {.n = 0};
	struct buf text = {0};
	struct json_error error;
	struct msg inner, again;
	const char *why;

	if (m->what != ACP_PROXY_SUCCESSOR || msg_open_envelope(m, &inner, NULL, &why) < 0)
		return;
	msg_unwrap(m, &inner, &off);
	expect(splice_write(line, off.at, off.n, &text) == 0);
	expect(msg_scan(buf_slice(&text), &again, &error) == m->kind);
	expect(slice_eq(again.method, inner.method) && slice_eq(again.params, inner.params));
	expect(slice_eq(again.id, m->id));
	buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	/* A copy of exactly this size: a step over its end is seen. */
	char *copy = malloc(size + 1);
	struct json_error error = {0, NULL};
	struct slice line;
	struct msg m;

	expect(copy);
	if (size)
		memcpy(copy, data, size);
	copy = realloc(copy, size ? size : 1);
	expect(copy != NULL);
	line = slice(copy, size);
	if (msg_scan(line, &m, &error) == MSG_NOISE) {
		expect(error.what && error.at >= 1 && error.at <= size + 1);
	} else {
		expect(inside(line, m.text));
		check_message(line, &m);
		message_session(&(struct message){.line = line, .msg = m});
	}
	if (m.kind == MSG_REQUEST || m.kind == MSG_NOTIFICATION) {
		check_envelope(line, &m, ACP_PLAIN);
		check_envelope(line, &m, ACP_UNDERSCORE);
		check_unwrapped(line, &m);
	}
	free(copy);
	return 0;
}
