/* What sessions cost. */
#include <stdlib.h>

#include "lib/usage_parts.h"

struct usage_cost *
usage_cost_of(struct usage_session *s, uint32_t currency)
{
	struct usage_cost **p, *c;

	for (p = &s->cost; (c = *p) && c->currency != currency; p = &c->next)
		;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->currency = currency;
	} else {
		*p = c->next;
	}
	c->next = s->cost;
	s->cost = c;
	return c;
}

/* Decimals as they are written, for people who compare. */
static uint16_t
written_places(struct slice amount)
{
	const char *point = memchr(amount.p, '.', amount.n);
	size_t n = 0;

	if (!point || memchr(amount.p, 'e', amount.n) || memchr(amount.p, 'E', amount.n))
		return 0;
	n = (size_t)(amount.p + amount.n - point - 1);
	return n > 1000 ? 1000 : (uint16_t)n;
}

/* A value came: is it a new piece? */
static int
cost_value(struct usage_session *s, struct usage_cost *c, const struct decimal *amount)
{
	if (decimal_is_zero(amount))
		return 0;
	if (!c->given) {
		c->given = true;
		return decimal_copy(amount, &c->first) < 0 ? -1 : decimal_copy(amount, &c->last);
	}
	if (decimal_compare(amount, &c->last) < 0) {
		s->restarts++;
		if (decimal_add(&c->closed, &c->last, &c->closed) < 0)
			return -1;
	}
	return decimal_copy(amount, &c->last);
}

int
usage_take_cost(struct usage *u, struct usage_session *s, const struct usage_report *r)
{
	struct decimal amount = {0};
	uint32_t currency, before = s->cost ? s->cost->currency : 0;
	struct usage_cost *c;
	int e;

	if (r->cost_null && (s->v2 || u->agents[s->agent].v2)) {
		e = s->cost && !s->cleared;
		s->cleared = true;
		return e;
	}
	if (!r->amount.p)
		return 0;
	e = decimal_parse(r->amount, &amount);
	if (e != 0) {
		if (e > 0)
			usage_malformed(u, s, "an amount out of range");
		return e > 0 ? 0 : -1;
	}
	currency = usage_intern_string(u, r->currency);
	if (before && currency != before)
		usage_note(u, s, USAGE_SAID_CURRENCY, "the currency changes from %s to %.*s: amounts are not added",
			usage_name(u, before).p, (int)r->currency.n - 2, r->currency.p + 1);
	c = currency ? usage_cost_of(s, currency) : NULL;
	e = -1;
	if (c) {
		e = currency != before || s->cleared || decimal_compare(&amount, &c->shown) != 0;
		s->cleared = false;
		c->places = written_places(r->amount);
		if (decimal_copy(&amount, &c->shown) < 0 || cost_value(s, c, &amount) < 0)
			e = -1;
	}
	decimal_free(&amount);
	return e;
}
