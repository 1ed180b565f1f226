/*
 * attach: connects to a stream that acp-share shares. The client sends one line of JSON over the socket, and gets one back:
 *
 *	{"want":"watch","hop":0}    {"hop":0,"name":"agent"}
 *
 * "hop" is 0, the stream's name, or absent. The response to "watch" brings the descriptor of a pipe to read from: a recording
 * (acp-recording(5)) of all further messages, after a preface that describes the open sessions. The response to "join" brings a socket
 * with the same recording. The guest may also write records to it: {"from":"client","msg":...} enters the stream as if the client had
 * sent the message, and its response comes as a record with "to":"guest". "answer" is as "join", for a guest that also responds to the
 * agent's questions. The response to "list" describes the shared stream. A refusal is {"error":"why"}.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum attach_want { ATTACH_WATCH, ATTACH_JOIN, ATTACH_ANSWER, ATTACH_WANTS };
/* The values of "want" in the request. */
extern const char *const attach_words[ATTACH_WANTS];

/* An attached stream. */
struct attached {
	int fd;       /* belongs to the caller */
	uint64_t hop; /* its number */
};

/*
 * Attaches to a stream. where: the path of the socket, or "auto" for the only one of this user. hop: a number, a name, or NULL. Waits up to
 * five seconds for the response. 0, or -1 with the reason in *why, one line or more, which the caller frees (NULL out of memory).
 */
int attach_open(struct attached *, const char *where, enum attach_want, const char *hop, char **why);

/* For a caller with a loop of its own: a connection to acp-share whose response has not come yet. */
struct attaching {
	int fd;     /* to be watched for POLLIN; then attach_continue */
	int passed; /* private, as are the next members: the descriptor that came with the response, or -1 */
	char *name; /* of the socket, for diagnostics */
	struct buf response;
};
/* Connects to a socket, and sends the request, without waiting. 0, or -1 with *why as of attach_open: then nothing is left to close. */
int attach_begin(struct attaching *, const char *path, enum attach_want, const char *hop, char **why);
/* Reads a part of the response. 1: it is incomplete; 0: *to is filled in; -1 with *why as of attach_open. attach_close follows 0 and -1. */
int attach_continue(struct attaching *, struct attached *to, char **why);
/* Closes the connection and frees, after any result of attach_continue. */
void attach_close(struct attaching *);

/* The message for an empty list of shared streams. */
extern const char attach_none_shared[];
/* Sends "list" over a connected non-blocking socket, and waits for the response, timeout us at most. Returns NULL, or what is wrong. */
const char *attach_list(int fd, uint64_t timeout, struct buf *response);

#endif
