/* Finds out what the counts of a response cover: by the agent, or by clear evidence; else one turn. */
#include <stdio.h>

#include "lib/usage/usage_parts.h"

enum { CLEAR_TURNS = 3 }; /* as evidence of a running total, at least this number of turns has to add up to it */

enum {
	ALL_BESIDE = USAGE_READ_BESIDE | USAGE_WRITE_BESIDE | USAGE_THOUGHT_INSIDE,
	ALL_INSIDE = USAGE_READ_INSIDE | USAGE_WRITE_INSIDE,
};

/* Agents by a part of their name. below: the row is only for versions before this one. */
static const struct {
	const char *name;
	unsigned below[2];
	enum usage_basis basis;
	uint8_t inside;
	bool covers;
} agents[] = {
	{"claude-agent-acp", {0}, USAGE_TURN, ALL_BESIDE, true},
	{"codex-acp", {2, 6}, USAGE_LAST_CALL, ALL_BESIDE, false},
	{"codex-acp", {0}, USAGE_TURN, ALL_BESIDE, false},
	{"gemini", {0}, USAGE_TURN, ALL_INSIDE | USAGE_THOUGHT_BESIDE, false},
	{"qwen", {0}, USAGE_TURN, ALL_INSIDE | USAGE_THOUGHT_INSIDE, false},
	{"opencode", {0}, USAGE_LAST_CALL, ALL_BESIDE, false},
	{"hermes", {0}, USAGE_SESSION, 0, false},
};

void
usage_agent_infer(const char *name, const char *version, struct agent *to)
{
	char digits[2][9] = {"", ""};
	unsigned major, minor;

	/* A version without numbers is 0.0. */
	sscanf(version + (*version == 'v'), "%8[0-9]%*c%8[0-9]", digits[0], digits[1]);
	major = (unsigned)strtoul(digits[0], NULL, 10);
	minor = (unsigned)strtoul(digits[1], NULL, 10);
	for (size_t i = 0; i < sizeof(agents) / sizeof(*agents); i++) {
		if (!strcasestr(name, agents[i].name))
			continue;
		if (agents[i].below[0] && (major > agents[i].below[0] || (major == agents[i].below[0] && minor >= agents[i].below[1])))
			continue;
		to->basis = agents[i].basis;
		to->inside = agents[i].inside;
		to->covers = agents[i].covers;
		return;
	}
}

uint8_t
usage_inside(const struct usage *u, const struct usage_part *p)
{
	uint8_t by_agent = u->agents[p->agent].inside, inside = 0, both;

	for (unsigned i = 0; i < 6; i += 2) {
		both = (uint8_t)(3u << i);
		/* Where the totals say nothing, or contradict each other, the agent's name decides. */
		inside |= (p->inside & both) && (p->inside & both) != both ? p->inside & both : by_agent & both;
	}
	return inside;
}

enum usage_basis
usage_session_basis(const struct usage *u, const struct usage_session *s)
{
	const struct usage_part *p = s->now ? s->now : s->tail;
	enum usage_basis basis = u->spec.basis;

	if (basis == USAGE_AUTO && p)
		basis = u->agents[p->agent].basis != USAGE_AUTO ? u->agents[p->agent].basis : p->basis;
	return basis != USAGE_AUTO ? basis : USAGE_TURN;
}

bool
usage_reported(const struct usage_turn *t, struct usage_sums *to)
{
	*to = (struct usage_sums){0};
	if (t->calls)
		*to = *t->calls;
	for (size_t i = 0; !t->calls && i < t->nrows; i++)
		usage_sums_count(to, &t->rows[i].counts);
	return to->has != 0;
}

/* Is any count below its last value? */
static bool
fell(const struct usage_counts *now, const struct usage_counts *before)
{
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if ((now->has & before->has & 1u << i) && now->n[i] < before->n[i])
			return true;
	return false;
}

void
usage_infer_basis(struct usage_session *s, const struct usage_turn *t)
{
	decimal_units now = (decimal_units)usage_total_of(&t->counts), of_turn = 0;
	struct usage_sums reported;

	if (!t->counts.has)
		return;
	if (usage_reported(t, &reported))
		of_turn = usage_total(&reported);
	if (of_turn == 0)
		s->against = USAGE_UNREPORTED;
	else if (!s->against && s->last.has && fell(&t->counts, &s->last))
		s->against = USAGE_FELL;
	s->reported_total += of_turn;
	s->reported_turns++;
	if (t->ncalls > 1 && now == (decimal_units)t->last_call && now != of_turn)
		s->now->basis = USAGE_LAST_CALL;
	else if (!s->against && s->reported_turns >= CLEAR_TURNS && now == s->reported_total && now != of_turn)
		s->now->basis = USAGE_SESSION;
}

bool
usage_turn_own(const struct usage_session *s, const struct usage_turn *t, enum usage_basis b, struct usage_sums *own, bool *lower)
{
	*lower = false;
	*own = t->calls ? *t->calls : (struct usage_sums){0};
	if (!t->counts.has || (b == USAGE_LAST_CALL && t->calls))
		return own->has != 0;
	if (b == USAGE_SESSION && !s->last.has && s->origin != USAGE_FRESH) {
		/* If the session's beginning was not seen, the first running total includes earlier tokens. */
		*lower = !t->calls;
		return own->has != 0;
	}
	*own = (struct usage_sums){0};
	usage_sums_count(own, &t->counts);
	*lower = b == USAGE_LAST_CALL;
	if (b != USAGE_SESSION || (s->last.has && fell(&t->counts, &s->last)))
		return true;
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if (own->has & s->last.has & 1u << i)
			own->n[i] -= (decimal_units)s->last.n[i];
	/* Calls of turns without counts were added before. If they exceed the running total, the agent leaves them out of it. */
	for (unsigned i = 0; s->since && i < USAGE_TYPES; i++)
		if (own->has & s->since->has & 1u << i && own->n[i] >= s->since->n[i])
			own->n[i] -= s->since->n[i];
	/* An agent that was restarted may have begun its total at 0. */
	*lower = s->last.has && s->now->restarted && !s->now->has_counts;
	return true;
}

static bool
context(const struct usage *u, const struct usage_session *s, uint64_t *used)
{
	const struct usage_turn *t = &s->turn;

	*used = t->ncalls > 0 ? t->last_call : usage_total_of(&t->counts);
	return t->ncalls > 0 || (t->counts.has && usage_session_basis(u, s) == USAGE_LAST_CALL);
}

void
usage_keep_end(struct usage *u, const struct usage_session *s)
{
	bool lower;

	u->ended.session = s;
	u->ended.known = usage_turn_own(s, &s->turn, usage_session_basis(u, s), &u->ended.own, &lower) && !lower;
	u->ended.has_context = context(u, s, &u->ended.context);
}

bool
usage_turn_tokens(const struct usage *u, const struct usage_session *s, struct usage_sums *own)
{
	*own = u->ended.own;
	return u->ended.session == s && u->ended.known;
}

bool
usage_turn_context(const struct usage *u, const struct usage_session *s, uint64_t *used)
{
	if (u->ended.session != s)
		return context(u, s, used);
	*used = u->ended.context;
	return u->ended.has_context;
}
