/* Numbers: their values, and keys that are the same for all spellings of a number. */
#include <errno.h>

#include "lib/base/decimal.h"
#include "lib/json/json.h"

bool
json_u64(struct slice number, uint64_t *value)
{
	struct decimal_digits n;
	uint64_t v = 0;
	size_t digits;

	/* Most numbers are a few digits. */
	*value = 0;
	for (digits = 0; digits < number.n && digits < 19 && byte_is_digit(number.p[digits]); digits++)
		*value = *value * 10 + (uint64_t)(number.p[digits] - '0');
	if (digits > 0 && digits == number.n)
		return true;
	if (!decimal_digits(number, &n))
		return false;
	if (n.n > 0 && (n.negative || n.exponent < 0 || n.n > 20 || n.exponent > 20))
		return false;
	for (const char *p = n.from; p < n.to; p++)
		if (*p != '.' && (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)))
			return false;
	for (int64_t i = 0; n.n > 0 && i < n.exponent; i++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*value = v;
	return true;
}

int
json_number_key(struct slice number, struct buf *to, bool *integer)
{
	struct decimal_digits n;
	size_t was = to->n;
	char small[2] = "e";
	int r;

	if (!decimal_digits(number, &n)) {
		errno = EINVAL;
		return -1;
	}
	if (n.n == 0) {
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
	/* Most numbers are ids, whose exponents are small. */
	small[1] = (char)('0' + n.exponent);
	if (r == 0)
		r = n.exponent >= 0 && n.exponent < 10 ? buf_add(to, small, 2) : buf_printf(to, "e%lld", (long long)n.exponent);
	if (r < 0)
		to->n = was;
	return r;
}
