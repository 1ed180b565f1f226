/*
 * preface: the earlier messages that a new guest needs: how the stream was initialized, of each open session how it was opened, its
 * last usage, mode, configuration, title and state, its sub-agents and the tool calls that run, and the requests about these, the
 * prompts and the questions of the agent that have no response yet.
 */
#ifndef PREFACE_H
#define PREFACE_H

#include "lib/acp/requests.h"

struct open_session;
struct waiting;

/* A message that passed. Empty: none did. */
struct passed {
	struct buf text;
	enum acp_side from;
	uint64_t t;      /* us */
	uint64_t number; /* of all that are remembered, in their order */
};

/* A request and its response, or an update alone (request is empty). */
struct exchange {
	struct passed request, last;
};

/* Zero it to begin. */
struct preface {
	struct exchange hello;    /* the initialization */
	struct open_session *sessions; /* those that are open, in the order in which they last changed */
	struct waiting *waiting;  /* requests whose responses decide whether they are remembered, oldest first */
	size_t nwaiting, waiting_bytes;
	size_t bytes;             /* that the messages of sessions take */
	uint64_t number;
};

/* Is this message one to remember? Fast, for it is called for each message. */
bool preface_wants(const struct message *);
/* Remembers it, unless there is no memory for it. */
void preface_see(struct preface *, const struct message *);
/* Has the stream been initialized? */
bool preface_initialized(const struct preface *);
/* Appends it all as records, in the order in which the messages passed. 0, or -1 out of memory. */
int preface_put(const struct preface *, struct buf *to);
/* Appends "client":NAME,"agent":NAME,"sessions":[{"id":ID,"cwd":PATH},...]; null for what is not known. 0 or -1. */
int preface_put_list(const struct preface *, struct buf *to);
void preface_free(struct preface *);

#endif
