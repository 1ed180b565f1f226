/* peer: the MCP side of a connection: JSON-RPC, one message a line, on two descriptors. */
#ifndef MCP_PEER_H
#define MCP_PEER_H

#include "lib/input.h"
#include "lib/loop.h"
#include "lib/msg.h"
#include "lib/output.h"

/* Zero it to begin, and set the owner's functions. */
struct peer {
	struct loop *loop;
	struct input in;
	struct output out;
	struct loop_fd reads, writes;
	struct block *array;      /* the line whose entries are being heard, or NULL */
	struct json_iter entries;
	bool open;    /* it can be written to */
	bool paused;  /* it is not heard now */
	/*
	 * Called with arg, also from inside peer_pause(false): a message (of an array each entry); a line or an entry that is
	 * none; the end of its output.
	 */
	void (*message)(void *arg, const struct msg *);
	void (*noise)(void *arg, const char *why);
	void (*ended)(void *arg);
	/* The loop is done with it for now, whatever happened: it has been read, or written to. Last of all. */
	void (*moved)(void *arg);
	void *arg;
};

/* Takes over both descriptors, whatever is returned: 0, or -1 with errno. */
int peer_open(struct peer *, struct loop *, int reads, int writes, size_t limit);
/* Queues a message and writes what can be written. Nothing happens where it does not read any more. 0, or -1 out of memory. */
int peer_send(struct peer *, struct slice message);
/* Hears it, or not: the rest waits, also in the middle of an array. */
void peer_pause(struct peer *, bool);
/* Nothing more will be sent: its input ends behind what is queued. */
void peer_finish(struct peer *);
void peer_close(struct peer *);

#endif
