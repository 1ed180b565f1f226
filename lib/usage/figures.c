/* Adds up the figures of sessions, models and days. */
#include "lib/usage/usage_parts.h"

void
usage_figures_free(struct usage_figures *f)
{
	free(f->costs);
	*f = (struct usage_figures){0};
}

int
usage_money_put(const struct usage *u, const struct usage_money *m, struct buf *to)
{
	return -((usage_cost_is_bound(m) && buf_add_string(to, ">=")) || decimal_put_money(m->amount, usage_name(u, m->currency), to));
}

const struct usage_money *
usage_figures_cost(const struct usage *u, const struct usage_figures *f, const char *currency)
{
	for (size_t i = 0; i < f->ncosts; i++)
		if (slice_is(usage_name(u, f->costs[i].currency), currency))
			return &f->costs[i];
	return NULL;
}

int
usage_figures_add(const struct usage *u, struct usage_figures *to, const struct usage_figures *f)
{
	int r = 0;

	to->turns += f->turns;
	to->malformed += f->malformed;
	to->restarts += f->restarts;
	usage_sums_add(&to->own, &f->own);
	usage_sums_add(&to->billed, &f->billed);
	to->own_lower |= f->own_lower;
	to->billed_lower |= f->billed_lower;
	to->cached += f->cached;
	to->input += f->input;
	to->has_estimate |= f->has_estimate;
	to->too_large |= f->too_large || !decimal_add(to->estimate, f->estimate, &to->estimate);
	for (size_t i = 0; i < f->ncosts; i++)
		r |= usage_figures_money(u, to, &f->costs[i]);
	return r;
}

/* Were some tokens of the session reported? */
static bool
is_counted(const struct usage_session *s)
{
	for (const struct usage_part *p = s->parts; p; p = p->next)
		for (const struct usage_tally *t = p->tallies; t; t = t->next)
			if (t->own.has || t->billed.has)
				return true;
	return false;
}

int
usage_figures_tally(const struct usage *u, const struct usage_session *s, const struct usage_part *p, const struct usage_tally *t,
	bool billed, struct usage_figures *to)
{
	const struct usage_sums *sums = billed ? &t->billed : &t->own;
	uint8_t inside = usage_inside(u, p);
	decimal_units n[USAGE_TYPES];
	struct decimal estimate;
	int r = 1;

	to->turns += billed ? t->billed_turns : t->turns;
	usage_sums_add(&to->own, sums);
	usage_sums_add(&to->billed, &t->billed);
	/* If no tokens of the session were reported, no sum can be a lower bound. */
	if ((t->own_lower || t->billed_lower) && is_counted(s)) {
		to->own_lower |= billed ? t->billed_lower : t->own_lower;
		to->billed_lower |= t->billed_lower;
	}
	if ((sums->has & 1u << USAGE_READ) && (sums->has & 1u << USAGE_INPUT)) {
		usage_disjoint(sums, inside, n);
		to->cached += n[USAGE_READ];
		to->input += n[USAGE_INPUT] + n[USAGE_READ] + n[USAGE_WRITE];
	}
	if (u->spec.estimate && t->billed.has)
		r = u->spec.estimate(u->spec.arg, usage_name(u, t->model), &t->billed, inside, t->tier, &estimate);
	if (r == 0) {
		to->has_estimate = true;
		to->too_large |= !decimal_add(to->estimate, estimate, &to->estimate);
	}
	return r < 0 ? -1 : 0;
}

bool
usage_is_covered(const struct usage *u, const struct usage_session *child)
{
	return child->parent && u->agents[child->parent->agent].covers;
}

/* Are there children's tokens that neither the session's figures include, nor the children report? */
static bool
lacks_children(const struct usage *u, const struct usage_session *s)
{
	const struct usage_part *p;
	bool rows = false, reported;

	for (p = s->parts; p; p = p->next)
		rows |= p->has_rows;
	if (u->agents[s->agent].covers && rows)
		return false;
	for (const struct usage_session *c = s->child; c; c = c->sibling) {
		for (reported = false, p = c->parts; p; p = p->next)
			reported |= p->has_counts || p->has_rows;
		if (!reported)
			return true;
	}
	return false;
}

int
usage_figures_session(const struct usage *u, const struct usage_session *s, struct usage_figures *to)
{
	struct usage_money total;
	int r = 0;

	for (const struct usage_part *p = s->parts; p; p = p->next) {
		to->malformed += p->malformed;
		for (const struct usage_tally *t = p->tallies; t; t = t->next)
			if (t->period != USAGE_NEVER)
				r |= usage_figures_tally(u, s, p, t, false, to);
		for (const struct usage_share *share = p->shares; share; share = share->next)
			if (share->period != USAGE_NEVER)
				r |= usage_figures_money(u, to, &share->money);
	}
	to->billed_lower |= lacks_children(u, s);
	/* With periods, the shares above include the costs already. */
	for (const struct usage_account *a = u->spec.period ? NULL : s->accounts; a; a = a->next) {
		to->too_large |= !usage_account_total(a, &total);
		to->restarts += a->restarts;
		r |= usage_figures_money(u, to, &total);
	}
	return r;
}

int
usage_figures_family(const struct usage *u, const struct usage_session *s, struct usage_figures *to)
{
	struct usage_figures f = {0};
	int r = usage_figures_session(u, s, to);

	for (const struct usage_session *c = s->child; c && r == 0; c = c->sibling) {
		if (usage_is_covered(u, c))
			continue;
		/* Turns of sub-agents are not turns of the session. */
		r = usage_figures_family(u, c, &f);
		f.turns = 0;
		r |= usage_figures_add(u, to, &f);
		usage_figures_free(&f);
	}
	return r;
}
