/*
 * memory: what the next process of an agent needs: how the client authenticated, and the last state of each session that the client
 * has open.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "lib/acp/msg.h"

struct call;

/* The state of a session, as JSON: two strings, and the agent's list of configuration options. An empty part is not known. */
enum state_part { STATE_MODE, STATE_MODEL, STATE_OPTIONS, STATE_PARTS };
struct state {
	struct buf parts[STATE_PARTS];
};

/* A session that the client has open. */
struct session {
	struct buf id;      /* a JSON string */
	struct buf params;  /* of session/resume or session/load */
	struct state state;
	size_t bytes;       /* of memory */
	bool restored;        /* the agent's process has it */
	unsigned tries;     /* restorations that were begun and not completed */
	bool lost;          /* could not be restored ... */
	struct buf why;     /* ... for this reason, a text with a NUL ... */
	struct buf refusal; /* ... with this error of the agent */
	bool notified;          /* the client has the notice of that */
	struct session *prev, *next;
};

struct memory {
	struct session *sessions; /* least recently used first */
	size_t n, bytes;
	struct buf login, login_method; /* params and method of the request that authenticated the client; empty: none */

	/* The restoration in progress (restore). */
	struct session *at;   /* the session that is being restored, or NULL */
	struct state now;     /* its state in the new process */
	size_t step;          /* how many parts of its state are done */
	bool resumes, loads;  /* capabilities of the agent */
	bool logging_in;
	struct buf how;       /* how the last process ended */
};

/* Does memory_note_response need the params of this request? */
bool memory_needs_params(const struct msg *request);
/* Notes the response of the agent to this call, which may open, change or close a session. Returns 0, or -1 out of memory. */
int memory_note_response(struct memory *, const struct call *, const struct msg *);
/* Notes a session/update of the agent, which may change a session. Returns 0, or -1 out of memory. */
int memory_note_update(struct memory *, const struct msg *);
/*
 * Copies the parts of the state, from the first on, that the result of opening a session holds, or, of the options,
 * session/set_config_option. Returns 0, or -1 out of memory.
 */
int memory_read_state(struct slice result, enum state_part first, struct state *);
/*
 * Marks a session (its id as a JSON string; p NULL: none) as the most recently used. Returns it if it could not be restored, so that
 * this message must be refused; else NULL.
 */
struct session *memory_use_session(struct memory *, enum acp_method, struct slice id);
/* The value at a path of members, if it has that type; else p NULL. */
struct slice memory_get(struct slice object, const char *path, enum json_type);
/* Frees its content. */
void memory_free(struct memory *);

#endif
