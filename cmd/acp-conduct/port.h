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
	PORT_PROXY, /* messages in envelopes belong to the agent's side, others to the client's side */
	PORT_OUTER, /* conduct is a proxy: messages in the form of another conductor */
};

enum port_state {
	PORT_NEW,    /* not initialized */
	PORT_INITIALIZING,
	PORT_READY,
	PORT_RECOVERING, /* restarted, and being initialized again by conduct */
	PORT_GONE,
};

/* ENTRY_PLACE: a notification in the place of a response to a request that this process has not made. */
enum entry_kind { ENTRY_NOTIFICATION, ENTRY_REQUEST, ENTRY_CANCEL, ENTRY_RESPONSE, ENTRY_PLACE };

/* A message that the component may not have read yet. */
struct entry {
	struct pieces text;
	uint64_t end; /* its end, as a count of the bytes written to the process; 0: not written yet */
	uint64_t id;  /* of the call that it is or cancels, or whose child it responds to; 0: none */
	enum entry_kind kind;
	enum acp_direction dir;
};

/* By the direction of the messages. */
struct port_counts {
	uint64_t messages[ACP_DIRECTIONS], bytes[ACP_DIRECTIONS];
};

enum {
	PORT_TIMES = 128,
	PORT_LONGEST = 64 * 1024 * 1024, /* bytes of the longest line that is carried whole */
	PORT_BOUND = 128 * 1024 * 1024, /* bytes: admission keeps every queue shorter than this */
};

struct port {
	struct route *route;
	struct component *component; /* that it reads; NULL: the client, or several components that share pipes */
	const char *name;            /* borrowed */
	enum port_kind kind;
	enum port_state state;
	bool carries;          /* it forwards lines as they are: a filter next to it has died, and conduct does not know the requests */
	bool faces_agent;      /* what it reads comes from the agent, perhaps through filters that share pipes */
	size_t hop;            /* of a proxy, the hop on its agent's side */
	struct port *above, *below;
	const char *peer;      /* of a peer's port, whose `above` is its proxy: the name in envelopes; else NULL */
	struct port *peers, *next_peer; /* a proxy's peers */
	struct port *forward_to; /* its component is bypassed: messages to it are handled as if this port had read them */
	struct port *other_side; /* the port on the other side of the same filter, between two hops that are read */
	struct link *source, *sink; /* that it reads and writes; NULL: the client's */

	struct endpoint in, out;
	bool finishing;        /* `out` is closed once its queue is written */
	bool input_over;       /* the end of its input has been handled */
	bool self_blocked;     /* conduct's own responses fill its queue: it is not read until the queue is empty */
	bool queue_full;       /* its queue is full, as of port_queue_changed */
	bool overrun;          /* its queue is longer than PORT_BOUND, as of then */
	bool discards;         /* what it reads is discarded, and it is closed */
	bool input_closed;     /* its component has closed the input that the port writes */
	bool flushed;          /* the message of route_send_flush has arrived here */
	bool refuses;          /* it is a running agent that has closed its input: requests to it get an error */
	struct memory *memory; /* of an agent that may be restarted; else NULL */

	/* Lines that are carried. */
	bool check_rest;       /* the next line may be the rest of one that a dead process had partly read */
	uint64_t dropped;      /* bytes of that rest, so far */

	/* Calls. */
	struct call *calls;       /* to it, open */
	struct calls_by_id by_id; /* the same by id */
	struct call *sent_calls;  /* by it, open */
	struct call *unforwarded; /* those to it that its component has not forwarded */
	uint64_t last_id;
	struct arena arena;

	/* Initialization. */
	enum acp_dialect dialect;
	bool tried_both_dialects;
	bool successor_initialized; /* it has sent initialize to its successor */
	uint64_t stale;          /* the id of the request in the first dialect, whose response is ignored; 0: none */
	struct buf init;         /* the request initialize that it got */
	struct buf successor;    /* the result that its successor gave to that; of a peer: its own result */

	/* Messages that its component may not have read. */
	bool live;               /* messages are written at once; else they wait */
	uint64_t resent;         /* the id of a request that is sent again: later messages wait until it is forwarded or has a response */
	uint64_t resent_at;      /* us, when it was */
	struct entry *journal;   /* a ring of cap entries: n from `first` */
	size_t first, n, cap;
	size_t waiting;          /* bytes of it that are not written yet */
	size_t places;           /* calls whose responses have a place in it */
	uint64_t out_bytes;      /* given to this process */
	uint64_t trimmed;        /* of those written, as many as were when the journal was trimmed last */
	int rest;                /* a write end of its pipe, to find out how much is unread; -1: none */

	/* Counts. */
	struct port_counts in_counts, out_counts;
	uint64_t read;           /* bytes */
	uint64_t notes_in[ACP_DIRECTIONS], notes_out[ACP_DIRECTIONS]; /* notifications to this process, and from it */
	uint32_t times[PORT_TIMES]; /* a histogram of how long messages took, logarithmic */
};

/* The open call to it with this id, or NULL. */
static inline struct call *
call_open(const struct port *to, uint64_t id)
{
	struct call *c = to->by_id.buckets[id % CALLS_BUCKETS];

	while (c && c->id != id)
		c = c->next_in_bucket;
	return c;
}

/* Give the port the descriptor that it reads or writes, which it owns from now on. Return 0, or -1 with errno. */
int port_open_in(struct port *, int fd);
int port_open_out(struct port *, int fd);
/*
 * Reads everything that a writer that has gone wrote, even if admission would wait. That is at most what a pipe holds, and two
 * components that have died must not wait for each other's queues.
 */
void port_drain(struct port *);
/* Writes a message to the component: now, or later if the port is not live. It owns the pieces. Returns 0, or -1 out of memory. */
int port_put(struct port *, struct pieces *, enum entry_kind, uint64_t id, enum acp_direction);
/* Makes it live and writes what waited, up to a request that is sent again. Returns 0, or -1 out of memory. */
int port_go_live(struct port *);
/* Call it when something was queued or written: requests a new admission if a limit was crossed. */
void port_queue_changed(struct port *);
/* A call was forwarded, got its response or is gone: writes what waited for that. */
void port_settled(struct port *, const struct call *);
/* How many of the bytes written to it the process has read. */
uint64_t port_consumed(const struct port *);
/* Removes the oldest entry of the journal; the caller owns its pieces. Returns false if there is none. */
bool port_journal_take(struct port *, struct entry *);
/* Appends an entry and owns its pieces. Returns 0, or -1 out of memory. */
int port_journal_add(struct port *, struct entry *);
/* Removes the entries that the process has read. */
void port_journal_trim(struct port *);
/* Trims the journal. Returns true if the component has read everything and forwarded all notifications in that direction. */
bool port_check_quiet(struct port *, enum acp_direction);
/* Closes the output once its queue is written. */
void port_finish(struct port *);
/* Close the output, or both sides, at once. */
void port_close_out(struct port *);
void port_close(struct port *);
/* Closes and frees it. */
void port_free(struct port *);
/*
 * Admission: decides which ports are read. The client's and the agent's side are read only while no queue between them is full.
 * Proxies are always read, unless the queue of a port that is not a proxy is longer than PORT_BOUND. So no direction waits for the other.
 */
void port_admit(struct route *);
/* Counts how long a message took through the component, us. */
void port_took(struct port *, uint64_t us);
/* The quantile of these times, us; -1: none was measured. */
double port_time(const struct port *, unsigned of_thousand);

#endif
