/* What a filter can do with the message that it is shown, and send of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/frame_parts.h"

int
frame_replace(struct frame *f, struct slice what, struct slice with)
{
	struct shown *s = f->shown;
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

static int
note_held(struct request *r, struct held *h)
{
	struct pending *p = pending_of(r);

	if (!p)
		return -1;
	p->held = h;
	h->request = r;
	return 0;
}

struct held *
frame_hold(struct frame *f)
{
	struct shown *s = f->shown;
	struct held *h = calloc(1, sizeof(*h)), **at = &f->held;

	if (!h || shown_edited(s, &h->text) < 0 ||
		(s->seen.msg.kind == MSG_REQUEST && note_held(s->request, h) < 0)) {
		if (h)
			buf_free(&h->text);
		free(h);
		return NULL;
	}
	h->lane = s->lane;
	h->batch = s->batch;
	h->entry = s->entry;
	while (*at)
		at = &(*at)->next;
	*at = h;
	return h;
}

struct slice
frame_held_text(const struct held *h)
{
	return buf_slice(&h->text);
}

void
frame_release(struct frame *f, struct held *h, enum verdict verdict, struct slice text)
{
	struct held **at = &f->held;
	int r = 0;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	if (h->request)
		pending_of(h->request)->held = NULL;
	if (!text.p)
		text = buf_slice(&h->text);
	if (h->batch)
		r = batch_released(f, h, verdict, text);
	else if (verdict == VERDICT_PASS)
		r = lane_put_text(f, h->lane, text, h->request);
	if (verdict == VERDICT_DROP && h->request)
		request_forget(f, h->request);
	buf_free(&h->text);
	free(h);
	if (r < 0)
		frame_abort(f, "out of memory");
}

/* As if it had come from the side that the lane begins at. */
static int
emit(struct frame *f, enum lane lane, struct slice message, bool own, void *tag)
{
	struct request *r = NULL;
	struct pending *p;
	struct json_error error;
	struct msg m;

	if (msg_scan(message, &m, &error) == MSG_REQUEST) {
		r = requests_open(f->requests, lane_from(lane), frame_now(f), &m);
		if (!r)
			return -1;
		p = own ? pending_of(r) : NULL;
		if (own && !p)
			return -1;
		if (own) {
			p->own = true;
			p->tag = tag;
		}
	}
	return lane_put_text(f, lane, message, r);
}

int
frame_emit(struct frame *f, enum lane lane, struct slice message)
{
	return emit(f, lane, message, false, NULL);
}

/* What all ids of the filter's own begin with, and no other. */
static int
put_prefix(const struct frame *f, struct buf *to)
{
	return buf_printf(to, "\"%s-%s-", f->filter->name, f->token);
}

bool
frame_made_id(const struct frame *f, struct slice id)
{
	struct buf prefix = {0};
	bool yes = f->last_id > 0 && put_prefix(f, &prefix) == 0 && id.n > prefix.n && memcmp(id.p, prefix.p, prefix.n) == 0;

	buf_free(&prefix);
	return yes;
}

int
frame_request(struct frame *f, enum lane lane, const char *method, struct slice params, void *tag)
{
	struct buf id = {0}, text = {0};
	int r;

	r = put_prefix(f, &id);
	if (r == 0)
		r = buf_printf(&id, "%" PRIu64 "\"", ++f->last_id);
	if (r == 0)
		r = msg_make_request(&text, buf_slice(&id), method, params);
	if (r == 0)
		r = emit(f, lane, buf_slice(&text), true, tag);
	buf_free(&id);
	buf_free(&text);
	return r;
}

int
frame_notify(struct frame *f, enum lane lane, const char *method, struct slice params)
{
	struct buf text = {0};
	int r = msg_make_notification(&text, method, params);

	if (r == 0)
		r = emit(f, lane, buf_slice(&text), false, NULL);
	buf_free(&text);
	return r;
}

int
frame_put(struct frame *f, enum lane lane, struct slice bytes)
{
	struct sink *k = lane_sink(f, lane);

	return output_mend(&k->out) < 0 ? -1 : output_copy(&k->out, bytes);
}

void
frame_owe(struct frame *f, enum lane lane, enum frame_debt debt)
{
	f->debts[lane] = debt;
}

static void
alarm_rings(void *arg)
{
	struct frame *f = arg;

	if (f->started_filter && !f->quitting)
		f->filter->timer(f->filter->state, f);
	frame_settle(f);
}

int
frame_alarm(struct frame *f, uint64_t when)
{
	uint64_t now = frame_now(f);

	f->alarm.expired = alarm_rings;
	f->alarm.arg = f;
	return loop_add_timer(f->loop, &f->alarm, when > now ? when - now : 0);
}

void
frame_quit(struct frame *f, int status)
{
	f->quitting = true;
	f->status = status;
}

int
frame_cancel(struct frame *f, const void *tag)
{
	struct request *r = NULL;
	const struct pending *p;
	struct buf params = {0};
	int e = 0;

	while (e == 0 && (r = requests_next(f->requests, r))) {
		p = r->owner;
		if (!p || !p->own || p->tag != tag)
			continue;
		params.n = 0;
		e = buf_printf(&params, "{\"%s\":%.*s}", acp_request_id, (int)r->id.n, r->id.p);
		if (e == 0)
			e = frame_notify(f, lane_of(r->from), acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params));
	}
	buf_free(&params);
	return e;
}

bool
frame_full(struct frame *f, enum lane lane)
{
	return lane_sink(f, lane)->out.full;
}

/* The answer goes where the request came from: against the request's lane, or into its batch's answers. */
static int
answer(struct frame *f, const struct held *h, struct buf *text)
{
	struct batch *b = h ? h->batch : f->shown->batch;
	enum lane lane = h ? h->lane : f->shown->lane;
	int r;

	if (b)
		r = batch_answer(b, buf_slice(text));
	else
		r = lane_put_text(f, lane == LANE_DOWN ? LANE_UP : LANE_DOWN, buf_slice(text), NULL);
	buf_free(text);
	return r;
}

static struct slice
id_of(const struct frame *f, const struct held *h)
{
	struct json_error error;
	struct msg m;

	if (!h)
		return f->shown->seen.msg.id;
	return msg_scan(buf_slice(&h->text), &m, &error) == MSG_REQUEST ? m.id : slice_of("null");
}

int
frame_answer(struct frame *f, struct held *h, struct slice result)
{
	struct buf text = {0};

	if (msg_make_result(&text, id_of(f, h), result) < 0)
		return -1;
	return answer(f, h, &text);
}

int
frame_refuse_with(struct frame *f, struct held *h, struct slice error)
{
	struct buf text = {0};

	if (msg_make_failure(&text, id_of(f, h), error) < 0)
		return -1;
	return answer(f, h, &text);
}

int
frame_refuse(struct frame *f, struct held *h, int code, const char *message, struct slice data)
{
	struct buf text = {0};

	if (msg_make_error(&text, id_of(f, h), code, message, data) < 0)
		return -1;
	return answer(f, h, &text);
}
