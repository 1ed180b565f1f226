/*
 * read: a chain whose messages all pass through acp-conduct. Each hop has two ports. A proxy has one port for both of its hops, and
 * where acp-conduct is itself a proxy one port is both ends of the chain.
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
	PORT_OUTER, /* the outside of acp-conduct as a proxy: messages in the form that another conductor uses */
};

/*
 * A request that acp-conduct has forwarded and that has no response yet: its sender, the id that the sender gave it, and the id on its
 * new hop. A request in flight has no other owner.
 */
struct call {
	uint64_t id;          /* on its new hop */
	struct port *to;
	struct port *from;    /* NULL: its sender has died, so the response goes nowhere; or the request is acp-conduct's own */
	struct port *sender;  /* its sender, also when he has died; NULL: acp-conduct itself, to a restarted component */
	bool unread;          /* the process of `to` has died without reading it */
	bool cancelled;
	enum acp_direction dir;
	enum acp_method what;
	struct slice origin;  /* the id that its sender gave it; it and the session are stored in `bytes` */
	struct slice session; /* a JSON string; p NULL: none */
	struct call *next_sent, *prev_sent; /* in from->calls.sent, oldest first */
	struct call *next, *prev;           /* in to->calls.open, oldest first */
	struct call *next_in_bucket;
	char bytes[];
};

/*
 * The calls of a port. Ids are consecutive, so few share a bucket. (uthash makes its table for the first element and frees it with the
 * last. As most requests are the only open one, it would make a table for almost each of them.)
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
	uint64_t in_messages, in_bytes;                           /* read from the port */
	uint64_t messages[ACP_DIRECTIONS], bytes[ACP_DIRECTIONS]; /* queued for it */
	/* Times of messages through a proxy: from the first message to it until the next from it in the same direction. */
	uint64_t since[ACP_DIRECTIONS]; /* us: when the first message was queued; 0: none is in the proxy */
	uint32_t times[PORT_TIMES];     /* a logarithmic histogram */
};

/* How many notifications the process has got, and how many it has sent. */
struct port_notes {
	uint64_t in[ACP_DIRECTIONS], out[ACP_DIRECTIONS];
};

/* How a proxy, an agent or a peer initializes. */
struct port_init {
	enum acp_dialect dialect;
	bool tried_both;         /* both dialects have been tried */
	bool asks;               /* the proxy has sent initialize to its successor */
	bool greeted;            /* the process of the proxy (of a peer: of the peer's proxy) has got the response to that */
	uint64_t stale;          /* the id of the initialize request in the first dialect, whose response is ignored; 0: none */
	struct buf request;      /* the initialize request that it got */
	struct buf response;     /* the result of initialize: its successor's, or a peer's own */
};

/* The lines that wait for a port to write them. */
struct port_queue {
	int theirs[2];     /* the other ends of the port's pipes, for the component's next process; -1: none */
	int unread_end;    /* a copy of an end of the component's input, by which unread messages are found after a death: the write end, or
	                    * (where that cannot be opened anew to read) the read end; -1: none */
	struct buf held;   /* lines for a process that is not there, or not ready */
	bool live;         /* lines are written at once; false: they are held */
	bool finishing;    /* the component's input is closed once everything is written */
	bool closed;       /* the component has closed its input: it counts as dead at the next message, which an agent's port refuses */
	bool full, over;   /* when port_queue_changed was called last: the queue was full; it was longer than CHAIN_BOUND */
	bool own;          /* acp-conduct's own responses have filled the queue: the port is not read until they are written */
};

struct port {
	struct route *route;
	struct component *component;     /* NULL: the client */
	const char *name;                /* borrowed */
	enum port_kind kind;
	size_t hop;                      /* of a proxy, the hop on its agent's side */
	struct port *next[ACP_DIRECTIONS]; /* to which messages that this port has read are forwarded */
	struct port *shortcut;           /* the filter takes no part in the direction: its messages go on as if this port had read them */
	struct port *peers, *next_peer;  /* a proxy's peers */
	struct endpoint end;
	struct port_queue queue;
	struct calls calls;
	struct port_init init;
	struct port_figures figures;
	struct port_notes notes;
};

/* How far the end has gone through the chain. */
struct walk {
	size_t down;         /* the last component that the end has reached on its way down */
	ssize_t up;          /* the same on its way up (-1: the client); n: the way up has not begun */
	struct loop_timer quiet;
	uint64_t cpu;        /* us of processor time of the components that hold messages */
	uint64_t cpu_at;     /* us: when cpu grew last */
};

/* What errors say in the place of responses that will not come. */
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
	bool started;        /* all components have been started */
	bool flow_changed;   /* read_admit has to decide again */
	struct walk walk;
	struct reason reason;
	bool fixed;          /* --dialect */
	enum acp_dialect dialect;
	size_t line_limit;   /* bytes of the longest line that is routed */
	struct loop_timer init; /* while the client waits for the response to its first initialize */
	bool initialized;    /* the client has had it: a result, or the agent's own error */
	struct buf with;     /* text that is spliced into the current message */
	struct loop_task no_memory; /* breaks the chain, once read_no_memory was called */
	bool (*line)(void *port, enum input_got, const struct line *); /* route_line: where a line goes that a port has read */
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
/* Notes that the sender has died, so that the response goes nowhere. */
void call_orphan(struct call *);
/* Removes a call from all lists and frees it. */
void call_free(struct call *);

/* The name of a peer in envelopes; NULL: the port is not a peer's. */
static inline const char *
port_peer(const struct port *p)
{
	return p->component ? p->component->peer : NULL;
}
/* Connects the two ports of a hop, in both directions. */
void port_join(struct port *above, struct port *below);
/* Goes through the ports of a component. */
#define FOR_PORTS(p, c) for (struct port *p = (c)->near; p; p = p == (c)->far ? NULL : (c)->far)

/* Breaks the chain for want of memory, but only after the callers have returned, because they may hold calls. */
void read_no_memory(struct route *);
/* To be called after something was queued or written: has read_admit decide again if a limit was crossed. */
void port_queue_changed(struct port *);
/*
 * Queues a line of these parts, which have no newline. Parts that lie in `block` (may be NULL) are not copied. now: the line is written
 * even before the port is live. Returns the bytes of the line.
 */
size_t port_put(struct port *, struct block *, const struct iovec *parts, size_t n, bool now);
/* Makes the port live, and writes the lines that were held. */
void port_go_live(struct port *);
/* Closes the component's input once everything is written. */
void port_finish(struct port *);
/* Stops writing: lines that wait are held. */
void port_stop_writing(struct port *);
/* Handles that the component has closed its input: it counts as dead if a message waits for it. */
void port_closed_input(struct port *);
/* Closes both directions of the port. */
void port_close(struct port *);
/* Counts the time of a message that has passed through the port's proxy. */
void port_count_time(struct port *, enum acp_direction);
/* A function of struct flow. */
void port_describe(const struct component *, struct buf *);
/*
 * Admission: decides which ports are read. The client's and the agent's side are read only while no queue between them is full.
 * Proxies are always read, unless the queue of a port that is not a proxy is longer than CHAIN_BOUND. So no direction waits for the other.
 */
void read_admit(struct route *);

/* --- route.c --- */

/* Routes a line that a port has read. The endpoints call it; it always takes the line, and returns true. */
bool route_line(void *port, enum input_got, const struct line *);

/* --- walk.c: how a read chain ends --- */

/* Functions of struct flow. */
bool walk_proceed(struct chain *, bool hurry);
uint64_t walk_progress(const struct chain *);
bool walk_is_client_slow(const struct chain *);
bool walk_is_over(const struct chain *);
void walk_fail(struct component *, const char *what, int status);
/* Stops reading from the client, which has left. */
void walk_client_left(struct chain *);
/* Has the end begun for this component? */
bool walk_may_end(const struct component *);
/* Ends the chain as failed; open requests get -32603. status: the exit status, if no component has set one; 0: the components' count. */
void walk_break(struct route *, const char *why, int status);

#endif
