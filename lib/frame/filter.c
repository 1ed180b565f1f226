/* The functions by which filters hold messages, send, reply, and ask for the state of the stream. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/frame/frame_parts.h"

/* --- holding --- */

static int
copy_delivery(const struct delivery *s, struct held *h)
{
	struct pending *p;

	if (s->line)
		return buf_add_slice(&h->text, s->line->text) < 0 || (!s->line->torn && buf_add(&h->text, "\n", 1) < 0) ? -1 : 0;
	if (delivery_edited(s, &h->text) < 0)
		return -1;
	if (s->message.msg.kind != MSG_REQUEST)
		return 0;
	p = pending_of(s->request);
	if (!p)
		return -1;
	p->held = h;
	h->request = s->request;
	return 0;
}

static void
count_held(struct frame *f, const struct held *h, bool more)
{
	if (!h->line)
		return;
	f->held_lines[h->dir] += more ? 1 : (size_t)-1;
	f->held_bytes[h->dir] += (more ? 1 : (size_t)-1) * (sizeof(*h) + h->text.cap);
}

static void
held_free(struct held *h)
{
	buf_free(&h->text);
	free(h);
}

struct held *
frame_hold(struct frame *f, const void *owner)
{
	struct delivery *s = f->delivery;
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->dir = s->dir;
	h->owner = owner;
	h->line = s->line != NULL;
	if (copy_delivery(s, h) < 0) {
		held_free(h);
		return NULL;
	}
	count_held(f, h, true);
	DL_APPEND(f->held, h);
	return h;
}

struct slice
frame_held_text(const struct held *h)
{
	return buf_slice(&h->text);
}

struct held *
frame_held_next(const struct frame *f, const void *owner, const struct held *after)
{
	struct held *h = after ? after->next : f->held;

	while (h && h->owner != owner)
		h = h->next;
	return h;
}

bool
frame_held_is(const struct held *h, struct slice id)
{
	struct msg m;

	return msg_scan(buf_slice(&h->text), &m, NULL) == MSG_REQUEST && msg_same_id(m.id, id);
}

/* Removes a held message or line from the list, and detaches its request. */
static void
remove_held(struct frame *f, struct held *h)
{
	DL_DELETE(f->held, h);
	count_held(f, h, false);
	if (h->request)
		pending_of(h->request)->held = NULL;
}

void
frame_release(struct frame *f, struct held *h, enum verdict verdict, struct slice text)
{
	int r = 0;

	remove_held(f, h);
	if (!text.p)
		text = buf_slice(&h->text);
	if (verdict == VERDICT_PASS)
		r = h->line ? frame_put(f, h->dir, text, false) : message_put(f, h->dir, text, h->request);
	if (verdict == VERDICT_DROP && h->request)
		request_forget(f, h->request);
	held_free(h);
	if (r < 0)
		frame_abort(f, "out of memory");
	frame_settle(f);
}

void
frame_show_again(struct frame *f, struct held *h)
{
	struct slice text = buf_slice(&h->text);
	struct msg m;

	remove_held(f, h);
	msg_scan(text, &m, NULL);
	if (message_show(f, h->dir, direction_from(h->dir), NULL, text, &m, h->request, false) < 0)
		frame_abort(f, "out of memory");
	held_free(h);
	frame_settle(f);
}

/* --- sending --- */

/* Sends a message as if the sender of the direction had sent it. own: filter.response gets the response, with the tag. */
static int
send_message(struct frame *f, enum acp_direction dir, struct slice message, bool own, void *tag)
{
	struct request *r = NULL;
	struct msg m;

	if (msg_scan(message, &m, NULL) == MSG_REQUEST) {
		r = requests_open(f->requests, direction_from(dir), frame_now(f), &m);
		if (!r || (own && !pending_of(r)))
			return -1;
		if (own)
			*pending_of(r) = (struct pending){.from_filter = true, .tag = tag};
	}
	frame_settle(f);
	return message_put(f, dir, message, r);
}

int
frame_send(struct frame *f, enum acp_direction dir, struct slice message)
{
	return send_message(f, dir, message, false, NULL);
}

int
frame_request_for(struct frame *f, enum acp_direction dir, struct slice request, void *tag, struct buf *sent)
{
	SCOPED struct buf id = {0};
	struct splices s = {.n = 0};
	size_t before = sent->n;
	struct msg m;

	if (frame_put_id_prefix(f, &id) || buf_printf(&id, "%08" PRIx32 "-%" PRIu64 "\"", f->random, ++f->last_id))
		return -1;
	if (msg_scan(request, &m, NULL) == MSG_REQUEST)
		splice_value(&s, m.id, buf_slice(&id));
	if (splice_write(request, s.at, s.n, sent) < 0)
		return -1;
	return send_message(f, dir, slice(sent->p + before, sent->n - before), true, tag);
}

int
frame_request(struct frame *f, enum acp_direction dir, const char *method, struct slice params, void *tag)
{
	SCOPED struct buf text = {0}, sent = {0};

	return msg_make_request(&text, slice_of("0"), method, params) || frame_request_for(f, dir, buf_slice(&text), tag, &sent) ? -1 : 0;
}

int
frame_notify(struct frame *f, enum acp_direction dir, const char *method, struct slice params)
{
	SCOPED struct buf text = {0};

	return msg_make_notification(&text, method, params) || frame_send(f, dir, buf_slice(&text)) ? -1 : 0;
}

int
frame_put(struct frame *f, enum acp_direction dir, struct slice bytes, bool more)
{
	struct endpoint *to = &f->to[dir]->end;
	struct side *back = f->from[acp_back(dir)];
	uint64_t before = output_total(&to->out);
	int r = (!more && output_end_line(&to->out) < 0) ? -1 : endpoint_put(to, NULL, bytes);

	/* These bytes must not couple the side whose line is being shown (flow.c): that side has not sent them. */
	if (back->reading)
		back->before += output_total(&to->out) - before;
	return r;
}

static int
cancel(struct frame *f, const struct request *r)
{
	SCOPED struct buf params = {0};

	if (buf_printf(&params, "{\"%s\":%.*s}", acp_request_id, (int)r->id.n, r->id.p) < 0)
		return -1;
	return frame_notify(f, direction_of(r->from), acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params));
}

int
frame_cancel(struct frame *f, const void *tag)
{
	struct request *r = NULL;
	const struct pending *p;
	int e = 0;

	while (e == 0 && (r = requests_next(f->requests, r))) {
		p = r->owner;
		if (p && p->from_filter && p->tag == tag)
			e = cancel(f, r);
	}
	return e;
}

bool
frame_full(struct frame *f, enum acp_direction dir)
{
	return f->to[dir]->end.out.full;
}

void
frame_pause(struct frame *f, enum acp_direction dir, bool paused)
{
	f->paused[dir] = paused;
	frame_settle(f);
}

void
frame_keep_open(struct frame *f, enum acp_direction dir, bool open)
{
	f->kept_open[dir] = open;
	/* The reader of the direction sees its end only now, so that the grace period begins now. */
	if (!open && f->transport->left)
		f->transport->left(f);
	frame_settle(f);
}

void
frame_close(struct frame *f, enum acp_direction dir)
{
	f->closed[dir] = true;
	endpoint_finish(&f->to[dir]->end);
}

/* --- replying --- */

/* Sends a reply to the sender of the held request, or (h NULL) the shown one. made: the status of making the text. */
static int
reply(struct frame *f, const struct held *h, const struct buf *text, int made)
{
	return made < 0 ? -1 : message_put(f, acp_back(h ? h->dir : f->delivery->dir), buf_slice(text), NULL);
}

static struct slice
id_of(const struct frame *f, const struct held *h)
{
	struct msg m;

	if (!h)
		return f->delivery->message.msg.id;
	return msg_scan(buf_slice(&h->text), &m, NULL) == MSG_REQUEST ? m.id : slice_of("null");
}

int
frame_reply(struct frame *f, struct held *h, struct slice result)
{
	SCOPED struct buf text = {0};

	return reply(f, h, &text, msg_make_result(&text, id_of(f, h), result));
}

int
frame_reply_error_object(struct frame *f, struct held *h, struct slice error)
{
	SCOPED struct buf text = {0};

	return reply(f, h, &text, msg_make_failure(&text, id_of(f, h), error));
}

int
frame_reply_error(struct frame *f, struct held *h, int code, const char *message)
{
	SCOPED struct buf text = {0};

	return reply(f, h, &text, msg_make_error(&text, id_of(f, h), code, message, slice(NULL, 0)));
}

int
frame_respond(struct frame *f, struct request *r, struct slice response)
{
	struct pending *p = pending_of(r);
	SCOPED struct buf text = {0};
	struct splices s = {.n = 0};
	struct msg m;

	if (!p || cancel(f, r) < 0)
		return -1;
	p->from_filter = true;
	if (msg_scan(response, &m, NULL) == MSG_RESPONSE)
		splice_value(&s, m.id, r->id);
	if (splice_write(response, s.at, s.n, &text) < 0)
		return -1;
	frame_settle(f);
	return message_put(f, acp_back(direction_of(r->from)), buf_slice(&text), NULL);
}

/* --- the timer, the loop, the state --- */

static void
timer_expired(void *arg)
{
	struct frame *f = arg;

	if (f->stage == STAGE_RUNNING && !f->exiting)
		frame_event(f, &(struct frame_event){.kind = FRAME_TIMER, .from = ACP_UNKNOWN});
	frame_log_write(f);
	frame_settle(f);
}

void
frame_timer(struct frame *f, uint64_t when)
{
	uint64_t now = frame_now(f);

	f->timer.expired = timer_expired;
	f->timer.arg = f;
	loop_add_timer(f->loop, &f->timer, when > now ? when - now : 0);
}

struct loop *
frame_loop(struct frame *f)
{
	return f->loop;
}

double
frame_started(const struct frame *f)
{
	return f->started;
}

bool
frame_is_one_way(const struct frame *f)
{
	return f->transport->one_way;
}

bool
frame_is_shared(const struct frame *f)
{
	return f->from[ACP_DOWN] == f->from[ACP_UP];
}

void
frame_exit(struct frame *f, int status)
{
	f->exiting = true;
	f->status = status;
	frame_settle(f);
}
