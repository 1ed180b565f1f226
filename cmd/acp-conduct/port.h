/*
 * port: where conduct reads and writes messages: the client's two descriptors, a proxy's, the agent's, or an end of a
 * run of filters that are wired directly. What goes to a proxy is also in its journal, until it is sure to be read.
 */
#ifndef PORT_H
#define PORT_H

#include "calls.h"
#include "lib/input.h"
#include "lib/loop.h"

struct route;
struct component;
struct link;

enum port_kind {
	PORT_ABOVE, /* plain messages; the client's side of a stretch */
	PORT_PROXY, /* bare ones are the client's side's, those in envelopes the agent's side's */
	PORT_BELOW, /* plain messages; the agent's side of a stretch */
	PORT_OUTER, /* conduct is a proxy: what another conductor sends, and wants */
	PORT_GUEST, /* asks, and is answered, and has no neighbours */
};

enum port_state {
	PORT_COLD,    /* nobody has initialized it */
	PORT_ASKED,
	PORT_READY,
	PORT_MENDING, /* started again, and initialized from memory */
	PORT_GONE,
};

enum sent_kind { SENT_NOTIFICATION, SENT_REQUEST, SENT_CANCEL, SENT_RESPONSE, SENT_ARRAY };

/* A message that the component may not have read yet. */
struct sent {
	struct pieces text;
	uint64_t end; /* of it, among the bytes given to the process; 0: it waits */
	uint64_t id;  /* of the call that it is, or cancels */
	enum sent_kind kind;
	enum lane lane;
};

/* Both by the lane in which they travel. */
struct port_counts {
	uint64_t messages[LANES], bytes[LANES];
};

enum { PORT_TIMES = 128 };

struct port {
	struct route *route;
	struct component *component; /* NULL: the client, or the end of a run */
	const char *name;
	enum port_kind kind;
	enum port_state state;
	size_t hop;              /* the one on its agent's side */
	struct port *above, *below;
	struct port *next_dirty;
	bool dirty;

	struct input in;
	struct loop_fd readable;
	bool in_open;
	struct output out;
	struct loop_fd writable;
	bool out_open;
	bool closing;            /* `out` is closed when it is empty */
	bool coupled;            /* answers made here fill its own queue: not read until it drains */
	bool held_above, held_below; /* of a proxy: what it said went to that neighbour's full queue */

	/* Calls. */
	struct call *calls;      /* to it */
	struct call *asked;      /* by it */
	struct call *alone;      /* to it, not passed on */
	uint64_t last_id;
	struct arena arena;

	/* Initialization. */
	enum acp_dialect dialect;
	bool asked_twice;        /* in both dialects */
	bool told_initialize;    /* its successor's `initialize` has come */
	uint64_t stale;          /* the id of the question in the other dialect; 0: none */
	struct buf init;         /* `initialize` as it was for it */
	struct buf successor;    /* what its successor's answer had as result */

	/* What it may not have read. */
	bool live;               /* messages go to it at once; else they wait */
	struct sent *journal;    /* a ring */
	size_t first, n, cap, journal_bytes;
	size_t waiting;          /* bytes of it that were not given yet */
	uint64_t given;          /* bytes given to this process */
	uint64_t pipe;           /* bytes that its pipe can hold */
	int rest;                /* a descriptor to ask how much of them is unread; -1: none */

	/* Counts. */
	struct port_counts in_counts, out_counts;
	uint64_t read;           /* bytes, those of a line that has begun included */
	uint64_t notes_in[LANES], notes_out[LANES]; /* notifications given to this process, and from it */
	uint64_t restarts;
	uint32_t times[PORT_TIMES]; /* how long messages took, by logarithm */
};

/* Takes over what it reads and writes; -1 for one that it does not. 0, or -1 with errno. */
int port_open(struct port *, int in, int out);
/* Gives a message to the component: now, or, where it is not live, later (a response never waits). 0 or -1. Takes the pieces. */
int port_put(struct port *, struct pieces *, enum sent_kind, uint64_t id, enum lane);
/* Is it to be waited for? */
bool port_full(const struct port *);
/* Has it been taken out, and its neighbours been joined? */
bool port_is_bypassed(const struct port *);
/* Gives what waited. 0 or -1. */
int port_go_live(struct port *);
/* The bytes of `given` that the process has read. */
uint64_t port_consumed(const struct port *);
/* Takes the oldest message out of the journal. False: there is none. The pieces are the caller's. */
bool port_journal_take(struct port *, struct sent *);
/* Adds one, as it is. Takes the pieces. 0 or -1. */
int port_journal_add(struct port *, struct sent *);
/* Forgets what is sure to be read; exact asks how much is. */
void port_journal_trim(struct port *, bool exact);
/* It has something to write, or to tell its neighbours. */
void port_touch(struct port *);
/* Sets what is watched for: of it; and of its neighbours, too. */
void port_watch(struct port *);
void port_watch_around(struct port *);
/* All bytes that were ever for it. */
uint64_t port_total(const struct port *);
/* Writes what can be written. */
void port_flush(struct port *);
/* Writes what is queued and closes. */
void port_finish(struct port *);
void port_close_in(struct port *);
void port_close_out(struct port *);
void port_free(struct port *);
/* A message took so long on its way through the component. */
void port_took(struct port *, uint64_t us);
/* The time below which so many of a thousand messages were; -1: none was measured. */
double port_time(const struct port *, unsigned of_thousand);

#endif
