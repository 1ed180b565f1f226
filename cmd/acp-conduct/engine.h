/*
 * engine: the life of a chain: components start, end, die and are replaced, links and ports end, signals come. What follows from
 * each of these is decided here, with the parts that do it.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "chain.h"

/* A signal to conduct (loop_new's function; arg is the chain). */
void engine_signal(void *chain, int signal);
/* Sets the functions of the chain's route. */
void engine_open(struct chain *);
/* Runs a chain that has been wired until nothing is left of it. Returns the exit status. */
int engine_run(struct chain *);

#endif
