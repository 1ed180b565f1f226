/*
 * restore: restores the sessions of an agent that has died in its next process, one after the other: by session/resume if the agent
 * has that capability, else by session/load; then the mode, the model and the options that differ. Until that is done, messages of
 * the client wait in the port's queue, and each session/update of the agent is discarded, because the client knows its content.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "route.h"

/* Prepares it. how: how the agent's process ended, in words. Returns the number of sessions to restore. */
size_t restore_prepare(struct port *, const char *how);
/* Begins, when the next process has initialized with this response. */
void restore_begin(struct port *, const struct msg *initialized);
/* Handles a response to one of restore's own requests. */
void restore_response(struct port *, const struct msg *);

#endif
