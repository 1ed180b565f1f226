/*
 * hop: the pipes of a component when it starts, dies, is started again, bypassed or has ended. A hop is direct until it is recorded,
 * stands beside a proxy or an agent that is started again, or has a filter beside it that has died.
 */
#ifndef HOP_H
#define HOP_H

#include "chain.h"

/* A component has been started: what only it needs is closed. */
void hop_started(struct component *);
/* A filter has died: from now on conduct reads on all sides of it. What its neighbours read begins with a new line. 0, or -1 with errno. */
int hop_split(struct component *);
/* New pipes for its next process; what the dead one had not read of lines that are carried goes there. 0, or -1 with errno. */
int hop_renew(struct component *);
/* It is taken out: its neighbours are joined, and get what it had not read. 0, or -1 with errno. */
int hop_bypass(struct component *);
/* Lets go of our copies of its own ends: its neighbours see an end of input, or that nobody reads. */
void hop_close(struct component *);
/* Nobody reads what is carried to this port: who writes it sees that. */
void hop_unwanted(struct port *to);
void hop_free(struct chain *);

#endif
