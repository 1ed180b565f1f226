/* place: the directory of this process's sockets. */
#ifndef MCP_PLACE_H
#define MCP_PLACE_H

#include "lib/base/bytes.h"

/* Zero it to begin. */
struct place {
	char *path; /* absolute, and short enough for socket paths below it; NULL: not made yet */
	int lock;   /* descriptor of the directory, locked while this process lives: an unlocked directory is stale */
};

/*
 * Makes the directory, with access for this user only, in `in`, or in /tmp if the path of a socket would be too long there. Removes
 * stale directories from the same place. Returns 0, 1 if it is in /tmp, or -1 with a message in why.
 */
int place_make(struct place *, const char *in, struct buf *why);
/* Removes the directory if it is empty, and frees the path. */
void place_remove(struct place *);

#endif
