/*
 * restore: brings a new process of the agent to where the last one was: initialize, authenticate, and then one session after the
 * other: session/resume if the agent has it, else session/load; then the mode, the model and the options that differ.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "memory.h"

enum restore_step { RESTORE_INITIALIZE, RESTORE_LOGIN, RESTORE_OPEN, RESTORE_SET, RESTORE_DONE };

struct restore {
	struct memory *memory;
	/* Sends a request of ours. 0, or -1 out of memory. */
	int (*ask)(void *arg, const char *method, struct slice params);
	void *arg;

	enum restore_step step;
	struct session *session;          /* what is being restored, or NULL */
	struct buf settings[SETTINGS];    /* the new process's */
	size_t set;                       /* how many of the session's settings, and then options, have been compared */
};

/* Sends the first request of a new process. Returns how many sessions are to be restored; -1 out of memory. */
ssize_t restore_begin(struct restore *);
/* Takes the response to the request that was sent last. 0 (step RESTORE_DONE: all is restored); 1: initialize was refused; -1 out of memory. */
int restore_response(struct restore *, const struct msg *);
void restore_free(struct restore *);

#endif
