/* engine: a chain from its start to its end. */
#ifndef ENGINE_H
#define ENGINE_H

#include "chain.h"

/* Starts the components, connects them until the chain has ended, and returns the exit status. */
int engine_run(struct chain *);
/* Handles SIGINT, SIGTERM or SIGHUP; arg: the chain. */
void engine_signal(void *arg, int signal);

#endif
