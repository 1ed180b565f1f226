/* engine: runs a chain: handles the events of its ports and processes, and signals, with the modules for each. */
#ifndef ENGINE_H
#define ENGINE_H

#include "chain.h"

/* Handles a signal to conduct. A function of loop_new; its argument is the chain. */
void engine_signal(void *chain, int signal);
/* Sets the functions of the chain and its route. Call it before wire_chain. */
void engine_open(struct chain *);
/* Runs a wired chain until it has ended. Returns the exit status. */
int engine_run(struct chain *);

#endif
