/*
 * end: how a chain ends. Its flow forwards the ends of inputs, one after the other. There is one deadline, which moves as long as
 * there is progress. When there was none for the grace period, the ends are forwarded whatever is in progress; then the components
 * that hold up a direction get SIGTERM; then all components do; then those that remain get SIGKILL.
 */
#ifndef END_H
#define END_H

#include "chain.h"

enum { END_KILL_AFTER = 2 * 1000000 /* us between TERM and KILL, and between the steps after the deadline */ };

/* The end begins: the grace period starts. */
void end_begin(struct chain *);
/* Starts it again, because the end has made progress. */
void end_renew(struct chain *);
/* Continues the end, and decides what is read, once the callers have returned. */
void end_follow(struct chain *);
/* How long the chain may make no progress, us. Checks that after a part of this time. */
uint64_t end_period(const struct chain *);
void end_wait(struct chain *);

#endif
