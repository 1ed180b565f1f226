/* send: how messages leave: in which form, under which id, and responses of acp-conduct itself. */
#ifndef SEND_H
#define SEND_H

#include "read.h"

/* A message, and where it goes: inner is the message itself, without its envelope. */
struct routed {
	struct msg inner;
	const struct msg *envelope; /* NULL: bare */
	enum acp_direction dir;
	struct port *to;
};

/* A line that is about to be queued for a port. */
struct outgoing {
	struct port *to;
	enum acp_direction dir;
	enum msg_kind kind;
	bool now;                      /* it does not wait until the port is live */
	struct slice text;
	const struct splices *splices; /* of the text, or NULL */
	struct block *block;           /* that holds the text; NULL: the text is copied */
};

/* Queues a line; where the receiver does not take part in the direction, for the next one. */
void send_line(const struct outgoing *);
/*
 * Forwards a message in the form that its receiver needs. from: NULL if its sender is gone. Returns the call of a request; NULL: it is
 * none, or out of memory.
 */
struct call *send_message(struct port *from, struct block *, struct slice line, const struct msg *, const struct routed *);
/* Reports a message that is dropped. */
void send_dropped(struct port *, const char *what, struct slice text);
/* Why requests get no response, as JSON for the data of an error; p NULL: none. Set by a component and what happened to it. */
struct slice send_reason(const struct route *);
void send_set_reason(const struct component *, const char *what);
/* Forgets it, where the chain goes on. */
void send_clear_reason(struct route *);
/* Queues a response of acp-conduct itself, and frees it. */
void send_own_response(struct port *to, enum acp_direction, struct buf *text);
/* Responds with an error to a message of this port that is not forwarded; reports one that is not a request. */
void send_refusal(struct port *, const struct msg *, const struct routed *, int code, const char *why, struct slice data);
/* Forwards the response to a call, and frees the call. */
void send_response(struct call *, struct block *, struct slice line, const struct msg *);
/* Responds to a call with an error, instead of its receiver, and frees it. data p NULL: none. */
void send_failure(struct call *, int code, const char *why, struct slice data);
/* The same with -32603 and the reason why the chain, or the component, has ended; and for all calls to a port. */
void send_ended(struct call *);
void send_all_ended(struct port *);
/* Sends $/cancel_request for a call to its receiver. */
void send_cancel(const struct call *);
/* Withdraws the requests of a dead process: their receivers get $/cancel_request, that of a prompt session/cancel, and responses go nowhere. */
void send_withdrawal(struct port *);
/*
 * The splices that add a proxy's peers to the result of the initialize that it has sent to its successor; none without peers. with
 * holds the pieces that are made. Returns 0, or -1 out of memory.
 */
int send_list_peers(const struct port *proxy, struct slice result, struct splices *, struct buf *with);

/* --- init.c: initialization --- */

/* Handles a request to initialize that goes down. */
void init_request(struct port *, struct slice line, const struct msg *, struct routed *);
/* Handles a request to initialize from a proxy to its successor. Returns true if the request needs no forwarding. */
bool init_successor(struct port *, const struct msg *, const struct routed *);
/* The program is not a proxy, as it `did` something else: reports that, and ends the chain. */
void init_no_proxy(struct component *, const char *did);
/* Does this response to initialize show that the proxy needs the other dialect, or is none? Then the first is tried. */
bool init_refused(struct port *, const struct call *, const struct msg *response);
/* Notes the response to initialize. */
void init_response(struct port *, const struct call *, const struct msg *response);
/* Functions of struct flow. */
bool init_set_other_dialect(struct component *);
int init_again(struct component *);

#endif
