#include "lib/base/decimal.h"

#include <string.h>

#include "lib/base/text.h"

static decimal_units
power(unsigned n)
{
	decimal_units p = 1;

	while (n-- > 0)
		p *= 10;
	return p;
}

/* --- reading --- */

/* Reading stops at exponents that no amount can have; ten times FAR still fits into an int64_t. */
static const int64_t FAR = INT64_C(100000000000000000);

/* Reads the exponent, from its e to the end of the number. False: it is not an exponent. */
static bool
read_exponent(const char *p, const char *end, int64_t *e)
{
	bool negative = false;

	if (*p != 'e' && *p != 'E')
		return false;
	if (++p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end && byte_is_digit(*p); p++)
		if (*e < FAR)
			*e = *e * 10 + (*p - '0');
	if (negative)
		*e = -*e;
	return p == end;
}

bool
decimal_digits(struct slice number, struct decimal_digits *n)
{
	const char *p = number.p, *end = number.p + number.n;
	size_t seen = 0, decimals = 0;
	bool point = false;

	*n = (struct decimal_digits){.negative = p < end && *p == '-'};
	p += n->negative;
	if (p == end || !byte_is_digit(*p))
		return false;
	/* seen counts all digits from the first that is not zero, n->n only those up to the last that is not zero. */
	for (; p < end && (byte_is_digit(*p) || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		decimals += point;
		if (*p != '0' && !n->from)
			n->from = p;
		seen += n->from != NULL;
		if (*p != '0') {
			n->to = p + 1;
			n->n = seen;
		}
	}
	if (!byte_is_digit(p[-1]) || (p < end && !read_exponent(p, end, &n->exponent)))
		return false;
	n->exponent += (int64_t)(seen - n->n) - (int64_t)decimals;
	return true;
}

/* Adds digit * 10^at. A zero fits at any place; the first digit after 24 decimals rounds half away from zero. False: too large. */
static bool
add_digit(decimal_units *units, int64_t at, int digit)
{
	decimal_units value;

	if (digit == 0)
		return true;
	if (at < -DECIMAL_PLACES)
		return at < -DECIMAL_PLACES - 1 || digit < 5 || !__builtin_add_overflow(*units, (decimal_units)1, units);
	if (at > 14)
		return false;
	return !__builtin_mul_overflow(power((unsigned)(at + DECIMAL_PLACES)), digit, &value)
		&& !__builtin_add_overflow(*units, value, units);
}

bool
decimal_parse(struct slice number, struct decimal *to)
{
	struct decimal_digits n;
	decimal_units units = 0;
	int64_t at;

	if (!decimal_digits(number, &n))
		return false;
	at = n.exponent + (int64_t)n.n - 1;
	for (const char *p = n.from; p < n.to; p++)
		if (*p != '.' && !add_digit(&units, at--, *p - '0'))
			return false;
	to->units = n.negative ? -units : units;
	return true;
}

/* --- arithmetic --- */

bool
decimal_add(struct decimal a, struct decimal b, struct decimal *to)
{
	decimal_units sum;

	if (__builtin_add_overflow(a.units, b.units, &sum))
		return false;
	to->units = sum;
	return true;
}

bool
decimal_subtract(struct decimal a, struct decimal b, struct decimal *to)
{
	decimal_units difference;

	if (__builtin_sub_overflow(a.units, b.units, &difference))
		return false;
	to->units = difference;
	return true;
}

int
decimal_compare(struct decimal a, struct decimal b)
{
	return (a.units > b.units) - (a.units < b.units);
}

/* --- writing --- */

/* Appends an amount with `places` decimals; the caller has rounded it to these. */
static int
put(decimal_units units, unsigned places, struct buf *to)
{
	char text[64], *p = text + sizeof(text);
	bool negative = units < 0;

	units /= power(DECIMAL_PLACES - places);
	for (unsigned i = 0; i <= places || units; i++) {
		if (i == places && places)
			*--p = '.';
		*--p = (char)('0' + (int)(negative ? -(units % 10) : units % 10));
		units /= 10;
	}
	if (negative)
		*--p = '-';
	return buf_add(to, p, (size_t)(text + sizeof(text) - p));
}

int
decimal_put(struct decimal d, unsigned places, struct buf *to)
{
	unsigned needed = d.units ? DECIMAL_PLACES : 0, step;
	decimal_units left = d.units;

	/* Zeros at the end are removed many at a time: a division of 128 bits is slow. */
	for (step = 16; step > 0; step /= 2) {
		if (needed >= step && left % power(step) == 0) {
			left /= power(step);
			needed -= step;
		}
	}
	places = places > DECIMAL_PLACES ? DECIMAL_PLACES : places;
	return put(d.units, needed > places ? needed : places, to);
}

int
decimal_put_rounded(struct decimal d, unsigned places, struct buf *to)
{
	decimal_units unit = power(DECIMAL_PLACES - places), below = d.units % unit;

	d.units -= below;
	if (below >= (unit + 1) / 2 && unit > 1)
		d.units += unit;
	else if (-below >= (unit + 1) / 2 && unit > 1)
		d.units -= unit;
	return put(d.units, places, to);
}

/* Does the currency have no smaller unit, by ISO 4217? */
static bool
has_no_decimals(struct slice currency)
{
	static const char names[][4] = {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX",
		"UYI", "VND", "VUV", "XAF", "XOF", "XPF"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (slice_is(currency, names[i]))
			return true;
	return false;
}

int
decimal_put_money(struct decimal d, struct slice currency, struct buf *to)
{
	decimal_units one = power(DECIMAL_PLACES);
	unsigned places = d.units >= one || d.units <= -one ? 2 : 4;
	size_t was = to->n;

	if (d.units == 0 || has_no_decimals(currency))
		places = 0;
	if (decimal_put_rounded(d, places, to) == 0
		&& (currency.n == 0 || (buf_add(to, " ", 1) == 0 && text_plain(to, currency) == 0)))
		return 0;
	to->n = was;
	return -1;
}
