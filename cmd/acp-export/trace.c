/* The code that -f otlp and -f perfetto have in common. */
#include "cmd/acp-export/trace.h"

#include <unistd.h>

/* BATCH: bytes of events that are written at once; MINUTE: us between two reports of the metrics. */
enum { BATCH = 64 * 1024, MINUTE = 60 * 1000 * 1000 };

uint64_t
trace_time(const struct trace_export *t, uint64_t us)
{
	return (uint64_t)(span_started(t->span) * 1e6 + .5) + us;
}

int
trace_comma(struct trace_export *t, struct buf *to)
{
	int r = t->batch.n || (t->some && *t->format->begin) ? buf_add_string(to, ",") : 0;

	t->some = true;
	return r;
}

int
trace_put_string(struct buf *to, struct slice string)
{
	SCOPED struct buf plain = {0};

	return -(json_unescape(string, &plain) || json_quote(buf_slice(&plain), to));
}

/* Returns whether --session selects this session, or a session that it descends from. */
static bool
wants(struct trace_export *t, const struct session *s)
{
	const struct session *root = s ? session_root(s) : NULL;

	if (!s || watch_wants(t->watch, slice(root->id, root->n)))
		return s != NULL;
	while (s->parent && !watch_wants(t->watch, slice(s->id, s->n)))
		s = s->parent;
	return s->parent;
}

/* Notes that a session is written. Returns 1 the first time, then 0; -1 out of memory. */
static int
is_new(struct trace_export *t, const struct session *s)
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

/* Writes a text to the output; NULL: a line of the format (report). 0, or -1 out of memory. */
static int
put(struct trace_export *t, const char *text, bool report)
{
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int r = text ? buf_add_string(to, text) : t->format->line ? t->format->line(t, report, to) : buf_add_slice(to, buf_slice(&t->batch));

	t->written.reports += report;
	out_commit(&t->watch->out, before, r);
	return r;
}

/* Writes the batch. 0, or -1 out of memory. */
static int
flush(struct trace_export *t)
{
	int r = t->batch.n ? put(t, NULL, false) : 0;

	t->batch.n = 0;
	return r;
}

static void
event(void *arg, const struct span_event *e)
{
	struct trace_export *t = arg;
	const struct trace_format *f = t->format;
	const struct session *s = e->turn ? e->turn->session : e->tool ? e->tool->session : e->wait ? e->wait->session :
		e->request && f->update && e->request->update.p ? e->request->at : NULL;
	struct buf *to = &t->batch;
	int r;

	t->waits += e->kind == SPAN_WAIT;
	t->tools += e->kind == SPAN_TOOL;
	if (e->kind == SPAN_RAN || !wants(t, s))
		return;
	r = f->session ? is_new(t, s) : 0;
	if (r > 0)
		r = f->session(t, s, to);
	if (r == 0)
		r = e->turn ? f->turn(t, e->turn, to) : e->tool ? f->tool(t, e->tool, to) : e->wait ? f->wait(t, e->wait, to) :
			f->update(t, e->request, to);
	t->failed |= r < 0 || (to->n >= BATCH && flush(t) < 0);
}

int
trace_export_open(struct trace_export *t)
{
	t->span = span_new(event, t);
	return t->span ? 0 : -1;
}

int
trace_export_begin(struct trace_export *t, double started)
{
	if (span_begin(t->span, started) < 0 || t->failed)
		return -1;
	t->now = trace_time(t, 0);
	if (t->begun)
		return 0;
	t->begun = true;
	t->first = t->now;
	/* All exports of a recording have the same instance. The pid distinguishes streams that begin at the same time. */
	t->instance = t->first ^ (t->watch->stream ? (uint64_t)getpid() << 52 : 0);
	return put(t, t->format->begin, false);
}

int
trace_export_see(struct trace_export *t, const struct message *original)
{
	struct message m = *original;

	if (t->redact && (redact_line(t->redact, m.msg.text, &m.line) < 0 || msg_scan(m.line, &m.msg, NULL) == MSG_NOISE))
		return -1;
	t->now = trace_time(t, m.t);
	return span_see(t->span, &m) < 0 || t->failed ? -1 : 0;
}

uint64_t
trace_export_tick(struct trace_export *t, uint64_t now)
{
	t->failed |= flush(t) < 0;
	if (!t->changed)
		return 0;
	if (now < t->due)
		return t->due;
	t->failed |= put(t, NULL, true) < 0;
	t->changed = false;
	t->due = now + MINUTE;
	return 0;
}

int
trace_export_end(struct trace_export *t)
{
	if (span_end(t->span) < 0 || t->failed || flush(t) < 0 || (t->changed && put(t, NULL, true) < 0))
		return -1;
	return t->begun ? put(t, t->format->end, false) : 0;
}

void
trace_export_close(struct trace_export *t)
{
	span_free(t->span);
	if (t->format && t->format->close)
		t->format->close(&t->metrics);
	buf_free(&t->batch);
	buf_free(&t->sessions);
}
