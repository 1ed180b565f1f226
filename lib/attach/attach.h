/*
 * attach: joins a stream that acp-share shares. Over its socket goes one line of JSON each way:
 *
 *	{"want":"watch","hop":0}    {"hop":0,"name":"agent"}
 *
 * hop is 0, the name, or left out. With the response to "watch" comes a pipe to read from: what passes from now on, as a recording
 * (acp-recording(5)), after a preface that describes the open sessions. With the response to "join" comes a socket that carries the
 * same and accepts records, too: {"from":"client","msg":...} enters the stream as if that side had sent it, and its response comes as
 * a record with "to":"guest". "answer" is "join" for who also responds to the agent's questions. The response to "list" names what is
 * shared, that to anything else is {"error":"why"}.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum attach_want { ATTACH_WATCH, ATTACH_JOIN, ATTACH_ANSWER, ATTACH_WANTS };
/* What the request says: "watch". */
extern const char *const attach_words[ATTACH_WANTS];

/* The descriptor (the caller's), and the number of the hop. */
struct attached {
	int fd;
	uint64_t hop;
};

/*
 * where: the socket, or "auto" for the only one of this user; hop: a number or a name, or NULL. Waits a few seconds for a
 * response, not longer. 0, or -1 and *why says why not, in one line or more (the caller frees it; NULL out of memory).
 */
int attach_open(struct attached *, const char *where, enum attach_want, const char *hop, char **why);

/* The same for a caller with its own loop: a connection to acp-share that has no response yet. */
struct attaching {
	int fd;     /* to be read: attach_go_on */
	int passed; /* this and what follows: the module's own */
	char *name;
	struct buf response;
};
/* Connects to a socket, and asks. Never waits. 0, or -1 and *why as above; nothing is left to give up then. */
int attach_begin(struct attaching *, const char *path, enum attach_want, const char *hop, char **why);
/* Reads what has come. 1: that is not all yet; 0: *to; -1 and *why. */
int attach_go_on(struct attaching *, struct attached *to, char **why);
/* Closes the connection: also after 0. */
void attach_give_up(struct attaching *);

/* What is said where a list of what is shared is empty. */
extern const char attach_nothing[];
/* Asks the acp-share at a connected non-blocking socket what it shares. timeout: us. Returns NULL, or what is wrong. */
const char *attach_list(int fd, uint64_t timeout, struct buf *response);

#endif
