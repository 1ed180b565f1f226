/* Decides when each message is sent: the order within conversations, and the pauses. */
#include <errno.h>

#include "cmd/acp-replay/player_parts.h"

/* How long to wait for recorded notifications on which nothing depends; us. */
enum { LINGER = 500 * 1000 };

/* Has all that has no session been played up to there? */
static bool
common_is_past(struct player *p, uint64_t number)
{
	const struct conversation *c = p->plan.common;

	return !c || ((!c->needed || c->needed->number > number) && (!c->own || c->own->number > number));
}

bool
player_try_begin(struct player *p, struct conversation *c)
{
	if (!c->open && !c->opened_by_response && common_is_past(p, c->first_record))
		plan_begin(&p->plan, c);
	return c->open;
}

/* --- what is due --- */

/* May a notification still come? Then p->wake says how long to wait for it. */
static bool
lingers(struct player *p)
{
	uint64_t until = p->last_notification + LINGER;

	if (p->left || !p->last_notification || until <= p->now)
		return false;
	if (!p->wake || until < p->wake)
		p->wake = until;
	return p->lingers = true;
}

/*
 * Removes a notification of the agent that need not be waited for. An agent never splits its text into the same chunks twice, so
 * one is waited for only while a request of the client is open and none of the agent, until the agent sends something that the
 * recording has later, and for LINGER after that. The notification that ends a turn (v2) has to come.
 */
static bool
try_settle(struct player *p, struct cue *q)
{
	if (q->kind != MSG_NOTIFICATION || p->them != ACP_AGENT)
		return false;
	if (q->ends_turn) {
		if (p->idle == 0 && !p->left)
			return false;
		p->idle -= p->idle > 0;
		p->taken += p->taken < p->arrived;
	} else if (p->taken < p->arrived) {
		p->taken++;
	} else if (q->number > p->reached && p->unanswered == 0 && !p->left) {
		if (requests_count(p->ours) > 0 || p->turn.n || lingers(p))
			return false;
	}
	plan_arrived(&p->plan, q);
	return true;
}

bool
player_settle_before(struct player *p, struct conversation *c, uint64_t number)
{
	while (c->needed && c->needed->number < number)
		if (!try_settle(p, c->needed))
			return true;
	return false;
}

bool
player_precedes(const struct player *p, const struct cue *k, const struct cue *q)
{
	/* Of what has no session only the first request has to do with all the others. */
	if (k->conversation == p->plan.common && k->what != ACP_INITIALIZE)
		return false;
	return k->response.number && k->response.number < q->number;
}

/*
 * A response waits for what its side sent after the request. The agent's also waits for the notifications and responses that
 * the client sent after it; a request of the client that was recorded in between may come later.
 */
static bool
response_is_ready(struct player *p, struct cue *q)
{
	struct conversation *c = q->conversation;
	uint64_t from = q->number, to = q->response.number;

	for (const struct own *own = c->own; own && own->number < to; own = own->next)
		if (own->number > from)
			return false;
	if (p->us == ACP_CLIENT)
		return true;
	if (c->own && c->own->number < from && !player_settle_before(p, c, c->own->number))
		return false; /* it only waits for its time */
	for (const struct cue *k = c->needed; k && k->number < to; k = k->next)
		if (k->number > from && k->kind != MSG_REQUEST && !k->optional)
			return false;
	for (const struct cue *k = c->pending; k; k = k->next)
		if (k->number < from && player_precedes(p, k, q))
			return false;
	return true;
}

/* Is it time for what was recorded at t? Else p->wake says when it will be. */
static bool
is_time(struct player *p, const struct conversation *c, uint64_t t)
{
	double pause;
	uint64_t due;

	if (p->options->speed <= 0 || t <= c->recorded)
		return true;
	pause = (double)(t - c->recorded) / p->options->speed;
	if (pause > (double)p->options->max_pause)
		pause = (double)p->options->max_pause;
	due = c->live + (uint64_t)pause;
	if (due <= p->now)
		return true;
	if (!p->wake || due < p->wake)
		p->wake = due;
	return false;
}

/* The message that is due next in a conversation. */
struct due {
	struct conversation *conversation;
	struct cue *answered; /* the response to this; NULL: the first record of ours */
	uint64_t number;
};

/* False where nothing is. *waits: something will be when it is time. */
static bool
find_due(struct player *p, struct conversation *c, struct due *d, bool *waits)
{
	const struct own *own = c->own;
	struct cue *q;

	*d = (struct due){.conversation = c};
	if (!own)
		player_settle_before(p, c, UINT64_MAX); /* what is not waited for makes room for more to be read */
	if (own && player_try_begin(p, c) && !player_settle_before(p, c, own->number)) {
		if (is_time(p, c, own->t))
			d->number = own->number;
		else
			*waits = true;
	}
	DL_FOREACH(c->pending, q) {
		if (!q->response.number || (d->number && q->response.number > d->number) || !response_is_ready(p, q))
			continue;
		if (!is_time(p, c, q->response.t)) {
			*waits = true;
			continue;
		}
		d->number = q->response.number;
		d->answered = q;
	}
	*waits |= p->lingers;
	return d->number != 0;
}

/* Reads it again: its text, and where that is a message that may not go as it is, that scanned. 0 or -1. */
static int
read_again(struct player *p, const struct conversation *c, const struct own *own, struct slice *text, struct msg *m)
{

	if (script_read(p->plan.script, own->place, text) < 0)
		return -1;
	if (own->kind != RECORD_MESSAGE || player_is_unchanged(p, c, own) || msg_scan(*text, m, NULL) != MSG_NOISE)
		return 0;
	errno = EIO; /* it was one when it was read first */
	return -1;
}

static int
send_due(struct player *p, const struct due *d)
{
	struct conversation *c = d->conversation;
	const struct own *own = d->answered ? &d->answered->response : c->own;
	const struct record *last = &p->plan.last;
	struct slice text = last->text;
	const struct msg *m = &last->msg;
	struct msg again;

	if (own->number != last->number || own->kind != last->kind) {
		m = &again;
		if (read_again(p, c, own, &text, &again) < 0)
			return -1;
	}
	if (d->answered)
		return player_send_response(p, d->answered, text, m);
	if (player_send(p, c, own, text, m) < 0)
		return -1;
	plan_sent(&p->plan, c);
	return 0;
}

int
player_send_next(struct player *p)
{
	struct conversation **at = &p->touched, *c;
	struct due first = {0}, d;
	bool waits;

	p->wake = 0;
	p->lingers = false;
	while ((c = *at)) {
		waits = false;
		if (find_due(p, c, &d, &waits)) {
			if (!first.number || d.number < first.number)
				first = d;
		} else if (!waits) {
			c->touched = false;
			*at = c->next_touched;
			continue;
		}
		at = &c->next_touched;
	}
	if (!first.number)
		return 0;
	return send_due(p, &first) < 0 ? -1 : 1;
}

/* --- reading --- */

int
player_read(struct player *p)
{
	const struct record *last = &p->plan.last;
	const struct reading *r = &p->plan.reading;

	if (plan_read(&p->plan) < 0)
		return -1;
	recorder_read(p->recorder, last);
	if (r->sender_unknown) {
		player_warn(p, last->number, "left out: the sender is unknown");
		p->missed = true;
	}
	if (p->plan.end == PLAN_GOES_ON && last->kind == RECORD_LOST)
		player_warn(p, last->number, "%llu records are missing here: %.*s", (unsigned long long)last->count,
			(int)last->text.n, last->text.n ? last->text.p : "");
	if (r->conversation && (!r->cue || p->us == ACP_CLIENT))
		player_touch(p, r->conversation);
	return 0;
}

int
player_read_to(struct player *p, const uint64_t *number)
{
	while (!*number && p->plan.end == PLAN_GOES_ON)
		if (player_read(p) < 0)
			return -1;
	return 0;
}
