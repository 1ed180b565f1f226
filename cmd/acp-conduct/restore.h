/*
 * restore: the next process of an agent that has died gets its sessions back, one after the other: session/resume where the agent
 * has that, else session/load; then its mode, its model and its options, where they differ. Until all have been dealt with, what
 * the client sends waits in the port's queue, and what the agent reports of its sessions goes nowhere: the client knows it.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "route.h"

/* The agent's process has died, in these words. Returns how many sessions are to be restored. */
size_t restore_prepare(struct port *, const char *how);
/* The next one has initialized. */
void restore_begin(struct port *, const struct msg *initialized);
/* It has responded to what restore has asked. A function of struct route. */
void restore_answered(struct port *, const struct msg *);

#endif
