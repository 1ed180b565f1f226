/* peer: the MCP side of a connection: JSON-RPC, one message a line, on two descriptors. */
#ifndef MCP_PEER_H
#define MCP_PEER_H

#include "lib/input.h"
#include "lib/loop.h"
#include "lib/msg.h"
#include "lib/output.h"

struct peer {
	struct loop *loop;
	struct input in;
	struct output out;
	struct loop_fd reads, writes;
	bool open;    /* it can be written to */
	bool paused;  /* it is not read now */
	/* The owner's, called with arg: a message (of an array each entry); a line that is none; the end of its output. */
	void (*message)(void *arg, const struct msg *);
	void (*noise)(void *arg, const struct json_error *);
	void (*ended)(void *arg);
	/* After any of these, and after something has been written. */
	void (*moved)(void *arg);
	void *arg;
};

/* Takes over both descriptors, whatever is returned: 0, or -1 with errno. The owner's functions are set before. */
int peer_open(struct peer *, struct loop *, int reads, int writes, size_t limit);
/* Queues a message and writes what can be written. Nothing happens where it does not read any more. 0, or -1 out of memory. */
int peer_send(struct peer *, struct slice message);
/* Reads it, or not. */
void peer_pause(struct peer *, bool);
/* Nothing more will be sent: its input ends. */
void peer_finish(struct peer *);
void peer_close(struct peer *);

#endif
