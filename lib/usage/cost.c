/* Costs of sessions: in each part as they were reported, and over all parts (usage_account). */
#include <utlist.h>

#include "lib/usage/usage_parts.h"

/* How many decimals the agent wrote: people compare the amounts. */
static uint32_t
written_places(struct slice amount)
{
	const char *point = memchr(amount.p, '.', amount.n);
	size_t n;

	if (!point || memchr(amount.p, 'e', amount.n) || memchr(amount.p, 'E', amount.n))
		return 0;
	n = (size_t)(amount.p + amount.n - point - 1);
	return n > DECIMAL_PLACES ? DECIMAL_PLACES : (uint32_t)n;
}

bool
usage_cost_fell(struct decimal now, struct decimal last)
{
	return now.units < last.units - last.units / SAME_PART;
}

/* --- over all parts --- */

static struct usage_account *
find_account(const struct usage_session *s, uint32_t currency)
{
	struct usage_account *a = s->accounts;

	while (a && a->currency != currency)
		a = a->next;
	return a;
}

/* Finds the account of a currency, or makes it. NULL when out of memory. */
static struct usage_account *
account_of(struct usage_session *s, uint32_t currency)
{
	struct usage_account *a = find_account(s, currency);

	if (!a && (a = calloc(1, sizeof(*a)))) {
		a->currency = currency;
		LL_PREPEND(s->accounts, a);
	}
	return a;
}

/*
 * Adds the next value. After a restart of the agent, a value that is not lower may go on from the last one, or be all of a new
 * process. Only a value from before the new process worked (restored) is known to go on.
 */
static void
account_add(struct usage_account *a, struct decimal amount, bool restored)
{
	if (usage_cost_fell(amount, a->last)) {
		a->restarts++;
		a->too_large |= !decimal_add(a->closed, a->last, &a->closed);
	} else if (a->restarted && !restored) {
		a->too_large |= !decimal_add(a->doubt, a->last, &a->doubt);
	}
	a->restarted = false;
	a->last = amount;
}

bool
usage_account_total(const struct usage_account *a, struct usage_money *total)
{
	*total = (struct usage_money){.currency = a->currency};
	return !a->too_large && decimal_add(a->closed, a->last, &total->amount) && decimal_add(total->amount, a->doubt, &total->most);
}

/* Adds a part's next value of a cost to the account and, if there are periods, to the period's share. 0, or -1 out of memory. */
static int
add_value(struct usage *u, struct usage_part *p, struct usage_cost *c, struct usage_account *a, struct decimal amount, bool first,
	int32_t period)
{
	struct usage_money before, after, more;
	struct usage_share *share;
	bool known = usage_account_total(a, &before);

	account_add(a, amount, first && c->restored);
	if (!u->spec.period || !known || !usage_account_total(a, &after) || !decimal_subtract(after.amount, before.amount, &more.amount)
		|| !decimal_subtract(after.most, before.most, &more.most))
		return 0;
	if (!(share = usage_share_of(p, period, a->currency, first)))
		return -1;
	/* usage_accounts_make may have added the first value before, after other parts. */
	if (first)
		share->money.amount = share->money.most = (struct decimal){0};
	return decimal_add(share->money.amount, more.amount, &share->money.amount)
		&& decimal_add(share->money.most, more.most, &share->money.most) ? 0 : -1;
}

int
usage_accounts_make(struct usage *u, struct usage_session *s)
{
	struct usage_account *a, *next;
	int r = 0;

	LL_FOREACH_SAFE(s->accounts, a, next)
		free(a);
	s->accounts = NULL;
	s->paid = NULL;
	for (struct usage_part *p = s->parts; p; p = p->next) {
		if (p->restarted)
			usage_accounts_restart(s);
		if (p->costs)
			s->paid = p;
		for (struct usage_cost *c = p->costs; c; c = c->next) {
			if (!(a = account_of(s, c->currency)))
				return -1;
			if (!c->first.units)
				continue;
			r |= add_value(u, p, c, a, c->first, true, 0);
			a->restarts += c->restarts;
			a->too_large |= !decimal_add(a->closed, c->closed, &a->closed);
			a->last = c->last;
		}
	}
	return r;
}

bool
usage_cost_total(const struct usage_session *s, uint32_t currency, struct usage_money *total)
{
	const struct usage_account *a = find_account(s, currency);

	*total = (struct usage_money){.currency = currency};
	return a && usage_account_total(a, total);
}

bool
usage_cost_is_bound(const struct usage_money *m)
{
	return m->most.units > m->amount.units;
}

struct decimal
usage_cost_wire(const struct usage_cost *c)
{
	return c->zero ? (struct decimal){0} : c->last;
}

const struct usage_cost *
usage_costs(const struct usage_session *s)
{
	return s->paid ? s->paid->costs : NULL;
}

int
usage_figures_money(const struct usage *u, struct usage_figures *f, const struct usage_money *m)
{
	struct usage_money *more;
	size_t i;

	for (i = 0; i < f->ncosts && f->costs[i].currency != m->currency; i++)
		;
	if (i == f->ncosts) {
		more = realloc(f->costs, (f->ncosts + 1) * sizeof(*more));
		if (!more)
			return -1;
		f->costs = more;
		for (; i > 0 && slice_compare(usage_name(u, more[i - 1].currency), usage_name(u, m->currency)) > 0; i--)
			more[i] = more[i - 1];
		more[i] = (struct usage_money){.currency = m->currency};
		f->ncosts++;
	}
	f->too_large |= !decimal_add(f->costs[i].amount, m->amount, &f->costs[i].amount)
		|| !decimal_add(f->costs[i].most, m->most, &f->costs[i].most);
	return 0;
}

/* --- in a turn --- */

bool
usage_cost_of_turn(const struct usage_session *s, const struct usage_cost *c, struct decimal *added)
{
	const struct usage_account *a = find_account(s, c->currency);
	struct usage_money total;

	return a && a->known && s->turn.cost != USAGE_COST_BEFORE && usage_account_total(a, &total)
		&& decimal_subtract(total.amount, a->at_turn, added);
}

void
usage_cost_begin_turn(struct usage_session *s)
{
	struct usage_money total;
	struct usage_account *a;

	s->turn.costed = usage_costs(s) != NULL;
	LL_FOREACH(s->accounts, a) {
		a->known = usage_account_total(a, &total);
		a->at_turn = total.amount;
	}
}

/* --- in a part --- */

struct usage_cost *
usage_cost_in(const struct usage_part *p, uint32_t currency)
{
	struct usage_cost *c = p->costs;

	while (c && c->currency != currency)
		c = c->next;
	return c;
}

/* Finds the cost of a currency, or makes it, and puts it first: it is the last one now. NULL when out of memory. */
static struct usage_cost *
cost_of(struct usage_part *part, uint32_t currency)
{
	struct usage_cost *c = usage_cost_in(part, currency);

	if (c)
		LL_DELETE(part->costs, c);
	else if (!(c = calloc(1, sizeof(*c))))
		return NULL;
	c->currency = currency;
	LL_PREPEND(part->costs, c);
	return c;
}

/* Sets a cost to the amount that was reported at time t (us). 0, or -1 out of memory. */
static int
set_cost(struct usage *u, struct usage_session *s, struct usage_cost *c, struct usage_account *a, struct decimal amount, uint64_t t)
{
	bool first = !c->first.units;

	c->zero = amount.units == 0;
	/* A cost of zero begins no new piece. */
	if (c->zero)
		return 0;
	if (first) {
		c->first = amount;
		c->restored = !s->worked;
	} else if (usage_cost_fell(amount, c->last)) {
		c->restarts++;
		a->too_large |= !decimal_add(c->closed, c->last, &c->closed);
	}
	c->last = amount;
	return add_value(u, s->now, c, a, amount, first, u->spec.period ? u->spec.period(u->spec.arg, s->now->started, t) : 0);
}

int
usage_add_cost(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	const struct usage_cost *latest = usage_costs(s);
	struct usage_cost *c;
	bool cleared = s->cleared, changed;
	uint32_t currency, was = latest ? latest->currency : 0;
	struct usage_account *a;
	struct decimal amount;

	if (r->cost_null && u->v2) {
		s->cleared = s->now->cleared = true;
		return latest && !cleared;
	}
	if (!r->amount.p)
		return 0;
	if (!decimal_parse(r->amount, &amount)) {
		usage_note_malformed(u, s, "an amount that is out of range: it must be below 1.7 * 10^14");
		return 0;
	}
	currency = usage_intern_string(u, USAGE_CURRENCY, r->currency);
	if (currency == 0) {
		usage_note_malformed(u, s, "one currency too many: its costs are not counted");
		return 0;
	}
	if (was && currency != was)
		usage_note(u, s, USAGE_NOTE_CURRENCY, false, "the currency changes from %s to %s: amounts are not added",
			usage_name(u, was).p, usage_name(u, currency).p);
	/* The cost when the turn began is known if it was reported before, or was 0. */
	changed = !find_account(s, currency);
	if (!(a = account_of(s, currency)) || !(c = cost_of(s->now, currency)))
		return -1;
	if (changed || !a->known)
		a->known = s->origin == USAGE_FRESH || s->turn.costed || amount.units == 0;
	changed = currency != was || cleared || decimal_compare(amount, usage_cost_wire(c)) != 0;
	s->paid = s->now;
	s->cleared = s->now->cleared = false;
	c->places = written_places(r->amount);
	if (set_cost(u, s, c, a, amount, t) < 0)
		return -1;
	if (a->too_large)
		usage_note_malformed(u, s, "a sum of costs that is too large");
	return changed;
}
