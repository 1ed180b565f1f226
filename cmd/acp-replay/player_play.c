/* Plays on, and the ends. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

static const char name[] = "acp-replay";

/* --- ends --- */

static void
count_in(const struct conversation *c, uint64_t *ours, uint64_t *theirs)
{
	const struct own *own;
	const struct cue *q;

	DL_FOREACH(c->cues, q) {
		*theirs += !q->optional;
		*ours += !q->optional && q->response.number;
	}
	DL_FOREACH(c->pending, q)
		*ours += q->response.number > 0;
	DL_FOREACH(c->own, own)
		*ours += own->kind == RECORD_MESSAGE;
}

/* What of the rest each side would have sent. */
static int
count_rest(struct player *p, uint64_t *ours, uint64_t *theirs)
{
	const struct conversation *c = NULL;

	*ours = *theirs = 0;
	while (p->plan.end != PLAN_END && p->plan.end != PLAN_BAD) {
		plan_pass(&p->plan);
		if (player_read(p) < 0)
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
	bool response = q->kind == MSG_RESPONSE;
	struct slice text;
	struct msg m;

	if (script_read(p->plan.script, response ? q->request : q->place, &text) < 0 ||
		buf_add_string(to, response ? "the response to " : "") < 0)
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
	const struct cue *q = player_first_needed(p, NULL, false);
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
	if (p->plan.script->hop)
		cli_warn(name, "%s: no messages of hop %s", p->plan.script->path, p->plan.script->hop);
	else
		cli_warn(name, "%s: no messages", p->plan.script->path);
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
	int status = recording_status(r);

	/* A signal that has no name here is a failure, too. */
	return r->status < 0 && status == 0 ? EXIT_FAILED : proc_status(status);
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
	if (c && !c->own)
		player_settle_before(p, c, UINT64_MAX);
	return p->plan.held == 0;
}

static bool
wants_to_read(const struct plan *plan)
{
	if (plan->end != PLAN_GOES_ON)
		return false;
	return plan->unread > 0 || plan->held == 0 || (plan->idle > 0 && plan->held < PLAYER_AHEAD);
}

enum play
player_play(struct player *p)
{
	enum play play;
	int n;

	for (;;) {
		if (p->out->out.full)
			return PLAY_FULL;
		n = player_send_next(p);
		if (n == 0)
			n = player_retry(p);
		if (n < 0)
			return PLAY_FAILED;
		if (n > 0)
			continue;
		if (wants_to_read(&p->plan)) {
			if (player_read(p) < 0)
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
