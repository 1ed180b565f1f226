/* Reads lines, shows messages to the filter, and forwards lines. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

/* --- edits --- */

/* An edit of the message that is being shown: [at, at + n) of delivery.with replaces the bytes [from, to). */
struct edit {
	const char *from, *to;
	size_t at, n;
};

int
frame_replace(struct frame *f, struct slice what, struct slice with)
{
	struct delivery *s = f->delivery;
	struct edit *e;
	size_t i, cap;

	if (s->nedits == s->capedits) {
		cap = s->capedits ? s->capedits * 2 : 4;
		e = realloc(s->edits, cap * sizeof(*e));
		if (!e)
			return -1;
		s->edits = e;
		s->capedits = cap;
	}
	if (buf_add_slice(&s->with, with) < 0)
		return -1;
	for (i = s->nedits++; i > 0 && s->edits[i - 1].from > what.p; i--)
		s->edits[i] = s->edits[i - 1];
	s->edits[i] = (struct edit){what.p, what.p + what.n, s->with.n - with.n, with.n};
	return 0;
}

int
frame_add_members(struct frame *f, struct slice object, struct slice members)
{
	SCOPED struct buf with = {0};

	if (buf_add(&with, "{", 1) < 0 || buf_add_slice(&with, members) < 0 || (!json_is_empty(object) && buf_add(&with, ",", 1) < 0))
		return -1;
	return frame_replace(f, slice(object.p, 1), buf_slice(&with));
}

int
delivery_edited(const struct delivery *s, struct buf *to)
{
	struct slice text = s->message.line;
	struct splice splice;
	const char *at = text.p;

	for (size_t i = 0; i < s->nedits; i++) {
		splice = (struct splice){s->edits[i].from, s->edits[i].to, slice(s->with.p + s->edits[i].at, s->edits[i].n)};
		if (splice_write(slice_between(at, splice.to), &splice, 1, to) < 0)
			return -1;
		at = splice.to;
	}
	return buf_add_slice(to, slice_between(at, text.p + text.n));
}

/* --- a message and the filter --- */

static void
forget_oldest(struct frame *f, const struct request *newest)
{
	struct request *r = NULL;
	struct pending *p;

	/* The filter's own requests are kept, for they always get a response. */
	do {
		r = requests_next(f->requests, r);
		p = r ? r->owner : NULL;
	} while (p && p->from_filter);
	if (r && r != newest)
		request_forget(f, r);
}

/* Finds the request of a response, or adds a request to the table. */
static int
pair(struct frame *f, struct delivery *s)
{
	struct msg *m = &s->message.msg;

	if (m->kind == MSG_REQUEST && !s->request) {
		s->request = requests_open(f->requests, s->message.from, s->message.t, m);
		if (!s->request)
			return -1;
		/* Even in a one-way pipe requests are worth keeping: somebody may have joined both directions in it. */
		if (f->transport->lossy && requests_count(f->requests) > REQUESTS_ONE_WAY)
			forget_oldest(f, s->request);
	}
	/* In a proxy chain the transport has found the request by the conductor's id, even if the sender's id was null. */
	if (m->kind != MSG_RESPONSE || (!s->request && m->error.p && msg_null_id(m)))
		return 0;
	if (!s->request)
		s->request = requests_find(f->requests, acp_other_side(s->message.from), m->id);
	if (s->request) {
		requests_remove(f->requests, s->request);
		request_unhold(s->request);
	}
	s->message.request = s->request;
	return 0;
}

/*
 * Finds the sender of a message in a pipe: the method names it, and a response comes from the side that sent all other messages. If
 * both sides have sent, somebody has joined both directions: ACP_UNKNOWN, and the response's request decides. The response to
 * initialize shows the agent, for no response of a client has a number as its protocolVersion.
 */
static enum acp_side
sender_in_pipe(struct frame *f, const struct msg *m)
{
	bool greets = m->result.p && json_type(json_get(m->result, acp_protocol_version)) == JSON_NUMBER;
	enum acp_side known = m->method.p ? acp_sender(m->method) : greets ? ACP_AGENT : ACP_UNKNOWN;

	f->senders |= 1U << known;
	if (m->method.p || greets)
		return known;
	if (!(f->senders & 1U << ACP_AGENT))
		return f->senders & 1U << ACP_CLIENT ? ACP_CLIENT : ACP_UNKNOWN;
	return f->senders & 1U << ACP_CLIENT ? ACP_UNKNOWN : ACP_AGENT;
}

/* Drops a response that has an id of the filter's own without an open request: the other side did not send that request. */
static bool
reject_stray_response(struct frame *f, const struct delivery *s)
{
	const struct msg *m = &s->message.msg;
	SCOPED struct buf prefix = {0};

	if (m->kind != MSG_RESPONSE || s->request || frame_put_id_prefix(f, &prefix) < 0 || m->id.n <= prefix.n ||
		memcmp(m->id.p, prefix.p, prefix.n) != 0)
		return false;
	frame_warn(f, "%s: line %" PRIu64 ": a response to no open request of ours: dropped",
		acp_side_name(s->message.from), s->message.number);
	return true;
}

/* Calls filter.message, or filter.response for a response to the filter's own request. Forgets a request that the filter drops. */
static enum verdict
judge(struct frame *f, struct delivery *s)
{
	const struct filter *filter = f->filter;
	const struct msg *m = &s->message.msg;
	const struct pending *p = m->kind == MSG_RESPONSE && s->request ? s->request->owner : NULL;
	struct delivery *outer = f->delivery;
	enum verdict verdict = VERDICT_DROP;

	f->delivery = s;
	if (!p || !p->from_filter)
		verdict = reject_stray_response(f, s) ? VERDICT_DROP : filter->message(filter->state, f, s->dir, &s->message);
	else if (filter->response)
		filter->response(filter->state, f, p->tag, &s->message);
	f->delivery = outer;
	if (verdict == VERDICT_DROP && m->kind == MSG_REQUEST) {
		request_forget(f, s->request);
		s->request = NULL;
	}
	return verdict;
}

static int
forward(struct frame *f, struct delivery *s, struct block *block, bool torn)
{
	SCOPED struct buf edited = {0};

	if (s->nedits == 0)
		return f->transport->put(f, s->dir, block, s->message.line, &s->message.msg, s->request, torn);
	if (delivery_edited(s, &edited) < 0)
		return -1;
	return message_put(f, s->dir, buf_slice(&edited), s->message.msg.kind == MSG_REQUEST ? s->request : NULL);
}

int
message_show(struct frame *f, enum acp_direction dir, enum acp_side from, struct block *block, struct slice text,
	const struct msg *m, struct request *request, bool torn)
{
	struct delivery s = {.dir = dir, .request = request};
	int r;

	s.message = (struct message){.from = from, .t = frame_now(f), .line = text, .msg = *m, .number = f->from[dir]->end.in.lines};
	if (from == ACP_UNKNOWN)
		s.message.from = sender_in_pipe(f, m);
	r = pair(f, &s);
	if (s.message.from == ACP_UNKNOWN && s.request)
		s.message.from = acp_other_side(s.request->from);
	if (r == 0 && judge(f, &s) == VERDICT_PASS && !f->transport->copies)
		r = forward(f, &s, block, torn);
	if (m->kind == MSG_RESPONSE && s.request)
		request_free(f, s.request);
	free(s.edits);
	buf_free(&s.with);
	return r;
}

struct request *
frame_open_request(struct frame *f, enum acp_direction dir, struct slice id)
{
	enum acp_side from = direction_from(dir);
	struct request *r = id.p ? requests_find(f->requests, from, id) : NULL;
	const struct pending *p;

	/* Skips requests that the filter sent or has responded to: after such a response the sender may have used the id again. */
	for (; r; r = requests_next(f->requests, r)) {
		p = r->owner;
		if (r->from == from && !(p && p->from_filter) && msg_same_id(r->id, id))
			break;
	}
	return r;
}

/* --- out --- */

/* Finds the open request of `asker` that has this id on the wire. */
static struct request *
request_of(struct frame *f, enum acp_side asker, struct slice id)
{
	return f->transport->find ? f->transport->find(f, id) : requests_find(f->requests, asker, id);
}

/* Shows a line to a filter that works on lines. Does the line go on? */
static bool
passes(struct frame *f, enum acp_direction dir, const struct outgoing_line *l)
{
	struct delivery s = {.dir = dir, .line = l}, *outer = f->delivery;
	struct request *r = NULL;
	enum verdict verdict;
	struct msg m;

	f->delivery = &s;
	verdict = f->filter->line(f->filter->state, f, dir, l);
	f->delivery = outer;
	/* A request that the filter drops gets no response. */
	if (verdict == VERDICT_DROP && msg_scan(l->text, &m, NULL) == MSG_REQUEST)
		r = request_of(f, f->from[dir]->from, m.id);
	if (r)
		request_forget(f, r);
	return verdict == VERDICT_PASS;
}

int
line_put(struct frame *f, enum acp_direction dir, struct block *block, struct slice text, struct slice message, bool torn)
{
	struct outgoing_line l = {.text = text, .message = message, .number = f->from[dir]->end.in.lines, .torn = torn};

	if (f->filter->line && !passes(f, dir, &l))
		return 0;
	return endpoint_put_line(&f->to[dir]->end, block, text, torn);
}

int
plain_put(struct frame *f, enum acp_direction dir, struct block *block, struct slice text, const struct msg *m, struct request *r,
	bool torn)
{
	(void)m;
	(void)r;
	return line_put(f, dir, block, text, text, torn);
}

int
message_put(struct frame *f, enum acp_direction dir, struct slice text, struct request *r)
{
	struct json_error error;
	struct msg m;

	if (msg_scan(text, &m, &error) == MSG_NOISE) {
		frame_warn(f, "the result of an edit is not a message (%s at byte %zu): dropped", error.what, error.at);
		return 0;
	}
	return f->transport->put(f, dir, NULL, text, &m, m.kind == MSG_REQUEST ? r : NULL, false);
}

/* --- noise and long lines --- */

static void
line_event(struct side *s, enum frame_event_kind kind, const struct line *line, bool torn, struct json_error why)
{
	frame_event(s->frame,
		&(struct frame_event){.kind = kind, .from = s->from, .number = line->number, .text = line->text, .torn = torn, .why = why});
}

int
plain_message(struct side *s, const struct line *line, const struct msg *m, bool torn)
{
	return message_show(s->frame, s->dir, s->from, line->block, line->text, m, NULL, torn);
}

/* Sends an error in place of a response that cannot be forwarded, if its request is open. */
static int
replace_response(struct side *s, uint64_t number, struct slice id)
{
	struct line made = {.number = number};
	SCOPED struct buf text = {0};
	struct msg m;

	if (!request_of(s->frame, acp_other_side(s->from), id))
		return 0;
	if (msg_make_error(&text, id, ACP_ERR_INTERNAL, "the response was not valid and could not be forwarded", slice(NULL, 0)) < 0)
		return -1;
	made.text = buf_slice(&text);
	return msg_scan(made.text, &m, NULL) == MSG_RESPONSE ? s->frame->transport->message(s, &made, &m, false) : 0;
}

/* Sends an error to the peer that would wait for a discarded line (HACKING.md, rule 5). unknown: the kind to assume in doubt. */
static int
reply_for_discarded(struct side *s, uint64_t number, struct slice text, enum msg_kind unknown, const char *why)
{
	struct slice id;
	enum msg_kind meant = msg_guess_kind(text, &id);
	SCOPED struct buf reply = {0};

	if (meant == MSG_NOISE || meant == MSG_NOTIFICATION)
		meant = unknown;
	if (s->frame->transport->one_way || (meant != MSG_REQUEST && meant != MSG_RESPONSE))
		return 0;
	if (meant == MSG_RESPONSE)
		return replace_response(s, number, id);
	if (msg_make_error(&reply, id, ACP_ERR_INVALID_REQUEST, why, slice(NULL, 0)) < 0)
		return -1;
	return line_put(s->frame, acp_back(s->dir), NULL, buf_slice(&reply), buf_slice(&reply), false);
}

/* Is noise discarded? With --clean, in a proxy chain, and by filters that do more than watch. */
static bool
discards_noise(const struct frame *f)
{
	return f->filter->needs || f->options->clean || f->transport->strict;
}

static int
handle_noise(struct side *s, const struct line *line, bool torn, struct json_error why)
{
	struct frame *f = s->frame;

	line_event(s, FRAME_NOISE, line, torn, why);
	if (!discards_noise(f))
		return line_put(f, s->dir, line->block, line->text, line->text, torn);
	if (line_is_blank(line))
		return 0;
	frame_warn(f, "%s: line %" PRIu64 ": not a message at byte %zu: %s: %.*s", side_input(s), line->number, why.at, why.what,
		(int)(line->text.n < 1024 ? line->text.n : 1024), line->text.p);
	return reply_for_discarded(s, line->number, line->text, MSG_NOISE, why.what);
}

/* Discards a piece of a long line. The error reply waits for the end of the line, because the id may come last. */
static int
discard_piece(struct side *s, const struct line *piece)
{
	struct outline whole;
	int r;

	outline_add(&s->outline, piece->text);
	if (!piece->last)
		return 0;
	whole = s->outline;
	s->outline = (struct outline){0};
	r = reply_for_discarded(s, piece->number, buf_slice(&whole.text), MSG_REQUEST, "line too long");
	buf_free(&whole.text);
	return r;
}

static int
handle_long_line(struct side *s, const struct line *line)
{
	struct frame *f = s->frame;
	struct json_error why = {f->options->limit, "longer than --max-line"};
	/* A filter that works on lines may send lines of its own, which must not land inside a line that passes piece by piece. */
	bool discarded = discards_noise(f) || f->filter->line;
	struct endpoint *to = &f->to[s->dir]->end;

	if (line->first) {
		line_event(s, FRAME_LONG, line, false, why);
		frame_warn(f, "%s: line %" PRIu64 ": longer than %zu bytes: %s", side_input(s), line->number, f->options->limit,
			discarded ? "dropped" : "passed unread");
	}
	if (discarded)
		return discard_piece(s, line);
	if (line->first && output_end_line(&to->out) < 0)
		return -1;
	return endpoint_put(to, line->block, line->text);
}

int
plain_line(struct side *s, enum input_got got, const struct line *line)
{
	struct json_error error;
	struct msg m;

	if (got == INPUT_PIECE)
		return handle_long_line(s, line);
	if (msg_scan(line->text, &m, &error) == MSG_NOISE)
		return handle_noise(s, line, got == INPUT_TORN, error);
	return s->frame->transport->message(s, line, &m, got == INPUT_TORN);
}
