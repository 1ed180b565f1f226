/* link: one direction between two neighbours (struct link): what its pipe shows, and the ports at its ends. */
#ifndef LINK_H
#define LINK_H

#include "chain.h"
#include "port.h"

/* Another link between these two; NULL: conduct, or the client. */
struct link *link_new(struct chain *, enum acp_direction, struct component *writer, struct component *reader);
/* The port on that side of a hop, made where there is none yet. NULL out of memory. */
struct port *link_port(struct route *, size_t hop, enum port_kind, const char *name, bool carries);
/* A pipe between a component and the port of a link that has one. 0, or -1 with errno. */
int link_open(struct link *);

/* The S_IFMT bits of a descriptor. */
mode_t link_type(int fd);
/* What poll has to be asked for, so that it shows that nobody writes any more. */
short link_hangup_events(int fd);
/* Will nobody write to it any more? A component may have seen it before our loop did. */
bool link_has_ended(const struct link *);
/* Does nobody read it any more? */
bool link_has_no_reader(const struct link *);
/*
 * Nobody will write to it any more: from now on its reader alone decides how long its own output in that direction goes on. Only
 * the client's own descriptor is kept until its writer is gone: it shows whether the client still reads.
 */
void link_end(struct link *);
/* Bytes that wait in it for its reader; 0 where that cannot be known. */
int link_unread(const struct link *);
/* The last byte that waits in it; nothing is taken out. -1: nothing waits, it is no pipe, or that cannot be known. */
int link_last_unread(const struct link *);

#endif
