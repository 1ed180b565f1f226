/* queue: the lines of a direction that wait to be sent. They leave in order. All times are in microseconds. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct held;
struct rule;

/* A line in a queue, and how it leaves. */
struct parcel {
	struct parcel *prev, *next;
	uint64_t ready; /* it does not leave before this time */
	uint64_t stall; /* how long the direction stands still before it */
	uint64_t due;   /* when it leaves: set by queue_add */
	/* For a line that leaves in pieces: */
	uint64_t piece; /* bytes of a piece; 0: as the rate requires */
	uint64_t pause; /* us between two pieces */
	uint64_t rate;  /* bytes a second; 0: no limit */
	size_t sent;    /* bytes that have left */
	bool close;     /* the direction ends after it */
	const struct rule *exit; /* acp-fault exits after it, as this rule says; or NULL */
	struct held *held; /* the line; NULL: the parcel is `text` alone */
	bool changed;   /* `text` is sent in place of the held line, newline included */
	struct buf text;
};

/* Zero it to begin. */
struct queue {
	struct parcel *first;
	uint64_t due;   /* of the last one */
	uint64_t busy;  /* no piece leaves before this time */
	size_t stalls;  /* parcels before which the direction stands still */
	size_t unheld;  /* bytes of the parcels without a held line */
};

void queue_free(struct queue *);
/* Returns an empty parcel, or NULL when out of memory. */
struct parcel *parcel_new(uint64_t ready);
/* Does not release the held line. NULL is allowed. */
void parcel_free(struct parcel *);
/* Appends the parcel, which the queue takes over. */
void queue_add(struct queue *, struct parcel *);
/* Returns when the first parcel, or its next piece, leaves; UINT64_MAX: the queue is empty. */
uint64_t queue_time(const struct queue *);
/*
 * Returns how many bytes of the first parcel, whose text has n bytes, leave now: its next piece. Sets the time before which no
 * other piece leaves. end: all that is left of it leaves.
 */
size_t queue_piece(struct queue *, size_t n, uint64_t now, bool end);
/* Removes the first parcel of a queue that is not empty. The caller frees it. */
struct parcel *queue_take(struct queue *);

#endif
