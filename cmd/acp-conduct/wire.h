/* wire: the hops of a chain that begins: which are read, and who holds which pipe. */
#ifndef WIRE_H
#define WIRE_H

struct chain;

/* Makes all links and ports. 0, or -1 with errno. */
int wire_chain(struct chain *);

#endif
