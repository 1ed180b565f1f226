/* place: the directory of this process's sockets. */
#ifndef MCP_PLACE_H
#define MCP_PLACE_H

#include "lib/base/bytes.h"

/* Zero it to begin; path NULL: there is none yet. */
struct place {
	char *path; /* absolute, and short enough for a socket's path below it */
	int lock;   /* held as long as we live: who finds the directory unlocked removes it */
};

/*
 * Makes the directory, for this user only, in `in` or, where no socket's path would fit there, in /tmp; removes those that processes
 * which were killed have left there. 0; 1: in /tmp; -1: why has got a text.
 */
int place_make(struct place *, const char *in, struct buf *why);
/* Removes it, where it is empty. */
void place_remove(struct place *);

#endif
