/* Numbers that are equal have the same key, however they are written. */
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

/* Far beyond any exponent that is asked for, and ten times that is still far from the end of int64_t. */
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
	size_t seen = 0, last = 0, decimals = 0;
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
		decimals += point;
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
	n.exponent += (int64_t)(seen - last) - (int64_t)decimals;
	return n;
}

bool
json_u64(struct slice number, uint64_t *value)
{
	struct number n;
	uint64_t v = 0;
	size_t digits;

	/* Most are digits alone, and few enough to fit. */
	*value = 0;
	for (digits = 0; digits < number.n && digits < 19 && byte_is_digit(number.p[digits]); digits++)
		*value = *value * 10 + (uint64_t)(number.p[digits] - '0');
	if (digits > 0 && digits == number.n)
		return true;
	if (json_type(number) != JSON_NUMBER)
		return false;
	n = read_number(number);
	if (n.digits > 0 && (n.negative || n.exponent < 0 || n.digits > 20 || n.exponent > 20))
		return false;
	for (const char *p = n.from; p < n.to; p++)
		if (*p != '.' && (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)))
			return false;
	for (int64_t i = 0; n.digits > 0 && i < n.exponent; i++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*value = v;
	return true;
}

int
json_number_key(struct slice number, struct buf *to, bool *integer)
{
	struct number n;
	size_t was = to->n;
	char small[2] = "e";
	int r;

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
	r = n.negative ? buf_add(to, "-", 1) : 0;
	for (const char *p = n.from; r == 0 && p < n.to; p++)
		if (*p != '.')
			r = buf_add(to, p, 1);
	/* Most exponents are those of ids, and small. */
	small[1] = (char)('0' + n.exponent);
	if (r == 0)
		r = n.exponent >= 0 && n.exponent < 10 ? buf_add(to, small, 2) : buf_printf(to, "e%lld", (long long)n.exponent);
	if (r < 0)
		to->n = was;
	return r;
}
