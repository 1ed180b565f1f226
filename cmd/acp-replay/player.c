/* Decides when each message is sent: the order within conversations, the pauses, the ends. */
#include "cmd/acp-replay/player_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "lib/run/proc.h"

static const char name[] = "acp-replay";

/* How long to wait for recorded notifications on which nothing depends; us. */
enum { LINGER = 500 * 1000 };

int
player_open(struct player *p, const struct player_options *o, struct script *s, struct endpoint *out, struct endpoint *err)
{
	*p = (struct player){.options = o, .script = s, .out = out, .err = err, .us = o->us, .them = acp_other_side(o->us)};
	p->ours = requests_new();
	p->ids = ids_new(o->keep_paths);
	return plan_open(&p->plan, s, &o->range, o->us) == 0 && p->ours && p->ids ? 0 : -1;
}

void
player_close(struct player *p)
{
	struct waiting *w, *next;

	DL_FOREACH_SAFE(p->waiting, w, next)
		free(w);
	plan_close(&p->plan);
	requests_free(p->ours);
	ids_free(p->ids);
	buf_free(&p->turn);
	buf_free(&p->text);
}

static void
warn_at(const char *where, const char *before, uint64_t number, const char *format, va_list args)
{
	SCOPED struct buf text = {0};

	if (buf_vprintf(&text, format, args) == 0 && number)
		cli_warn(name, "%s:%s%llu: %.*s", where, before, (unsigned long long)number, (int)text.n, text.p);
	else if (text.n)
		cli_warn(name, "%s: %.*s", where, (int)text.n, text.p);
}

void
player_warn(const struct player *p, uint64_t number, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn_at(p->script->path, "", number, format, args);
	va_end(args);
}

void
player_warn_live(const struct player *p, uint64_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	warn_at(acp_side_name(p->them), " line ", line, format, args);
	va_end(args);
}

/* --- conversations --- */

static void
touch(struct player *p, struct conversation *c)
{
	if (c->touched)
		return;
	c->touched = true;
	c->next_touched = p->touched;
	p->touched = c;
	if (!c->live)
		c->live = p->now;
}

void
player_touch(struct player *p, struct conversation *c)
{
	struct conversation *shut;

	touch(p, c);
	if (c == p->plan.common)
		DL_FOREACH(p->plan.unopened, shut)
			touch(p, shut);
}

void
player_happened(struct player *p, struct conversation *c, uint64_t recorded)
{
	c->live = p->now;
	c->recorded = recorded;
	player_touch(p, c);
}

/* Has all that has no session been played up to there? */
static bool
common_is_past(struct player *p, uint64_t number)
{
	struct conversation *c = p->plan.common;
	const struct own *own = c ? plan_first(c) : NULL;

	if (!c)
		return true;
	return (!c->cues || c->cues->number > number) && (!own || own->number > number);
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
	plan_forget(&p->plan, q);
	return true;
}

/* Removes what need not be waited for. True where a message of the live side has to come before that record. */
static bool
settle_before(struct player *p, struct conversation *c, uint64_t number)
{
	while (c->cues && c->cues->number < number)
		if (!try_settle(p, c->cues))
			return true;
	return false;
}

/* Was q sent after k had its response? */
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
	const struct own *own = plan_first(c);

	for (size_t i = c->first; i < c->nown && c->own[i].number < to; i++)
		if (c->own[i].number > from)
			return false;
	if (p->us == ACP_CLIENT)
		return true;
	if (own && own->number < from && !settle_before(p, c, own->number))
		return false; /* it only waits for its time */
	for (const struct cue *k = c->cues; k && k->number < to; k = k->next)
		if (k->number > from && k->kind != MSG_REQUEST)
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
	const struct own *own = plan_first(c);
	struct cue *q;

	*d = (struct due){.conversation = c};
	if (!own)
		settle_before(p, c, UINT64_MAX); /* what is not waited for makes room for more to be read */
	if (own && player_try_begin(p, c) && !settle_before(p, c, own->number)) {
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

static int
send_due(struct player *p, const struct due *d)
{
	const struct own own = d->answered ? d->answered->response : *plan_first(d->conversation);
	struct slice text;
	struct msg m = {0};

	if (script_read(p->script, own.place, &text) < 0)
		return -1;
	if (player_is_unchanged(p, d->conversation, &own)) {
		plan_sent(&p->plan, d->conversation);
		return player_send(p, d->conversation, &own, text, NULL);
	}
	if (own.kind == RECORD_MESSAGE && msg_scan(text, &m, NULL) == MSG_NOISE) {
		errno = EIO; /* it was one when it was read first */
		return -1;
	}
	if (d->answered)
		return player_send_response(p, d->answered, text, &m);
	plan_sent(&p->plan, d->conversation);
	return player_send(p, d->conversation, &own, text, &m);
}

/* Of all that is due the first of the recording goes out. 1, 0 where nothing is due, or -1. */
static int
send_next(struct player *p)
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

/* Sends a record of ours that has just been read, if it is due; else keeps it. */
static int
play_own(struct player *p, bool send, const struct reading *r)
{
	struct conversation *c = r->conversation;

	if (r->answered) {
		player_touch(p, c);
		if (send && r->answered->arrived && response_is_ready(p, r->answered) && is_time(p, c, r->own.t))
			return player_send_response(p, r->answered, r->text, r->msg);
		return 0;
	}
	if (send && !plan_first(c) && player_try_begin(p, c) && !settle_before(p, c, r->own.number) && is_time(p, c, r->own.t))
		return player_send(p, c, &r->own, r->text, r->msg);
	player_touch(p, c);
	return plan_keep(&p->plan, c, &r->own);
}

int
player_read(struct player *p, bool send, struct reading *r)
{
	const struct record *last = &p->plan.last;

	if (plan_read(&p->plan, r) < 0)
		return -1;
	recorder_read(p->recorder, last);
	if (r->sender_unknown) {
		player_warn(p, last->number, "left out: the sender is unknown");
		p->missed = true;
	}
	if (p->plan.end == PLAN_GOES_ON && last->kind == RECORD_LOST)
		player_warn(p, last->number, "%llu records are missing here: %.*s", (unsigned long long)last->count,
			(int)last->text.n, last->text.n ? last->text.p : "");
	if (r->cue && p->us == ACP_CLIENT)
		player_touch(p, r->conversation);
	return r->own.number ? play_own(p, send, r) : 0;
}

static bool
wants_to_read(const struct plan *plan)
{
	if (plan->end != PLAN_GOES_ON)
		return false;
	return plan->unread > 0 || plan->held == 0 || (plan->idle > 0 && plan->held < PLAYER_AHEAD);
}

/* --- ends --- */

/* What the live side has to send first. */
static const struct cue *
first_cue(const struct player *p)
{
	const struct conversation *c = NULL;
	const struct cue *first = NULL;

	while ((c = plan_next(&p->plan, c)))
		if (c->cues && (!first || c->cues->number < first->number))
			first = c->cues;
	return first;
}

static void
count_in(const struct conversation *c, uint64_t *ours, uint64_t *theirs)
{
	const struct cue *q;

	DL_FOREACH(c->cues, q) {
		++*theirs;
		*ours += q->kind == MSG_REQUEST && q->response.number;
	}
	DL_FOREACH(c->pending, q)
		*ours += q->response.number > 0;
	for (size_t i = c->first; i < c->nown; i++)
		*ours += c->own[i].kind == RECORD_MESSAGE;
}

/* What of the rest each side would have sent. */
static int
count_rest(struct player *p, uint64_t *ours, uint64_t *theirs)
{
	const struct conversation *c = NULL;
	struct reading r;

	*ours = *theirs = 0;
	while (p->plan.end != PLAN_END && p->plan.end != PLAN_BAD) {
		plan_pass(&p->plan);
		if (player_read(p, false, &r) < 0)
			return -1;
	}
	while ((c = plan_next(&p->plan, c)))
		count_in(c, ours, theirs);
	return 0;
}

/* "session/new", or "the response to ...": a cue in words. */
static int
describe(struct player *p, const struct cue *q, struct buf *to)
{
	struct slice text;
	struct msg m;

	if (script_read(p->script, q->call ? q->call->place : q->place, &text) < 0 ||
		buf_add_string(to, q->call ? "the response to " : "") < 0)
		return -1;
	msg_scan(text, &m, NULL);
	return buf_add_slice(to, m.method);
}

static enum play
abandon(struct player *p)
{
	const char *them = acp_side_name(p->them);
	const char *why = p->timed_out ? "no message came within --timeout" : p->interrupted ? "stopped by a signal"
		: p->us == ACP_AGENT ? "the client left" : "the agent left";
	const struct cue *q = first_cue(p);
	SCOPED struct buf what = {0};
	uint64_t number = q ? q->number : p->plan.last.number, ours, theirs;
	int failed;

	failed = q ? describe(p, q, &what) : buf_add_string(&what, "the end of the recording");
	if (failed == 0)
		failed = count_rest(p, &ours, &theirs);
	if (failed == 0)
		player_warn(p, number, "%s before %.*s; not played: %llu of the %s's messages and %llu of the %s's", why, (int)what.n, what.p,
			(unsigned long long)theirs, them, (unsigned long long)ours, acp_side_name(p->us));
	p->missed = true;
	return failed ? PLAY_FAILED : PLAY_ABANDONED;
}

void
player_finish(struct player *p)
{
	const struct waiting *w;

	DL_FOREACH(p->waiting, w) {
		player_warn_live(p, w->line, "no response was sent: the recording ended before this request was due");
		p->missed = true;
	}
}

static enum play
end_of_recording(struct player *p)
{
	if (p->plan.begun)
		return PLAY_OVER;
	if (p->script->hop)
		cli_warn(name, "%s: no messages of hop %s", p->script->path, p->script->hop);
	else
		cli_warn(name, "%s: no messages", p->script->path);
	return PLAY_BAD;
}

static enum play
bad_record(struct player *p)
{
	const struct record *r = &p->plan.last;

	if (r->torn && p->plan.begun) {
		player_warn(p, r->number, "the last record is torn and is ignored");
		p->plan.end = PLAN_END;
		return end_of_recording(p);
	}
	player_warn(p, r->number, "byte %zu: %s", r->error.at, r->error.what);
	return PLAY_BAD;
}

int
player_exit_status(const struct player *p)
{
	const struct record *r = &p->plan.last;

	if (r->status >= 0)
		return r->status;
	for (int s = 1; s < 65; s++)
		if (proc_signal_name(s) && slice_is(r->signal, proc_signal_name(s)))
			return 128 + s;
	return EXIT_FAILED;
}

/* The recording from its beginning again; what is known of ids stays. */
static int
begin_again(struct player *p)
{
	struct request *r = NULL;

	/* A late response to a request of this round is ignored. */
	while ((r = requests_next(p->ours, r)))
		r->owner = NULL;
	p->touched = NULL;
	p->again = true;
	p->played = false;
	p->arrived = p->taken = p->reached = p->idle = 0;
	p->turn.n = 0;
	p->unanswered = 0;
	return plan_rewind(&p->plan);
}

/* All has been played up to an end of the plan. True: play on. */
static bool
pass_end(struct player *p, enum play *play)
{
	switch (p->plan.end) {
	case PLAN_END:
		*play = end_of_recording(p);
		if (*play != PLAY_OVER || !p->options->loop || p->left || !p->played)
			return false;
		*play = PLAY_FAILED;
		return begin_again(p) == 0;
	case PLAN_BAD:
		*play = bad_record(p);
		return false;
	case PLAN_EXIT:
		*play = PLAY_EXIT;
		return false;
	case PLAN_WE_LEAVE:
		*play = PLAY_LEAVE;
		plan_pass(&p->plan);
		return false;
	case PLAN_THEY_LEAVE:
		*play = PLAY_WAITING;
		if (!p->left)
			return false;
		plan_pass(&p->plan);
		return true;
	default:
		return true;
	}
}

/* Has all that is in the plan been played? */
static bool
is_played(struct player *p)
{
	struct conversation *c = p->plan.common;

	/* A client does not wait for the agent's last notifications. */
	if (c && !plan_first(c))
		settle_before(p, c, UINT64_MAX);
	return p->plan.held == 0;
}

enum play
player_play(struct player *p)
{
	struct reading r;
	enum play play;
	int n;

	for (;;) {
		if (p->out->out.full)
			return PLAY_FULL;
		n = send_next(p);
		if (n == 0)
			n = player_retry(p);
		if (n < 0)
			return PLAY_FAILED;
		if (n > 0)
			continue;
		if (wants_to_read(&p->plan)) {
			if (player_read(p, true, &r) < 0)
				return PLAY_FAILED;
		} else if (p->plan.end != PLAN_GOES_ON && !p->wake && is_played(p)) {
			if (!pass_end(p, &play))
				return play;
		} else if ((p->wake && !p->interrupted) || !p->left) {
			return PLAY_WAITING;
		} else {
			return p->again && !p->played ? PLAY_OVER : abandon(p);
		}
	}
}
