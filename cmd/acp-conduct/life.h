/*
 * life: the processes of components. One table says what an event does in each state of a component: of filters, proxies, peers and
 * the agent alike.
 */
#ifndef LIFE_H
#define LIFE_H

#include "chain.h"

/* Does what the table says of this event in the component's state. */
void life_event(struct component *, enum event);
/* Handles EVENT_CLOSED: the component has closed this descriptor, whose name is borrowed. */
void life_closed(struct component *, const char *descriptor);
/* Sends SIGTERM to the process group of a component, or SIGKILL to one that has had SIGTERM. */
void life_signal(struct component *);
/* Sends SIGTERM to a component that nobody needs any more. Its end is then no failure. */
void life_dismiss(struct component *);

/* Starts a process of the component. Returns 0, or an exit status, after it has reported the reason. */
int life_start(struct component *);
/* Starts all components of the row, the agent first. Returns 0, or an exit status and in *bad the component that could not be started. */
int life_start_all(struct chain *, struct component **bad);
/* With -v: reports the id of the component's process, and its command. */
void life_report_start(const struct component *);

#endif
