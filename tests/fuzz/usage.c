/*
 * Any bytes as messages, a line each: what is read of them stays in bounds, the search finds every line that is read, and
 * the parts of sessions are the same when they are written and read again. What is read as parts may be anything.
 */
#include "lib/usage/usage.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static void
event(void *arg, const struct usage_event *e)
{
	struct usage_figures f = {0};

	expect(e->session != NULL && usage_percent(e->session->used, e->session->size) >= 0);
	expect(usage_figures_family(*(struct usage **)arg, e->session, &f) == 0);
	usage_figures_free(&f);
}

static void
put_all(const struct usage *u, struct buf *to)
{
	struct usage_session *s;

	for (s = usage_sessions(u); s; s = s->hh.next)
		expect(buf_add_string(to, "{\"session\":") == 0 && json_quote(slice(s->id, s->id_length), to) == 0
			&& usage_put_parts(u, s, to) == 0 && buf_add_string(to, "}\n") == 0);
}

/* What is read would be found. */
static void
compare(const struct usage_words *words, struct slice line, const struct msg *m)
{
	struct message message = {.from = ACP_AGENT, .line = line, .msg = *m};
	struct usage_report r;

	if (m->kind != MSG_NOTIFICATION || usage_read(&message, &r))
		expect(usage_may_matter(words, line));
}

/* Reads lines as parts. Returns how many were refused. */
static size_t
get_all(struct usage *u, struct slice lines)
{
	const char *p = lines.p, *end = lines.p + lines.n, *after, *why;
	struct json_error error;
	size_t refused = 0;
	int r;

	for (; p && p < end; p = after + 1) {
		after = memchr(p, '\n', (size_t)(end - p));
		after = after ? after : end;
		if (json_scan(slice_between(p, after), JSON_DEPTH, NULL, 0, NULL, &error) != JSON_OBJECT)
			continue;
		r = usage_get_parts(u, slice_between(p, after), &why);
		expect(r == 0 || (r == 1 && why));
		refused += r == 1;
	}
	return refused;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct usage *u, *again;
	struct usage_spec spec = {.event = event, .arg = &u}, plain = {0};
	const char *p = (const char *)data, *end = p + size, *after;
	struct buf one = {0}, two = {0};
	struct usage_words words;
	struct json_error error;
	struct msg m;

	u = usage_new(&spec);
	again = usage_new(&plain);
	expect(u && again);
	usage_words(&words);
	for (; p < end; p = after + 1) {
		after = memchr(p, '\n', (size_t)(end - p));
		after = after ? after : end;
		if (msg_scan(slice_between(p, after), &m, &error) == MSG_NOISE)
			continue;
		compare(&words, slice_between(p, after), &m);
		expect(usage_see(u, &(struct message){.from = (size & 1) ? ACP_UNKNOWN : ACP_AGENT, .t = 1, .msg = m}, NULL, NULL) == 0);
	}
	expect(usage_end(u) == 0);
	put_all(u, &one);
	expect(get_all(again, buf_slice(&one)) == 0);
	put_all(again, &two);
	expect(slice_eq(buf_slice(&one), buf_slice(&two)));
	get_all(again, slice((const char *)data, size));
	usage_sort(again);
	buf_free(&one);
	buf_free(&two);
	usage_free(again);
	usage_free(u);
	return 0;
}
