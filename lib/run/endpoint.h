/*
 * endpoint: a peer that is read line by line and written through a queue. Its owner gets each line and each event in a function,
 * says when the peer is read, and queues what is to be written. Nothing blocks. No function calls the owner back (but
 * endpoint_read_now): what follows from a call happens before the loop waits again.
 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include "lib/run/input.h"
#include "lib/run/loop.h"
#include "lib/run/output.h"

enum endpoint_event {
	ENDPOINT_READ,    /* all lines of one read have been handed out, or all until it was paused */
	ENDPOINT_HUNG_UP, /* while it is paused: the peer has left; what is unread is the last of it */
	ENDPOINT_ENDED,   /* all has been handed out, and its input is closed; in.error: errno of the read that failed, or 0 */
	ENDPOINT_WROTE,   /* some of the queue has been written */
	ENDPOINT_CLOSED,  /* its output is closed: all is written (endpoint_finish), or out.error is why nobody reads it */
};

/* The owner fills in line, event and arg; all else is zero at first. */
struct endpoint {
	/*
	 * INPUT_LINE, INPUT_TORN or INPUT_PIECE. False: not now; the endpoint is paused, and the line comes again. The endpoint
	 * may be closed here, but has to stay in memory. NULL where there is nothing to read.
	 */
	bool (*line)(void *arg, enum input_got, const struct line *);
	/* Called last each time something happens: the endpoint may be closed and freed here. May be NULL. */
	void (*event)(void *arg, enum endpoint_event);
	void *arg;
	const struct io_layer *layer; /* of both sides, which are one socket; or NULL */

	/* To look at. */
	struct input in;
	struct output out; /* out.full, out.queued, out.written, out.discarded, out.error */
	bool paused;
	bool torn;         /* the last line that was handed out had no newline */
	bool draining;     /* endpoint_drain */

	/* The endpoint's own. */
	struct loop *loop;
	struct loop_fd readable, writable;
	struct loop_task reads, writes;
	struct line last;
	enum input_got got;
	bool again;        /* last is to be handed out again */
	bool more;         /* the layer may hold bytes, of which the descriptor says nothing */
	bool hung_up, finishing;
	bool shared;       /* it reads and writes the same socket */
	size_t unread;     /* bytes that may still be read while it is drained */
};

/*
 * Takes over both descriptors, whatever is returned (they may be one and the same; -1: there is none). limit: of a line, bytes;
 * 0: there are no lines, all that is read is handed out in pieces. 0, or -1 with errno.
 */
int endpoint_open(struct endpoint *, struct loop *, int in, int out, size_t limit);
/* Closes both sides at once, without an event: what is queued is discarded. Also for one that is closed, or zero. */
void endpoint_close(struct endpoint *);
/* The same for one side alone. */
void endpoint_close_in(struct endpoint *);
void endpoint_close_out(struct endpoint *);
/* As if the peer had vanished: what is unread or queued is discarded; ENDPOINT_ENDED follows, if it has not been there. */
void endpoint_abort(struct endpoint *);

bool endpoint_can_read(const struct endpoint *);
bool endpoint_can_write(const struct endpoint *);

/* Nothing more is read or handed out, or all again. Its owner pauses it while there is no room for what it sends. */
void endpoint_pause(struct endpoint *, bool);
/* As if the peer had left now: what it has sent is still read (as long as it is not paused), and then its input ends. */
void endpoint_drain(struct endpoint *);
/* Reads what is there now, and hands it out before it returns, without an event. last: then closes its input. */
void endpoint_read_now(struct endpoint *, bool last);

/*
 * Queue bytes as they are; or a line (in a block its newline, if it has one, lies after it; torn: none is added), on a line of its
 * own. What lies in the block is not copied; NULL: it is. Discarded where nobody reads it. 0, or -1 out of memory.
 */
int endpoint_put(struct endpoint *, struct block *, struct slice bytes);
int endpoint_put_line(struct endpoint *, struct block *, struct slice line, bool torn);
/* Closes the output as soon as the queue is empty: the peer sees the end of its input. */
void endpoint_finish(struct endpoint *);
/* For the end of a program: writes what is queued now, and waits idle_ms at most for a peer that does not read, and total_ms in all. */
void endpoint_flush(struct endpoint *, int idle_ms, int total_ms);

#endif
