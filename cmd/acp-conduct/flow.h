/* flow: what has to be done after something was read, was written or has ended. */
#ifndef FLOW_H
#define FLOW_H

struct route;

/* Flushes the logs, decides again who is read, and continues the end of the chain. Call it at the end of each event. */
void flow_follow(struct route *);

#endif
