/* How much a session may use: cost, tokens, turns, context. */
#include <inttypes.h>

#include "cmd/acp-budget/budget.h"

/* Bits of session.reached and session.unkept; of costs one for each amount. */
enum { TOKENS = 1, TURNS = 2, CONTEXT = 4, AT = 8, COST = 16 };

static int
put_limit(const struct money *m, struct buf *to)
{
	return buf_add_string(to, "--max-cost ") || decimal_put(&m->amount, to) || buf_printf(to, " %s", m->currency) ? -1 : 0;
}

static const struct usage_cost *
cost_in(const struct tool *t, const struct session *s, const char *currency)
{
	const struct usage_cost *c = s->usage ? s->usage->cost : NULL;

	while (c && !slice_is(usage_name(t->usage, c->currency), currency))
		c = c->next;
	return c;
}

/* text may be NULL. */
static bool
cost_reached(const struct tool *t, const struct session *s, const struct money *m, struct buf *text)
{
	const struct usage_cost *c = cost_in(t, s, m->currency);
	struct decimal total = {0};
	bool yes = c && usage_cost_total(c, &total) == 0 && decimal_compare(&total, &m->amount) >= 0;

	if (yes && text && (put_limit(m, text) || buf_add_string(text, " is reached: ") || decimal_put(&total, text)
			|| buf_printf(text, " %s", m->currency)))
		text->n = 0;
	decimal_free(&total);
	return yes;
}

/* The session's billed total. False where the agent does not tell. */
static bool
billed(const struct tool *t, const struct session *s, struct usage_sums *sums)
{
	if (!s->usage)
		return false;
	usage_session_billed(t->usage, s->usage, sums);
	return sums->has & 1u << USAGE_TOTAL;
}

static bool
tokens_reached(const struct tool *t, const struct session *s, struct buf *text)
{
	uint64_t most = t->options->max_tokens;
	struct usage_sums sums;

	if (most == UINT64_MAX || !billed(t, s, &sums) || (sums.over[USAGE_TOTAL] == 0 && sums.n[USAGE_TOTAL] < most))
		return false;
	if (text && (buf_add_string(text, "--max-tokens ") || put_grouped(text, most) || buf_add_string(text, " is reached: ")
			|| (sums.over[USAGE_TOTAL] ? usage_sum_put(&sums, USAGE_TOTAL, text) : put_grouped(text, sums.n[USAGE_TOTAL]))
			|| buf_add_string(text, " tokens")))
		text->n = 0;
	return true;
}

static bool
turns_reached(const struct tool *t, uint64_t turns, struct buf *text)
{
	if (turns < t->options->max_turns)
		return false;
	if (text && buf_printf(text, "--max-turns %" PRIu64 " is reached: %" PRIu64 " turn%s", t->options->max_turns, turns,
			turns == 1 ? "" : "s") < 0)
		text->n = 0;
	return true;
}

static bool
context_reached(const struct tool *t, const struct session *s, struct buf *text)
{
	const struct usage_session *u = s->usage;
	unsigned most = t->options->max_context;

	if (most == 0 || !u || !u->has_used || !u->has_size || !usage_reaches(u->used, u->size, most, true))
		return false;
	if (text && (buf_printf(text, "--max-context %u%% is reached: %d%%, ", most, usage_percent(u)) || put_grouped(text, u->used)
			|| buf_add_string(text, " of ") || put_grouped(text, u->size) || buf_add_string(text, " tokens")))
		text->n = 0;
	return true;
}

/* One limit, by its bit. */
static bool
reached(const struct tool *t, const struct session *s, unsigned bit, bool prompt, struct buf *text)
{
	size_t i;

	switch (bit) {
	case TOKENS:
		return tokens_reached(t, s, text);
	case TURNS:
		return turns_reached(t, prompt ? s->prompts : s->turns, text);
	case CONTEXT:
		return context_reached(t, s, text);
	default:
		for (i = 0; i < t->options->max_cost.n; i++)
			if (bit == (unsigned)COST << i)
				return cost_reached(t, s, &t->options->max_cost.at[i], text);
		return false;
	}
}

static unsigned
last_bit(const struct tool *t)
{
	return (unsigned)COST << t->options->max_cost.n;
}

bool
limits_reached(struct tool *t, const struct session *s, bool prompt, struct buf *text)
{
	unsigned bit;

	for (bit = TOKENS; bit < last_bit(t); bit <<= 1)
		if (reached(t, s, bit, prompt, text))
			return true;
	return false;
}

/* --hard: what runs is stopped. */
static void
stop(struct tool *t, struct session *s)
{
	struct buf params = {0};

	if (s->open == 0 && !s->busy && !s->asked && !(s->budget && s->budget->nudging))
		return;
	if (buf_printf(&params, "{\"%s\":", acp_session_id) || buf_add_slice(&params, s->id) || buf_add(&params, "}", 1)
		|| frame_notify(t->frame, LANE_DOWN, acp_name(ACP_SESSION_CANCEL, ACP_PLAIN), buf_slice(&params)))
		tool_no_memory(t);
	buf_free(&params);
}

void
limits_see(struct tool *t, struct session *s)
{
	struct buf text = {0};
	unsigned bit;

	limits_unkept(t, s, false);
	for (bit = TOKENS; bit < last_bit(t); bit <<= 1) {
		text.n = 0;
		if (!reached(t, s, bit, false, &text)) {
			/* A context can fall. */
			s->reached &= ~bit;
			continue;
		}
		if (s->reached & bit)
			continue;
		s->reached |= bit;
		frame_fail(t->frame, EXIT_NEGATIVE);
		if (buf_string(&text))
			session_say(t, s, "%s", text.p);
		if (t->options->hard)
			stop(t, s);
	}
	buf_free(&text);
}

/* --- limits that say nothing about this agent --- */

static void
unkept(struct tool *t, struct session *s, unsigned bit, const char *what, const char *why)
{
	if (s->unkept & bit)
		return;
	s->unkept |= bit;
	session_say(t, s, "error: %s cannot be kept: the agent reports %s", what, why);
}

static void
unkept_cost(struct tool *t, struct session *s, size_t i, bool late)
{
	const struct money *m = &t->options->max_cost.at[i];
	const struct usage_cost *other = s->usage ? s->usage->cost : NULL;
	struct buf what = {0}, why = {0};

	if (cost_in(t, s, m->currency) || (!other && !late))
		return;
	if (other && buf_printf(&why, "its costs in %s", usage_name(t->usage, other->currency).p) < 0)
		why.n = 0;
	if (put_limit(m, &what) == 0 && buf_string(&what) && buf_string(&why))
		unkept(t, s, (unsigned)COST << i, what.p, other ? why.p : "no cost");
	buf_free(&what);
	buf_free(&why);
}

void
limits_unkept(struct tool *t, struct session *s, bool late)
{
	const struct options *o = t->options;
	bool context = s->usage && s->usage->has_used && s->usage->has_size;
	struct usage_sums sums;
	size_t i;

	for (i = 0; i < o->max_cost.n; i++)
		unkept_cost(t, s, i, late);
	if (!late)
		return;
	if (o->max_tokens != UINT64_MAX && !billed(t, s, &sums))
		unkept(t, s, TOKENS, "--max-tokens", "no tokens that add up");
	if (o->max_context > 0 && !context)
		unkept(t, s, CONTEXT, "--max-context", "no context");
	if (o->nat > 0 && !context)
		unkept(t, s, AT, "--at", "no context");
}
