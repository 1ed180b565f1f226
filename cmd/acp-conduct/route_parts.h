/* route_parts: what the parts of route know of each other. */
#ifndef ROUTE_PARTS_H
#define ROUTE_PARTS_H

#include "route.h"

/* Where the pieces of an array that is being read are gathered, by lane. */
struct gather {
	struct buf to[LANES];
	struct batch *batch;
	struct port *port[LANES];
};

/* What a message says, and how it has come: inner is the message itself, in its envelope or bare. */
struct plain {
	struct msg inner;
	const struct msg *envelope; /* NULL: bare */
	enum lane lane;
	struct port *to;
};

/* route.c: the ways of a message. gather: it is an entry of an array; else NULL. */
void route_message(struct port *, struct block *, struct slice line, const struct msg *, struct gather *);
/* Gives it to where it goes, in the form that is wanted there. */
void route_pass(struct port *, struct block *, struct slice line, const struct msg *, const struct plain *, struct gather *);
/* Shows its plain form to who looks in. */
void route_look(struct port *, const struct plain *, struct slice line, const struct msg *);

/* What is on its way to a port. */
struct outgoing {
	struct port *to;
	enum lane lane;
	enum sent_kind kind;
	struct call *call;             /* that it is, or cancels; else NULL */
	struct slice text;
	const struct splices *splices; /* of the text; NULL: none */
	struct block *block;           /* where the text lies; NULL: it is copied */
};

/* route_out.c: gives it to the port, or adds it to an array for that lane. */
void route_emit(const struct outgoing *, struct gather *);
/* The same for a text of our own, which it frees. */
void route_put_made(struct port *to, struct buf *text, enum sent_kind, enum lane);

/* route_answer.c: an error of conduct's own, for a request that the port sent and that was not passed on. */
void route_refuse(struct port *, const struct msg *, int code, const char *why, struct slice data, struct gather *);
void route_response(struct port *, struct block *, struct slice line, const struct msg *, struct gather *);

/* route_init.c: a request for initialization that goes down. */
void route_initialize(struct port *, struct slice line, const struct msg *, struct plain *, struct gather *);
/* A proxy speaks to its successor about initialization. True where that is dealt with. */
bool route_initializes_successor(struct port *, const struct msg *, const struct plain *, struct gather *);
/* Is this the answer to a question about initialization that is to be asked in the other dialect? */
bool route_wants_other_dialect(const struct port *, const struct call *, const struct msg *answer);
void route_ask_in_other_dialect(struct port *);
/* The question has its answer. */
void route_has_initialized(struct port *, const struct call *, const struct msg *answer);

/* route_lines.c: one line on stderr for what goes nowhere. */
void route_dropped(struct port *, const char *what, struct slice text);

/* route_batch.c: arrays. */
void route_array(struct port *, struct block *, const struct msg *);
/* An answer for an entry of an array: it is appended, and sent when it is the last. */
void route_batch_answer(struct batch *, struct slice answer);
/* An error with a null id refuses the oldest open array at the port. True: there is one. */
bool route_array_refused(struct port *, const struct msg *);

#endif
