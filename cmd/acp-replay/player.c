/* The player: begins, plays as far as it can, and ends. */
#include <stdlib.h>

#include "cmd/acp-replay/player.h"

static void
forget_all(struct player *p)
{
	for (size_t i = 0; i < p->plan.nlanes; i++)
		while (p->plan.lanes[i].pending)
			player_forget(&p->plan.lanes[i], p->plan.lanes[i].pending);
}

int
player_open(struct player *p, const struct replay_options *o, struct endpoint *out, struct endpoint *err)
{
	int r;

	p->options = o;
	p->out = out;
	p->err = err;
	p->ours = requests_new();
	p->ids = ids_new(o->keep_paths);
	if (!p->ours || !p->ids)
		return -1;
	r = plan_read(&p->plan, o);
	p->missed = p->plan.missed;
	return r;
}

void
player_close(struct player *p)
{
	struct waiting *w, *next;

	DL_FOREACH_SAFE(p->waiting, w, next)
		free(w);
	forget_all(p);
	plan_close(&p->plan);
	requests_free(p->ours);
	ids_free(p->ids);
	buf_free(&p->text);
}

/* --- items that were not played --- */

/* Was the item not played, although it should have been? The agent's notifications count only after the client's last wait for them. */
static bool
was_missed(const struct player *p, uint32_t i)
{
	const struct item *item = player_item(p, i);
	const uint8_t flags = p->plan.parts[i].flags;

	if (!flags || flags & (PART_DONE | PART_RELAXED) || item->record != RECORD_MESSAGE)
		return false;
	if (flags & PART_OURS)
		return item->kind != MSG_RESPONSE || item->pair == ITEM_NONE || p->plan.parts[item->pair].flags & PART_DONE ||
			was_missed(p, item->pair);
	if (p->plan.us == ACP_CLIENT)
		return item->kind != MSG_NOTIFICATION || i >= plan_lane(&p->plan, i)->walked;
	return flags & PART_NEEDED;
}

/* Appends an item in words: "session/new", or "the response to ...". 0, or -1 out of memory. */
static int
describe(struct player *p, uint32_t item, struct buf *to)
{
	bool response = player_item(p, item)->kind == MSG_RESPONSE;
	struct msg m;

	if (items_message(&p->plan.items, response ? player_item(p, item)->pair : item, &m) < 0 ||
		buf_add_string(to, response ? "the response to " : "") < 0)
		return -1;
	return buf_add_slice(to, m.method);
}

static enum play
abandon(struct player *p)
{
	const char *why = p->timed_out ? "no message came within --timeout" : p->interrupted ? "stopped by a signal"
		: p->plan.us == ACP_AGENT ? "the client left" : "the agent left";
	uint32_t item = player_first_awaited(p, NULL, false);
	uint64_t line = player_item(p, item != ITEM_NONE ? item : (uint32_t)p->plan.items.n - 1)->line, ours = 0, theirs = 0;
	SCOPED struct buf what = {0};

	p->missed = true;
	if (item != ITEM_NONE ? describe(p, item, &what) < 0 : buf_add_string(&what, "the end of the recording") < 0)
		return PLAY_FAILED;
	for (uint32_t i = 0; i < p->plan.items.n; i++)
		*(p->plan.parts[i].flags & PART_OURS ? &ours : &theirs) += was_missed(p, i);
	player_warn(p, false, line, "%s before %.*s; not played: %llu of the %s's messages and %llu of the %s's", why, (int)what.n, what.p,
		(unsigned long long)theirs, acp_side_name(p->plan.them), (unsigned long long)ours, acp_side_name(p->plan.us));
	return PLAY_ABANDONED;
}

void
player_finish(struct player *p, bool over)
{
	const struct waiting *w;
	uint32_t item = ITEM_NONE;
	SCOPED struct buf what = {0};

	DL_FOREACH(p->waiting, w) {
		player_warn(p, true, w->line, "no response was sent: the recording ended before this request was due");
		p->missed = true;
	}
	while (over && p->plan.us == ACP_CLIENT && (item = plan_next_theirs(&p->plan, NULL, item)) != ITEM_NONE) {
		if (player_item(p, item)->kind != MSG_REQUEST)
			continue;
		what.n = 0;
		if (describe(p, item, &what) == 0)
			player_warn(p, false, player_item(p, item)->line, "the agent did not send %.*s", (int)what.n, what.p);
		p->missed = true;
	}
}

/* --- playing --- */

/* Handles the end of a side, or of the recording, when all items before it were played. True: the play goes on. */
static bool
pass_end(struct player *p, enum play *play)
{
	struct plan *plan = &p->plan;
	struct request *r = NULL;

	if (plan->end < plan->items.n) {
		*play = player_item(p, plan->end)->from == p->plan.us ? PLAY_LEAVE : PLAY_WAITING;
		if (*play == PLAY_WAITING && !p->left)
			return false;
		plan_pass(plan);
		return *play != PLAY_LEAVE;
	}
	*play = plan->exit_status >= 0 ? PLAY_EXIT : PLAY_OVER;
	if (*play == PLAY_EXIT || !p->options->loop || p->left || !p->played)
		return false;
	/* --loop: play again from the beginning, and ignore late responses to requests of this round. */
	while ((r = requests_next(p->ours, r)))
		r->owner = NULL;
	forget_all(p);
	p->again = true;
	p->played = false;
	plan_rewind(plan);
	return true;
}

/* Were all items up to the end played, and will nothing more come? */
static bool
is_played(struct player *p)
{
	bool waits = false;

	if (plan_first(&p->plan) < p->plan.end)
		return false;
	for (size_t i = 0; p->plan.us == ACP_CLIENT && i < p->plan.nlanes; i++)
		waits |= player_wants_more(p, &p->plan.lanes[i], p->plan.end);
	return !waits;
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
		if (!p->wake && is_played(p)) {
			if (!pass_end(p, &play))
				return play;
		} else if ((p->wake && !p->interrupted) || !p->left) {
			return PLAY_WAITING;
		} else {
			return p->again && !p->played ? PLAY_OVER : abandon(p);
		}
	}
}
