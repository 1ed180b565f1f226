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
	bool finished;          /* peer_finish was called */
	/* The owner's functions, which are called with arg. The slices are valid during the call. */
	void (*message)(void *arg, const struct msg *); /* a message was read */
	void (*noise)(void *arg, const char *why, struct slice text); /* a line that is not a message was read */
	void (*lost)(void *arg, enum msg_kind, struct slice id); /* after noise: which message it was meant to be (msg_noise_meant) */
	void (*ended)(void *arg);                       /* the peer's output has ended */
	void (*moved)(void *arg);                       /* after any reading or writing, and after the calls above */
	void *arg;
};

/*
 * Takes ownership of the descriptors, which may be the same, also on failure. limit: of a line, bytes. Returns 0, or -1 with
 * errno.
 */
int peer_open(struct peer *, struct loop *, int reads, int writes, size_t limit);
/* Queues a message; after peer_finish does nothing. Returns 0, or -1 out of memory. */
int peer_send(struct peer *, struct slice message);
/* Closes the peer's input after all that is queued. */
void peer_finish(struct peer *);
/* Closes both descriptors, and frees everything. */
void peer_close(struct peer *);

#endif
