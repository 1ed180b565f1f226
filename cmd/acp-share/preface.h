/*
 * preface: the earlier messages that a new guest needs: the initialization of the stream; of each open session its opening, its last usage,
 * mode, configuration, title and state, its sub-agents and running tool calls; and the requests about sessions, the prompts and the
 * agent's questions that have no response yet.
 */
#ifndef PREFACE_H
#define PREFACE_H

#include "lib/acp/requests.h"

struct open_session;
struct waiting;

/* A message that has passed, or empty. */
struct passed {
	struct buf text;
	enum acp_side from;
	uint64_t t;      /* us */
	uint64_t number; /* among all remembered messages, in the order in which they passed */
};

/* A request and its response, or an update alone (request is empty). */
struct exchange {
	struct passed request, last;
};

/* Zero it to begin. */
struct preface {
	struct exchange hello;    /* the initialization */
	struct open_session *sessions; /* in the order of their last changes; also closed ones */
	struct waiting *waiting;  /* requests whose responses decide whether they are remembered, the oldest first */
	size_t nclosed;           /* of the sessions */
	size_t nwaiting, waiting_bytes;
	size_t bytes;             /* of memory for the messages of sessions */
	uint64_t number;
};

/* Remembers a message, if guests need it later; returns whether they do. Out of memory it is left out. */
bool preface_see(struct preface *, const struct message *);
/* Has the stream been initialized? */
bool preface_initialized(const struct preface *);
/* Appends all remembered messages as records, in the order in which they passed. 0, or -1 out of memory. */
int preface_put(const struct preface *, struct buf *to);
/* Appends "client":NAME,"agent":NAME,"sessions":[{"id":ID,"cwd":PATH},...], with null for an unknown value. 0, or -1 out of memory. */
int preface_put_list(const struct preface *, struct buf *to);
void preface_free(struct preface *);

#endif
