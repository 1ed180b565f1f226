/* What sessions cost. */
#include "lib/usage/usage_parts.h"

/* Decimals as they are written, for people who compare. */
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

/* Has it begun anew? Binary fractions fall in their last digits without that. */
static bool
fell(struct decimal now, struct decimal last)
{
	return now.units < last.units - last.units / SAME_PART;
}

const struct usage_cost *
usage_cost_in(const struct usage_part *p, uint32_t currency)
{
	const struct usage_cost *c = p->costs;

	while (c && c->currency != currency)
		c = c->next;
	return c;
}

/* The last part up to p that has the currency. */
static const struct usage_cost *
latest(const struct usage_part *p, uint32_t currency)
{
	const struct usage_cost *c = NULL;

	for (; p && !c; p = p->before)
		c = usage_cost_in(p, currency);
	return c;
}

/* All pieces but the last, and the last one. False where a sum does not fit. */
static bool
pieces(const struct usage_cost *c, struct decimal *earlier, struct decimal *last)
{
	*earlier = c->earlier;
	*last = c->nonzero ? c->last : c->previous;
	if (!c->nonzero)
		return true;
	return (!fell(c->first, c->previous) || decimal_add(*earlier, c->previous, earlier)) && decimal_add(*earlier, c->closed, earlier);
}

void
usage_cost_link(const struct usage_part *p, struct usage_cost *c)
{
	const struct usage_cost *before = latest(p->before, c->currency);

	c->earlier = c->previous = (struct decimal){0};
	if (before)
		pieces(before, &c->earlier, &c->previous);
}

/* The cost of a currency, which is now the last one. NULL when out of memory. */
static struct usage_cost *
cost_of(struct usage_part *part, uint32_t currency)
{
	struct usage_cost **p, *c;

	for (p = &part->costs; (c = *p) && c->currency != currency; p = &c->next)
		;
	if (c)
		*p = c->next;
	else if (!(c = calloc(1, sizeof(*c))))
		return NULL;
	if (c->currency != currency) {
		c->currency = currency;
		usage_cost_link(part, c);
	}
	c->next = part->costs;
	return part->costs = c;
}

bool
usage_cost_total(const struct usage_session *s, uint32_t currency, struct decimal *total)
{
	const struct usage_cost *c = latest(s->tail, currency);
	struct decimal last;

	*total = (struct decimal){0};
	return c && pieces(c, total, &last) && decimal_add(*total, last, total);
}

const struct usage_cost *
usage_costs(const struct usage_session *s)
{
	const struct usage_part *p = s->tail;

	while (p && !p->costs)
		p = p->before;
	return p ? p->costs : NULL;
}

uint64_t
usage_cost_restarts(const struct usage_session *s, uint32_t currency)
{
	const struct usage_cost *c;
	uint64_t n = 0;

	for (const struct usage_part *p = s->parts; p; p = p->next)
		if ((c = usage_cost_in(p, currency)) && c->nonzero)
			n += c->restarts + (fell(c->first, c->previous) ? 1u : 0u);
	return n;
}

bool
usage_cost_of_turn(const struct usage_session *s, const struct usage_cost *c, struct decimal *added)
{
	struct decimal total;

	return c->known && !s->turn.shared && usage_cost_total(s, c->currency, &total) && decimal_subtract(total, c->at_turn, added);
}

void
usage_cost_begin_turn(struct usage_session *s)
{
	s->turn.costed = usage_costs(s) != NULL;
	for (struct usage_cost *c = s->now ? s->now->costs : NULL; c; c = c->next)
		c->known = usage_cost_total(s, c->currency, &c->at_turn);
}

/* A currency's first value in this part. The cost when the turn began is known where it was reported before, or was 0. */
static void
first_value(const struct usage_session *s, struct usage_cost *c, struct decimal amount)
{
	const struct usage_cost *before = latest(s->now->before, c->currency);

	usage_cost_total(s, c->currency, &c->at_turn);
	c->known = before || s->fresh || s->turn.costed || amount.units == 0;
}

/* 0, or 1 where a sum does not fit. */
static int
take_value(struct usage_cost *c, struct decimal amount)
{
	c->wire = amount;
	if (amount.units == 0)
		return 0;
	if (!c->nonzero) {
		c->nonzero = true;
		c->first = amount;
	} else if (fell(amount, c->last)) {
		c->restarts++;
		if (!decimal_add(c->closed, c->last, &c->closed))
			return 1;
	}
	c->last = amount;
	return 0;
}

static int
add_share(struct usage *u, struct usage_session *s, uint64_t t, uint32_t currency, struct decimal before)
{
	struct usage_share *share;
	struct decimal total, more;
	int32_t period;

	if (!u->spec.period || !usage_cost_total(s, currency, &total) || !decimal_subtract(total, before, &more))
		return 0;
	period = u->spec.period(u->spec.arg, s->now->started, t);
	share = usage_share_of(s->now, period, currency);
	return share && decimal_add(share->amount, more, &share->amount) ? 0 : -1;
}

int
usage_take_cost(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	const struct usage_cost *latest = usage_costs(s);
	uint32_t currency, was = latest ? latest->currency : 0;
	struct decimal amount, before = {0};
	struct usage_cost *c;
	bool changed;

	if (r->cost_null && (s->v2 || u->agents[s->agent].v2)) {
		changed = was && !s->cleared;
		s->cleared = true;
		return changed;
	}
	if (!r->amount.p)
		return 0;
	currency = usage_intern_string(u, r->currency);
	if (!decimal_parse(r->amount, &amount)) {
		usage_note_malformed(u, s, "an amount that is out of range: at most 24 decimal places, and below 10^14");
		return 0;
	}
	if (was && currency != was)
		usage_note(u, s, USAGE_NOTE_CURRENCY, false, "the currency changes from %s to %s: amounts are not added",
			usage_name(u, was).p, usage_name(u, currency).p);
	usage_cost_total(s, currency, &before);
	c = currency ? cost_of(s->now, currency) : NULL;
	if (!c)
		return -1;
	changed = currency != was || s->cleared || decimal_compare(amount, c->wire) != 0;
	if (!c->nonzero && !c->known)
		first_value(s, c, amount);
	s->cleared = false;
	c->places = written_places(r->amount);
	if (take_value(c, amount) > 0)
		usage_note_malformed(u, s, "a sum of costs that is too large");
	return add_share(u, s, t, currency, before) < 0 ? -1 : changed;
}
