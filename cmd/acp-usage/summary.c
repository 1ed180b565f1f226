/* Adds up the rows of the summary. */
#include <stdlib.h>

#include "cmd/acp-usage/summary.h"

const char *const by_names[] = {"session", "model", "day", "week", "month", "project", "agent", NULL};

uint64_t
summary_peak(const struct usage_session *session)
{
	uint64_t peak = 0;

	for (const struct usage_part *p = session->parts; p; p = p->next)
		peak = p->peak > peak ? p->peak : peak;
	return peak;
}

/* --- the order of rows --- */

static int
by_order(const void *a, const void *b)
{
	const struct summary_order *x = a, *y = b;
	int c = (int)x->unknown - (int)y->unknown;

	c = c ? c : slice_compare(x->text, y->text);
	c = c ? c : decimal_compare(y->value, x->value);
	return c ? c : x->number < y->number ? -1 : 1;
}

/* Adds a row of depth 0. title: the number of a name, of the session or the group. */
static void
add_row(struct summary *s, struct summary_order row, const struct usage_figures *f, uint32_t title)
{
	switch (s->tool->options->sort) {
	case SORT_COST:
		row.unknown = !f->ncosts && !f->has_estimate;
		row.text = f->ncosts ? usage_name(s->tool->usage, f->costs[0].currency) : slice_of("USD");
		row.value = f->ncosts ? f->costs[0].amount : f->estimate;
		break;
	case SORT_TOKENS:
		row.unknown = !(f->billed.has & 1u << USAGE_TOTAL);
		row.value.units = f->billed.n[USAGE_TOTAL];
		break;
	case SORT_TITLE:
		row.text = usage_name(s->tool->usage, title);
		row.unknown = !row.text.n;
		break;
	default:
		break;
	}
	row.number = s->norder;
	s->order[s->norder++] = row;
}

/* --- groups --- */

/* Compares the keys of two groups, for the order of rows. */
static int
compare_keys(const struct summary *s, int64_t x, int64_t y)
{
	if (by_period(s->tool->options->by))
		return x < y ? -1 : x > y;
	return slice_compare(usage_name(s->tool->usage, (uint32_t)x), usage_name(s->tool->usage, (uint32_t)y));
}

/* Finds the group with this key, a name's number or a day, or makes it. NULL when out of memory. */
static struct summary_row *
group(struct summary *s, int64_t key)
{
	struct summary_row *g;

	HASH_FIND(hh, s->groups, &key, sizeof(key), g);
	if (g || !(g = calloc(1, sizeof(*g))))
		return g;
	g->key = key;
	HASH_ADD(hh, s->groups, key, sizeof(g->key), g);
	if (g->hh.tbl)
		return g;
	free(g);
	return NULL;
}

static const struct usage_tally *
only_tally(const struct usage_session *session)
{
	const struct usage_tally *found = NULL, *t;

	for (const struct usage_part *p = session->parts; p; p = p->next) {
		for (t = p->tallies; t; t = t->next) {
			if (found && found->model != t->model)
				return NULL;
			found = t;
		}
	}
	return found;
}

static int
group_tallies(struct summary *s, const struct usage_session *session)
{
	bool by_model = s->tool->options->by == BY_MODEL;
	struct summary_row *g;
	uint64_t turns;
	int r = 0;

	for (const struct usage_part *p = session->parts; p; p = p->next) {
		for (const struct usage_tally *t = p->tallies; t; t = t->next) {
			if (t->period == USAGE_NEVER)
				continue;
			if (!(g = group(s, by_model ? (int64_t)t->model : calendar_first(by_period(s->tool->options->by), t->period))))
				return -1;
			g->used |= t->billed_turns || t->billed.has;
			turns = g->figures.turns;
			r |= usage_figures_tally(s->tool->usage, session, p, t, by_model, &g->figures);
			/* Only sessions have turns that count, sub-agents have none. */
			g->figures.turns = tool_parent(s->tool, session) ? turns : g->figures.turns;
		}
	}
	return r;
}

static int
group_costs(struct summary *s, const struct usage_session *session)
{
	const struct options *o = s->tool->options;
	struct usage *u = s->tool->usage;
	const struct usage_tally *only = only_tally(session);
	struct usage_figures f = {0};
	struct summary_row *g;
	int r = usage_figures_session(u, session, &f);

	/* Tokens that no agent reports belong to no model or day. */
	s->unassigned.own_lower |= f.own_lower;
	s->unassigned.billed_lower |= f.billed_lower;
	s->turns += tool_parent(s->tool, session) ? 0 : f.turns;
	/* The cost of a session belongs to its model, if it had only one. */
	g = only && o->by == BY_MODEL ? group(s, only->model) : NULL;
	if (g)
		g->used = true;
	for (size_t i = 0; i < f.ncosts && o->by == BY_MODEL; i++)
		r |= usage_figures_money(u, g ? &g->figures : &s->unassigned, &f.costs[i]);
	usage_figures_free(&f);
	for (const struct usage_part *p = session->parts; p && o->by != BY_MODEL; p = p->next) {
		for (const struct usage_share *share = p->shares; share; share = share->next) {
			if (share->period == USAGE_NEVER)
				continue;
			if (!(g = group(s, calendar_first(by_period(o->by), share->period))))
				return -1;
			r |= usage_figures_money(u, &g->figures, &share->money);
		}
	}
	return r;
}

static int
group_session(struct summary *s, const struct usage_session *session)
{
	const struct options *o = s->tool->options;
	struct usage_figures f = {0};
	struct summary_row *g;
	int r;

	if (o->by == BY_PROJECT || o->by == BY_AGENT) {
		if (tool_parent(s->tool, session))
			return 0;
		g = group(s, o->by == BY_PROJECT ? (int64_t)session->cwd : usage_agent_key(s->tool->usage, session->agent));
		if (!g)
			return -1;
		r = usage_figures_family(s->tool->usage, session, &f);
		r |= usage_figures_add(s->tool->usage, &g->figures, &f);
		usage_figures_free(&f);
		return r;
	}
	if (!tool_adds(s->tool, session))
		return 0;
	return -(group_tallies(s, session) || group_costs(s, session));
}

static int
make_groups(struct summary *s)
{
	int r = 0;

	for (const struct usage_session *session = usage_sessions(s->tool->usage); session && r == 0; session = session->hh.next)
		if (tool_wants(s->tool, session))
			r = group_session(s, session);
#define BEFORE(a, b) compare_keys(s, (a)->key, (b)->key)
	HASH_SORT(s->groups, BEFORE);
#undef BEFORE
	if (!(s->order = calloc(HASH_COUNT(s->groups) + 1, sizeof(*s->order))))
		return -1;
	for (const struct summary_row *g = s->groups; g; g = g->hh.next) {
		r |= usage_figures_add(s->tool->usage, &s->total.figures, &g->figures);
		if (g->used || s->tool->options->by != BY_MODEL)
			add_row(s, (struct summary_order){.group = g}, &g->figures, by_period(s->tool->options->by) ? 0 : (uint32_t)g->key);
	}
	/* A turn may be billed on several models, but counts once. */
	if (s->tool->options->by == BY_MODEL)
		s->total.figures.turns = s->turns;
	return r | usage_figures_add(s->tool->usage, &s->total.figures, &s->unassigned);
}

/* --- rows --- */

static int
session_row(struct summary *s, const struct usage_session *session, unsigned depth,
	int (*fn)(struct summary *, const struct summary_row *))
{
	const struct options *o = s->tool->options;
	struct summary_row row = {.session = session, .depth = depth};
	int r = usage_figures_session(s->tool->usage, session, &row.figures);

	/* With --since or --before a session that used nothing in that time has no row. */
	if ((o->since <= 0 && o->before <= 0) || row.figures.turns || row.figures.billed.has || row.figures.ncosts)
		r |= fn(s, &row);
	usage_figures_free(&row.figures);
	for (const struct usage_session *c = session->child; c && r == 0; c = c->sibling)
		r = session_row(s, c, depth + 1, fn);
	return r;
}

int
summary_each(struct summary *s, int (*fn)(struct summary *, const struct summary_row *))
{
	int r = 0;

	for (const struct summary_order *o = s->order; o < s->order + s->norder && r == 0; o++)
		r = o->group ? fn(s, o->group) : session_row(s, o->session, 0, fn);
	return r;
}

/* Makes the rows of sessions. The total has each of their tokens and costs once. */
static int
make_sessions(struct summary *s)
{
	struct usage *u = s->tool->usage;
	struct usage_figures f = {0};
	int r = 0;

	if (!(s->order = calloc(usage_count(u) + 1, sizeof(*s->order))))
		return -1;
	for (const struct usage_session *session = usage_sessions(u); session && r == 0; session = session->hh.next) {
		if (!tool_wants(s->tool, session))
			continue;
		s->sessions++;
		if (!tool_adds(s->tool, session))
			continue;
		r = usage_figures_session(u, session, &f);
		if (tool_parent(s->tool, session))
			f.turns = 0;
		else
			add_row(s, (struct summary_order){.session = session}, &f, session->title);
		r |= usage_figures_add(u, &s->total.figures, &f);
		usage_figures_free(&f);
	}
	return r;
}

int
summary_make(struct summary *s)
{
	int r = usage_sort(s->tool->usage);

	if (r == 0)
		r = s->tool->options->by == BY_SESSION ? make_sessions(s) : make_groups(s);
	if (r == 0 && s->tool->options->sort != SORT_DATE)
		qsort(s->order, s->norder, sizeof(*s->order), by_order);
	return r < 0 ? -1 : 0;
}

void
summary_free(struct summary *s)
{
	struct summary_row *g, *next;

	HASH_ITER(hh, s->groups, g, next) {
		HASH_DEL(s->groups, g);
		usage_figures_free(&g->figures);
		free(g);
	}
	free(s->order);
	usage_figures_free(&s->total.figures);
	usage_figures_free(&s->unassigned);
}
