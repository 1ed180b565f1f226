/* groups: process groups that have outlived the process of their component. */
#ifndef GROUPS_H
#define GROUPS_H

#include <stdint.h>

struct chain;

/* Sets up the timer. Call it once, before the first component starts. */
void groups_open(struct chain *);
/* A component's process has ended: checks its group now, and again until the group is gone. */
void groups_ended(struct chain *);
/* Checks all such groups, and whether the chain has ended. */
void groups_check(struct chain *);
/* The next interval between two checks, us, after this one; 0: there was none. */
uint64_t groups_interval_after(uint64_t last);

#endif
