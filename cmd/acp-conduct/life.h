/*
 * life: the processes of components. One table says what an event does in each state of a component: of filters, proxies, peers and
 * the agent alike.
 */
#ifndef LIFE_H
#define LIFE_H

#include "chain.h"

/* Something has happened to a component. */
void life_event(struct component *, enum event);
/* The same for EVENT_CLOSED. The name of the descriptor is borrowed. */
void life_closed(struct component *, const char *descriptor);
/* Sends SIGTERM to a component's process group; SIGKILL if it had SIGTERM before. */
void life_signal(struct component *);
/* Asks a component that nobody needs to end. */
void life_dismiss(struct component *);

/* Starts a component, with new pipes. Returns 0, or the exit status after it has reported why. */
int life_start(struct component *);
/* Starts all components of the row, the last one first. Returns 0, or the exit status; *bad is then the component that failed. */
int life_start_all(struct chain *, struct component **bad);
/* With -v: who its process is, with its command. */
void life_report_start(const struct component *);

#endif
