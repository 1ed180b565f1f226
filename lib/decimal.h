/*
 * decimal: exact decimal numbers of any length, for amounts of money: binary floating point can not
 * hold 0.1, and sums must not depend on their order.
 */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdint.h>

#include "lib/bytes.h"

enum {
	DECIMAL_SMALL = 4,     /* limbs that are kept in the structure itself */
	DECIMAL_RANGE = 10000, /* digits stand between 10^-RANGE and 10^RANGE: what a peer may make us hold */
};

/* Zero it to begin: that is 0. Limbs of nine digits, lowest first; limb i stands for limb * 10^(9 * (low + i)). */
struct decimal {
	uint32_t n;   /* limbs; no zero ones at either end */
	int32_t low;
	bool negative;
	union {
		uint32_t small[DECIMAL_SMALL];
		uint32_t *large;
	} limbs;
};

/* All that may fail return 0, or -1 out of memory and `to` as it was. `to` may be one of the operands. */

/* Reads a JSON number in any spelling. Returns 1 where it is none, or out of range. */
int decimal_parse(struct slice number, struct decimal *to);
int decimal_of(uint64_t, struct decimal *to);
int decimal_copy(const struct decimal *, struct decimal *to);
int decimal_add(const struct decimal *, const struct decimal *, struct decimal *to);
int decimal_subtract(const struct decimal *, const struct decimal *, struct decimal *to);
int decimal_multiply(const struct decimal *, const struct decimal *, struct decimal *to);
/* Below, at, or above zero as a is below, equal to or above b. */
int decimal_compare(const struct decimal *a, const struct decimal *b);
static inline bool
decimal_is_zero(const struct decimal *d)
{
	return d->n == 0;
}
/* Frees what it holds; it is 0 then. */
void decimal_free(struct decimal *);

/* Appends it exactly, without an exponent, without zeros that say nothing: 0.3. */
int decimal_put(const struct decimal *, struct buf *);
/* Appends it rounded to so many places, half away from zero: 0.1136. */
int decimal_put_rounded(const struct decimal *, unsigned places, struct buf *);
/*
 * Appends what a person reads of an amount of money: four places below 1, else two, and none in a currency
 * that has none (JPY). Then a blank and the currency, plain text, where there is one.
 */
int decimal_put_money(const struct decimal *, struct slice currency, struct buf *);

#endif
