/*
 * port: where conduct reads and writes messages: the client's two descriptors, a proxy's, or an end of components that share
 * pipes. Every message to a component has one place in the port's queue, until the component is sure to have read it.
 */
#ifndef PORT_H
#define PORT_H

#include "calls.h"
#include "lib/run/endpoint.h"

struct memory;
struct route;
struct component;
struct link;

enum port_kind {
	PORT_ABOVE, /* plain messages; the client's side of a hop */
	PORT_BELOW, /* plain messages; the agent's side of a hop */
	PORT_PROXY, /* bare ones are the client's side's, those in envelopes the agent's side's */
	PORT_OUTER, /* conduct is a proxy: what another conductor sends, and wants */
};

enum port_state {
	PORT_COLD,    /* nobody has initialized it */
	PORT_ASKED,
	PORT_READY,
	PORT_MENDING, /* started again, and initialized from memory */
	PORT_GONE,
};

/* SENT_PLACE: keeps the place of a response that the component would not know (route_place). */
enum sent_kind { SENT_NOTIFICATION, SENT_REQUEST, SENT_CANCEL, SENT_RESPONSE, SENT_PLACE };

/* A message that the component may not have read yet. */
struct sent {
	struct pieces text;
	uint64_t end; /* of it, among the bytes written to the process; 0: it waits */
	uint64_t id;  /* of the call that it is, cancels, or responds to the child of */
	enum sent_kind kind;
	enum acp_direction dir;
};

/* Both by the direction in which they travel. */
struct port_counts {
	uint64_t messages[ACP_DIRECTIONS], bytes[ACP_DIRECTIONS];
};

enum {
	PORT_TIMES = 128,
	PORT_LONGEST = 64 * 1024 * 1024, /* bytes of a line that is carried whole */
	PORT_BOUND = 128 * 1024 * 1024, /* bytes: what admission lets in never makes a queue so long */
};

struct port {
	struct route *route;
	struct component *component; /* whose messages come out; NULL: the client, or several share the far pipes */
	const char *name;
	enum port_kind kind;
	enum port_state state;
	bool carries;            /* lines pass as they are: a filter next to it has died, and conduct does not know the requests */
	bool leads;              /* to the agent, perhaps through filters that share pipes */
	size_t hop;              /* the one that it is at; of a proxy the one on its agent's side */
	struct port *above, *below;
	struct port *pass;       /* nobody reads here in its direction: its messages go on as if this one had read them */
	struct port *twin;       /* the other side of the same filter */
	struct link *source, *sink; /* what it reads, and writes; NULL: the client's */

	struct endpoint in, out;
	bool finishing;          /* `out` is closed once all is written */
	bool input_over;         /* what it reads has ended, and that has been passed on */
	bool coupled;            /* what conduct responds fills its own queue: not read until that has drained */
	bool pressed, overrun;   /* its queue is full; it is longer than PORT_BOUND */
	bool unwanted;           /* what it reads goes nowhere, and it is closed */
	bool deaf;               /* its component does not read any more */
	bool refuses;            /* it is the agent, and lives: requests to it get an error */
	struct memory *memory;   /* it is an agent that is started again; else NULL */

	/* Lines that are carried. */
	bool judged;             /* the next line may be the rest of one that the dead process had half read */
	uint64_t dropped;        /* bytes of such a rest, so far */

	/* Calls. */
	struct call *calls;      /* to it */
	struct calls_by_id by_id;
	struct call *asked;      /* by it */
	struct call *alone;      /* to it, not passed on */
	uint64_t last_id;
	struct arena arena;

	/* Initialization. */
	enum acp_dialect dialect;
	bool asked_twice;        /* in both dialects */
	bool told_initialize;    /* its successor's `initialize` has come */
	uint64_t stale;          /* the id of the request in the other dialect; 0: none */
	struct buf init;         /* `initialize` as it was for it */
	struct buf successor;    /* what its successor responded as result */

	/* What it may not have read. */
	bool live;               /* messages are written at once; else they wait */
	uint64_t suspect;        /* a request that is sent again: what comes after it waits until it is passed on or answered; 0: none */
	uint64_t suspected;      /* us, since when */
	struct sent *journal;    /* a ring */
	size_t first, n, cap, journal_bytes;
	size_t waiting;          /* bytes of it that were not written yet */
	size_t places;           /* calls whose responses have a place in it */
	uint64_t given;          /* bytes for this process */
	uint64_t pipe;           /* bytes that its pipe can hold */
	int rest;                /* a writing end of its pipe, to ask how much of it is unread; -1: none */

	/* Counts. */
	struct port_counts in_counts, out_counts;
	uint64_t read;           /* bytes */
	uint64_t notes_in[ACP_DIRECTIONS], notes_out[ACP_DIRECTIONS]; /* notifications to this process, and from it */
	uint32_t times[PORT_TIMES]; /* how long messages took, by logarithm */
};

/* The open call to it with this id, or NULL. */
static inline struct call *
call_open(const struct port *to, uint64_t id)
{
	struct call *c = to->by_id.near[id % CALLS_NEAR];

	while (c && c->id != id)
		c = c->next_near;
	return c;
}

/* Take over what it reads, and what it writes. 0, or -1 with errno. */
int port_open_in(struct port *, int fd);
int port_open_out(struct port *, int fd);
/*
 * Its writer has gone: reads what it wrote to the end, even where admission would wait. That is no more than a pipe holds, and two
 * components that have died must not wait for each other's queues.
 */
void port_drain(struct port *);
/* Gives a message to the component: now, or, where it is not live, later. Takes the pieces. 0 or -1. */
int port_put(struct port *, struct pieces *, enum sent_kind, uint64_t id, enum acp_direction);
/* Is it to be waited for? */
bool port_full(const struct port *);
/* Has it been taken out, and its neighbours been joined? */
bool port_is_bypassed(const struct port *);
/* Writes what waited, as far as it may. 0 or -1. */
int port_go_live(struct port *);
/* Something was queued, or written: does that change who is read? */
void port_press(struct port *);
/* A call is passed on, answered or gone: what waited for that is written. */
void port_settled(struct port *, const struct call *);
/* The bytes of `given` that the process has read. */
uint64_t port_consumed(const struct port *);
/* Takes the oldest message out of the journal. False: there is none. The pieces are the caller's. */
bool port_journal_take(struct port *, struct sent *);
/* Adds one, as it is. Takes the pieces. 0 or -1. */
int port_journal_add(struct port *, struct sent *);
/* Forgets what is sure to be read; exact asks how much is. */
void port_journal_trim(struct port *, bool exact);
/* Has it read all that it was given, and passed on the notifications in that direction? */
bool port_is_quiet(struct port *, enum acp_direction);
/* Writes what is queued and closes. */
void port_finish(struct port *);
void port_close_out(struct port *);
void port_close(struct port *);
void port_free(struct port *);
/*
 * Admission: what comes from the client's or the agent's side is read only while no queue on its way is full; proxies are
 * always read, unless what waits for anybody else than a proxy is longer than PORT_BOUND. So no direction waits for the other.
 */
void port_admit(struct route *);
/* A message took so long on its way through the component. */
void port_took(struct port *, uint64_t us);
/* The time below which so many of a thousand messages were; -1: none was measured. */
double port_time(const struct port *, unsigned of_thousand);

#endif
