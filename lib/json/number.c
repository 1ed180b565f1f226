#include <errno.h>

#include "lib/json/json.h"

/*
 * A number as digits * 10^exponent. The digits are those from the first that is not zero (at from)
 * to the last (before to), where a point may be among them; zero has none.
 */
struct number {
	bool negative;
	const char *from, *to;
	size_t digits;
	int64_t exponent;
};

/* Far beyond what anybody may ask for, and ten times that is still far from the end of int64_t. */
static const int64_t FAR = INT64_C(100000000000000000);

/* The written exponent at p, after the 'e'. */
static int64_t
read_exponent(const char *p, const char *end)
{
	int64_t e = 0;
	bool negative = false;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	for (; p < end && byte_is_digit(*p); p++)
		if (e < FAR)
			e = e * 10 + (*p - '0');
	if (e > FAR)
		e = FAR;
	return negative ? -e : e;
}

static struct number
read_number(struct slice text)
{
	const char *p = text.p, *end = text.p + text.n;
	struct number n = {0};
	size_t seen = 0, last = 0, places = 0;
	bool point = false;

	if (p < end && *p == '-') {
		n.negative = true;
		p++;
	}
	/* seen counts digits from the first that is not zero, last up to the last that is not. */
	for (; p < end && (byte_is_digit(*p) || *p == '.'); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		places += point;
		if (*p != '0' && !n.from)
			n.from = p;
		seen += n.from != NULL;
		if (*p != '0') {
			n.to = p + 1;
			last = seen;
		}
	}
	n.digits = last;
	if (p < end && (*p == 'e' || *p == 'E'))
		n.exponent = read_exponent(p + 1, end);
	n.exponent += (int64_t)(seen - last) - (int64_t)places;
	return n;
}

static bool
add_digit(uint64_t *v, char digit)
{
	return !__builtin_mul_overflow(*v, 10, v) &&
		!__builtin_add_overflow(*v, (uint64_t)(digit - '0'), v);
}

/* Digits alone, and so few that they fit: most numbers. */
static bool
short_digits(struct slice number, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < number.n && i < 19 && byte_is_digit(number.p[i]); i++)
		*value = *value * 10 + (uint64_t)(number.p[i] - '0');
	return i > 0 && i == number.n;
}

bool
json_u64(struct slice number, uint64_t *value)
{
	struct number n;
	uint64_t v = 0;

	if (short_digits(number, value))
		return true;
	if (json_type(number) != JSON_NUMBER)
		return false;
	n = read_number(number);
	if (n.digits > 0 && (n.negative || n.exponent < 0 || n.digits > 20 || n.exponent > 20))
		return false;
	for (const char *p = n.from; p < n.to; p++)
		if (*p != '.' && !add_digit(&v, *p))
			return false;
	for (int64_t i = 0; n.digits > 0 && i < n.exponent; i++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*value = v;
	return true;
}

static int
add_digits(const struct number *n, struct buf *to)
{
	for (const char *p = n->from; p < n->to; p++)
		if (*p != '.' && buf_add(to, p, 1) < 0)
			return -1;
	return 0;
}

/* Most exponents are those of ids, and small. */
static int
add_exponent(int64_t exponent, struct buf *to)
{
	const char small[2] = {'e', (char)('0' + exponent)};

	return exponent >= 0 && exponent < 10 ? buf_add(to, small, 2) : buf_printf(to, "e%lld", (long long)exponent);
}

int
json_number_key(struct slice number, struct buf *to, bool *integer)
{
	struct number n;
	size_t was = to->n;

	if (json_type(number) != JSON_NUMBER) {
		errno = EINVAL;
		return -1;
	}
	n = read_number(number);
	if (n.digits == 0) {
		*integer = true;
		return buf_add(to, "0e0", 3);
	}
	if (n.exponent > 1000000000 || n.exponent < -1000000000) {
		errno = ERANGE;
		return -1;
	}
	*integer = n.exponent >= 0;
	if ((!n.negative || buf_add(to, "-", 1) == 0) && add_digits(&n, to) == 0 &&
		add_exponent(n.exponent, to) == 0)
		return 0;
	to->n = was;
	return -1;
}
