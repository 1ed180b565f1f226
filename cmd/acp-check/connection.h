/*
 * connection: what has to be known of a connection to judge a message: its version and capabilities, its sessions and their tool
 * calls. Bounded: the oldest sessions and calls are forgotten, and what may have been is no longer reported as unknown.
 */
#ifndef CHECK_CONNECTION_H
#define CHECK_CONNECTION_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/acp/requests.h"

/* Of sessions, and of calls; and of the bytes of each kind's ids. */
enum { CONNECTION_SESSIONS = 4096, CONNECTION_CALLS = 4096, CONNECTION_IDS = 4 * 1024 * 1024 };

struct session {
	UT_hash_handle hh;
	uint64_t serial;
	unsigned prompts;   /* that are open (v1) */
	bool loading;       /* its history is replayed */
	bool running;       /* by its state (v2) */
	bool cancelling;    /* it was cancelled while it ran (v2) */
	bool worked;        /* there was output in its turn */
	bool child;         /* of another */
	uint64_t cancels;
	size_t open_calls;
	double cost;
	uint64_t currency;  /* a hash; 0: no cost yet */
	uint64_t usage;     /* a hash of the last turn's; 0: none */
	size_t keylen;
	char key[];         /* its id */
};

struct call {
	UT_hash_handle hh;
	bool finished;
	size_t keylen;
	char key[];         /* the session's serial, and its id */
};

/* What is kept of an open request; all in one allocation. */
struct asked {
	uint64_t number, t;   /* where it was */
	uint64_t cancels;     /* of its session, before it */
	struct slice options; /* of a permission request: JSON text; or p NULL */
	struct slice text;    /* all of it, where --where wants it; or p NULL */
	char bytes[];
};

struct connection {
	unsigned version;      /* 0: not known yet */
	bool initialized;      /* initialize was sent */
	bool partial;          /* not all that was before is known */
	bool early;            /* a message came before initialize, and that has been reported */
	bool early_agent;      /* the agent sent one before the client sent anything */
	bool heard[3], left[3]; /* by side: it has sent a message; it has ended */
	struct buf capabilities[3]; /* by side: what it advertised, JSON text; empty: not known */
	struct buf hello;      /* the params of initialize, until a version is agreed on */
	size_t unread;         /* requests that were noise: so many responses need not be known */
	unsigned opening;      /* requests that will tell a new session */
	struct requests *requests;
	struct session *sessions;
	struct call *calls;
	size_t session_bytes, call_bytes; /* of their ids */
	bool forgot_session, forgot_call;
	uint64_t serial;
	struct buf text;
};

/* 0, or -1 out of memory. */
int connection_open(struct connection *);
void connection_close(struct connection *);

/* Is it known which sessions there are, so that one that is not known is wrong? */
bool connection_knows(const struct connection *);

/* By a session's id, a JSON string. NULL: not known; of session_add: out of memory. */
struct session *session_find(struct connection *, struct slice id);
struct session *session_add(struct connection *, struct slice id);
void session_drop(struct connection *, struct session *);

/* By a tool call's id, a JSON string. The same. */
struct call *call_find(struct connection *, const struct session *, struct slice id);
struct call *call_add(struct connection *, struct session *, struct slice id);
void call_finish(struct session *, struct call *);
/* The open calls of a session, one after the other: NULL to begin. */
struct call *call_next_open(struct connection *, const struct session *, struct call *);
/* Its id, plain text. */
struct slice call_id(const struct call *);

#endif
