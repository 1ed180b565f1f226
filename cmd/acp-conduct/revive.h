/*
 * revive: a filter that has died is started again, or taken out of the chain. Until its first death it shares its
 * pipes with its neighbours; from then on it has pipes of its own, and relays join them to those of its neighbours.
 */
#ifndef REVIVE_H
#define REVIVE_H

#include "chain.h"

/* A filter has died. True: it will be started again or taken out, or its death comes back to supervise_ends. */
bool revive_died(struct component *, int status);
/* Its end is no death that is mended: once nobody is left to write, what it wrote is the end of its lanes. */
void revive_ended(struct component *);
/* Is nothing left to be carried? */
bool revive_over(const struct chain *);
/* A number that changes with all that is carried. */
uint64_t revive_progress(const struct chain *);
/* How often it was started again. */
uint64_t revive_restarts(const struct component *);
/* Before the loop goes. */
void revive_free(struct chain *);

#endif
