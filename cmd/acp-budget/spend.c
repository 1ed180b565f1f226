/* What sessions spend, for the ledger: by how much their figures have grown since their last entry. */
#include "cmd/acp-budget/budget.h"
#include "lib/usage/entry.h"

/*
 * Returns what a session that was loaded had cost before: its first cost, if the agent reported that before it worked, or if the
 * ledger does not know the session (which is not charged then); else the last cost in the ledger, or 0 if the first cost is less.
 */
static struct decimal
cost_before(struct tool *t, const struct budget_session *s, uint32_t currency)
{
	const struct usage_cost *c = s->usage->origin >= USAGE_LOADED ? usage_costs(s->usage) : NULL;
	struct decimal last;

	while (c && c->currency != currency)
		c = c->next;
	if (!c || !c->first.units)
		return (struct decimal){0};
	if (c->restored || !ledger_last_cost(t, s, usage_name(t->usage, currency), &last))
		return c->first;
	return usage_cost_fell(c->first, last) ? (struct decimal){0} : last;
}

/* Appends by how much the cost in each currency has grown: a JSON array, but for its last bracket. 0, or -1 out of memory. */
static int
put_costs(struct tool *t, struct budget_session *s, const struct usage_figures *now, struct buf *to)
{
	struct usage_money was;
	struct decimal amount, most;
	size_t i, j;
	int r = buf_add(to, "[", 1);

	for (i = 0; i < now->ncosts; i++) {
		for (j = 0; j < s->counted.ncosts && s->counted.costs[j].currency != now->costs[i].currency; j++)
			;
		if (j < s->counted.ncosts)
			was = s->counted.costs[j];
		else
			was.amount = was.most = cost_before(t, s, now->costs[i].currency);
		if (decimal_subtract(now->costs[i].amount, was.amount, &amount) && decimal_subtract(now->costs[i].most, was.most, &most)
			&& (amount.units || most.units))
			r |= usage_entry_put_cost(to, usage_name(t->usage, now->costs[i].currency), amount, most);
	}
	return r;
}

static int
put_wire(const struct tool *t, const struct budget_session *s, struct buf *to)
{
	int r = buf_add(to, "[", 1);

	for (const struct usage_cost *c = usage_costs(s->usage); c; c = c->next)
		if (c->first.units)
			r |= usage_entry_put_cost(to, usage_name(t->usage, c->currency), c->last, c->last);
	return r | buf_add(to, "]", 1);
}

void
session_joined(struct tool *t, struct budget_session *child)
{
	struct budget_session *root = t->ledger ? session_data(t, session_root(child->session)) : NULL;

	if (!root)
		return;
	/* The turns of a family are those of its root. */
	child->counted.turns = 0;
	tool_check(t, usage_figures_add(t->usage, &root->counted, &child->counted));
	usage_figures_free(&child->counted);
}

void
session_spend(struct tool *t, struct session *session)
{
	struct budget_session *s = t->ledger && session ? session_data(t, session_root(session)) : NULL;
	SCOPED struct buf costs = {0}, wire = {0};
	struct usage_figures now = {0};
	struct usage_entry e = {0};
	struct slice project, agent, model;

	if (s && !s->usage)
		s->usage = usage_find_session(t->usage, slice(s->session->id, s->session->n));
	if (!s || !s->usage || tool_check(t, usage_figures_family(t->usage, s->usage, &now) || put_costs(t, s, &now, &costs)
			|| put_wire(t, s, &wire)))
		return;
	e.turns = now.turns - s->counted.turns;
	e.tokens = now.billed;
	usage_sums_less(&e.tokens, &s->counted.billed);
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if (!e.tokens.n[i])
			e.tokens.has &= (uint8_t)~(1u << i);
	usage_figures_free(&s->counted);
	s->counted = now;
	if (!e.turns && !e.tokens.has && costs.n == 1)
		return;
	project = usage_name(t->usage, s->usage->cwd);
	agent = usage_agent_name(t->usage, s->usage->agent);
	model = usage_name(t->usage, s->usage->model);
	e.scope = t->options->scope == SCOPE_KEY ? slice_of(t->options->key) : e.scope;
	e.project = project.n ? project : e.project;
	e.agent = agent.n ? agent : e.agent;
	e.model = model.n ? model : e.model;
	e.session = slice(s->session->id, s->session->n);
	if (!tool_check(t, buf_add(&costs, "]", 1))) {
		e.costs = costs.n > 2 ? buf_slice(&costs) : e.costs;
		e.wire = wire.n > 2 ? buf_slice(&wire) : e.wire;
		ledger_add(t, &e);
	}
}
