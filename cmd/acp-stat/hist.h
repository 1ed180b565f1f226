/*
 * hist: a histogram of times, with 64 buckets for each power of two, as HdrHistogram has them. A bucket is at most 1/64 of its time wide,
 * so that its middle is less than 1 % off any of its times; up to 128 us times are exact. Count, sum, least and greatest time are
 * exact, also after a merge.
 */
#ifndef HIST_H
#define HIST_H

#include "lib/json/json.h"

/* Zero it to begin. Times in us. */
struct hist {
	uint64_t n, sum, min, max; /* a greater sum is 2^64-1 */
	uint64_t *at;  /* the counts of the buckets from `first` on; there are `buckets` of them */
	unsigned first, buckets;
};

/* These return 0, or -1 out of memory. */
int hist_add(struct hist *, uint64_t us);
int hist_merge(struct hist *, const struct hist *);
/* A percentile: the least time that this percentage of all times does not exceed, with an error below 1 %; 0 without times. */
uint64_t hist_percentile(const struct hist *, unsigned percent);
enum { HIST_PERCENTILES = 3 };
extern const unsigned hist_percentiles[HIST_PERCENTILES]; /* the reported ones: 50, 90, 99 */
/* Appends a histogram as a JSON object. */
int hist_put(const struct hist *, struct buf *);
/* Reads such an object into an empty histogram. 0; 1: hist_put could not have written it; -1 out of memory. */
int hist_get(struct hist *, struct slice object);
void hist_free(struct hist *);

/* a + b, or 2^64-1. */
uint64_t hist_sum(uint64_t a, uint64_t b);

#endif
