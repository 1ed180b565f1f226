/* route_parts: the functions that the files of route share; each file uses only those of the files before it. */
#ifndef ROUTE_PARTS_H
#define ROUTE_PARTS_H

#include "route.h"

/* A message and its way: inner is the message itself, without its envelope. */
struct plain {
	struct msg inner;
	const struct msg *envelope; /* NULL: bare */
	const char *peer;           /* the name of the peer that it comes from; NULL: none */
	enum acp_direction dir;
	struct port *to;
};

/* A message that is about to be queued for a port. */
struct outgoing {
	struct port *to;
	enum acp_direction dir;
	enum entry_kind kind;
	uint64_t id;                   /* of the call that it is or cancels, or whose child it responds to; 0: none */
	struct slice text;
	const struct splices *splices; /* of the text, or NULL */
	struct block *block;           /* that holds the text; NULL: the text is copied */
};

/* In route_send.c. Queues a message. */
void route_emit(const struct outgoing *);
/* The same for a text that conduct made. Frees the text. */
void route_put_made(struct port *to, struct buf *text, enum entry_kind, enum acp_direction);
/*
 * Forwards a message in the form that its receiver needs. from: NULL if its sender is gone. Returns the call of a request; NULL: it is
 * none, or out of memory.
 */
struct call *route_pass(struct port *from, struct block *, struct slice line, const struct msg *, const struct plain *);
/* Logs a message without its envelope (--trace, --record). */
void route_log(struct port *, const struct plain *, struct slice line, const struct msg *);
/* Reports a message that is dropped. */
void route_dropped(struct port *, const char *what, struct slice text);

/* In route_answer.c. Responds with an error to a message of this port that is not forwarded; reports one that is not a request. */
void route_refuse(struct port *, const struct msg *, const struct plain *, int code, const char *why, struct slice data);
/*
 * The splices that add a proxy's peers to the result of the initialize that it has sent to its successor; none without peers. with
 * holds the pieces that are made. Returns 0, or -1 out of memory.
 */
int route_list_peers(const struct port *proxy, struct slice result, struct splices *, struct buf *with);
/* Forwards the response to a call, and frees the call. */
void route_answer(struct call *, struct block *, struct slice line, const struct msg *);

/* Handles the notification in the place of a response. Returns false if it is another message. */
bool route_accept_place(struct port *, struct slice line, const struct msg *, const struct plain *);

/* In route_init.c. Handles a request to initialize that goes down. */
void route_initialize(struct port *, struct slice line, const struct msg *, struct plain *);
/* Handles a request to initialize from a proxy to its successor. Returns true if the request needs no forwarding. */
bool route_initialize_successor(struct port *, const struct msg *, const struct plain *);
/* Does this response to initialize show that the proxy needs the other dialect, or that the program is not a proxy? */
bool route_knows_no_proxy(const struct port *, const struct call *, const struct msg *answer);
/* Sends the open request to initialize again, in the other dialect. Returns false if that is no choice (any more). */
bool route_ask_in_other_dialect(struct port *);
/* Notes the response to initialize. */
void route_has_initialized(struct port *, const struct call *, const struct msg *answer);

#endif
