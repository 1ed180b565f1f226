/*
 * decimal: exact amounts of money, as whole numbers of 10^-24: binary floating point cannot hold 0.1, and sums must not
 * depend on their order. An amount has 24 decimal places and is below 1.7 * 10^14. A zeroed struct decimal is 0.
 */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum { DECIMAL_PLACES = 24 };

__extension__ typedef __int128 decimal_units;

struct decimal {
	decimal_units units;
};

/*
 * Reads a JSON number in any spelling as n digits * 10^exponent. The digits are those from the first that is not zero (at from) to
 * the last that is not zero (before to), with a point perhaps among them. Zero has no digits. False: not a number.
 */
struct decimal_digits {
	bool negative;
	const char *from, *to;
	size_t n;
	int64_t exponent;
};
bool decimal_digits(struct slice number, struct decimal_digits *);

/* Reads a JSON number in any spelling, rounded to 24 decimals. False: not a number, or too large. */
bool decimal_parse(struct slice number, struct decimal *to);
/* These two return false, and leave `to` as it was, if the result is too large. `to` may be one of the operands. */
bool decimal_add(struct decimal, struct decimal, struct decimal *to);
bool decimal_subtract(struct decimal, struct decimal, struct decimal *to);
/* Returns a number below, equal to or above 0, as a is below, equal to or above b. */
int decimal_compare(struct decimal a, struct decimal b);

/* Appends an amount exactly, without an exponent, with at least `places` decimals: 0.3. 0, or -1 out of memory. */
int decimal_put(struct decimal, unsigned places, struct buf *);
/* Appends an amount rounded to `places` (at most 24) decimals, half away from zero: 0.1136. 0, or -1 out of memory. */
int decimal_put_rounded(struct decimal, unsigned places, struct buf *);
/*
 * Appends an amount of money for people: with four decimals below 1, else two; none for 0, and in a currency without a smaller
 * unit (JPY). Then, if the currency is not empty, a blank and the currency as plain text. 0, or -1 out of memory.
 */
int decimal_put_money(struct decimal, struct slice currency, struct buf *);

#endif
