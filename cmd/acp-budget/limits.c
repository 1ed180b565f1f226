/* How much a session may use: cost, tokens, turns, context. */
#include <inttypes.h>

#include "cmd/acp-budget/budget.h"

/* Bits of session.reached and session.unenforced; of costs one for each amount. */
enum { TOKENS = 1, TURNS = 2, CONTEXT = 4, AT = 8, CHILDREN = 16, COST = 32 };

static int
put_limit(const struct money *m, struct buf *to)
{
	return buf_add_string(to, "--max-cost ") || decimal_put(m->amount, 0, to) || buf_printf(to, " %s", m->currency) ? -1 : 0;
}

/* What the session and its children used. The caller frees it. */
static struct usage_figures
used(struct tool *t, const struct budget_session *s)
{
	struct usage_figures f = {0};

	if (s->usage)
		tool_check(t, usage_figures_family(t->usage, s->usage, &f));
	return f;
}

static const struct usage_money *
cost_in(const struct tool *t, const struct usage_figures *f, const char *currency)
{
	for (size_t i = 0; i < f->ncosts; i++)
		if (slice_is(usage_name(t->usage, f->costs[i].currency), currency))
			return &f->costs[i];
	return NULL;
}

/* text may be NULL. */
static bool
cost_reached(struct tool *t, const struct budget_session *s, const struct money *m, struct buf *text)
{
	struct usage_figures f = used(t, s);
	const struct usage_money *c = cost_in(t, &f, m->currency);
	bool yes = c && decimal_compare(c->most, m->amount) >= 0;

	if (yes && text && (put_limit(m, text) || buf_add_string(text, " is reached: ")
			|| (usage_cost_is_bound(c) && (decimal_put(c->amount, 0, text) || buf_add_string(text, " to "))) || decimal_put(c->most, 0, text)
			|| buf_printf(text, " %s", m->currency)))
		text->n = 0;
	usage_figures_free(&f);
	return yes;
}

static bool
tokens_reached(struct tool *t, const struct budget_session *s, struct buf *text)
{
	uint64_t most = t->options->max_tokens;
	struct usage_figures f;
	bool yes;

	if (most == UINT64_MAX)
		return false;
	f = used(t, s);
	yes = f.billed.has & 1u << USAGE_TOTAL && f.billed.n[USAGE_TOTAL] >= (decimal_units)most;
	if (yes && text && (buf_add_string(text, "--max-tokens ") || put_grouped(text, most) || buf_add_string(text, " is reached: ")
			|| (f.billed.n[USAGE_TOTAL] > (decimal_units)UINT64_MAX ? usage_sum_put(&f.billed, USAGE_TOTAL, text)
				: put_grouped(text, usage_clip(f.billed.n[USAGE_TOTAL])))
			|| buf_add_string(text, " tokens")))
		text->n = 0;
	usage_figures_free(&f);
	return yes;
}

/* Of the session, or of one of its children: each has a context of its own. */
static const struct usage_session *
full(const struct usage_session *u, unsigned most)
{
	const struct usage_session *c, *found = NULL;

	if (u->has_used && u->has_size && usage_reaches(u->used, u->size, most, true))
		return u;
	for (c = u->child; c && !found; c = c->sibling)
		found = full(c, most);
	return found;
}

static bool
context_reached(const struct tool *t, const struct budget_session *s, struct buf *text)
{
	unsigned most = t->options->max_context;
	const struct usage_session *u = most > 0 && s->usage ? full(s->usage, most) : NULL;

	if (u && text && (buf_printf(text, "--max-context %u%% is reached: %d%%, ", most, usage_percent(u->used, u->size))
			|| put_grouped(text, u->used) || buf_add_string(text, " of ") || put_grouped(text, u->size)
			|| buf_add_string(text, u == s->usage ? " tokens" : " tokens of a sub-agent")))
		text->n = 0;
	return u != NULL;
}

/* One limit, by its bit. */
static bool
reached(struct tool *t, const struct budget_session *s, unsigned bit, bool prompt, struct buf *text)
{
	uint64_t turns = prompt ? s->prompts : s->turns;

	switch (bit) {
	case TOKENS:
		return tokens_reached(t, s, text);
	case TURNS:
		if (turns >= t->options->max_turns && text && buf_printf(text, "--max-turns %" PRIu64 " is reached: %" PRIu64 " turn%s",
				t->options->max_turns, turns, turns == 1 ? "" : "s") < 0)
			text->n = 0;
		return turns >= t->options->max_turns;
	case CONTEXT:
		return context_reached(t, s, text);
	default:
		for (size_t i = 0; i < t->options->max_cost.n; i++)
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
limits_reached(struct tool *t, const struct budget_session *s, bool prompt, struct buf *text)
{
	for (unsigned bit = TOKENS; bit < last_bit(t); bit <<= 1)
		if (reached(t, s, bit, prompt, text))
			return true;
	return false;
}

void
limits_check(struct tool *t, struct budget_session *s, bool prompt)
{
	SCOPED struct buf text = {0};

	limits_report_unenforced(t, s, false);
	for (unsigned bit = TOKENS; bit < last_bit(t); bit <<= 1) {
		text.n = 0;
		if (!reached(t, s, bit, prompt, &text)) {
			/* A context can fall. */
			if (bit == CONTEXT)
				s->limits.reached &= ~bit;
			continue;
		}
		if (s->limits.reached & bit)
			continue;
		s->limits.reached |= bit;
		frame_fail(t->frame, EXIT_NEGATIVE);
		if (buf_string(&text))
			session_report(t, s, "%s", text.p);
		/* The last turn of --max-turns may end. */
		if (t->options->hard && session_runs(s) && bit != TURNS)
			session_cancel(t, s);
	}
}

/* --- limits that cannot be enforced --- */

static void
report_unenforced(struct tool *t, struct budget_session *s, unsigned bit, const char *what, const char *why)
{
	if (s->limits.unenforced & bit)
		return;
	s->limits.unenforced |= bit;
	session_report(t, s, "error: %s cannot be enforced: the agent reports %s", what, why);
}

static void
report_unenforced_cost(struct tool *t, struct budget_session *s, size_t i, const struct usage_figures *f, bool turn_ended)
{
	const struct money *m = &t->options->max_cost.at[i];
	SCOPED struct buf what = {0}, why = {0};

	if (cost_in(t, f, m->currency) || (f->ncosts == 0 && !turn_ended))
		return;
	if (f->ncosts && buf_printf(&why, "its costs in %s", usage_name(t->usage, f->costs[0].currency).p) < 0)
		why.n = 0;
	if (put_limit(m, &what) == 0 && buf_string(&what) && buf_string(&why))
		report_unenforced(t, s, (unsigned)COST << i, what.p, f->ncosts ? why.p : "no cost");
}

void
limits_report_unenforced(struct tool *t, struct budget_session *s, bool turn_ended)
{
	const struct options *o = t->options;
	bool context = s->usage && s->usage->has_used && s->usage->has_size;
	struct usage_figures f;

	if (o->max_cost.n == 0 && !turn_ended)
		return;
	f = used(t, s);
	for (size_t i = 0; i < o->max_cost.n; i++)
		report_unenforced_cost(t, s, i, &f, turn_ended);
	/* Some agents do not report the tokens of sub-agents. */
	if (o->max_tokens != UINT64_MAX && f.billed_lower && !(s->limits.unenforced & CHILDREN)) {
		s->limits.unenforced |= CHILDREN;
		session_report(t, s, "--max-tokens: the agent does not report all tokens (of sub-agents, or of all calls): the session may "
			"exceed the limit");
	}
	if (turn_ended && o->max_tokens != UINT64_MAX && !(f.billed.has & 1u << USAGE_TOTAL))
		report_unenforced(t, s, TOKENS, "--max-tokens", "no token counts that can be added up");
	usage_figures_free(&f);
	if (turn_ended && o->max_context > 0 && !context)
		report_unenforced(t, s, CONTEXT, "--max-context", "no context");
	if (turn_ended && o->nat > 0 && !context)
		report_unenforced(t, s, AT, "--at", "no context");
}
