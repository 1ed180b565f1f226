/*
 * read: a chain whose messages all pass through acp-conduct. At each hop there are two ports; a proxy has one
 * for both of its hops. Where acp-conduct is itself a proxy, the ends of the chain are one port.
 */
#ifndef READ_H
#define READ_H

#include "calls.h"
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

/* By the direction of the messages. */
struct port_counts {
	uint64_t messages[ACP_DIRECTIONS], bytes[ACP_DIRECTIONS];
};

enum { PORT_TIMES = 128 };

/* How long messages took through a proxy: from the first that it was written to the next that it wrote in that direction. */
struct port_times {
	uint64_t since[ACP_DIRECTIONS]; /* us; 0: nothing is under way */
	uint32_t histogram[PORT_TIMES]; /* logarithmic */
};

struct port_figures {
	struct port_counts in, out;
	struct port_times times;
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
	int pipe;          /* a copy of the write end, by which what a dead process has not read is found; of the read end, where that cannot be opened anew; -1: none */
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
	const char *peer;                /* of a peer's port: the name in envelopes; else NULL */
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
	bool left, unread;   /* the client has left; it reads nothing any more */
	size_t down;         /* the end has gone down to this component ... */
	ssize_t up;          /* ... and up to this one (-1: the client); n: not yet */
	uint64_t moved, moved_at; /* a digest of how far everything has come, and when it changed last, us */
	struct loop_timer quiet;
};

/* Why requests get no response. */
struct reason {
	char *why;           /* in words; NULL: not known */
	struct buf data;     /* of the errors, as JSON */
};

struct route {
	struct chain *chain;
	struct port **ports; /* all of them */
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

/* --- read.c: a read chain, its processes, and what dead ones leave --- */

/* Makes the ports. Returns 0, or -1 with errno. */
int read_open(struct chain *);
void read_free(struct route *);

/* --- recover.c: what dead processes leave --- */

/* What the process had not read waits for the next one; what it had read fails. A function of struct flow. */
void recover_unread(struct component *, struct losses *);
/* Connects the neighbours of a dead proxy, and forwards what it had not read. */
void recover_past(struct component *);
/* How many messages has a component not read? */
size_t recover_count(struct component *);
/* Requests that an agent had not read when it closed its input, and will not read. */
void recover_fail_unread(struct port *);

/* --- port.c: queues and admission --- */

void port_join(struct port *above, struct port *below);
/* A component's ports; without memory for them there is none. The second is NULL where both are one. */
void port_of(const struct component *, struct port *ports[2]);

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
void port_took(struct port *, enum acp_direction);
/*
 * Admission: decides which ports are read. The client's and the agent's side are read only while no queue between them is full.
 * Proxies are always read, unless the queue of a port that is not a proxy is longer than CHAIN_BOUND. So no direction waits for the other.
 */
void read_admit(struct route *);

/* --- route.c --- */

/* Routes a line that a port has read. A function of the endpoints; returns true. */
bool route_line(void *port, enum input_got, const struct line *);

/* --- walk.c: how a read chain ends --- */

/* A function of struct flow. */
bool walk_proceed(struct chain *, bool hurry);
/* The client has left: nothing that it sends is read any more. */
void walk_client_left(struct chain *);
/* The client does not read any more. */
void walk_unread(struct route *);
/* Has the end begun for this component? */
bool walk_may_end(const struct component *);
/* Ends the chain as failed: open requests get -32603. status: the exit status if no component has set one; 0: the components' count. */
void walk_break(struct route *, const char *why, int status);
/* Has the end come to the agent, so that no peer is started? */
static inline bool
walk_has_begun(const struct route *r)
{
	return r->chain->end.broken || r->walk.down >= r->chain->n || r->walk.up < (ssize_t)r->chain->n;
}

#endif
