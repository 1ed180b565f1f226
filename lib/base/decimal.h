/*
 * decimal: exact amounts of money: a whole number of 10^-24. Binary floating point cannot hold 0.1, and sums must not
 * depend on their order. Zero it to begin: that is 0. An amount has 24 decimal places and is below 1.7 * 10^14.
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
 * A JSON number in any spelling as digits * 10^exponent. The digits are those from the first that is not zero (at from) to the last
 * (before to), where a point may be among them; zero has none. False where it is none.
 */
struct decimal_digits {
	bool negative;
	const char *from, *to;
	size_t n;
	int64_t exponent;
};
bool decimal_digits(struct slice number, struct decimal_digits *);

/* Reads a JSON number in any spelling; more decimals than fit are rounded. False where it is none, or too large. */
bool decimal_parse(struct slice number, struct decimal *to);
/* These two return false where the result does not fit, and leave `to` as it was. `to` may be one of the operands. */
bool decimal_add(struct decimal, struct decimal, struct decimal *to);
bool decimal_subtract(struct decimal, struct decimal, struct decimal *to);
/* Below, at, or above zero as a is below, equal to or above b. */
int decimal_compare(struct decimal a, struct decimal b);

/* Appends it exactly, without an exponent, with at least `places` decimals: 0.3. 0, or -1 out of memory, as the others below. */
int decimal_put(struct decimal, unsigned places, struct buf *);
/* Appends it rounded to `places` decimals, half away from zero: 0.1136. */
int decimal_put_rounded(struct decimal, unsigned places, struct buf *);
/*
 * Appends what a person reads of an amount of money: four places below 1, else two, and none in a currency
 * that has none (JPY). Then a blank and the currency, plain text, where there is one.
 */
int decimal_put_money(struct decimal, struct slice currency, struct buf *);

#endif
