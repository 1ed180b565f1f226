/*
 * supervise: the life and death of a chain. It decides when an end of input is real, which end of
 * a component is in order, and ends what does not end by itself.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "chain.h"

/* A signal to conduct (loop_new's function; arg is the chain). */
void supervise_signal(void *chain, int signal);
/* Components have been started: watches them, and their links. 0 or -1. */
int supervise_started(struct chain *);
/* Watches for the end of a link. 0, or -1 out of memory. */
int supervise_watch(struct link *);
/* A component that died ends the chain after all; one that died has been mended. */
void supervise_ends(struct component *, int status);
void supervise_mended(struct chain *);
/* Looks whether nothing is left. */
void supervise_settle(struct chain *);
/* Runs a chain that has been started until nothing is left of it. Returns the exit status. */
int supervise(struct chain *);
/* Ends a chain of which not all could be started. */
void supervise_failed_start(struct chain *, int status);

#endif
