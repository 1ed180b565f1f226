/* linger: others of a component's process group may go on when its own process has ended. */
#ifndef LINGER_H
#define LINGER_H

#include <stdint.h>

struct chain;

/* Once, before the first component starts. */
void linger_open(struct chain *);
/* A component's process has ended: looks at its group, now and until it is gone. */
void linger_ended(struct chain *);
/* Something has changed that may let such groups, or the chain, go. */
void linger_settle(struct chain *);
/* Microseconds between two looks at a group, where it was so many the last time; 0: it is the first. */
uint64_t linger_pause(uint64_t last);

#endif
