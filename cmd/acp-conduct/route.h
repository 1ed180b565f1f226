/*
 * route: messages between the client, the proxies and the agent (PROTOCOL, section 4). Ports stand in stretches: what
 * is above (the client, or the end of a run of filters), proxies, and what is below (the agent, or the beginning of
 * a run). Where conduct is itself a proxy, the ends are one port, and the stretch is a ring.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "port.h"
#include "report.h"

enum { ROUTE_LINE_LIMIT = 64 * 1024 * 1024 };

struct chain;
struct guest;
struct look;

/* Ports from first to last; every one but the last has its neighbour `below`. */
struct stretch {
	struct port *first, *last;
	bool leaving; /* what is above has ended */
	bool given_up; /* ... and we do not wait for answers any more */
	bool ebbing;  /* what is below has ended */
	bool over;
	struct loop_timer quiet;
	uint64_t moved, since; /* how far all was, and when that changed last, us */
	struct route *route;
};

struct route {
	struct chain *chain;
	struct loop *loop;
	struct report *report;
	struct port *ports; /* all of them, the client's first */
	size_t n;
	struct stretch *stretches;
	size_t nstretches;
	struct port *dirty; /* with something to write */
	bool outer;         /* conduct is a proxy itself */
	bool started;       /* the components run */
	bool broken;        /* given up: requests are refused */
	struct buf reason;  /* why, as JSON: data of the errors */
	const char *why;    /* in words */
	char *why_text;
	bool fixed;         /* --dialect */
	enum acp_dialect dialect;
	uint64_t init_timeout; /* us */
	struct loop_timer init;
	bool initialized;
	struct look *look;  /* --trace, --record, --control; NULL: none */
	struct guest *guests;
	uint64_t nguests;   /* that ever came */
};

/* The port on the client's side of a hop, where that is read here; its neighbour `below` is the other. NULL: it is wired directly. */
struct port *route_hop(const struct route *, size_t hop);

void route_readable(void *port, short revents);
void route_writable(void *port, short revents);
/* Reads what lies in its input now, and routes it. */
void route_drain(struct port *);
/* Writes what has been queued since the last time. */
void route_flush(struct route *);
/* Nobody reads its output any more. */
void route_unread(struct port *);

/* Why the chain ends, as data for an error; p NULL: nothing is known. */
struct slice route_reason(const struct route *);
/* Refuses a request with an error of conduct's own: in the place of whoever would have answered it. */
void route_fail_call(struct call *, int code, const char *why, struct slice data);
/* All calls to it get -32603; why may be NULL where nothing is known. */
void route_fail_calls(struct port *, const char *why, struct slice data);
/* A call gets an answer that was kept for it. Frees it. */
void route_answer_kept(struct call *);
/* Gives a $/cancel_request for it to where it waits. */
void route_cancel(struct call *);
/* Gives what was meant for a component that has been taken out to the next in its lane. c: where it is a request. */
void route_past(struct port *taken_out, const struct pieces *, enum lane, struct call *c);
/* Asks a proxy, that was started again, to initialize from memory. 0 or -1. */
int route_ask_again(struct port *);
/* Asks anew what it has not answered, for the first time. 0 or -1. */
int route_ask_first(struct port *);

/* Out of memory: the chain ends. */
void route_no_memory(struct route *);
/* An answer to an entry of its array is not waited for any more. */
void route_batch_release(struct batch *);

#endif
