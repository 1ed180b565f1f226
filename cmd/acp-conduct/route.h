/*
 * route: messages between the client, the components and the agent (PROTOCOL, section 4). At each hop that conduct reads there
 * are two ports; a proxy has one for both of its hops. Where conduct is itself a proxy, the ends of the chain are one port.
 * What follows from a message for the life of the chain is the business of who has filled in the functions.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "port.h"
#include "report.h"

struct chain;
struct look;
struct stretch;

struct route {
	struct chain *chain;
	struct loop *loop;
	struct report *report;
	struct port **ports; /* all of them */
	size_t n;
	struct port **sides; /* the two of each hop: 2 * hop on the client's side; NULL where the components share a pipe */
	size_t nhops;
	struct port *client; /* the first port, where what the client sends is routed; NULL: nothing is from the start */
	struct stretch *stretches;
	size_t nstretches;
	bool outer;          /* conduct is a proxy itself */
	bool started;        /* the components run */
	bool broken;         /* given up: requests are refused */
	bool initialized;
	bool flow_changed;   /* admission is to be thought over */
	bool stuck_wanted;   /* something waits for a component to pass on what it has read */
	struct buf reason;   /* why it is broken, as JSON: data of the errors */
	const char *why;     /* in words */
	char *why_text;
	bool fixed;          /* --dialect */
	enum acp_dialect dialect;
	uint64_t init_timeout; /* us */
	size_t line_limit;     /* bytes of the longest line that is routed */
	struct loop_timer init, stuck;
	struct look *look;   /* --trace, --record, --control; NULL: none */
	struct buf with;     /* what is put into the message at hand */

	/* Endpoints' functions; the argument is the port. */
	bool (*on_line)(void *, enum input_got, const struct line *);
	void (*on_input)(void *, enum endpoint_event);
	void (*on_output)(void *, enum endpoint_event);
	/* The first initialize: the components are to be started. False: they cannot, and the chain is broken. */
	bool (*start)(struct route *);
	/* The client has its response. */
	void (*ready)(struct route *);
	/* A proxy, or the agent, that was started again has responded to initialize. */
	void (*mended)(struct port *, const struct msg *response);
	/* That agent has responded to another question of conduct's own (route_ask). */
	void (*restored)(struct port *, const struct msg *response);
	/* What was taken for a proxy is none. */
	void (*no_proxy)(struct port *, const char *why);
	struct loop_task no_memory; /* breaks the chain */
	/* What was sent to find the end of a stretch has come there. */
	void (*flushed)(struct port *);
};

/* The port on the client's side of a hop, where that is read here; its neighbour `below` is the other. NULL: it is wired directly. */
struct port *route_hop(const struct route *, size_t hop);
/* The endpoints' lines: routes one, or carries it. */
bool route_line(void *port, enum input_got, const struct line *);
/* Out of memory: the chain is broken, but not before those that are at work have returned, who may hold calls. Of port.c. */
void route_no_memory(struct route *);
/* Carries one to a port, as it is. */
void route_carry(struct port *to, enum input_got, const struct line *);

/* Why the chain ends, as data for an error; p NULL: nothing is known. */
struct slice route_reason(const struct route *);
/* Refuses a request with an error of conduct's own: in the place of whoever would have responded. */
void route_fail_call(struct call *, int code, const char *why, struct slice data);
/* All calls to it get -32603; why may be NULL where nothing is known. */
void route_fail_calls(struct port *, const char *why, struct slice data);
/* A call gets the response that was kept for it. Frees it. */
void route_answer_kept(struct call *);
/* The response to an adopted call's child is there: it follows what the component has still to pass on. */
void route_resolve(struct call *);
/* The text of what keeps that place, as it is for the component. 0 or -1. */
int route_make_place(const struct call *, struct buf *);
/* Sends a notification down that comes out at the end of its stretch when all before it has. */
void route_send_flush(struct port *first);
/* Gives a $/cancel_request for it to where it waits. */
void route_cancel(struct call *);
int route_make_cancel(const struct call *, struct buf *);
/* Gives what was meant for a component that has been taken out to the next in its direction. c: where it is a request. */
void route_past(struct port *taken_out, const struct pieces *, enum acp_direction dir, struct call *c);
/* Asks a component, that was started again, to initialize from memory. 0 or -1. */
int route_ask_again(struct port *);
/* A question of conduct's own to such an agent, before all that waits for it. 0 or -1. */
int route_ask(struct port *, const char *method, struct slice params);
/* Asks anew what it has not answered, for the first time. 0 or -1. */
int route_ask_first(struct port *);

#endif
