/* wire: makes the links of a new chain: decides which hops conduct reads, and connects the components. */
#ifndef WIRE_H
#define WIRE_H

struct chain;

/* Makes all links and ports. Returns 0, or -1 with errno. */
int wire_chain(struct chain *);

#endif
