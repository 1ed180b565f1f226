/*
 * hist: how often which time was measured, in buckets that grow with the time, as HdrHistogram has them: those of 64 a power of
 * two are at most 1/64 of their time wide. The middle of a bucket is less than 1 % off any of its times (exact up to 128 us).
 * Count, sum, least and greatest time are exact; also after a merge.
 */
#ifndef HIST_H
#define HIST_H

#include "lib/json/json.h"

/* Zero it to begin. Times in us. */
struct hist {
	uint64_t n, sum, min, max; /* sums do not go beyond 2^64-1 */
	uint64_t *at;  /* of the buckets first, first + 1, ..., so many as `buckets` */
	unsigned first, buckets;
};

/* These return 0, or -1 out of memory. */
int hist_add(struct hist *, uint64_t us);
int hist_merge(struct hist *, const struct hist *);
/* A percentile: the least time that this percentage of all times does not exceed, within the error; 0 if there are no times. */
uint64_t hist_percentile(const struct hist *, unsigned percent);
enum { HIST_PERCENTILES = 3 };
extern const unsigned hist_percentiles[HIST_PERCENTILES]; /* 50, 90, 99: those that are reported */
/* Appends it as a JSON object. */
int hist_put(const struct hist *, struct buf *);
/* Reads one of those into an empty one. 1: it is none that could have been written. */
int hist_get(struct hist *, struct slice object);
void hist_free(struct hist *);

/* a + b, or 2^64-1. */
uint64_t hist_sum(uint64_t a, uint64_t b);

#endif
