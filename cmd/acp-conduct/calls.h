/*
 * calls: the requests that conduct has forwarded and that have no response yet. Each has the id that it got on its new hop, and
 * knows its sender and the id that this gave it. The request that a component makes of a call is the child of that call.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

#include "lib/acp/msg.h"
#include "pieces.h"

struct port;

struct call {
	uint64_t id;          /* on its new hop */
	struct port *to;
	struct port *from;    /* NULL: its sender has died, or it is conduct's own */
	struct call *next, *prev;                         /* in from->sent_calls, oldest first */
	struct call *next_unforwarded, *prev_unforwarded; /* in to->unforwarded */
	bool unforwarded;     /* it is in that list: the component has not forwarded it */
	bool own;             /* conduct's own request, for a restarted component */
	bool cancelled;
	bool adopted;         /* the process that forwarded it has died: conduct responds with the response to its child */
	bool has_place;       /* that response has its place in the queue of `to` */
	unsigned resends;     /* how often it was sent again */
	enum acp_direction dir;
	enum acp_method what;
	struct slice origin;  /* the id that its sender gave it; this and the next three are in `bytes` */
	struct slice method;  /* a JSON string with its quotes */
	struct slice session; /* a JSON string; p NULL: none */
	struct slice params;  /* JSON, if `to` remembers sessions and needs them; else p NULL */
	char *bytes;
	uint64_t t;           /* us, when it was forwarded */
	uint64_t answered;    /* us, when the response to its child was given to `to`; 0: not yet */
	uint64_t end;         /* its end, as a count of the bytes written to the process of `to`; 0: not written yet, SENT_AGAIN in recover.c: not again */
	bool read;            /* an earlier process has read and forwarded it; `end` is not valid */
	/* What the component has made of it. */
	struct call *child, *parent;   /* the request that it was forwarded as, and the reverse */
	struct pieces text;            /* as it was written, until it is forwarded */
	struct pieces child_response;  /* the response to its child; its id does not matter */
	uint64_t child_response_end;   /* the end of that, as a count of the bytes written to the process; 0: not written yet */
	uint64_t stuck;                /* us, since when the component has read the notification for its place; 0: it has not */
	struct call *next_open, *prev_open; /* in to->calls, oldest first */
	struct call *next_in_bucket;
};

/*
 * A table of the open calls to a port by id. Ids are consecutive, so few share a bucket. (A hash table that is made for the first
 * call and freed with the last would be made for almost each request, because most are the only open one.)
 */
enum { CALLS_BUCKETS = 256 };
struct calls_by_id {
	struct call *buckets[CALLS_BUCKETS];
};

/* Makes the call for a request of `from` (NULL: conduct) to `to`, with the next id there. NULL out of memory. */
struct call *call_new(struct port *from, struct port *to, enum acp_direction, const struct msg *);
/* The open call to `to` that a response with this id belongs to, or NULL. */
struct call *call_find(const struct port *to, struct slice id);
/* The open call that has this id at its sender `from`, as a $/cancel_request names it, or NULL. */
struct call *call_find_origin(const struct port *from, struct slice id);
/* Finds the call that the sender of this one forwards with it, and joins the two. */
void call_match(struct call *);
/* Makes a call the child of another: the component has forwarded `parent` as this call. */
void call_join(struct call *, struct call *parent);
/* Gives a call the next id of its hop. */
void call_new_id(struct call *);
/* Its sender has died: the response goes only to its parent, if it has one. */
void call_abandon(struct call *);
/* The same, and separates it from its parent. */
void call_orphan(struct call *);
/* Frees all calls to the port. */
void calls_free(struct port *);
/* Removes a call from all lists and frees it. */
void call_free(struct call *);

#endif
