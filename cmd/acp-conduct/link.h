/* link: one direction between two neighbours (struct link in chain.h): the state of its pipe, and the ports at its ends. */
#ifndef LINK_H
#define LINK_H

#include "chain.h"
#include "port.h"

/* Adds a link to the chain, which has room for it. NULL for a neighbour means conduct, or the client. */
struct link *link_new(struct chain *, enum acp_direction, struct component *writer, struct component *reader);
/* Makes a port, for which the route has room. NULL out of memory. The name is borrowed. */
struct port *link_new_port(struct route *, size_t hop, enum port_kind, const char *name, bool carries);
/* Returns the port on that side of a hop, and makes it if there is none. NULL out of memory. */
struct port *link_port(struct route *, size_t hop, enum port_kind, const char *name, bool carries);
/* Makes the pipe between a component and the port of a link that has one. Returns 0, or -1 with errno. */
int link_open(struct link *);

/* The S_IFMT bits of a descriptor; 0 on error. */
mode_t link_type(int fd);
/* The events to poll for, so that a descriptor shows that its writer has gone. */
short link_hangup_events(int fd);
/* Has its writer gone, or been closed? A component may have seen that before our loop did. */
bool link_has_ended(const struct link *);
/* Has its reader gone? */
bool link_has_no_reader(const struct link *);
/*
 * Marks a link as ended, and closes our copy of its reader's output in that direction: from now on the reader alone decides when
 * that output ends. The client's own descriptor stays open until its writer is gone, because it shows whether the client reads.
 */
void link_end(struct link *);
/* Bytes in the pipe that were not read; 0 if that cannot be known. */
int link_unread(const struct link *);
/* The last byte in the pipe that was not read, without reading it; -1: none, not a pipe, or it cannot be known. */
int link_last_unread(const struct link *);

#endif
