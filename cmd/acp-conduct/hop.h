/*
 * hop: the pipes of a component when it starts, dies, is restarted or bypassed, or has ended. A hop is direct (the neighbours share a
 * pipe) unless it is recorded, is next to a proxy or an agent that may be restarted, or is next to a filter that has died.
 */
#ifndef HOP_H
#define HOP_H

#include "chain.h"

/* Closes our copies of what only the started component needs. */
void hop_started(struct component *);
/*
 * A filter has died: makes conduct read and write on all sides of it. What its neighbours read continues on a new line. Returns 0, or
 * -1 with errno.
 */
int hop_split(struct component *);
/* Makes conduct read what the client writes, for the component that was to read it itself. Returns 0, or -1 with errno. */
int hop_read_client(struct chain *);
/* Makes the pipes of the next process, and writes there the carried lines that the dead one had not read. Returns 0, or -1 with errno. */
int hop_renew(struct component *);
/* Connects the neighbours of a filter, and forwards what it had not read. Returns 0, or -1 with errno. */
int hop_bypass(struct component *);
/* Closes our copies of the component's own ends, so that its neighbours see that it has gone. */
void hop_close(struct component *);
/* Discards what is carried to this port, which has no reader any more, so that its writer sees that. */
void hop_discard(struct port *to);
/* Frees all calls, ports, segments and texts of the route. */
void hop_free(struct chain *);

#endif
