/* --open: which side waits for which: requests without a response, and tool calls that run. */
#include <stdio.h>
#include <time.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/people.h"
#include "lib/base/text.h"

/* The columns of a line: one side waits for the other, or for a tool. All are plain texts, except the id, which is JSON. */
struct open_wait {
	const char *waits, *for_whom;
	struct slice what, id, session, title;
	uint64_t begin;
};

/* Appends the time of day, or if that is not known the seconds since the recording began; and how long ago that was. */
static int
put_since(const struct tool *t, const struct open_wait *l, uint64_t now, struct buf *to)
{
	double started = span_started(t->span);
	time_t seconds = (time_t)(started + (double)l->begin / 1e6);
	char since[32] = "-", ago[PEOPLE_FIGURE] = "-";
	struct tm tm;

	if (t->timed) {
		if (!(started > 0) || !localtime_r(&seconds, &tm) || !strftime(since, sizeof(since), "%H:%M:%S", &tm))
			snprintf(since, sizeof(since), "%.3f", (double)l->begin / 1e6);
		people_duration(ago, now - l->begin);
	}
	return buf_printf(to, "since %-9s %8s  ", since, ago);
}

static int
put_text(const struct tool *t, const struct open_wait *l, uint64_t now, struct buf *to)
{
	int e = t->options->frame.files && t->options->frame.files[1] ? json_format(to, "%t: ", slice_of(t->file)) : 0;

	e |= -(put_since(t, l, now, to) || json_format(to, "%s waits for %s: %t, id %t", l->waits, l->for_whom, l->what, l->id));
	if (l->session.n)
		e |= json_format(to, ", session %t", l->session);
	if (l->title.n)
		e |= json_format(to, ": %t", l->title);
	return e | buf_add_string(to, "\n");
}

static int
put_tsv(const struct tool *t, const struct open_wait *l, uint64_t now, struct buf *to)
{
	return -(json_format(to, "%t\t%s\t%s\t%t\t%t\t%t\t%t", slice_of(t->file ? t->file : ""), l->waits, l->for_whom, l->what, l->id,
		l->session, l->title) || put_seconds(to, "\t", t->timed, l->begin) || put_seconds(to, "\t", t->timed, now - l->begin) ||
		buf_add_string(to, "\n"));
}

static int
put_json(const struct tool *t, const struct open_wait *l, uint64_t now, struct buf *to)
{
	int e = json_format(to, "{\"waits\":\"%s\",\"for\":\"%s\",\"what\":%j,\"id\":%b", l->waits, l->for_whom, l->what, l->id);

	if (l->session.n)
		e |= json_format(to, ",\"session\":%j", l->session);
	if (l->title.n)
		e |= json_format(to, ",\"title\":%j", l->title);
	if (t->timed)
		e |= json_format(to, ",\"t_us\":%u,\"open_us\":%u", l->begin, now - l->begin);
	if (t->file)
		e |= json_format(to, ",\"file\":%j", slice_of(t->file));
	return e | buf_add_string(to, "}\n");
}

/* Writes a line. */
static int
put(struct tool *t, const struct open_wait *l, uint64_t now)
{
	static int (*const formats[])(const struct tool *, const struct open_wait *, uint64_t, struct buf *) = {
		[FORMAT_TEXT] = put_text, [FORMAT_TSV] = put_tsv, [FORMAT_JSON] = put_json};
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int e = formats[t->options->format](t, l, now, to);

	out_commit(&t->watch->out, before, e);
	return e;
}

static int
put_request(struct tool *t, const struct session_request *q, uint64_t now)
{
	const struct request *r = q->request;
	enum acp_side from = q->enveloped ? acp_other_side(r->from) : r->from;
	const struct span_tool *about = q->question && q->question->call ? q->question->call->data : NULL;
	SCOPED struct buf method = {0}, session = {0};

	return json_unescape(r->method, &method) | (r->session.p ? json_unescape(r->session, &session) : 0) |
		put(t, &(struct open_wait){acp_side_name(from), acp_side_name(acp_other_side(from)), buf_slice(&method), r->id,
		buf_slice(&session), about ? buf_slice(&about->title) : slice(NULL, 0), r->t}, now);
}

static int
put_call(struct tool *t, const struct session_call *call, uint64_t now)
{
	const struct span_tool *tool = call->data;
	SCOPED struct buf id = {0};

	return json_quote(slice(call->id, call->n), &id) | put(t, &(struct open_wait){"agent", "tool",
		tool->kind.n ? buf_slice(&tool->kind) : slice_of("other"), buf_slice(&id), slice(call->session->id, call->session->n),
		buf_slice(&tool->title), tool->begin}, now);
}

int
open_put(struct tool *t)
{
	uint64_t now = t->watch->stream ? frame_now(t->watch->stream) : t->now;
	const struct sessions *all = span_sessions(t->span);
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int e = 0;

	if (!t->options->open)
		return 0;
	if (t->options->format == FORMAT_TSV && !t->header_written)
		e |= buf_add_string(to, "file\twaits\tfor\twhat\tid\tsession\ttitle\tsince_s\topen_s\n");
	out_end_record(&t->watch->out, before);
	t->header_written = true;
	before = to->n;
	for (const struct session_request *q = sessions_request(all, NULL); q; q = sessions_request(all, q))
		e |= q->copy || !tool_wants(t, q->session) ? 0 : put_request(t, q, now);
	for (const struct session *s = sessions_next(all, NULL); s; s = sessions_next(all, s))
		for (const struct session_call *c = s->calls; c; c = c->hh.next)
			e |= c->ended || !c->data || ((struct span_tool *)c->data)->waiting || !tool_wants(t, s) ? 0 : put_call(t, c, now);
	if (to->n == before && t->options->format == FORMAT_TEXT) {
		e |= buf_printf(to, "nothing is open\n");
		out_end_record(&t->watch->out, before);
	}
	return e ? -1 : 0;
}
