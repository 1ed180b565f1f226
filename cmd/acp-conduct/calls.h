/*
 * calls: the requests that conduct has passed on and that wait for their answers. Each has the id that it got on its
 * new hop, and knows where it came from and under which id.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

#include "lib/msg.h"
#include "pieces.h"

struct port;

/* An array of requests that came together, whose answers leave together. */
struct batch {
	struct port *from;
	struct buf answers; /* "[A,B" so far */
	size_t open;        /* requests without an answer; and one while the array is still being read */
};

struct call {
	uint64_t id;          /* on its new hop */
	struct port *to;
	struct port *from;    /* NULL: nobody waits for the answer any more */
	struct call *next, *prev;             /* of those that `from` asked, oldest first */
	struct call *next_alone, *prev_alone; /* of those at `to` that it has not passed on */
	bool alone;           /* among those */
	bool own;             /* conduct's question, for a proxy that was started again */
	bool cancelled;
	unsigned given;       /* how often it was given again */
	enum lane lane;
	enum acp_method what;
	struct slice origin;  /* its id where it came from: its own bytes; in bytes, as are the next two */
	struct slice method;  /* a JSON string with its quotes */
	struct slice session; /* likewise; p NULL: none */
	char *bytes;
	struct batch *batch;
	uint64_t t;           /* us, when it was passed on */
	uint64_t answered;    /* us, when the answer to its child went to `to`; 0: not yet */
	uint64_t end;         /* where it ends among the bytes given to `to`; 0: not given yet */
	/* What the component has made of it. */
	struct call *child, *parent;
	struct pieces text;   /* as it was given, until it is passed on */
	struct pieces kept;   /* the answer that the component was handed, under an id that does not matter */
	struct call *next_open, *prev_open; /* of those to `to`, oldest first */
	struct call *next_near;             /* of those among them with a near id */
};

/*
 * The open calls to a port by their ids, which are numbers in a row: whoever asks all of them finds few that are near. (A
 * table that is made for the first and freed with the last would be so for each request: most are alone.)
 */
enum { CALLS_NEAR = 256 };
struct calls_by_id {
	struct call *near[CALLS_NEAR];
};

/* A request of `from`, to be given to `to` under the next id there. NULL when out of memory. */
struct call *call_new(struct port *from, struct port *to, enum lane, const struct msg *);
/* The open call with this id there, or NULL. */
struct call *call_open(const struct port *to, uint64_t id);
/* The call with the id of this response, or NULL. */
struct call *call_find(const struct port *to, struct slice id);
/* The call that a $/cancel_request of `from` names, or NULL. */
struct call *call_named(const struct port *from, struct slice id);
/* Links a call with the one at its sender that it passes on, where there is one. */
void call_match(struct call *);
/* Gives it another id there, the next one. */
void call_renew(struct call *);
/* Puts another origin in place of its own, and takes away the one whose origin it was. */
void call_adopt(struct call *, struct call *parent);
/* Nobody waits for it any more. */
void call_orphan(struct call *);
/* Takes it out of all tables and frees it. */
void call_free(struct call *);

#endif
