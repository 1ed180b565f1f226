/* queue: lines of a direction that wait for their time. None leaves before one that stands before it. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct held;
struct rule;

struct parcel {
	struct parcel *next;
	uint64_t ready; /* us: it does not leave before */
	uint64_t stall; /* us that the direction stands still before it */
	uint64_t due;   /* when it leaves: worked out by queue_add */
	/* A line that does not leave at once. */
	uint64_t piece; /* bytes that leave together; 0: as many as the rate wants */
	uint64_t pause; /* us between two pieces */
	uint64_t rate;  /* bytes a second; 0: no limit */
	size_t sent;    /* bytes that have left */
	bool close;     /* the direction ends after it */
	const struct rule *exit; /* the stream dies with it, as this rule says; or NULL */
	struct held *held; /* the line; NULL: one of ours, text */
	bool changed;   /* text is what becomes of it, newline included */
	struct buf text;
};

struct queue {
	struct parcel *first, **end;
	uint64_t due;   /* of the last one */
	uint64_t busy;  /* until then the last piece takes its time */
	size_t stalls;  /* parcels before which the direction stands still */
	size_t own;     /* bytes of those parcels whose line is not held */
};

void queue_init(struct queue *);
void queue_free(struct queue *);
/* NULL when out of memory. */
struct parcel *parcel_new(uint64_t ready);
void parcel_free(struct parcel *);
/* Takes over the parcel. */
void queue_add(struct queue *, struct parcel *);
/* When the next one, or the next piece of it, leaves; UINT64_MAX: there is none. */
uint64_t queue_time(const struct queue *);
/*
 * How much of the first one, whose text has n bytes, leaves now: its next piece. The direction is busy then for as long as that takes.
 * end: all of it leaves.
 */
size_t queue_piece(struct queue *, size_t n, uint64_t now, bool end);
/* Takes out the first one: the caller's to free. */
struct parcel *queue_take(struct queue *);

#endif
