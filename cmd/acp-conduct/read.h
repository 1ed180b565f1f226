/*
 * read: a chain whose messages all pass through acp-conduct. At each hop there are two ports; a proxy has one
 * for both of its hops. Where acp-conduct is itself a proxy, the ends of the chain are one port.
 */
#ifndef READ_H
#define READ_H

#include "chain.h"
#include "lib/acp/msg.h"
#include "lib/run/endpoint.h"

struct logs;

enum port_kind {
	PORT_ABOVE, /* plain messages; the client's side of a hop */
	PORT_BELOW, /* plain messages; the agent's side of a hop */
	PORT_PROXY, /* messages in envelopes belong to the agent's side, others to the client's side */
	PORT_OUTER, /* acp-conduct is a proxy: messages in the form of another conductor */
};

/*
 * A request that acp-conduct has forwarded and that has no response yet, with the id that it got on its new hop, its sender and the id
 * that this gave it. Nobody else owns a request in flight.
 */
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

enum { PORT_TIMES = 128 };

struct port_figures {
	uint64_t in_messages, in_bytes;                           /* from it */
	uint64_t messages[ACP_DIRECTIONS], bytes[ACP_DIRECTIONS]; /* to it */
	/* How long messages took through a proxy: from the first to it to the next from it in that direction. */
	uint64_t since[ACP_DIRECTIONS]; /* us; 0: nothing is under way */
	uint32_t times[PORT_TIMES];     /* a logarithmic histogram */
};

/* Notifications to this process, and from it. */
struct port_notes {
	uint64_t in[ACP_DIRECTIONS], out[ACP_DIRECTIONS];
};

/* How a proxy, an agent or a peer initializes. */
struct port_init {
	enum acp_dialect dialect;
	bool tried_both;         /* dialects */
	bool asks;               /* it has sent initialize to its successor */
	bool greeted;            /* of a proxy: its process has been given the response to that; of a peer: its proxy's process has */
	uint64_t stale;          /* the id of the request in the first dialect, whose response is ignored; 0: none */
	struct buf request;      /* the request initialize that it got */
	struct buf response;     /* the result that its successor gave to that; of a peer: its own result */
};

/* What waits to be written, and what is being written. */
struct port_queue {
	int theirs[2];     /* the other ends of its pipes, which its next process reads and writes; -1: none */
	int unread_end;    /* our copy of an end of its input, to find what it has not read: the write end, or (where that cannot be opened
	                    * anew to read) the read end; -1: none */
	struct buf held;   /* lines for a process that is not there, or not ready */
	bool live;         /* lines are written at once; else they are held */
	bool finishing;    /* its input is closed once everything is written */
	bool closed;       /* its component has closed its input: it dies of the next message; an agent refuses it */
	bool full, over;   /* as of port_queue_changed: the queue is full; it is longer than CHAIN_BOUND */
	bool own;          /* acp-conduct's own responses fill it: the port is not read until they are written */
};

struct port {
	struct route *route;
	struct component *component;     /* NULL: the client */
	const char *name;                /* borrowed */
	enum port_kind kind;
	size_t hop;                      /* of a proxy, the hop on its agent's side */
	struct port *next[ACP_DIRECTIONS]; /* where messages that it has read go */
	struct port *shortcut;           /* its filter does not take part in the direction: messages go on as if this port had read them */
	struct port *peers, *next_peer;  /* a proxy's peers */
	struct endpoint end;
	struct port_queue queue;
	struct calls calls;
	struct port_init init;
	struct port_figures figures;
	struct port_notes notes;
};

/* How the end goes through the chain. */
struct walk {
	size_t down;         /* the end has gone down to this component ... */
	ssize_t up;          /* ... and up to this one (-1: the client); n: not yet */
	struct loop_timer quiet;
	uint64_t cpu;        /* processor time that those had used that hold something, us ... */
	uint64_t cpu_at;     /* ... when they had last worked for it */
};

/* What errors say to requests that get no response. */
struct reason {
	char *why;           /* in words; NULL: none was set */
	struct buf data;     /* of the errors, as JSON */
};

struct route {
	struct chain *chain;
	struct port *ports;  /* all of them */
	size_t n;
	struct port *client;
	struct logs *logs;   /* --trace, --record; NULL: none */
	bool started;        /* the components run */
	bool flow_changed;   /* admission must be decided again */
	struct walk walk;
	struct reason reason;
	bool fixed;          /* --dialect */
	enum acp_dialect dialect;
	size_t line_limit;   /* bytes of the longest line that is routed */
	struct loop_timer init;
	struct buf with;     /* text that is spliced into the current message */
	struct loop_task no_memory; /* breaks the chain */
	/* route_line: where a line goes that a port has read. */
	bool (*line)(void *port, enum input_got, const struct line *);
};

/* --- read.c --- */

/* Makes the ports. Returns 0, or -1 with errno. */
int read_open(struct chain *);
void read_free(struct route *);

/* --- process.c: the processes of a read chain, and what dead ones leave --- */

extern const struct flow read_flow;

/* Handles what the endpoint of a port reports. */
void process_event(void *port, enum endpoint_event);

/* --- port.c: requests in flight, queues and admission --- */

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

/* Of a peer's port: the name in envelopes; else NULL. */
static inline const char *
port_peer(const struct port *p)
{
	return p->component ? p->component->peer : NULL;
}
void port_join(struct port *above, struct port *below);
/* Each port of a component. */
#define FOR_PORTS(p, c) for (struct port *p = (c)->near; p; p = p == (c)->far ? NULL : (c)->far)

/* Breaks the chain for want of memory, once the callers have returned, which may hold calls. */
void read_no_memory(struct route *);
/* Call it when something was queued or written: requests a new admission if a limit was crossed. */
void port_queue_changed(struct port *);
/*
 * Queues a line that consists of these parts, without its newline; those in `block` (may be NULL) are not copied. now: it does not
 * wait until the port is live. Returns its bytes.
 */
size_t port_put(struct port *, struct block *, const struct iovec *parts, size_t n, bool now);
/* Makes it live, and writes what was held. */
void port_go_live(struct port *);
/* Its component sees the end of its input, once everything is written. */
void port_finish(struct port *);
/* Nothing is written any more: what waits is held. */
void port_stop_writing(struct port *);
/* Its component has closed its input, and counts as dead if there is something for it to read. */
void port_closed_input(struct port *);
void port_close(struct port *);
/* Counts how long a message took. */
void port_count_time(struct port *, enum acp_direction);
/* A function of struct flow: what has passed through a component. */
void port_describe(const struct component *, struct buf *);
/*
 * Admission: decides which ports are read. The client's and the agent's side are read only while no queue between them is full.
 * Proxies are always read, unless the queue of a port that is not a proxy is longer than CHAIN_BOUND. So no direction waits for the other.
 */
void read_admit(struct route *);

/* --- route.c --- */

/* Routes a line that a port has read. A function of the endpoints; returns true. */
bool route_line(void *port, enum input_got, const struct line *);

/* --- walk.c: how a read chain ends --- */

/* Functions of struct flow. */
bool walk_proceed(struct chain *, bool hurry);
uint64_t walk_progress(const struct chain *);
bool walk_is_client_slow(const struct chain *);
bool walk_is_over(const struct chain *);
void walk_fail(struct component *, const char *what, int status);
/* The client has left: nothing that it sends is read any more. */
void walk_client_left(struct chain *);
/* Has the end begun for this component? */
bool walk_may_end(const struct component *);
/* Ends the chain as failed: open requests get -32603. status: the exit status if no component has set one; 0: the components' count. */
void walk_break(struct route *, const char *why, int status);

#endif
