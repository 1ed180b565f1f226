#include "lib/decimal.h"

#include <stdlib.h>

enum { LIMB = 1000000000, DIGITS = 9 };

static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

/* --- limbs --- */

static const uint32_t *
limbs(const struct decimal *d)
{
	return d->n > DECIMAL_SMALL ? d->limbs.large : d->limbs.small;
}

static int32_t
high(const struct decimal *d)
{
	return d->low + (int32_t)d->n;
}

/* The limb for 10^(9 * at). */
static uint32_t
limb(const struct decimal *d, int32_t at)
{
	return at < d->low || at >= high(d) ? 0 : limbs(d)[at - d->low];
}

/* Puts n limbs, the first for 10^(9 * low), into `to` in place of what it held. */
static int
set(struct decimal *to, bool negative, const uint32_t *from, size_t n, int32_t low)
{
	struct decimal made = {0};

	for (; n > 0 && from[n - 1] == 0; n--)
		;
	for (; n > 0 && *from == 0; n--, low++)
		from++;
	if (n > 0) {
		made.n = (uint32_t)n;
		made.low = low;
		made.negative = negative;
		if (n > DECIMAL_SMALL) {
			made.limbs.large = malloc(n * sizeof(*from));
			if (!made.limbs.large)
				return -1;
		}
		memcpy(n > DECIMAL_SMALL ? made.limbs.large : made.limbs.small, from, n * sizeof(*from));
	}
	decimal_free(to);
	*to = made;
	return 0;
}

/* Room for n zero limbs: the given ones where they are enough. */
static uint32_t *
room(uint32_t *given, size_t have, size_t n)
{
	if (n > have)
		return calloc(n, sizeof(*given));
	memset(given, 0, n * sizeof(*given));
	return given;
}

/* --- reading --- */

/* A number as it is written: its digits, from the first that is not zero to the last, and the power of the last. */
struct written {
	bool negative;
	const char *first, *last; /* there may be a point between */
	int64_t power;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Steps over digits. False where there are none. */
static bool
digits(const char **p, const char *end)
{
	const char *from = *p;

	while (*p < end && is_digit(**p))
		++*p;
	return *p > from;
}

static bool
exponent(const char *p, const char *end, int64_t *e)
{
	bool negative = false;

	*e = 0;
	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end && is_digit(*p); p++)
		if (*e < 1000 * (int64_t)DECIMAL_RANGE)
			*e = *e * 10 + (*p - '0');
	if (negative)
		*e = -*e;
	return p == end;
}

static bool
written(struct slice text, struct written *w)
{
	const char *p = text.p, *end = text.p + text.n, *point;
	int64_t e = 0;

	*w = (struct written){.negative = p < end && *p == '-'};
	p += w->negative;
	w->first = p;
	if (!digits(&p, end))
		return false;
	point = p;
	if (p < end && *p == '.' && (p++, !digits(&p, end)))
		return false;
	w->last = p;
	if (p < end && ((*p != 'e' && *p != 'E') || !exponent(p + 1, end, &e)))
		return false;
	while (w->first < w->last && (*w->first == '0' || *w->first == '.'))
		w->first++;
	while (w->last > w->first && (w->last[-1] == '0' || w->last[-1] == '.'))
		w->last--;
	/* How far the last digit stands behind, or before, the point. */
	w->power = e - (w->last > point ? w->last - point - 1 : w->last - point);
	return true;
}

int
decimal_parse(struct slice number, struct decimal *to)
{
	uint32_t few[DECIMAL_SMALL * 2], *made;
	struct written w;
	int64_t at, low, top;
	const char *p;
	size_t n;
	int r;

	if (!number.p || !written(number, &w))
		return 1;
	if (w.first == w.last)
		return set(to, false, NULL, 0, 0);
	top = w.power + (w.last - w.first);
	if (w.power < -DECIMAL_RANGE || top > DECIMAL_RANGE)
		return 1;
	/* Shifted so that division rounds down. */
	low = (w.power + DECIMAL_RANGE * DIGITS) / DIGITS - DECIMAL_RANGE;
	n = (size_t)((top + DECIMAL_RANGE * DIGITS) / DIGITS - DECIMAL_RANGE - low + 1);
	made = room(few, sizeof(few) / sizeof(*few), n);
	if (!made)
		return -1;
	at = w.power - low * DIGITS;
	for (p = w.last; p-- > w.first;) {
		if (*p == '.')
			continue;
		made[at / DIGITS] += (uint32_t)(*p - '0') * powers[at % DIGITS];
		at++;
	}
	r = set(to, w.negative, made, n, (int32_t)low);
	if (made != few)
		free(made);
	return r;
}

int
decimal_of(uint64_t v, struct decimal *to)
{
	uint32_t three[3] = {(uint32_t)(v % LIMB), (uint32_t)(v / LIMB % LIMB), (uint32_t)(v / LIMB / LIMB)};

	return set(to, false, three, 3, 0);
}

int
decimal_copy(const struct decimal *d, struct decimal *to)
{
	return d == to ? 0 : set(to, d->negative, limbs(d), d->n, d->low);
}

void
decimal_free(struct decimal *d)
{
	if (d->n > DECIMAL_SMALL)
		free(d->limbs.large);
	*d = (struct decimal){0};
}

/* --- arithmetic --- */

static int
compare_size(const struct decimal *a, const struct decimal *b)
{
	int32_t at, low = a->low < b->low ? a->low : b->low;
	uint32_t x, y;

	if (a->n == 0 || b->n == 0)
		return (a->n > 0) - (b->n > 0);
	for (at = high(a) > high(b) ? high(a) : high(b); at-- > low;) {
		x = limb(a, at);
		y = limb(b, at);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

int
decimal_compare(const struct decimal *a, const struct decimal *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? -compare_size(a, b) : compare_size(a, b);
}

/* a + b, or a - b where minus, of the sizes; a is not smaller then. */
static int
combine(const struct decimal *a, const struct decimal *b, bool minus, bool negative, struct decimal *to)
{
	int32_t low = a->low < b->low ? a->low : b->low, top = high(a) > high(b) ? high(a) : high(b), at;
	size_t n = (size_t)(top - low) + 1;
	uint32_t few[DECIMAL_SMALL * 2], *made = room(few, sizeof(few) / sizeof(*few), n), carry = 0, x;
	int r;

	if (!made)
		return -1;
	for (at = low; at < top; at++) {
		if (minus) {
			x = limb(a, at) + LIMB - limb(b, at) - carry;
			carry = x < LIMB;
			made[at - low] = carry ? x : x - LIMB;
		} else {
			x = limb(a, at) + limb(b, at) + carry;
			carry = x >= LIMB;
			made[at - low] = carry ? x - LIMB : x;
		}
	}
	made[n - 1] = carry;
	r = set(to, negative, made, n, low);
	if (made != few)
		free(made);
	return r;
}

static int
sum(const struct decimal *a, const struct decimal *b, bool negative_b, struct decimal *to)
{
	if (b->n == 0)
		return decimal_copy(a, to);
	if (a->n == 0)
		return set(to, negative_b, limbs(b), b->n, b->low);
	if (a->negative == negative_b)
		return combine(a, b, false, a->negative, to);
	if (compare_size(a, b) >= 0)
		return combine(a, b, true, a->negative, to);
	return combine(b, a, true, negative_b, to);
}

int
decimal_add(const struct decimal *a, const struct decimal *b, struct decimal *to)
{
	return sum(a, b, b->negative, to);
}

int
decimal_subtract(const struct decimal *a, const struct decimal *b, struct decimal *to)
{
	return sum(a, b, !b->negative, to);
}

int
decimal_multiply(const struct decimal *a, const struct decimal *b, struct decimal *to)
{
	size_t n = (size_t)a->n + b->n, i, j;
	uint32_t few[DECIMAL_SMALL * 4], *made = room(few, sizeof(few) / sizeof(*few), n);
	uint64_t x;
	int r;

	if (!made)
		return -1;
	for (i = 0; i < a->n; i++) {
		for (x = 0, j = 0; j < b->n; j++) {
			x += made[i + j] + (uint64_t)limbs(a)[i] * limbs(b)[j];
			made[i + j] = (uint32_t)(x % LIMB);
			x /= LIMB;
		}
		made[i + j] = (uint32_t)x;
	}
	r = set(to, a->negative != b->negative, made, n, a->low + b->low);
	if (made != few)
		free(made);
	return r;
}

/* --- writing --- */

/* The digit for 10^at. */
static char
digit(const struct decimal *d, int32_t at)
{
	int32_t which = at >= 0 ? at / DIGITS : -((DIGITS - 1 - at) / DIGITS);

	return (char)('0' + limb(d, which) / powers[at - which * DIGITS] % 10);
}

/* Digits down to 10^-places; what lies below is cut off. */
static int
put_digits(const struct decimal *d, int32_t places, struct buf *to)
{
	int32_t at = d->n && high(d) > 0 ? high(d) * DIGITS : 1;
	char c;

	while (at > 1 && digit(d, at - 1) == '0')
		at--;
	if (d->negative && buf_add(to, "-", 1) < 0)
		return -1;
	while (at-- > 0) {
		c = digit(d, at);
		if (buf_add(to, &c, 1) < 0)
			return -1;
	}
	if (places > 0 && buf_add(to, ".", 1) < 0)
		return -1;
	for (at = -1; at >= -places; at--) {
		c = digit(d, at);
		if (buf_add(to, &c, 1) < 0)
			return -1;
	}
	return 0;
}

int
decimal_put(const struct decimal *d, struct buf *to)
{
	int32_t places = d->n && d->low < 0 ? -d->low * DIGITS : 0;
	size_t was = to->n;

	while (places > 0 && digit(d, -places) == '0')
		places--;
	if (put_digits(d, places, to) == 0)
		return 0;
	to->n = was;
	return -1;
}

int
decimal_put_rounded(const struct decimal *d, unsigned places, struct buf *to)
{
	int32_t p = places > DECIMAL_RANGE ? DECIMAL_RANGE : (int32_t)places;
	struct decimal half = {0}, rounded = {0};
	struct buf text = {0};
	size_t was = to->n;
	int r = -1, shown;

	/* Half of the last place that is shown is added, then the rest is cut off. */
	if (buf_printf(&text, "%s5e-%d", d->negative ? "-" : "", p + 1) == 0
		&& decimal_parse(buf_slice(&text), &half) == 0 && decimal_add(d, &half, &rounded) == 0) {
		for (shown = high(&rounded) * DIGITS - 1; shown >= -p && digit(&rounded, shown) == '0'; shown--)
			;
		if (shown < -p)
			rounded.negative = false;
		r = put_digits(&rounded, p, to);
	}
	if (r < 0)
		to->n = was;
	decimal_free(&half);
	decimal_free(&rounded);
	buf_free(&text);
	return r;
}

/* The places of ISO 4217's currencies that have no smaller unit. */
static bool
has_no_decimals(struct slice currency)
{
	static const char names[][4] = {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX",
		"UYI", "VND", "VUV", "XAF", "XOF", "XPF"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_is(currency, names[i]))
			return true;
	return false;
}

int
decimal_put_money(const struct decimal *d, struct slice currency, struct buf *to)
{
	unsigned places = d->n && high(d) > 0 ? 2 : 4;
	size_t was = to->n;

	if (has_no_decimals(currency))
		places = 0;
	if (decimal_put_rounded(d, d->n ? places : 0, to) == 0
		&& (currency.n == 0 || (buf_add(to, " ", 1) == 0 && buf_add_slice(to, currency) == 0)))
		return 0;
	to->n = was;
	return -1;
}
