/*
 * calls: the requests that conduct has passed on and that wait for their answers. Each has the id that it got on its
 * new hop, and knows where it came from and under which id.
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
	struct port *from;    /* NULL: nobody waits for the answer any more */
	struct call *next, *prev;             /* of those that `from` asked, oldest first */
	struct call *next_alone, *prev_alone; /* of those at `to` that it has not passed on */
	bool alone;           /* among those */
	bool own;             /* conduct's question, for a proxy that was started again */
	bool cancelled;
	bool adopted;         /* its process has died after it had passed it on: the response to its child goes past the next one */
	bool placed;          /* that response has a place in the queue of `to` */
	unsigned given;       /* how often it was sent again */
	enum acp_direction dir;
	enum acp_method what;
	struct slice origin;  /* its id where it came from: its own bytes; in bytes, as are the next three */
	struct slice method;  /* a JSON string with its quotes */
	struct slice session; /* likewise; p NULL: none */
	struct slice params;  /* likewise, where its receiver is an agent that is started again and they are to be remembered */
	char *bytes;
	uint64_t t;           /* us, when it was passed on */
	uint64_t answered;    /* us, when the answer to its child went to `to`; 0: not yet */
	uint64_t end;         /* where it ends among the bytes given to the process of `to` that has it; 0: not given yet */
	bool read;            /* an earlier process of `to` has read it and passed it on: end means nothing */
	/* What the component has made of it. */
	struct call *child, *parent;
	struct pieces text;   /* as it was given, until it is passed on */
	struct pieces kept;   /* the response to its child, under an id that does not matter */
	uint64_t stuck;       /* us, since when the component has read what keeps its place; 0: it has not */
	uint64_t kept_end;    /* where that ends among the bytes given to the component's process that takes it; 0: it waits */
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
struct call *call_new(struct port *from, struct port *to, enum acp_direction, const struct msg *);
/* The call with the id of this response, or NULL. */
struct call *call_find(const struct port *to, struct slice id);
/* The call that a $/cancel_request of `from` names, or NULL. */
struct call *call_named(const struct port *from, struct slice id);
/* Links a call with the one at its sender that it passes on, where there is one. */
void call_match(struct call *);
/* This call is what the component has made of that one. */
void call_join(struct call *, struct call *parent);
/* Gives it another id there, the next one. */
void call_renew(struct call *);
/* Its sender has died: nobody there waits for it any more; its parent, where it has one, still may. */
void call_abandon(struct call *);
/* The same, and it has no parent any more. */
void call_orphan(struct call *);
/* All calls to the port are forgotten. */
void calls_free(struct port *);
/* Takes it out of all tables and frees it. */
void call_free(struct call *);

#endif
