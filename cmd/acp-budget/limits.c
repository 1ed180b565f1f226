/* The limits: of cost and tokens in a session or a period, and of turns and context in a session. */
#include <unistd.h>

#include "cmd/acp-budget/budget.h"

/* How much of a limit of tokens or costs a session, or (for a period) its scope, has used. */
struct used {
	bool known;                  /* otherwise the agent has not reported the amount */
	struct decimal amount, most; /* the amount is at least amount, and at most most */
};

/* --- as text --- */

/* Appends an amount of money or tokens in the unit of a limit. */
static int
put_amount(const struct money *m, struct decimal amount, struct buf *to)
{
	const struct usage_sums sums = {.n = {amount.units}};

	if (!is_tokens(m))
		return decimal_put(amount, 0, to);
	return amount.units > (decimal_units)UINT64_MAX ? usage_sum_put(&sums, USAGE_TOTAL, to) : put_grouped(to, usage_clip(amount.units));
}

/* Appends the limit as an option: "--max-cost 20 USD/day". */
static int
put_limit(const struct money *m, struct buf *to)
{
	return -(buf_add_string(to, is_tokens(m) ? "--max-tokens " : "--max-cost ") || put_amount(m, m->amount, to)
		|| (!is_tokens(m) && buf_printf(to, " %s", m->currency))
		|| (m->period && buf_printf(to, "/%s", calendar_names[m->period])));
}

/* Appends the unit, the period and the scope of a limit: " USD today (project /src/x)". */
static int
put_unit(struct tool *t, const struct budget_session *s, const struct money *m, struct buf *to)
{
	static const char *const when[] = {"", " today", " this week", " this month"}, *const scopes[] = {"", "project ", "agent ", ""};
	enum scope scope = t->options->scope;

	if (buf_printf(to, " %s%s", is_tokens(m) ? "tokens" : m->currency, when[m->period]))
		return -1;
	return m->period && scope != SCOPE_USER ? -(buf_printf(to, " (%s", scopes[scope]) || buf_add_slice(to, session_scope(t, s))
		|| buf_add(to, ")", 1)) : 0;
}

/* --- amounts --- */

/* Returns what a session and its children have used. The caller frees the figures. */
static struct usage_figures
figures(struct tool *t, const struct budget_session *s)
{
	struct usage_figures f = {0};

	if (s->usage)
		tool_check(t, usage_figures_family(t->usage, s->usage, &f));
	return f;
}

static struct used
of_session(const struct tool *t, const struct usage_figures *f, const struct money *m)
{
	const struct usage_money *cost = usage_figures_cost(t->usage, f, m->currency);
	struct decimal tokens = {f->billed.n[USAGE_TOTAL]};

	if (is_tokens(m))
		return (struct used){f->billed.has & 1u << USAGE_TOTAL, tokens, tokens};
	return cost ? (struct used){true, cost->amount, cost->most} : (struct used){0};
}

static struct used
used(struct tool *t, const struct budget_session *s, size_t limit)
{
	const struct money *m = &t->options->limits.at[limit];
	struct usage_figures f;
	struct decimal sum;
	struct used u;

	if (m->period) {
		sum = ledger_spent(t, session_scope(t, s), limit);
		return (struct used){true, sum, sum};
	}
	f = figures(t, s);
	u = of_session(t, &f, m);
	usage_figures_free(&f);
	return u;
}

static bool
amount_reached(struct tool *t, const struct budget_session *s, size_t limit, struct buf *text)
{
	const struct money *m = &t->options->limits.at[limit];
	struct used u = used(t, s, limit);
	bool yes = u.known && decimal_compare(u.most, m->amount) >= 0;

	if (yes && text && (put_limit(m, text) || buf_add_string(text, " is reached: ")
			|| (decimal_compare(u.amount, u.most) != 0 && (put_amount(m, u.amount, text) || buf_add_string(text, " to ")))
			|| put_amount(m, u.most, text) || put_unit(t, s, m, text)))
		text->n = 0;
	return yes;
}

/* --- turns and context --- */

/* Finds a session whose context is full, this one or one of its children: each has a context of its own. NULL: none. */
static const struct usage_session *
find_full(const struct usage_session *u, unsigned most)
{
	const struct usage_session *c, *found = NULL;

	if (u->size && usage_reaches(u->used, u->size, most, true))
		return u;
	for (c = u->child; c && !found; c = c->sibling)
		found = find_full(c, most);
	return found;
}

static bool
context_reached(const struct tool *t, const struct budget_session *s, struct buf *text)
{
	unsigned most = t->options->max_context;
	const struct usage_session *u = most > 0 && s->usage ? find_full(s->usage, most) : NULL;

	if (u && text && (buf_printf(text, "--max-context %u%% is reached: %d%%, ", most, usage_percent(u->used, u->size))
			|| put_grouped(text, u->used) || buf_add_string(text, " of ") || put_grouped(text, u->size)
			|| buf_add_string(text, u == s->usage ? " tokens" : " tokens of a sub-agent")))
		text->n = 0;
	return u != NULL;
}

/* --- all --- */

/* Returns whether the limit with this bit is reached; then text (or NULL) gets the limit and the usage. */
static bool
reached(struct tool *t, const struct budget_session *s, unsigned bit, bool prompt, struct buf *text)
{
	uint64_t turns = prompt ? s->prompts : s->turns;

	switch (bit) {
	case LIMIT_TURNS:
		if (turns >= t->options->max_turns && text && json_format(text, "--max-turns %u is reached: %u turn%s",
				t->options->max_turns, turns, turns == 1 ? "" : "s") < 0)
			text->n = 0;
		return turns >= t->options->max_turns;
	case LIMIT_CONTEXT:
		return context_reached(t, s, text);
	default:
		return bit >= LIMIT_AMOUNT && amount_reached(t, s, (size_t)__builtin_ctz(bit / LIMIT_AMOUNT), text);
	}
}

static unsigned
last_bit(const struct tool *t)
{
	return (unsigned)LIMIT_AMOUNT << t->options->limits.n;
}

bool
limits_reached(struct tool *t, const struct budget_session *s, bool prompt, struct buf *text)
{
	for (unsigned bit = LIMIT_TURNS; bit < last_bit(t); bit <<= 1)
		if (reached(t, s, bit, prompt, text))
			return true;
	return false;
}

void
limits_check(struct tool *t, struct budget_session *s, bool prompt)
{
	SCOPED struct buf text = {0};

	limits_report_unenforced(t, s, false);
	for (unsigned bit = LIMIT_TURNS; bit < last_bit(t); bit <<= 1) {
		text.n = 0;
		if (!reached(t, s, bit, prompt, &text)) {
			/* A context can shrink, and a period ends: the limit can be reached again. */
			if (bit != LIMIT_TURNS)
				s->limits.reached &= ~bit;
			continue;
		}
		if (s->limits.reached & bit)
			continue;
		s->limits.reached |= bit;
		frame_fail(t->frame, EXIT_NEGATIVE);
		if (buf_string(&text))
			session_report(t, s, "%s", text.p);
		/* The last turn that --max-turns permits may run to its end. */
		if (t->options->hard && session_runs(s) && bit != LIMIT_TURNS)
			session_cancel(t, s);
	}
}

void
limits_spend(struct tool *t, struct session *about, struct budget_session *s)
{
	struct budget_session *other;

	session_spend(t, about);
	if (!s)
		return;
	limits_check(t, s, false);
	/* What one session spends counts for the limits of a period of those that --hard must cancel, too. */
	for (other = t->options->hard && t->ledger ? session_next(t, NULL) : NULL; other; other = session_next(t, other))
		if (other != s && session_runs(other))
			limits_check(t, other, false);
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
report_unenforced_amount(struct tool *t, struct budget_session *s, size_t i, const struct usage_figures *f, bool turn_ended)
{
	const struct money *m = &t->options->limits.at[i];
	SCOPED struct buf what = {0}, why = {0};

	/* Some agents do not report the tokens of sub-agents. */
	if (is_tokens(m) && f->billed_lower && !(s->limits.unenforced & LIMIT_CHILDREN)) {
		s->limits.unenforced |= LIMIT_CHILDREN;
		session_report(t, s, "--max-tokens: the agent does not report all tokens (of sub-agents, or of all calls): the session may "
			"exceed the limit");
	}
	if (of_session(t, f, m).known || ((is_tokens(m) || f->ncosts == 0) && !turn_ended))
		return;
	if (is_tokens(m)) {
		report_unenforced(t, s, (unsigned)LIMIT_AMOUNT << i, "--max-tokens", "no token counts that can be added up");
		return;
	}
	if (f->ncosts && buf_printf(&why, "its costs in %s", usage_name(t->usage, f->costs[0].currency).p) < 0)
		why.n = 0;
	if (put_limit(m, &what) == 0 && buf_string(&what) && buf_string(&why))
		report_unenforced(t, s, (unsigned)LIMIT_AMOUNT << i, what.p, f->ncosts ? why.p : "no cost");
}

void
limits_report_unenforced(struct tool *t, struct budget_session *s, bool turn_ended)
{
	const struct options *o = t->options;
	bool context = s->usage && s->usage->size;
	struct usage_figures f;

	if (o->limits.n == 0 && !turn_ended)
		return;
	f = figures(t, s);
	for (size_t i = 0; i < o->limits.n; i++)
		report_unenforced_amount(t, s, i, &f, turn_ended);
	usage_figures_free(&f);
	if (turn_ended && o->max_context > 0 && !context)
		report_unenforced(t, s, LIMIT_CONTEXT, "--max-context", "no context");
	if (turn_ended && o->nat > 0 && !context)
		report_unenforced(t, s, LIMIT_AT, "--at", "no context");
}

/* --- the verdict at a terminal --- */

static int
put_verdict(struct tool *t, const struct budget_session *s, struct buf *to)
{
	const struct options *o = t->options;
	const struct money *m;
	struct used u;
	int r = 0;

	for (size_t i = 0; i < o->limits.n; i++) {
		m = &o->limits.at[i];
		u = used(t, s, i);
		if (u.known)
			r |= -(buf_add_string(to, to->n ? ", " : "") || put_amount(m, u.most, to) || buf_add_string(to, " of ")
				|| put_amount(m, m->amount, to) || put_unit(t, s, m, to));
	}
	if (o->max_turns != UINT64_MAX)
		r |= json_format(to, "%s%u of %u turn%s", to->n ? ", " : "", s->turns, o->max_turns, o->max_turns == 1 ? "" : "s");
	if (o->max_context && s->usage && s->usage->size)
		r |= buf_printf(to, "%scontext %d%% of %u%%", to->n ? ", " : "", usage_percent(s->usage->used, s->usage->size), o->max_context);
	return r;
}

void
limits_show(struct tool *t)
{
	SCOPED struct buf text = {0};

	if (!isatty(STDERR_FILENO))
		return;
	for (struct budget_session *s = session_next(t, NULL); s; s = session_next(t, s)) {
		text.n = 0;
		if (s->turns > 0 && put_verdict(t, s, &text) == 0 && text.n && buf_string(&text))
			session_report(t, s, "%s", text.p);
	}
}
