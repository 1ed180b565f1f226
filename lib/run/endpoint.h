/*
 * endpoint: a peer that is read line by line and written through a queue. The owner gets each line and each event by a callback,
 * pauses and resumes reading, and queues bytes to be written. No function blocks, and only endpoint_read_now calls the owner back
 * before it returns: all other callbacks come from the loop, before it waits again.
 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include "lib/run/input.h"
#include "lib/run/loop.h"
#include "lib/run/output.h"

enum endpoint_event {
	ENDPOINT_READ,    /* the lines of one read have been handed out, or those before the owner paused it */
	ENDPOINT_HUNG_UP, /* the peer has left while the endpoint is paused: no more than the unread bytes will come */
	ENDPOINT_ENDED,   /* the last line has been handed out, and the input is closed; in.error: errno of a failed read, or 0 */
	ENDPOINT_WROTE,   /* a part of the queue has been written */
	ENDPOINT_CLOSED,  /* the output is closed: endpoint_finish is done, or writing failed with out.error */
};

/* The owner fills in line, event, arg and layer; all other members are zero at first. */
struct endpoint {
	/*
	 * Gets INPUT_LINE, INPUT_TORN or INPUT_PIECE. Where it returns false the endpoint is paused, and hands the same line out
	 * again later. It may close the endpoint, but not free it. NULL where the endpoint has no input.
	 */
	bool (*line)(void *arg, enum input_got, const struct line *);
	/* The endpoint calls it last, and touches nothing afterwards: it may close and free the endpoint. May be NULL. */
	void (*event)(void *arg, enum endpoint_event);
	void *arg;
	const struct io_layer *layer; /* TLS on the socket that is both sides; or NULL */

	/* The owner may read these. */
	struct input in;
	struct output out; /* out.full, out.queued, out.written, out.discarded, out.error */
	bool paused;
	bool torn;         /* the last line that was handed out had no newline */
	bool draining;     /* endpoint_drain was called */

	/* Private. */
	struct loop *loop;
	struct loop_fd readable, writable;
	struct loop_task reads, writes;
	struct line last;
	enum input_got got;
	bool again;        /* the owner has refused `last`: it is handed out again */
	bool more;         /* the layer may hold decrypted bytes, for which poll does not report POLLIN */
	bool hung_up, finishing;
	bool shared;       /* input and output are the same socket */
	size_t unread;     /* while draining: the most bytes that are still read */
};

/*
 * Takes over both descriptors, also where it fails. They may be equal; -1: that side does not exist. limit: the longest line, bytes;
 * 0: the input has no lines, and each read is handed out as a piece. 0, or -1 with errno.
 */
int endpoint_open(struct endpoint *, struct loop *, int in, int out, size_t limit);
/* Closes both sides at once, without an event, and discards the queue. The endpoint may be closed already, or all zero. */
void endpoint_close(struct endpoint *);
/* As endpoint_close, for the input alone. */
void endpoint_close_in(struct endpoint *);
/* As endpoint_close, for the output alone. */
void endpoint_close_out(struct endpoint *);
/* Treats the peer as vanished: discards unread input and the queue. ENDPOINT_ENDED follows, unless the input is closed already. */
void endpoint_abort(struct endpoint *);

/* Is the input open? */
bool endpoint_can_read(const struct endpoint *);
/* Is the output open? */
bool endpoint_can_write(const struct endpoint *);

/* Pauses reading and the handing out of lines, or resumes both. An owner pauses a peer while the queue for its messages is full. */
void endpoint_pause(struct endpoint *, bool);
/* Ends the input as if the peer had left now: the bytes that it has sent are still read, except while paused. */
void endpoint_drain(struct endpoint *);
/* Reads the bytes that are there, and hands them out before it returns, without an event. last: also closes the input. */
void endpoint_read_now(struct endpoint *, bool last);

/*
 * Queues bytes as they are. Bytes that lie in the block are not copied; with block NULL they are. Where the output is closed they are
 * discarded. 0, or -1 out of memory.
 */
int endpoint_put(struct endpoint *, struct block *, struct slice bytes);
/*
 * As endpoint_put, for a line without its newline: ends a torn line before it, and adds a newline unless `torn`. In a block the
 * newline has to follow the line, unless `torn`.
 */
int endpoint_put_line(struct endpoint *, struct block *, struct slice line, bool torn);
/* Queues a line in parts, and a newline. Holds the block for long parts that lie in it, and copies the others. 0, or -1 out of memory. */
int endpoint_put_parts(struct endpoint *, struct block *, const struct iovec *parts, size_t n);
/* Closes the output as soon as the queue is empty, and thereby ends the peer's input. */
void endpoint_finish(struct endpoint *);
/*
 * Before a program exits: writes the queue. Waits for a peer that does not read, idle_ms at a time and total_ms in all at most. Returns
 * whether nothing is queued any more.
 */
bool endpoint_flush(struct endpoint *, int idle_ms, int total_ms);

#endif
