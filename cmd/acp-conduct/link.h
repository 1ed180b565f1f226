/* link: what a link tells that is asked now. */
#ifndef LINK_H
#define LINK_H

#include "chain.h"

/* The S_IFMT bits of a descriptor. */
mode_t link_type(int fd);
/* What poll has to be asked for, so that it shows that nobody writes any more. */
short link_hangup_events(int fd);
/* Will nobody write to it any more? A component may have seen it before our loop did. */
bool link_has_ended(const struct link *);
/* Does nobody read it any more? */
bool link_has_no_reader(const struct link *);
/* Bytes that wait in it for its reader; 0 where that cannot be known. */
int link_unread(const struct link *);
/*
 * Does what waits in a pipe end in the middle of a line? Nothing is taken out of it. LINK_UNSEEN: nothing waits there,
 * or it is no pipe. Who wrote to it must have ended.
 */
enum link_tail { LINK_WHOLE, LINK_TORN, LINK_UNSEEN };
enum link_tail link_tail(const struct link *);

#endif
