/*
 * pieces: a message on its way out, newline included, as parts of shared blocks: what is long stays where it was
 * read, what is short is copied once. The queue, the journal and the table of calls share it.
 */
#ifndef PIECES_H
#define PIECES_H

#include <sys/uio.h>

#include "lib/run/endpoint.h"

/* A block that short pieces are copied to, one after the other. Initialize it with zeros. */
struct arena {
	struct block *block;
	size_t used;
};
/* Drops the block; the pieces in it keep it alive. */
void arena_free(struct arena *);

struct pieces {
	struct output_part one, *more; /* `more`, an array, if there are several parts */
	unsigned n;                    /* of parts; 0: there is no message */
	size_t size;                   /* bytes, newline included */
};

/*
 * Makes the line that the parts form, with a newline. Long parts that lie in `block` (which may be NULL) are shared, all others
 * copied. Returns 0, or -1 out of memory.
 */
int pieces_make(struct pieces *, struct arena *, struct block *, const struct iovec *parts, size_t n);
/* The same of one text, which is copied. */
static inline int
pieces_copy(struct pieces *t, struct arena *a, struct slice text)
{
	return pieces_make(t, a, NULL, &(struct iovec){(char *)text.p, text.n}, 1);
}
/* Makes a second owner of the same text. Returns 0, or -1 out of memory. */
int pieces_hold(struct pieces *to, const struct pieces *);
/* Queues the text for an endpoint. Returns 0, or -1 out of memory. */
int pieces_put(const struct pieces *, struct endpoint *);
/* Appends the text, with its newline. Returns 0, or -1 out of memory. */
int pieces_write(const struct pieces *, struct buf *to);
/* Gives up the text. */
void pieces_drop(struct pieces *);

#endif
