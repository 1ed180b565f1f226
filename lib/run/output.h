/* output: a queue of bytes to a peer, written with writev. It reports when it is too full for more (`full`). */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/run/io.h"

enum {
	OUTPUT_HIGH = 256 * 1024, /* bytes: a longer queue is full ... */
	OUTPUT_LOW = 64 * 1024,   /* ... until no more than this is left */
};

struct output_part {
	struct block *block;
	struct slice text;
};

struct output {
	struct io io;
	struct output_part *parts; /* a ring */
	size_t first, n, cap;
	struct block *spare; /* an empty block for the next copy; or NULL */
	size_t queued; /* bytes */
	bool full;
	bool keeps;    /* set by the owner: after a failed write the queue remains for output_take, and the owner closes the output */
	bool torn;     /* the last queued bytes do not end with a newline */
	int error;     /* errno of a failed write, or 0; later bytes are discarded */
	uint64_t written;   /* bytes */
	uint64_t discarded; /* bytes that were discarded after an error, or at the close */
};

/* Takes over fd. 0, or -1 with errno. */
int output_open(struct output *, int fd);
/* Discards the queue and closes. */
void output_close(struct output *);
/* Queues text that lies in a block, without a copy: holds the block until it is written. 0, or -1 out of memory. */
int output_hold(struct output *, struct block *, struct slice text);
/* Queues a copy. 0, or -1 out of memory. */
int output_copy(struct output *, struct slice text);
/* Queues a copy of a text in parts; newline: with a newline at its end. 0, or -1 out of memory. */
int output_copy_parts(struct output *, const struct iovec *parts, size_t n, bool newline);
/* Queues a newline if the last queued bytes lack it; to be called before another line. 0, or -1 out of memory. */
int output_end_line(struct output *);
/* Moves the queue, unwritten, to the end of `to`. 0, or -1 out of memory: then the queue is empty, and `to` has only some bytes. */
int output_take(struct output *, struct buf *to);
/* Sets the error, discards the queue (unless `keeps`) and all later bytes: the other side no longer reads. */
void output_fail(struct output *, int error);
/* How many bytes have been queued, in all. */
static inline uint64_t
output_total(const struct output *out)
{
	return out->written + out->discarded + out->queued;
}

/* Writes as much as the other side has room for. 0: the queue is empty; 1: it is not; -1: the output has failed (error). */
int output_flush(struct output *);

#endif
