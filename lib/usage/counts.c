/* Counts and their sums. */
#include "lib/usage/usage_parts.h"

const char *const usage_types[] = {"total", "input", "output", "thought", "cache_read", "cache_write"};
const char *const usage_bases[] = {"auto", "turn", "call", "session", NULL};

__extension__ typedef unsigned __int128 wide;

/* --- sums --- */

void
usage_sums_count(struct usage_sums *s, const struct usage_counts *c)
{
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if (c->has & 1u << i)
			s->n[i] += (decimal_units)c->n[i];
	s->has |= (uint8_t)c->has;
}

void
usage_sums_add(struct usage_sums *s, const struct usage_sums *more)
{
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		s->n[i] += more->n[i];
	s->has |= more->has;
}

void
usage_sums_less(struct usage_sums *s, const struct usage_sums *less)
{
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		s->n[i] -= less->n[i];
}

int
usage_sum_put(const struct usage_sums *s, enum usage_type t, struct buf *to)
{
	decimal_units n = s->n[t] < 0 ? -s->n[t] : s->n[t];
	char text[40], *p = text + sizeof(text);

	do
		*--p = (char)('0' + (int)(n % 10));
	while (n /= 10);
	if (s->n[t] < 0)
		*--p = '-';
	return buf_add(to, p, (size_t)(text + sizeof(text) - p));
}

int
usage_sums_put(const struct usage_sums *s, struct buf *to)
{
	const char *comma = "";
	int r = buf_add(to, "{", 1);

	for (unsigned i = 0; i < USAGE_TYPES; i++) {
		if (!(s->has & 1u << i))
			continue;
		r |= -(buf_printf(to, "%s\"%s\":", comma, usage_types[i]) || usage_sum_put(s, (enum usage_type)i, to));
		comma = ",";
	}
	return r | buf_add(to, "}", 1);
}

/* Reads the digits of a sum, which may be larger than any count. */
static bool
read_sum(struct slice v, decimal_units *n)
{
	const char *p = v.p, *end = v.p + v.n;
	bool negative = *p == '-';

	for (*n = 0, p += negative; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		*n = *n * 10 + (*p - '0');
		if (*n >> 95)
			return false;
	}
	*n = negative ? -*n : *n;
	return true;
}

const char *
usage_sums_read(struct slice object, struct usage_sums *s)
{
	struct slice v;

	*s = (struct usage_sums){0};
	for (unsigned i = 0; i < USAGE_TYPES; i++) {
		v = json_get(object, usage_types[i]);
		if (v.p && (json_type(v) != JSON_NUMBER || !read_sum(v, &s->n[i])))
			return usage_types[i];
		s->has |= (uint8_t)(v.p ? 1u << i : 0);
	}
	return NULL;
}

uint64_t
usage_clip(decimal_units n)
{
	return n > (decimal_units)UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static uint64_t
plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t
usage_total_of(const struct usage_counts *c)
{
	return c->has & 1u << USAGE_TOTAL ? c->n[USAGE_TOTAL] : plus(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT]);
}

decimal_units
usage_total(const struct usage_sums *s)
{
	return s->has & 1u << USAGE_TOTAL ? s->n[USAGE_TOTAL] : s->n[USAGE_INPUT] + s->n[USAGE_OUTPUT];
}

void
usage_complete(struct usage_counts *c)
{
	const unsigned both = 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;

	if (c->has == both && !__builtin_add_overflow(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT], &c->n[USAGE_TOTAL]))
		c->has |= 1u << USAGE_TOTAL;
}

/* --- what lies in what --- */

uint8_t
usage_inclusion(const struct usage_counts *c)
{
	static const enum usage_type part[] = {USAGE_READ, USAGE_WRITE, USAGE_THOUGHT};
	const unsigned need = 1u << USAGE_TOTAL | 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;
	unsigned there = 0, beside, i;
	uint8_t agreed = 63, says;
	uint64_t total;

	if ((c->has & need) != need)
		return 0;
	/* A part that is 0, or was not reported, is no evidence. */
	for (i = 0; i < 3; i++)
		there |= (c->n[part[i]] > 0 ? 1u : 0u) << i;
	for (beside = 0; beside <= there; beside++) {
		if (beside & ~there)
			continue;
		total = plus(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT]);
		says = 0;
		for (i = 0; i < 3; i++) {
			if (beside & 1u << i)
				total = plus(total, c->n[part[i]]);
			if (there & 1u << i)
				says |= (uint8_t)(1u << (2 * i + (beside >> i & 1)));
		}
		if (total == c->n[USAGE_TOTAL])
			agreed &= says;
	}
	return agreed == 63 ? 0 : agreed;
}

/* Subtracts a part from the count that includes it, but not below 0. */
static void
subtract(decimal_units *whole, decimal_units what)
{
	*whole = *whole > what ? *whole - what : 0;
}

void
usage_disjoint(const struct usage_sums *s, uint8_t inside, decimal_units to[USAGE_TYPES])
{
	unsigned i;

	memcpy(to, s->n, sizeof(s->n));
	if (inside & USAGE_READ_INSIDE)
		subtract(&to[USAGE_INPUT], to[USAGE_READ]);
	if (inside & USAGE_WRITE_INSIDE)
		subtract(&to[USAGE_INPUT], to[USAGE_WRITE]);
	if (inside & USAGE_THOUGHT_INSIDE)
		subtract(&to[USAGE_OUTPUT], to[USAGE_THOUGHT]);
	for (to[USAGE_TOTAL] = 0, i = USAGE_INPUT; i < USAGE_TYPES; i++)
		to[USAGE_TOTAL] += to[i];
}

/* --- context --- */

bool
usage_reaches(uint64_t used, uint64_t size, unsigned percent, bool at)
{
	wide a = (wide)used * 100, b = (wide)size * percent;

	return at ? a >= b : a > b;
}

int
usage_percent(uint64_t used, uint64_t size)
{
	wide percent = size ? (wide)used * 100 / size : 0;

	return percent > 100000 ? 100000 : (int)percent;
}
