/*
 * connection: the state of a connection that is needed to check a message: its version and capabilities, its sessions and their
 * tool calls. It is bounded: the oldest sessions and calls are forgotten; from then on no session or call is reported as unknown.
 */
#ifndef CHECK_CONNECTION_H
#define CHECK_CONNECTION_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/acp/requests.h"

/* The most sessions and calls, and the most bytes of the ids of each, that are remembered. */
enum { CONNECTION_SESSIONS = 4096, CONNECTION_CALLS = 4096, CONNECTION_IDS = 4 * 1024 * 1024 };

struct session {
	UT_hash_handle hh;
	struct call *calls; /* its tool calls, oldest first */
	unsigned prompts;   /* v1: how many have no response yet */
	bool loading;       /* its history is replayed */
	bool running;       /* v2: by its state */
	bool cancelling;    /* v2: it was cancelled while it ran */
	bool worked;        /* its turn had output */
	bool child;         /* it is a sub-agent's */
	uint64_t cancels;   /* how often it was cancelled */
	size_t open_calls;
	double cost;
	uint64_t currency;  /* a hash; 0: no cost yet */
	uint64_t usage;     /* a hash of the last turn's usage; 0: none */
	size_t keylen;
	char key[];         /* its id */
};

struct call {
	UT_hash_handle hh;
	bool finished;
	size_t keylen;
	char key[];         /* its id */
};

/* What is remembered of an open request; all in one allocation. */
struct request_state {
	uint64_t number;      /* its struct where */
	uint64_t cancels;     /* of its session, when it was sent */
	struct slice options; /* of a permission request: JSON text; otherwise p NULL */
	struct slice text;    /* the message, if options.where is set; otherwise p NULL */
	char bytes[];
};

struct connection {
	unsigned version;      /* 0: not known yet */
	bool initialized;      /* initialize was sent */
	bool partial;          /* earlier messages may be missing */
	bool early;            /* a message came before initialize, and that has been reported */
	bool early_agent;      /* the agent sent one before the client sent anything */
	bool heard[3], ended[3]; /* by side: it has sent a message; it has ended */
	struct buf capabilities[3]; /* by side: what it advertised, JSON text; empty: not known */
	struct buf initialize_params; /* until a version is agreed on */
	size_t unread;         /* requests that were noise: so many responses may have an unknown id */
	unsigned opening;      /* open requests whose response brings the id of a session */
	struct requests *requests;
	struct session *sessions;
	size_t ncalls;
	size_t session_bytes, call_bytes; /* of the ids of sessions and calls */
	bool forgot_session, forgot_call;
	struct buf text;
};

/* Initializes a connection without messages. Returns 0, or -1 when out of memory. */
int connection_open(struct connection *);
void connection_close(struct connection *);

/* Returns whether all sessions are known, so that an unknown one is an error. */
bool connection_knows(const struct connection *);

/*
 * By a session's id, a JSON string. find returns NULL for an unknown one. add returns the known one or a new one, NULL when out of
 * memory. The connection owns it; adding another may free the oldest.
 */
struct session *session_find(struct connection *, struct slice id);
struct session *session_add(struct connection *, struct slice id);
void session_drop(struct connection *, struct session *);

/* The same by a tool call's id, a JSON string; but call_add is only for a call that is not known. */
struct call *call_find(struct connection *, const struct session *, struct slice id);
struct call *call_add(struct connection *, struct session *, struct slice id);
void call_finish(struct session *, struct call *);

#endif
