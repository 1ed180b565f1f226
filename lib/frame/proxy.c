/*
 * The transport of a proxy in a chain, with one pair of pipes to the conductor for both directions. Takes messages out of their
 * envelopes, and puts them into envelopes again to send them. Requests get ids of ours, and their responses the senders' ids again.
 */
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/frame/frame_parts.h"

/* A request to the conductor, by the id that we gave it. */
struct sent_request {
	uint64_t id;
	struct request *request;
	UT_hash_handle hh;
};

static void
forget(struct frame *f, struct sent_request *s)
{
	HASH_DEL(f->sent, s);
	free(s);
}

static struct sent_request *
sent_request_of(struct frame *f, struct request *r)
{
	struct pending *p = pending_of(r);
	struct sent_request *s;

	if (!p || p->sent)
		return p ? p->sent : NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->id = ++f->last_id;
	s->request = r;
	HASH_ADD(hh, f->sent, id, sizeof(s->id), s);
	if (!s->hh.tbl) {
		free(s);
		return NULL;
	}
	p->sent = s;
	return s;
}

static struct request *
request_of(struct frame *f, struct slice id)
{
	struct sent_request *s = NULL;
	uint64_t n;

	if (json_type(id) == JSON_NUMBER && json_u64(id, &n))
		HASH_FIND(hh, f->sent, &n, sizeof(n), s);
	return s ? s->request : NULL;
}

/* --- in --- */

/* A message of the conductor's without its envelope. The slices of msg lie in the line, or in the text of a splice. */
struct plain {
	enum acp_direction dir;
	struct msg msg;
	struct splices splices;
	struct request *request; /* of a response: its request */
};

/* Is the message a $/cancel_request? A request of that name is an unknown method. */
static bool
is_cancel(const struct msg *m)
{
	return m->what == ACP_CANCEL_REQUEST && m->kind == MSG_NOTIFICATION;
}

/* Finds the held response to a request, which is still open for its sender. */
static struct held *
held_response(struct frame *f, struct slice id)
{
	struct msg m;

	for (struct held *h = f->held; h; h = h->next)
		if (!h->request && msg_scan(buf_slice(&h->text), &m, NULL) == MSG_RESPONSE && msg_same_id(m.id, id))
			return h;
	return NULL;
}

/* Sends a cancellation the way of the request that it names, by the id of that request's sender. 1: that request is not open. */
static int
route_cancel(struct frame *f, const struct msg *m, struct plain *p)
{
	struct slice id = json_get(m->params, acp_request_id);
	struct request *r;
	struct held *h;

	if (!id.p)
		return 1;
	r = requests_find(f->requests, ACP_CLIENT, id);
	if (!r)
		r = requests_find(f->requests, ACP_AGENT, id);
	h = r ? NULL : held_response(f, id);
	if (!r && !h)
		return 1;
	p->dir = r ? direction_of(r->from) : acp_back(h->dir);
	return 0;
}

static int
refuse_envelope(struct frame *f, const struct msg *m, int code, const char *why)
{
	SCOPED struct buf response = {0};

	frame_warn(f, "conductor: %s: refused", why);
	if (m->kind != MSG_REQUEST)
		return 1;
	if (msg_make_error(&response, m->id, code, why, slice(NULL, 0)) < 0)
		return -1;
	return message_put(f, ACP_UP, buf_slice(&response), NULL) < 0 ? -1 : 1;
}

static int
open_envelope(struct frame *f, const struct msg *m, struct plain *p)
{
	const struct request *named;
	struct slice id;
	const char *why;

	if (msg_open_envelope(m, &p->msg, NULL, &why) < 0)
		return refuse_envelope(f, m, ACP_ERR_PARAMS, why);
	/* The inner envelope would be taken for one of the conductor's. */
	if (p->msg.what == ACP_PROXY_SUCCESSOR)
		return refuse_envelope(f, m, ACP_ERR_INVALID_REQUEST, "an envelope in an envelope");
	p->dir = ACP_UP;
	msg_unwrap(m, &p->msg, &p->splices);
	/* An elicitation names the request that it is for by the id of the conductor's hop. */
	id = p->msg.what == ACP_ELICITATION_CREATE ? json_get(p->msg.params, acp_request_id) : slice(NULL, 0);
	named = request_of(f, id);
	if (named)
		splice_value(&p->splices, id, named->id);
	return is_cancel(&p->msg) ? route_cancel(f, &p->msg, p) : 0;
}

static int
route_response(struct frame *f, const struct msg *m, struct plain *p)
{
	struct request *r = request_of(f, m->id);

	if (!r) {
		frame_warn(f, "conductor: a response to no open request: dropped");
		return 1;
	}
	p->request = r;
	p->dir = acp_back(direction_of(r->from));
	splice_value(&p->splices, m->id, r->id);
	p->msg.id = r->id;
	return 0;
}

/* Makes a plain message of a conductor's message. 0; 1: it is not forwarded; -1 out of memory. */
static int
make_plain(struct frame *f, const struct msg *m, struct plain *p)
{
	*p = (struct plain){.dir = ACP_DOWN, .msg = *m};
	if (m->kind == MSG_RESPONSE && !(m->error.p && msg_null_id(m)))
		return route_response(f, m, p);
	if (m->kind == MSG_RESPONSE) {
		frame_warn(f, "conductor: an error response without a request: %.*s", (int)(m->error.n < 512 ? m->error.n : 512),
			m->error.p);
		return 1;
	}
	switch (m->what) {
	case ACP_PROXY_SUCCESSOR:
		return open_envelope(f, m, p);
	case ACP_PROXY_INITIALIZE:
		f->dialect = acp_dialect(m->method);
		p->msg.what = ACP_INITIALIZE;
		p->msg.method = slice_of("\"initialize\"");
		splice_value(&p->splices, m->method, p->msg.method);
		return 0;
	case ACP_CANCEL_REQUEST:
		return is_cancel(m) ? route_cancel(f, m, p) : 0;
	default:
		return 0;
	}
}

/* Joins parts to a line in a new block, with a newline; the caller drops the block. NULL out of memory. */
static struct block *
line_of(const struct iovec *parts, size_t n, struct slice *text)
{
	struct block *b;
	size_t size = 0, i;
	char *at;

	for (i = 0; i < n; i++)
		size += parts[i].iov_len;
	b = block_new(size + 1);
	if (!b)
		return NULL;
	for (at = b->data, i = 0; i < n; at += parts[i++].iov_len)
		memcpy(at, parts[i].iov_base, parts[i].iov_len);
	*at = '\n';
	*text = slice(b->data, size);
	return b;
}

static int
show_spliced(struct frame *f, struct slice line, struct plain *p)
{
	const struct splices *s = &p->splices;
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct slice text;
	struct block *b = line_of(parts, splice_parts(line, s->at, s->n, parts), &text);
	int r;

	if (!b)
		return -1;
	msg_moved(line, s->at, s->n, text.p, &p->msg);
	r = message_show(f, p->dir, direction_from(p->dir), b, text, &p->msg, p->request, false);
	block_drop(b);
	return r;
}

static int
show_message(struct side *s, const struct line *line, const struct msg *m, bool torn)
{
	struct frame *f = s->frame;
	struct plain p;
	int r;

	(void)torn;
	r = make_plain(f, m, &p);
	if (r)
		return r < 0 ? -1 : 0;
	if (p.splices.n == 0)
		return message_show(f, p.dir, direction_from(p.dir), line->block, line->text, m, NULL, false);
	return show_spliced(f, line->text, &p);
}

/* --- out --- */

/* The changes to a message for the conductor's pipe. */
struct rewrite {
	struct splices splices;
	struct buf with;
	char id[SLICE_DIGITS];
};

static int
rewrite_cancel(struct frame *f, enum acp_direction dir, const struct msg *m, struct rewrite *w)
{
	struct slice id = json_get(m->params, acp_request_id);
	struct request *r = id.p ? requests_find(f->requests, direction_from(dir), id) : NULL;
	struct pending *p = r ? r->owner : NULL;

	/* The request has its response, or was never sent on: the conductor has nothing to cancel. */
	if (!p || !p->sent)
		return 1;
	splice_value(&w->splices, id, slice_digits(p->sent->id, w->id));
	return 0;
}

/* Finds the changes to a message. 0; 1: it must not be sent; -1 out of memory. */
static int
rewrite_message(struct frame *f, enum acp_direction dir, const struct msg *m, struct request *r, struct rewrite *w)
{
	struct sent_request *sent;

	if (m->kind == MSG_RESPONSE)
		return 0;
	if (is_cancel(m))
		return rewrite_cancel(f, dir, m, w);
	/* The filter has turned another message into a request. */
	if (m->kind == MSG_REQUEST && !r)
		r = requests_open(f->requests, direction_from(dir), frame_now(f), m);
	if (dir == ACP_DOWN && msg_wrap(m, f->dialect, NULL, &w->splices, &w->with) < 0)
		return -1;
	if (m->kind != MSG_REQUEST)
		return 0;
	sent = r ? sent_request_of(f, r) : NULL;
	if (!sent)
		return -1;
	splice_value(&w->splices, m->id, slice_digits(sent->id, w->id));
	return 0;
}

/* Sends a message in one piece, for a filter that works on lines. */
static int
put_whole(struct frame *f, enum acp_direction dir, struct slice text, const struct rewrite *w)
{
	SCOPED struct buf whole = {0};
	struct slice inner;
	struct msg m;

	if (splice_write(text, w->splices.at, w->splices.n, &whole) < 0)
		return -1;
	inner = buf_slice(&whole);
	if (msg_scan(inner, &m, NULL) != MSG_NOISE && m.what == ACP_PROXY_SUCCESSOR && m.params.p)
		inner = m.params;
	return line_put(f, dir, NULL, buf_slice(&whole), inner, false);
}

static int
put_parts(struct frame *f, enum acp_direction dir, struct block *block, struct slice text, const struct rewrite *w)
{
	struct endpoint *to = &f->to[dir]->end;
	struct iovec parts[2 * MSG_SPLICES + 1];
	size_t n = splice_parts(text, w->splices.at, w->splices.n, parts);

	return output_end_line(&to->out) < 0 ? -1 : endpoint_put_parts(to, block, parts, n);
}

static int
put_message(struct frame *f, enum acp_direction dir, struct block *block, struct slice text, const struct msg *m, struct request *r,
	bool torn)
{
	struct rewrite w = {0};
	int got = rewrite_message(f, dir, m, r, &w);

	(void)torn;
	if (got == 0)
		got = f->filter->line ? put_whole(f, dir, text, &w) : put_parts(f, dir, block, text, &w);
	buf_free(&w.with);
	return got < 0 ? -1 : 0;
}

const struct transport transport_proxy = {
	.input = "conductor",
	.output = "the conductor",
	.gives = FILTER_EDITS | FILTER_SENDS,
	.strict = true,
	.open = stdio_open,
	.line = plain_line,
	.message = show_message,
	.put = put_message,
	.forget = forget,
	.find = request_of,
};
