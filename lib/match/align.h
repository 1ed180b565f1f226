/*
 * align: which of two rows of messages belong together: those that are the same, in their order, and
 * between them those that are alike.
 */
#ifndef MATCH_ALIGN_H
#define MATCH_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message as a few numbers; equal where it is. */
struct mark {
	uint64_t head;    /* kind, method, kind of update: what differs here never belongs together */
	uint64_t shape;
	uint64_t content;
};

enum { ALIGN_MOST = 1024 }; /* so many marks a row: time and memory grow with the product */
#define ALIGN_ALONE SIZE_MAX

/* partner[i] is set to the index in b that belongs to a[i], or ALIGN_ALONE. 0, or -1 out of memory. */
int align(const struct mark *a, size_t n, const struct mark *b, size_t m, size_t *partner);
bool align_same(const struct mark *, const struct mark *);

#endif
