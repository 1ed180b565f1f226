/* send: puts messages into the form and under the id that their receiver needs, and queues acp-conduct's own responses. */
#ifndef SEND_H
#define SEND_H

#include "read.h"

enum { SHOWN = 200 /* bytes of a message in a line on stderr */ };

/* A message and its destination. inner: the message without its envelope. */
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
	bool now;                      /* it is written even before the port is live */
	struct slice text;
	const struct splices *splices; /* of the text, or NULL */
	struct block *block;           /* holds the text; NULL: the text is copied */
};

/* Queues a line for its port, or for the next port where that component takes no part in the direction. */
void send_line(const struct outgoing *);
/* Makes the splices that open a message's envelope, and that give the id of the next hop to a request that an elicitation is for. */
void send_open(const struct port *from, const struct msg *, const struct routed *, struct splices *);
/*
 * Forwards a message in the form that its receiver needs. from: NULL if the sender is gone. Returns the call of a request; NULL: the
 * message is no request, or out of memory.
 */
struct call *send_message(struct port *from, struct block *, struct slice line, const struct msg *, const struct routed *);
/* Reports a message that is dropped. */
void send_dropped(struct port *, const char *what, struct slice text);
/* The reason why requests get no response, as JSON for the data of an error; p NULL: none is set. */
struct slice send_reason(const struct route *);
/* Sets that reason: a component, and what happened to it. */
void send_set_reason(const struct component *, const char *what);
/* Clears that reason, because the chain goes on. */
void send_clear_reason(struct route *);
/* Queues a response of acp-conduct itself, and frees the text. */
void send_own_response(struct port *to, enum acp_direction, struct buf *text);
/* Refuses a message of this port: responds to a request with an error, and reports any other message. */
void send_refusal(struct port *, const struct msg *, const struct routed *, int code, const char *why, struct slice data);
/* Forwards the response to a call, and frees the call. */
void send_response(struct call *, struct block *, struct slice line, const struct msg *);
/* Responds to a call with an error in the place of its receiver, and frees the call. data: p NULL for none. */
void send_failure(struct call *, int code, const char *why, struct slice data);
/* Responds to a call with -32603 and the reason why the chain or the component has ended, and frees the call. */
void send_ended(struct call *);
/* Does the same for all calls to a port. */
void send_all_ended(struct port *);
/* Sends $/cancel_request for a call to its receiver. */
void send_cancel(const struct call *);
/* Withdraws the requests of a dead process: sends $/cancel_request to each receiver, and session/cancel for a prompt. Responses go nowhere. */
void send_withdrawal(struct port *);
/*
 * Makes the splices that add a proxy's peers to the result of the initialize that the proxy has sent to its successor; none without
 * peers. `with` holds the text of the splices. Returns 0, or -1 out of memory.
 */
int send_list_peers(const struct port *proxy, struct slice result, struct splices *, struct buf *with);

/* --- init.c: initialization --- */

/* Handles an initialize request that goes down. */
void init_request(struct port *, struct slice line, const struct msg *, struct routed *);
/* Handles an initialize request from a proxy to its successor. Returns true if the request need not be forwarded. */
bool init_successor(struct port *, const struct msg *, const struct routed *);
/* Reports that the program is no proxy, because it `did` something else, and ends the chain. */
void init_no_proxy(struct component *, const char *did);
/* Does this response to initialize show that the program needs the other dialect, which is then tried, or that it is no proxy? */
bool init_refused(struct port *, const struct call *, const struct msg *response);
/* Stores the response to initialize. */
void init_response(struct port *, const struct call *, const struct msg *response);
/* Functions of struct flow. */
bool init_set_other_dialect(struct component *);
int init_again(struct component *);

#endif
