/* peer: the MCP side of a connection: JSON-RPC, one message a line, on two descriptors. */
#ifndef MCP_PEER_H
#define MCP_PEER_H

#include "lib/acp/outline.h"
#include "lib/acp/msg.h"
#include "lib/run/endpoint.h"

/* Zero it to begin, and set the owner's functions. */
struct peer {
	struct endpoint end;
	struct outline outline; /* of the line that is too long */
	bool finished;          /* nothing more is sent */
	/* Called with arg: a message; a line that is none, and who waits because of it (msg_noise_meant); the end of its output. */
	void (*message)(void *arg, const struct msg *);
	void (*noise)(void *arg, const char *why, struct slice text);
	void (*lost)(void *arg, enum msg_kind, struct slice id);
	void (*ended)(void *arg);
	/* It has been read, or written to, whatever happened. Last of all. */
	void (*moved)(void *arg);
	void *arg;
};

/* Takes over the descriptors, whatever is returned (they may be the same): 0, or -1 with errno. */
int peer_open(struct peer *, struct loop *, int reads, int writes, size_t limit);
/* Queues a message. Nothing happens where it does not read any more. 0, or -1 out of memory. */
int peer_send(struct peer *, struct slice message);
/* Nothing more will be sent: its input ends after what is queued. */
void peer_finish(struct peer *);
void peer_close(struct peer *);

#endif
