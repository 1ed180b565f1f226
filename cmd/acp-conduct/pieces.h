/*
 * pieces: a message on its way out, newline included, as parts of shared blocks: what is long stays where it was
 * read, what is short is copied once. The queue, the journal and the table of calls share it.
 */
#ifndef PIECES_H
#define PIECES_H

#include <sys/uio.h>

#include "lib/run/endpoint.h"

/* Where short pieces lie, one behind the other. Zero it to begin. */
struct arena {
	struct block *block;
	size_t used;
};
void arena_free(struct arena *);

struct pieces {
	struct output_part one, *more; /* more where there are several */
	unsigned n;                    /* 0: nothing */
	size_t size;
};

/*
 * The line that the parts make, and a newline. Those that lie in block may be held there; block may be NULL. 0, or
 * -1 out of memory.
 */
int pieces_make(struct pieces *, struct arena *, struct block *, const struct iovec *parts, size_t n);
/* Another owner of the same. 0 or -1. */
int pieces_hold(struct pieces *to, const struct pieces *);
/* Queues them. 0 or -1. */
int pieces_put(const struct pieces *, struct endpoint *);
/* Appends the text, with its newline. 0 or -1. */
int pieces_write(const struct pieces *, struct buf *to);
void pieces_drop(struct pieces *);

#endif
