/*
 * rows: pairs the equal numbers of two rows, in their order; a number that one row lacks does not shift the other pairs. In nearly
 * linear time: numbers that occur once in each row divide long rows into parts, and the parts are matched.
 */
#ifndef MATCH_ROWS_H
#define MATCH_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define ROWS_ALONE SIZE_MAX

/* Sets partner[i] to the index in b of a number equal to a[i], or to ROWS_ALONE. The indexes rise. 0, or -1 out of memory. */
int rows_match(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* Pairs in any order: each a[i] whose partner[i] is ROWS_ALONE gets the first equal b[j] that is not paired. 0 or -1. */
int rows_match_any(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* Keeps as many of the known partner[i] as can rise, and pairs the numbers between them as rows_match does. 0 or -1. */
int rows_fill(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t *partner);
/* Sets as few rising[i] as possible to ROWS_ALONE, so that the others rise. 0 or -1. */
int rows_rising(size_t *rising, size_t n);

#endif
