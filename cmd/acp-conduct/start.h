/* start: starts components, watches the pipes that they share, and enforces --init-timeout and the grace period for closed descriptors. */
#ifndef START_H
#define START_H

#include "chain.h"

struct port;
struct route;

/* Starts a component that has its links. Returns 0, or the exit status. */
int start_component(struct component *);
/*
 * Starts those of the first n components that were not started yet, the last one first. Returns 0, or the exit status; *bad is then
 * the component.
 */
int start_all(struct chain *, size_t n, struct component **bad);
/* Starts another process of a component, with new pipes. Returns 0, or -1 after it has reported why. */
int start_again(struct component *);
/* Kills a component that has not initialized, or restored a session, after --init-timeout. */
void start_init_timer(struct component *);
/* Watches the pipes that neighbours share for their end. */
void start_watch(struct chain *);
/* Handles the end of a link: its writer has gone. */
void start_link_ended(struct link *);
/* With -v, reports the process id, kind and command of a component. */
void start_introduce(const struct component *);
/* A component has closed a descriptor (a name for people, borrowed): stops it if it still runs after the grace period. */
void start_closed_timer(struct component *, const char *closed);
/* Starts what an initialize that goes to this port needs. A function of struct route. */
bool start_for_initialize(struct port *to);

#endif
