/* output: queued lines, written with writev, with high- and low-water marks. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/run/io.h"

enum {
	OUTPUT_HIGH = 256 * 1024, /* above this the queue is full ... */
	OUTPUT_LOW = 64 * 1024,   /* ... until it is down to this */
};

struct output_part {
	struct block *block;
	struct slice text;
};

struct output {
	struct io io;
	struct output_part *parts; /* a ring */
	size_t first, n, cap;
	struct block *spare; /* for the next copy; or NULL */
	size_t queued; /* bytes */
	bool full;
	bool keeps;    /* what is queued when a write fails stays, to be taken out (output_take), and the owner closes it */
	bool torn;     /* what was queued last lacks its newline */
	int error;     /* errno of the write that failed; everything since is discarded, what was queued stays for output_take */
	uint64_t written;   /* bytes */
	uint64_t discarded; /* bytes that went nowhere because of it */
};

/* Takes over fd. 0, or -1 with errno. */
int output_open(struct output *, int fd);
/* Discards what is queued and closes. */
void output_close(struct output *);
/* Queues text that lies in a block, without copying. 0, or -1 out of memory. */
int output_hold(struct output *, struct block *, struct slice text);
/* Queues a copy. 0, or -1 out of memory. */
int output_copy(struct output *, struct slice text);
/* Ends the line that is queued last, if it lacks its newline: call it before another line is queued. 0 or -1. */
int output_end_line(struct output *);
/* Empties the queue, unwritten: appends what was queued. 0, or -1 out of memory: then some of it is lost. */
int output_take(struct output *, struct buf *to);
/* Discards what is queued and all that will be: the other side does not read any more. */
void output_fail(struct output *, int error);
/* How many bytes have been put into it. */
static inline uint64_t
output_so_far(const struct output *out)
{
	return out->written + out->discarded + out->queued;
}

/* Writes what can be written now. 0 when the queue is empty, 1 when more waits, -1 when the output has failed (error). */
int output_flush(struct output *);

#endif
