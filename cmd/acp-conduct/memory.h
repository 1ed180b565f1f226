/*
 * memory: what the next process of an agent has to be told: how the client has authenticated, and each session that the client has
 * open, as it last was.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "lib/acp/msg.h"

struct call;

/* How a session is, as JSON. An empty part is not known. */
struct state {
	struct buf mode, model; /* strings */
	struct buf options;     /* the agent's list of configuration options */
};

/* A session that the client has open. */
struct session {
	struct buf id;      /* a JSON string */
	struct buf params;  /* of session/resume or session/load */
	struct state state;
	size_t bytes;       /* that it takes */
	bool stands;        /* the agent's process has it */
	unsigned tries;     /* how often its restoration was begun, and not completed */
	bool lost;          /* it could not be restored ... */
	struct buf why;     /* ... why, for users, with a NUL ... */
	struct buf refusal; /* ... and the error with which the agent refused it */
	bool told;          /* the client has been told of that */
	struct session *prev, *next;
};

struct memory {
	struct session *sessions; /* the one that was not used for longest first */
	size_t n, bytes;
	struct buf login, login_method; /* the request by which the client has authenticated; empty: none */

	/* A restoration (restore). */
	struct session *at;   /* NULL: none is at hand */
	struct state now;     /* as the new process has it */
	size_t step;          /* of its state, so many parts are done */
	bool resumes, loads;  /* what the agent can do */
	bool logging_in;
	struct buf how;       /* how the last process ended */
};

/* Does memory_answered need the params of such a request? */
bool memory_wants(const struct msg *request);
/* A response of the agent to this call: it may open, change or close a session. 0, or -1 out of memory. */
int memory_answered(struct memory *, const struct call *, const struct msg *);
/* A session/update of the agent: it may change a session. 0 or -1. */
int memory_noted(struct memory *, const struct msg *);
/* The state of a session that the result of its opening reports. 0 or -1. */
int memory_read_state(struct slice result, struct state *);
/* The list of options that the result of session/set_config_option holds. 0 or -1. */
int memory_read_options(struct slice result, struct state *);
/*
 * The client speaks of a session (a JSON string; p NULL: of none). Is it one that could not be restored, so that this message is in
 * vain? Else NULL.
 */
struct session *memory_lost(struct memory *, enum acp_method, struct slice id);
/* A member of that type; else p NULL. */
struct slice memory_get(struct slice object, const char *path, enum json_type);
void memory_free(struct memory *);

#endif
