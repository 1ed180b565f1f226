/*
 * Any bytes as messages, a line each: what is read of them stays in bounds, and the state that comes of it
 * is the same when it is written and read again.
 */
#include "lib/usage.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static void
see(void *arg, const struct seen *s)
{
	expect(usage_see(arg, s) == 0);
}

static void
event(void *arg, const struct usage_event *e)
{
	(void)arg;
	expect(e->session != NULL && usage_percent(e->session) >= -1);
}

static void
put_all(const struct usage *u, struct buf *to)
{
	struct usage_session *s;

	for (s = usage_sessions(u); s; s = usage_next(s))
		expect(usage_put_session(u, s, to) == 0 && buf_add(to, "\n", 1) == 0);
}

/* What is told from the usual spelling is what is read of a scanned message. */
static void
compare(struct slice line, const struct msg *m)
{
	struct seen seen = {.from = ACP_AGENT, .line = line, .msg = *m, .last = true};
	struct usage_report a, b;

	if (!usage_read_usual(line, &a))
		return;
	expect(m->kind == MSG_NOTIFICATION && usage_read(&seen, &b));
	expect(a.what == b.what && slice_eq(a.session, b.session) && a.used == b.used && a.has_size == b.has_size && a.size == b.size);
	expect(slice_eq(a.amount, b.amount) && slice_eq(a.currency, b.currency) && slice_eq(a.model, b.model) && a.wrong == b.wrong);
}

/* The partial member that has just been appended. */
static struct slice
partial(const struct buf *b)
{
	size_t skip = strlen(",\"partial\":");

	return slice(b->p + skip, b->n - skip);
}

static void
join(struct usage *from, struct usage *to)
{
	struct usage_session *s;
	struct buf id = {0}, text = {0};
	struct json_error error;

	expect(usage_put_stream(from, NULL, &text) == 0);
	expect(json_scan(partial(&text), JSON_DEPTH, NULL, 0, NULL, &error) == JSON_OBJECT);
	expect(usage_join_stream(to, partial(&text), true) == 0);
	for (s = usage_sessions(from); s; s = usage_next(s)) {
		id.n = text.n = 0;
		expect(json_quote(slice(s->id, s->id_length), &id) == 0 && usage_put_session(from, s, &text) == 0);
		expect(json_scan(partial(&text), JSON_DEPTH, NULL, 0, NULL, &error) == JSON_OBJECT);
		expect(usage_join_session(to, buf_slice(&id), partial(&text), true) == 0);
	}
	buf_free(&id);
	buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct usage_spec spec = {.partial = true, .event = event};
	struct usage *u = usage_new(&spec), *again = usage_new(&spec);
	struct requests *requests = requests_new();
	const char *p = (const char *)data, *end = p + size, *behind;
	struct buf one = {0}, two = {0};
	struct json_error error;
	struct msg m;
	uint64_t t = 0;

	expect(u && again && requests);
	for (; p < end; p = behind + 1) {
		behind = memchr(p, '\n', (size_t)(end - p));
		behind = behind ? behind : end;
		msg_scan(slice_between(p, behind), &m, &error);
		compare(slice_between(p, behind), &m);
		if (m.kind != MSG_NOISE)
			expect(requests_each(requests, ACP_UNKNOWN, ++t, slice_between(p, behind), &m, see, u) == 0);
	}
	join(u, again);
	put_all(u, &one);
	put_all(again, &two);
	expect(one.n == two.n && (one.n == 0 || memcmp(one.p, two.p, one.n) == 0));
	expect(usage_end(u) == 0 && usage_end(again) == 0);
	buf_free(&one);
	buf_free(&two);
	requests_free(requests);
	usage_free(u);
	usage_free(again);
	return 0;
}
