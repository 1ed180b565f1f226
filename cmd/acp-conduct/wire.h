/* wire: makes the pipes of a routed chain, its ports, and the stretches in which they stand. */
#ifndef WIRE_H
#define WIRE_H

#include "chain.h"

/* Instead of chain_join's links. 0, or -1 with errno. */
int wire(struct chain *);
/* A proxy's two pipes. 0, or -1 with errno. */
int wire_proxy(struct component *);
/* Closes all that is left of them. */
void wire_close_proxy(struct component *);
void wire_free(struct chain *);

#endif
