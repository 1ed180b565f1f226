/*
 * calls: the requests that acp-conduct has forwarded and that have no response yet. Each has the id that it got on its new hop, and
 * holds its sender and the id that this gave it. Nobody else owns a request in flight.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

#include "lib/acp/msg.h"

struct port;

struct call {
	uint64_t id;          /* on its new hop */
	struct port *to;
	struct port *from;    /* NULL: its sender has died and the response goes nowhere, or it is acp-conduct's own */
	bool own;             /* acp-conduct's own request, for a restarted component */
	bool unread;          /* the process of `to` had not read it when it died */
	bool cancelled;
	enum acp_direction dir;
	enum acp_method what;
	struct slice origin;  /* the id that its sender gave it; this and the session are in `bytes` */
	struct slice session; /* a JSON string; p NULL: none */
	struct call *next_sent, *prev_sent; /* in from->calls.sent, oldest first */
	struct call *next, *prev;           /* in to->calls.open, oldest first */
	struct call *next_in_bucket;
	char bytes[];
};

/*
 * The calls of a port. Ids are consecutive, so few share a bucket. (A hash table that is made for the first call and freed with the
 * last would be made for almost each request, because most are the only open one.)
 */
enum { CALLS_BUCKETS = 256 };
struct calls {
	struct call *open; /* to it */
	struct call *sent; /* by it */
	struct call *buckets[CALLS_BUCKETS];
	uint64_t last_id;
};

/* Makes the call for a request of `from` (NULL: acp-conduct) to `to`, with the next id there. NULL out of memory. */
struct call *call_new(struct port *from, struct port *to, enum acp_direction, const struct msg *);
/* The open call to `to` that a response with this id belongs to, or NULL. */
struct call *call_find(const struct port *to, struct slice id);
/* The open call that has this id at its sender `from`, as a $/cancel_request names it, or NULL. */
struct call *call_find_origin(const struct port *from, struct slice id);
/* Gives a call the next id of its hop. */
void call_new_id(struct call *);
/* Its sender has died: the response goes nowhere. */
void call_orphan(struct call *);
/* Removes a call from all lists and frees it. */
void call_free(struct call *);

#endif
