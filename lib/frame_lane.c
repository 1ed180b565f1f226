/* The frame's lanes: lines come in, messages are shown to the filter, lines go on. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/cli.h"
#include "lib/frame_parts.h"

enum { SHORT = 1024 }; /* bytes of a message that are copied rather than held */

enum lane
lane_of(enum acp_side from)
{
	return from == ACP_AGENT ? LANE_UP : LANE_DOWN;
}

enum acp_side
lane_from(enum lane lane)
{
	return lane == LANE_UP ? ACP_AGENT : ACP_CLIENT;
}

/* Do both lanes come in one place? */
static bool
has_one_source(const struct frame *f)
{
	return f->way == FRAME_PROXY || f->way == FRAME_PIPE || f->way == FRAME_ATTACH;
}

struct sink *
lane_sink(struct frame *f, enum lane lane)
{
	return &f->sinks[has_one_source(f) ? 0 : lane];
}

struct source *
lane_source(struct frame *f, enum lane lane)
{
	return &f->sources[has_one_source(f) ? 0 : lane];
}

/* --- what is kept with a request --- */

struct pending *
pending_of(struct request *r)
{
	if (!r->owner)
		r->owner = calloc(1, sizeof(struct pending));
	return r->owner;
}

static void
request_free(struct frame *f, struct request *r)
{
	struct pending *p = r->owner;

	if (p && p->hop)
		proxy_forget(f, p->hop);
	/* A peer may answer what it has not been sent yet. */
	if (p && p->held)
		p->held->request = NULL;
	free(p);
	requests_done(r);
}

void
request_forget(struct frame *f, struct request *r)
{
	requests_take(f->requests, r);
	request_free(f, r);
}

/* --- a message and the filter --- */

void
shown_done(struct frame *f, struct shown *s)
{
	if (s->seen.msg.kind == MSG_RESPONSE && s->request)
		request_free(f, s->request);
	free(s->edits);
	buf_free(&s->with);
}

int
shown_edited(const struct shown *s, struct buf *to)
{
	struct slice text = s->batch ? s->seen.msg.text : s->seen.line;
	struct splice splice;
	const char *at = text.p;
	size_t i;

	for (i = 0; i < s->nedits; i++) {
		splice = (struct splice){s->edits[i].from, s->edits[i].to, slice(s->with.p + s->edits[i].at, s->edits[i].n)};
		if (splice_write(slice_between(at, splice.to), &splice, 1, to) < 0)
			return -1;
		at = splice.to;
	}
	return buf_add_slice(to, slice_between(at, text.p + text.n));
}

/*
 * In a one-way pipe no answer ever comes by, and in the copy of a running chain's traffic it may be lost: there, what is
 * open is bounded by forgetting what is oldest. Where someone has joined both directions they pair up all the same.
 */
static bool
may_miss_answers(const struct frame *f)
{
	return f->way == FRAME_PIPE || f->way == FRAME_ATTACH;
}

static int
forget_oldest(struct frame *f, const struct request *newest)
{
	struct request *r = NULL;
	struct pending *p;
	int e;

	/* The filter's own are always answered. */
	do {
		r = requests_next(f->requests, r);
		p = r ? r->owner : NULL;
	} while (p && p->own);
	if (!r || r == newest)
		return 0;
	e = p && p->batch ? batch_closed_one(f, p->batch) : 0;
	request_forget(f, r);
	return e;
}

/* Finds the request that a response answers, or notes a request. */
static int
pair(struct frame *f, struct shown *s)
{
	struct msg *m = &s->seen.msg;
	struct pending *p;

	if (m->kind == MSG_REQUEST) {
		s->request = requests_open(f->requests, s->seen.from, s->seen.t, m);
		if (!s->request)
			return -1;
		if (may_miss_answers(f) && requests_count(f->requests) > REQUESTS_ONE_WAY && forget_oldest(f, s->request) < 0)
			return -1;
		if (!s->batch)
			return 0;
		p = pending_of(s->request);
		if (!p)
			return -1;
		p->batch = s->batch;
	}
	/* In proxy the hop's own id has told, even where the asker's was null. */
	if (m->kind != MSG_RESPONSE || (!s->request && m->error.p && msg_null_id(m)))
		return 0;
	if (!s->request)
		s->request = requests_find(f->requests, acp_other_side(s->seen.from), m->id);
	if (s->request)
		requests_take(f->requests, s->request);
	s->seen.request = s->request;
	return 0;
}

/*
 * Who sends in a pipe: the method says so, and an answer comes from the side that all else came
 * from. Only where both sides have been seen, someone has joined the two directions, and the
 * answer's request tells.
 */
static enum acp_side
sender_in_pipe(struct frame *f, const struct msg *m)
{
	enum acp_side by_name = m->method.p ? acp_sender(m->method) : ACP_UNKNOWN;

	f->senders |= 1U << by_name;
	if (m->method.p)
		return by_name;
	if (!(f->senders & 1U << ACP_AGENT))
		return f->senders & 1U << ACP_CLIENT ? ACP_CLIENT : ACP_UNKNOWN;
	return f->senders & 1U << ACP_CLIENT ? ACP_UNKNOWN : ACP_AGENT;
}

/* An answer to a request of the filter's own that has been answered: the other side has never heard of it. */
static bool
is_own_again(struct frame *f, const struct shown *s)
{
	const struct msg *m = &s->seen.msg;

	if (m->kind != MSG_RESPONSE || s->request || !frame_made_id(f, m->id))
		return false;
	frame_say(f, "%s: line %" PRIu64 ": an answer to a request of ours that is not open: dropped",
		acp_side_name(s->seen.from), s->seen.number);
	return true;
}

int
lane_show(struct frame *f, struct shown *s, enum verdict *verdict)
{
	const struct filter *filter = f->filter;
	struct msg *m = &s->seen.msg;
	struct pending *p;

	if (s->seen.from == ACP_UNKNOWN)
		s->seen.from = sender_in_pipe(f, m);
	if (pair(f, s) < 0)
		return -1;
	if (s->seen.from == ACP_UNKNOWN && s->request)
		s->seen.from = acp_other_side(s->request->from);
	p = m->kind == MSG_RESPONSE && s->request ? s->request->owner : NULL;
	f->shown = s;
	if (p && p->own) {
		*verdict = VERDICT_DROP;
		if (filter->answer)
			filter->answer(filter->state, f, p->tag, &s->seen);
	} else if (is_own_again(f, s)) {
		*verdict = VERDICT_DROP;
	} else {
		*verdict = filter->message(filter->state, f, s->lane, &s->seen);
	}
	f->shown = NULL;
	if (*verdict == VERDICT_DROP && m->kind == MSG_REQUEST) {
		if (s->batch && batch_closed_one(f, s->batch) < 0)
			return -1;
		request_forget(f, s->request);
		s->request = NULL;
	}
	return 0;
}

/* A request of an array has its answer; what the answer's line is makes no difference. */
static int
answered_one(struct frame *f, const struct shown *s)
{
	struct pending *p;

	if (s->seen.msg.kind != MSG_RESPONSE || !s->request)
		return 0;
	p = s->request->owner;
	return p && p->batch ? batch_closed_one(f, p->batch) : 0;
}

static int
let_go(struct frame *f, struct shown *s, struct block *block, bool torn)
{
	struct buf edited = {0};
	int r;

	/* It is a copy of what has gone on already. */
	if (f->way == FRAME_ATTACH)
		return 0;
	if (s->nedits == 0)
		return lane_put(f, s->lane, block, s->seen.line, &s->seen.msg, s->request, torn);
	r = shown_edited(s, &edited);
	if (r == 0)
		r = lane_put_text(f, s->lane, buf_slice(&edited), s->seen.msg.kind == MSG_REQUEST ? s->request : NULL);
	buf_free(&edited);
	return r;
}

static int
message_from(struct frame *f, struct shown *s, struct block *block, bool torn)
{
	enum verdict verdict;
	int r;

	r = lane_show(f, s, &verdict);
	if (r == 0 && verdict == VERDICT_PASS)
		r = let_go(f, s, block, torn);
	if (r == 0)
		r = answered_one(f, s);
	if (r == 0 && s->seen.msg.kind == MSG_RESPONSE && !s->request)
		r = batch_refused(f, s->lane, &s->seen.msg);
	shown_done(f, s);
	return r;
}

int
lane_message(struct frame *f, enum lane lane, enum acp_side from, struct block *block, struct slice text,
	const struct msg *m, struct request *answered, bool torn)
{
	struct shown s = {.lane = lane, .request = answered};

	if (m->kind == MSG_BATCH)
		return batch_line(f, lane, from, block, text, m, torn);
	s.seen = (struct seen){.from = from, .t = frame_now(f), .line = text, .msg = *m, .last = true,
		.number = lane_source(f, lane)->in.lines};
	return message_from(f, &s, block, torn);
}

/* --- out --- */

static int
put(struct sink *k, struct block *block, struct slice text)
{
	return block ? output_hold(&k->out, block, text) : output_copy(&k->out, text);
}

/* The requests of a line that goes no further: nobody will answer them. */
static int
forget_line(struct frame *f, enum lane lane, const struct msg *line)
{
	struct json_iter it = {.in = line->text};
	struct msg m = *line;
	bool more = line->kind != MSG_BATCH || msg_next(&it, &m);
	struct request *r = NULL;
	struct pending *p;

	for (; more; more = line->kind == MSG_BATCH && msg_next(&it, &m)) {
		if (m.kind == MSG_REQUEST && f->way == FRAME_PROXY)
			r = proxy_answered(f, m.id);
		else if (m.kind == MSG_REQUEST)
			r = requests_find(f->requests, f->way == FRAME_PIPE ? ACP_UNKNOWN : lane_from(lane), m.id);
		p = m.kind == MSG_REQUEST && r ? r->owner : NULL;
		if (p && p->batch && batch_closed_one(f, p->batch) < 0)
			return -1;
		if (m.kind == MSG_REQUEST && r)
			request_forget(f, r);
	}
	return 0;
}

/* Asks a filter that works on lines. 0: it goes on; 1: not; -1 out of memory. */
static int
leave(struct frame *f, enum lane lane, struct slice text, bool torn)
{
	struct leaving l = {.text = text, .inside = text, .number = lane_source(f, lane)->in.lines, .torn = torn};
	struct json_error error;
	enum verdict verdict;
	struct msg m;

	if (!f->filter->leave)
		return 0;
	if (f->way == FRAME_PROXY && msg_scan(text, &m, &error) != MSG_NOISE && m.what == ACP_PROXY_SUCCESSOR && m.params.p)
		l.inside = m.params;
	verdict = f->filter->leave(f->filter->state, f, lane, &l);
	if (verdict == VERDICT_DROP && msg_scan(text, &m, &error) != MSG_NOISE && forget_line(f, lane, &m) < 0)
		return -1;
	return verdict != VERDICT_PASS;
}

int
lane_put_line(struct frame *f, enum lane lane, struct block *block, struct slice text, bool torn)
{
	struct sink *k = lane_sink(f, lane);
	int r = leave(f, lane, text, torn);

	if (r)
		return r < 0 ? -1 : 0;
	if (output_mend(&k->out) < 0)
		return -1;
	if (block && !torn)
		return output_hold(&k->out, block, slice(text.p, text.n + 1));
	if (put(k, block, text) < 0)
		return -1;
	return torn ? 0 : output_copy(&k->out, slice("\n", 1));
}

static bool
within(struct slice all, const char *p)
{
	return p >= all.p && p < all.p + all.n;
}

/* In one piece. */
static int
put_whole(struct frame *f, enum lane lane, struct slice text, const struct hopwise *h)
{
	struct buf whole = {0};
	int r = splice_write(text, h->splices.at, h->splices.n, &whole);

	if (r == 0)
		r = lane_put_line(f, lane, NULL, buf_slice(&whole), false);
	buf_free(&whole);
	return r;
}

static int
put_hopwise(struct frame *f, enum lane lane, struct block *block, struct slice text, struct hopwise *h)
{
	struct sink *k = lane_sink(f, lane);
	struct iovec parts[2 * MSG_SPLICES + 1];
	size_t n, i;
	struct slice part;

	if (f->filter->leave)
		return put_whole(f, lane, text, h);
	if (output_mend(&k->out) < 0)
		return -1;
	/* A short one is copied into one piece: that costs less than to hold its block and to write it in five. */
	if (text.n <= SHORT)
		block = NULL;
	n = splice_parts(text, h->splices.at, h->splices.n, parts);
	for (i = 0; i < n; i++) {
		part = slice(parts[i].iov_base, parts[i].iov_len);
		if (put(k, within(text, part.p) ? block : NULL, part) < 0)
			return -1;
	}
	return output_copy(&k->out, slice("\n", 1));
}

int
lane_put(struct frame *f, enum lane lane, struct block *block, struct slice text, const struct msg *m,
	struct request *r, bool torn)
{
	struct hopwise h = {0};
	int got;

	if (f->way == FRAME_ATTACH)
		return attach_put(f, lane, text);
	if (f->way != FRAME_PROXY)
		return lane_put_line(f, lane, block, text, torn);
	got = proxy_out(f, lane, m, r, &h);
	if (got == 0)
		got = put_hopwise(f, lane, block, text, &h);
	buf_free(&h.with);
	return got < 0 ? -1 : 0;
}

int
lane_put_text(struct frame *f, enum lane lane, struct slice text, struct request *r)
{
	struct json_error error;
	struct msg m;

	/* What a filter made of a message is one still, or it does not go anywhere; batches are never made. */
	if (msg_scan(text, &m, &error) == MSG_NOISE) {
		frame_say(f, "what was made of a message is none (%s at byte %zu): dropped", error.what, error.at);
		return 0;
	}
	if (m.kind == MSG_BATCH) {
		frame_say(f, "what was made of a message is a batch: dropped");
		return 0;
	}
	return lane_put(f, lane, NULL, text, &m, m.kind == MSG_REQUEST ? r : NULL, false);
}

/* --- noise and long lines --- */

/* The other end of a source, in words. */
const char *
source_name(const struct frame *f, const struct source *src)
{
	if (f->way == FRAME_PROXY)
		return "conductor";
	if (f->way == FRAME_ATTACH)
		return "the chain";
	return src->from == ACP_UNKNOWN ? "standard input" : acp_side_name(src->from);
}

static void
tell_line(struct frame *f, struct source *src, enum frame_event_kind kind, const struct line *line, bool torn,
	struct json_error why)
{
	struct frame_event e = {.kind = kind, .from = src->from, .number = line->number, .text = line->text,
		.torn = torn, .why = why};

	frame_tell(f, &e);
}

int
lane_noise(struct frame *f, struct source *src, const struct line *line, bool torn, struct json_error why)
{
	enum lane lane = src->lane;

	tell_line(f, src, FRAME_NOISE, line, torn, why);
	if (!frame_edits(f))
		return lane_put_line(f, lane, line->block, line->text, torn);
	if (!line_is_blank(line))
		frame_say(f, "%s: line %llu: not a message at byte %zu: %s: %.*s", source_name(f, src),
			(unsigned long long)line->number, why.at, why.what,
			(int)(line->text.n < 1024 ? line->text.n : 1024), line->text.p);
	return 0;
}

static int
refuse_long(struct frame *f, struct source *src, const struct line *line)
{
	struct buf answer = {0};
	int r;

	frame_say(f, "%s: line %llu: longer than %zu bytes: dropped", source_name(f, src),
		(unsigned long long)line->number, f->options->limit);
	if (f->way == FRAME_PIPE)
		return 0;
	r = msg_make_error(&answer, slice_of("null"), ACP_ERR_INVALID_REQUEST, "line too long", slice(NULL, 0));
	if (r == 0)
		r = lane_put_line(f, src->lane == LANE_DOWN ? LANE_UP : LANE_DOWN, NULL, buf_slice(&answer), false);
	buf_free(&answer);
	return r;
}

static int
long_line(struct frame *f, struct source *src, const struct line *line)
{
	struct json_error why = {f->options->limit, "longer than the limit"};

	if (line->first)
		tell_line(f, src, FRAME_LONG, line, false, why);
	/* A line of the filter's own must not land inside one that passes piece by piece. */
	if ((f->filter->needs & (FRAME_EDIT | FRAME_ANSWER | FRAME_SEND)) || f->filter->leave || f->way == FRAME_PROXY)
		return line->first ? refuse_long(f, src, line) : 0;
	if (line->first) {
		frame_say(f, "%s: line %llu: longer than %zu bytes: passed unread", source_name(f, src),
			(unsigned long long)line->number, f->options->limit);
		if (output_mend(&lane_sink(f, src->lane)->out) < 0)
			return -1;
	}
	return put(lane_sink(f, src->lane), line->block, line->text);
}

int
lane_line(struct frame *f, struct source *src, enum input_got got, const struct line *line)
{
	struct json_error error;
	struct msg m;

	if (f->way == FRAME_ATTACH)
		return attach_line(f, got, line);
	if (got == INPUT_PIECE)
		return long_line(f, src, line);
	if (msg_scan(line->text, &m, &error) == MSG_NOISE)
		return lane_noise(f, src, line, got == INPUT_TORN, error);
	if (f->way == FRAME_PROXY)
		return proxy_line(f, src, line, &m);
	return lane_message(f, src->lane, src->from, line->block, line->text, &m, NULL, got == INPUT_TORN);
}
