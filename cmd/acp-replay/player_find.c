/* Live messages are looked up in the recording. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

/* Learns which ids and directories stand for which from a recorded message and the live one. 0 or -1. */
static int
learn(struct player *p, const struct cue *q, const struct msg *live)
{
	struct compare c = player_comparison(p, q, NULL, NULL);
	struct msg m;

	c.match = MATCH_PARAMS;
	c.learn = true;
	if (player_recorded(p, q, &m) < 0)
		return -1;
	return compare_messages(&c, &m, live) < 0 ? -1 : 0;
}

/* --- looking for it --- */

/* Is it the cancel of this turn or of a later one? */
static bool
is_cancel_of_later(const struct cue *prompt, const struct cue *q)
{
	return q->what == ACP_SESSION_CANCEL && prompt->what == ACP_SESSION_PROMPT;
}

/* Another one that has to come first and has not come; or NULL. */
static struct cue *
find_earlier(struct player *p, const struct cue *q)
{
	struct conversation *c = q->conversation;

	if (p->us == ACP_CLIENT || q->optional)
		return NULL;
	if (!player_try_begin(p, c) && p->plan.common && p->plan.common->needed)
		return p->plan.common->needed;
	for (struct cue *k = c->needed; k && k->number < q->number; k = k->next)
		if (k->kind == MSG_REQUEST && !k->optional && (player_precedes(p, k, q) || is_cancel_of_later(k, q)))
			return k;
	return NULL;
}

/* Do they belong to sessions that can be the same? */
static bool
same_session(struct player *p, const struct cue *q, struct slice live)
{
	struct slice recorded = q->conversation->session;

	if (!recorded.p || !live.p)
		return true;
	return ids_judge(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, recorded, live) != IDS_CONFLICT;
}

/* A message through the program; one on which it fails is as it was. The same as normalize_message. */
static enum normalized
normalized(struct player *p, const struct request *r, const struct msg *m, struct buf *to)
{
	char *why = NULL;
	enum normalized n = normalize_message(p->options->normalize, p->them, m, r, to, &why);

	if (n != NORMALIZE_FAILED || !why)
		return n;
	player_warn_live(p, p->lines, "--normalize: %s", why);
	free(why);
	to->n = 0;
	return buf_add_slice(to, m->text) < 0 ? NORMALIZE_FAILED : NORMALIZE_DONE;
}

int
player_compare(struct player *p, const struct compare *c, const struct request *r, const struct msg *recorded,
	const struct msg *live)
{
	SCOPED struct buf a = {0}, b = {0};
	enum normalized one, other;
	struct msg ma, mb;

	if (!p->options->normalize)
		return compare_messages(c, recorded, live);
	one = normalized(p, r, recorded, &a);
	other = normalized(p, r, live, &b);
	if (one == NORMALIZE_FAILED || other == NORMALIZE_FAILED)
		return -1;
	if (one != other || one == NORMALIZE_NOTHING)
		return one != other;
	if (msg_scan(buf_slice(&a), &ma, NULL) != MSG_NOISE && msg_scan(buf_slice(&b), &mb, NULL) != MSG_NOISE)
		return compare_messages(c, &ma, &mb);
	return compare_values(c, buf_slice(&a), buf_slice(&b));
}

/*
 * 1, 0, or -1 with errno. *close: without that anything stands for something else, which makes a
 * difference where a session is begun: any directory may stand for any other.
 */
static int
fits(struct player *p, const struct cue *q, const struct msg *live, bool *close)
{
	struct compare c = player_comparison(p, q, NULL, NULL);
	struct msg m;
	int differ;

	*close = true;
	/* A client answers as well as it can: a request that does not fit is taken by its method. */
	if (p->us == ACP_CLIENT)
		c.match = MATCH_PARAMS;
	if (!same_session(p, q, msg_session(live)))
		return 0;
	if (c.match == MATCH_METHOD)
		return 1;
	if (player_recorded(p, q, &m) < 0)
		return -1;
	differ = player_compare(p, &c, NULL, &m, live);
	if (differ != 0 || p->options->normalize || !acp_opens_session(q->what))
		return differ < 0 ? -1 : !differ;
	c.ids = NULL;
	differ = compare_messages(&c, &m, live);
	*close = differ == 0;
	return differ < 0 ? -1 : 1;
}

/* Is the message meant by this cue? 1 yes; 0 no, or too early, or a closer one may be found; -1. */
static int
try_candidate(struct player *p, struct cue *q, const struct msg *live, struct candidate *f)
{
	struct cue *expected;
	bool close;
	int r = fits(p, q, live, &close);

	if (r <= 0)
		return r;
	expected = find_earlier(p, q);
	if (f->cue && (expected || (!f->expected && !close)))
		return 0;
	*f = (struct candidate){q, expected, close};
	return !expected && close;
}

/* The conversation that a live message belongs to; NULL where it names no session. */
static struct conversation *
conversation_of(struct player *p, const struct msg *live)
{
	struct slice session = msg_session(live);

	if (p->us == ACP_CLIENT)
		return p->plan.common;
	return session.p ? player_conversation(p, session) : NULL;
}

/*
 * Is more to be read? Without all only so much as is kept anyway, and no more for one that is only too
 * early, or that could fit better.
 */
static bool
is_worth_reading(const struct player *p, const struct candidate *f, bool all)
{
	if (p->plan.end != PLAN_GOES_ON || (f->cue && (f->expected || f->close)))
		return false;
	return p->plan.held < PLAYER_AHEAD || (all && !f->cue);
}

int
player_find(struct player *p, const struct msg *live, bool all, struct candidate *f)
{
	const struct conversation *c = conversation_of(p, live);
	const struct wanted w = plan_wanted(&p->plan, live);
	struct cue *q = NULL;
	int r = 0;

	*f = (struct candidate){0};
	while (r == 0 && (q = plan_next_wanted(&p->plan, &w, c, q)))
		r = try_candidate(p, q, live, f);
	while (r == 0 && is_worth_reading(p, f, all)) {
		if (player_read(p) < 0)
			return -1;
		q = p->plan.reading.cue;
		if (q && plan_is_wanted(&w, q))
			r = try_candidate(p, q, live, f);
	}
	return r < 0 ? r : f->cue && !f->expected;
}

struct cue *
player_next_of_method(struct player *p, const struct msg *live)
{
	const struct conversation *c = conversation_of(p, live);
	const struct wanted w = plan_wanted(&p->plan, live);
	struct cue *q = NULL, *first = NULL;

	while ((q = plan_next_wanted(&p->plan, &w, c, q)))
		if (!first || q->number < first->number)
			first = q;
	return first;
}

/* --- what has come --- */

static int
keep_id(struct cue *q, const struct msg *live)
{
	q->id = malloc(live->id.n);
	if (!q->id)
		return -1;
	memcpy(q->id, live->id.p, live->id.n);
	q->nid = live->id.n;
	return 0;
}

int
player_accept(struct player *p, struct cue *q, const struct msg *live)
{
	if (learn(p, q, live) < 0 || (q->kind == MSG_REQUEST && keep_id(q, live) < 0))
		return -1;
	p->moved = p->played = true;
	p->taken = p->arrived;
	if (q->number > p->reached)
		p->reached = q->number;
	/* Who names a session knows it, whether the beginning was played or not. */
	if (q->conversation->session.p && msg_session(live).p)
		plan_begin(&p->plan, q->conversation);
	player_happened(p, q->conversation, q->t);
	p->unanswered += q->kind == MSG_REQUEST;
	plan_arrived(&p->plan, q);
	return 0;
}
