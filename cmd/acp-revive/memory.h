/*
 * memory: what the next process of the agent needs: how the client initialized it and authenticated, and the last state of each
 * session that the client has open; and how that process is brought to it.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "lib/acp/requests.h"

/* What a new process must be set to, as JSON: two strings, and the agent's list of options. An empty one is unknown. */
enum setting { SETTING_MODE, SETTING_MODEL, SETTING_OPTIONS, SETTINGS };

/* A session that the client has open. */
struct revive_session {
	struct buf id;       /* a JSON string */
	struct buf params;   /* of session/resume or session/load */
	struct buf settings[SETTINGS];
	size_t bytes;        /* of memory */
	unsigned tries;      /* restorations that have begun and not ended */
	bool restored;       /* this process of the agent has it */
	bool running;        /* version 2: the agent works in it */
	struct buf lost;     /* it could not be restored: the reason, a text with a NUL; else empty */
	struct buf refusal;  /* with this error of the agent, or empty */
	bool notified;       /* the client has the notice of that */
	struct revive_session *prev, *next;
};

struct memory {
	struct revive_session *sessions; /* least recently used first */
	size_t n, bytes;
	struct buf initialize;          /* the client's params, once the agent has accepted them */
	struct buf login, login_method; /* params and method by which the client authenticated; empty: none */
	bool resumes, loads;            /* what the agent can do */
	bool notices;                   /* the client shows notices */
	bool version2;
};

/* Does memory_note_response need the params of this request? */
bool memory_needs_params(const struct msg *request);
/* Notes the agent's response to a request of the client, whose params these were. 0, or -1 out of memory. */
int memory_note_response(struct memory *, const struct request *, struct slice params, const struct msg *response);
/* Notes a session/update of the agent. 0, or -1 out of memory. */
int memory_note_update(struct memory *, const struct msg *);
/* Copies the settings from `first` on that the result of a request reports. 0, or -1 out of memory. */
int memory_read_settings(struct slice result, enum setting first, struct buf settings[SETTINGS]);
/* Notes that a message names a session. Returns the session if it could not be restored, so that the message must be refused. */
struct revive_session *memory_use_session(struct memory *, const struct msg *);
/* The value at a path of members, if it has that type; else p NULL. */
struct slice memory_get(struct slice object, const char *path, enum json_type);
void memory_free(struct memory *);

/*
 * --- restore.c ---
 *
 * Brings a new process of the agent to where the last one was: initialize, authenticate, and then one session after the other:
 * session/resume if the agent has it, else session/load; then the mode, the model and the options that differ.
 */

enum restore_step { RESTORE_INITIALIZE, RESTORE_LOGIN, RESTORE_OPEN, RESTORE_SET, RESTORE_DONE };

struct restore {
	struct memory *memory;
	/* Sends a request of ours. 0, or -1 out of memory. */
	int (*ask)(void *arg, const char *method, struct slice params);
	void *arg;

	enum restore_step step;
	struct revive_session *session;          /* what is being restored, or NULL */
	struct buf settings[SETTINGS];    /* the new process's */
	size_t set;                       /* how many of the session's settings, and then options, have been compared */
};

/* Sends the first request of a new process. Returns how many sessions are to be restored; -1 out of memory. */
ssize_t restore_begin(struct restore *);
/* Takes the response to the request that was sent last. 0 (step RESTORE_DONE: all is restored); 1: initialize was refused; -1 out of memory. */
int restore_response(struct restore *, const struct msg *);
void restore_free(struct restore *);

#endif
