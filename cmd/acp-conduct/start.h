/* start: starts components, watches the pipes that they share, and hurries those that do not initialize or do not end. */
#ifndef START_H
#define START_H

#include "chain.h"

struct port;
struct route;

/* Starts a component that has its links. 0, or the exit status. */
int start_component(struct component *);
/* Those of the first so many components that do not run yet, the last first. 0, or the exit status, and which one it was. */
int start_all(struct chain *, size_t n, struct component **bad);
/* Watches each link for its end, where its neighbours share a pipe. 0 or -1. */
int start_watch(struct chain *);
/* Nobody writes to this link any more. */
void start_link_ended(struct link *);
/* With -v: process id, kind and command. */
void start_introduce(const struct component *);
/* It has closed that descriptor: if it still runs after the grace period it is stopped. */
void start_give_time(struct component *, const char *closed);
/* Functions of struct route. */
bool start_on_first_initialize(struct route *);
void start_on_ready(struct route *);

#endif
