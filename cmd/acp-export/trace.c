/* What the exports of intervals have in common. */
#include "cmd/acp-export/trace.h"

#include <stdlib.h>

#include "lib/base/cli.h"

uint64_t
trace_time(const struct trace_export *t, uint64_t us)
{
	return (uint64_t)(span_started(t->span) * 1e6 + .5) + us;
}

int
trace_comma(struct trace_export *t, struct buf *to)
{
	int r = t->some ? buf_add_string(to, ",") : 0;

	t->some = true;
	return r;
}

int
trace_put_string(struct buf *to, struct slice string)
{
	SCOPED struct buf plain = {0};

	return -(json_unescape(string, &plain) || json_quote(buf_slice(&plain), to));
}

const struct span_session *
trace_root(const struct span_session *s)
{
	while (s->parent)
		s = s->parent;
	return s;
}

static bool
is_chosen(struct trace_export *t, const struct span_session *s)
{
	char *why;
	bool chosen = choice_is(t->choice, slice(s->id, s->n), &why);

	if (why)
		cli_warn("acp-export", "--session: %s", why);
	free(why);
	return chosen;
}

/* Is this session asked for, or one that it comes from? */
static bool
wants(struct trace_export *t, const struct span_session *s)
{
	if (!s || !t->choice->asked)
		return s != NULL;
	if (is_chosen(t, trace_root(s)))
		return true;
	while (s->parent && !is_chosen(t, s))
		s = s->parent;
	return s->parent;
}

/* Is it the first time that something of this session is written? -1: out of memory. */
static int
is_new(struct trace_export *t, const struct span_session *s)
{
	static const char zeros[64];

	while (t->sessions.n <= s->number)
		if (buf_add(&t->sessions, zeros, sizeof(zeros)) < 0)
			return -1;
	if (t->sessions.p[s->number])
		return 0;
	t->sessions.p[s->number] = 1;
	return 1;
}

static int
put(struct trace_export *t, const struct span_session *s, struct buf *to, const struct span_event *e)
{
	const struct trace_format *f = t->format;
	int r = f->session ? is_new(t, s) : 0;

	if (r < 0 || (r > 0 && f->session(t, s, to) < 0))
		return -1;
	switch (e->kind) {
	case SPAN_TURN:
		return f->turn(t, e->turn, to);
	case SPAN_TOOL:
		return f->tool(t, e->tool, to);
	case SPAN_WAIT:
		return f->wait(t, e->wait, to);
	default:
		return f->update(t, e->request, to);
	}
}

/* The session that something is written of, or NULL. */
static const struct span_session *
session_of(const struct trace_export *t, const struct span_event *e)
{
	switch (e->kind) {
	case SPAN_TURN:
		return e->turn->session;
	case SPAN_TOOL:
		return e->tool->session;
	case SPAN_WAIT:
		return e->wait->session;
	default:
		return e->kind == SPAN_REQUEST && t->format->update && e->request->update.p ? e->request->at : NULL;
	}
}

static void
event(void *arg, const struct span_event *e)
{
	struct trace_export *t = arg;
	const struct span_session *s = session_of(t, e);
	struct buf *to = out_buf(t->out);
	size_t before = to->n;

	t->waits += e->kind == SPAN_WAIT;
	t->tools += e->kind == SPAN_TOOL;
	if (!wants(t, s))
		return;
	t->failed |= put(t, s, to, e) < 0;
	out_mark(t->out, before);
}

static int
put_string(struct trace_export *t, const char *text)
{
	struct buf *to = out_buf(t->out);
	size_t before = to->n;
	int r = buf_add_string(to, text);

	out_mark(t->out, before);
	return r;
}

int
trace_export_open(struct trace_export *t)
{
	t->span = span_new(event, t);
	return t->span ? put_string(t, t->format->begin) : -1;
}

void
trace_export_begin(struct trace_export *t, double started)
{
	t->failed |= span_begin(t->span, started) < 0;
}

void
trace_export_see(struct trace_export *t, enum acp_side from, uint64_t us, const struct msg *m)
{
	struct message s = {.from = from, .t = us, .line = m->text, .msg = *m};

	if (t->redact && (redact_line(t->redact, m->text, &s.line) < 0 || msg_scan(s.line, &s.msg, NULL) == MSG_NOISE))
		t->failed = true;
	else
		t->failed |= span_see(t->span, &s) < 0;
	if (!t->failed)
		out_print_much(t->out);
}

int
trace_export_end(struct trace_export *t)
{
	return span_end(t->span) < 0 || t->failed ? -1 : put_string(t, t->format->end);
}

void
trace_export_close(struct trace_export *t)
{
	span_free(t->span);
	buf_free(&t->sessions);
}
