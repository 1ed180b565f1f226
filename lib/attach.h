/*
 * attach: the way into a chain that runs (acp-conduct --control). Over the conductor's socket goes one line of JSON each way:
 *
 *	{"want":"watch","hop":2}    {"hop":2,"name":"agent"}
 *
 * hop is a number, a name, or left out. With the answer to "watch" comes a pipe to read from: what passes the hop from now on, as
 * a recording (acp-recording(5)), behind what a newcomer has to know. With the answer to "join" comes a socket that carries the
 * same and takes records, too: {"from":"client","msg":...} enters the hop as if that side had sent it, and what is answered comes
 * as a record with "to":"guest". "list" is answered with what runs there. Anything else is answered with {"error":"why"}.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdint.h>

enum attach_want { ATTACH_WATCH, ATTACH_JOIN };

/* What was had: the descriptor (the caller's), and the number of the hop. */
struct attached {
	int fd;
	uint64_t hop;
};

/*
 * where: the conductor's socket, or "auto" for the only chain of this user; hop: a number or a name, or NULL. Waits a few seconds
 * for an answer, not longer. 0, or -1 and *why says why not, in one line or more (the caller frees it; NULL out of memory).
 */
int attach_open(struct attached *, const char *where, enum attach_want, const char *hop, char **why);

#endif
