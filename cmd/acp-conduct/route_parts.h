/* route_parts: what the parts of route know of each other; each uses only those named before it. */
#ifndef ROUTE_PARTS_H
#define ROUTE_PARTS_H

#include "route.h"

/* What a message says, and how it has come: inner is the message itself, in its envelope or bare. */
struct plain {
	struct msg inner;
	const struct msg *envelope; /* NULL: bare */
	enum acp_direction dir;
	struct port *to;
};

/* What is on its way to a port. */
struct outgoing {
	struct port *to;
	enum acp_direction dir;
	enum sent_kind kind;
	uint64_t id;                   /* of the call that it is, cancels, or responds to the child of; 0: none */
	struct slice text;
	const struct splices *splices; /* of the text; NULL: none */
	struct block *block;           /* where the text lies; NULL: it is copied */
};

/* route_send.c: gives it to the port. */
void route_emit(const struct outgoing *);
/* The same for a text of our own, which it frees. */
void route_put_made(struct port *to, struct buf *text, enum sent_kind, enum acp_direction);
/* Gives a message to where it goes, in the form that is wanted there. */
void route_pass(struct port *, struct block *, struct slice line, const struct msg *, const struct plain *);
/* Shows its plain form to who looks in. */
void route_look(struct port *, const struct plain *, struct slice line, const struct msg *);
/* One line on stderr for what goes nowhere. */
void route_dropped(struct port *, const char *what, struct slice text);

/* route_answer.c: an error of conduct's own, for a message that the port sent towards another and that is not passed on. */
void route_refuse(struct port *, const struct msg *, const struct plain *, int code, const char *why, struct slice data);
/* A response to a call. Frees that. */
void route_answer(struct call *, struct block *, struct slice line, const struct msg *);

/* What keeps a response's place has come out. True where it was that. */
bool route_takes_place(struct port *, struct slice line, const struct msg *, const struct plain *);

/* route_init.c: a request for initialization that goes down. */
void route_initialize(struct port *, struct slice line, const struct msg *, struct plain *);
/* A proxy speaks to its successor about initialization. True where that is dealt with. */
bool route_initializes_successor(struct port *, const struct msg *, const struct plain *);
/* Is this the answer to a question about initialization that is to be asked in the other dialect? */
bool route_wants_other_dialect(const struct port *, const struct call *, const struct msg *answer);
/* Is it an answer that only a program that is no proxy gives? */
bool route_knows_no_proxy(const struct port *, const struct call *, const struct msg *answer);
void route_ask_in_other_dialect(struct port *);
/* The question has its answer. */
void route_has_initialized(struct port *, const struct call *, const struct msg *answer);

#endif
