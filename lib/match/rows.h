/*
 * rows: which elements of two rows of numbers are the same, in their order: what is missing on one side shifts nothing. Near
 * linear: where the rows are long, numbers that occur once in each divide them, and all others are matched between those.
 */
#ifndef MATCH_ROWS_H
#define MATCH_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define ROWS_ALONE SIZE_MAX

/* partner[i] is set to the index in b of the number that is a[i], or ROWS_ALONE; the indexes rise. 0, or -1 out of memory. */
int rows_match(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* The same in any order: each a[i] whose partner is ROWS_ALONE gets the first equal b[j] that is nobody's partner. */
int rows_match_any(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* The same between partners that are known: the most of partner[i] that rise are kept, and what lies between them is matched. */
int rows_fill(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* Of rising[i], sets to ROWS_ALONE the fewest so that the others rise. 0, or -1 out of memory. */
int rows_rising(size_t *rising, size_t n);

#endif
