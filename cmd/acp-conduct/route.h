/*
 * route: messages between the client, the components and the agent (PROTOCOL, section 4). At each hop that conduct reads there
 * are two ports; a proxy has one for both of its hops. Where conduct is itself a proxy, the ends of the chain are one port.
 * Through the functions in struct route it reports what concerns the life of the chain.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "port.h"
#include "report.h"

struct chain;
struct logs;
struct segment;

struct route {
	struct chain *chain;
	struct loop *loop;
	struct report *report;
	struct port **ports; /* all of them */
	size_t n;
	struct port **sides; /* the two of each hop: 2 * hop on the client's side; NULL where the components share a pipe */
	size_t nhops;
	struct port *client; /* the first port, where what the client sends is routed; NULL: nothing is from the start */
	struct segment *segments;
	size_t nsegments;
	bool outer;          /* conduct is a proxy itself */
	bool started;        /* the components run */
	bool broken;         /* the chain has failed: requests get an error */
	bool flow_changed;   /* admission must be decided again */
	bool check_stuck;   /* something waits for a component to forward what it has read */
	struct buf reason;   /* why it is broken, as JSON: data of the errors */
	const char *why;     /* in words */
	char *why_text;
	bool fixed;          /* --dialect */
	enum acp_dialect dialect;
	uint64_t init_timeout; /* us */
	size_t line_limit;     /* bytes of the longest line that is routed */
	struct loop_timer init, stuck;
	struct logs *logs;   /* --trace, --record; NULL: none */
	struct buf with;     /* text that is spliced into the current message */

	/* Endpoints' functions; the argument is the port. */
	bool (*on_line)(void *, enum input_got, const struct line *);
	void (*on_input)(void *, enum endpoint_event);
	void (*on_output)(void *, enum endpoint_event);
	/*
	 * Starts the components, at the first initialize, or the process of the peer to which this port belongs, at its first. Returns
	 * false if that failed, with `why` and `reason` set; the chain is then broken unless it was a peer.
	 */
	bool (*start)(struct port *to);
	/* Called with the response to a request of conduct itself (route_ask_again, route_ask), which the next process of a component has got. */
	void (*own_response)(struct port *, enum acp_method, const struct msg *response);
	/* Called when a program that was started as a proxy turns out not to be one. */
	void (*no_proxy)(struct port *, const char *why);
	struct loop_task no_memory; /* breaks the chain */
	struct loop_task follow;    /* what has to be done after something was read, was written or has ended */
};

/* Routes or carries a line that a port has read. A function of the endpoints; returns true. */
bool route_line(void *port, enum input_got, const struct line *);
/* Breaks the chain for want of memory, once the callers have returned, which may hold calls. In port.c. */
void route_no_memory(struct route *);
/* Decides again who is read, and continues the end of the chain, once the callers have returned. In port.c. */
void route_follow(struct route *);
/* Writes a line to a port as it is. */
void route_carry(struct port *to, enum input_got, const struct line *);

/* Why the chain ends, as JSON for the data of an error; p NULL: not known. */
struct slice route_reason(const struct route *);
/* Sets it: the component, what happened to it (text that lives on), and its last lines of stderr. */
void route_set_reason(struct route *, const struct component *, const char *what);
/* Forgets that, where the chain goes on. */
void route_clear_reason(struct route *);
/* Responds to a call with an error, in the place of its receiver, and frees it. data p NULL: none. */
void route_fail_call(struct call *, int code, const char *why, struct slice data);
/* The same with -32603 and the reason why the chain, or the component, has ended; and for all calls to a port. */
void route_fail_ended(struct call *);
void route_fail_calls(struct port *);
/* Responds to a call with the response to its child, and frees it. */
void route_answer_from_child(struct call *);
/* Makes the notification in the place of that response, in the form for the component. Returns 0, or -1 out of memory. */
int route_make_place(const struct call *, struct buf *);
/* Sends a notification down a segment. It arrives at the end after everything that was sent before. */
void route_send_flush(struct port *first);
/* Send a $/cancel_request for a call to its receiver, and make the text of one (0, or -1 out of memory). */
void route_cancel(struct call *);
int route_make_cancel(const struct call *, struct buf *);
/* Sends initialize, as the client sent it, to a restarted component. Returns 0, or -1 out of memory. */
int route_ask_again(struct port *);
/* Sends a request of conduct itself to such an agent, before everything that waits for it. Returns 0, or -1 out of memory. */
int route_ask(struct port *, const char *method, struct slice params);
/* Sets the dialect that was not tried, if that is a choice. Returns false if it is none (any more). */
bool route_take_other_dialect(struct port *);
/* Sends the first initialize again, to which it has not responded. Returns 0, or -1 if there is none. */
int route_ask_first(struct port *);

#endif
