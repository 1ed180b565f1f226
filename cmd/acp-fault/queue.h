/* queue: lines of a lane that wait for their time. None leaves before one that stands ahead of it. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bytes.h"

struct parcel {
	struct parcel *next;
	uint64_t ready; /* us: it does not leave before */
	uint64_t stall; /* us that the lane stands still before it */
	uint64_t due;   /* when it leaves: worked out by queue_add */
	bool last;      /* the stream dies with it */
	struct buf text; /* bytes, newline included */
};

struct queue {
	struct parcel *first, **end;
	uint64_t due;   /* of the last one */
	size_t size;    /* bytes of memory */
	size_t stalls;  /* parcels before which the lane stands still */
};

void queue_init(struct queue *);
void queue_free(struct queue *);
/* NULL when out of memory. */
struct parcel *parcel_new(uint64_t ready);
void parcel_free(struct parcel *);
/* Takes over the parcel. */
void queue_add(struct queue *, struct parcel *);
/* The next one that is due, out of the queue and the caller's to free, or NULL. */
struct parcel *queue_take(struct queue *, uint64_t now);

#endif
