/*
 * out: where acp-tap writes. In a session it is a log, which never stops anything; what is printed
 * of recordings waits for its reader as any filter does.
 */
#ifndef OUT_H
#define OUT_H

#include "lib/log.h"

struct out {
	struct log *log; /* NULL: standard output */
	struct buf own;
	int error;       /* errno of standard output */
	bool told;       /* it has been said that something was lost */
};

/* A record is appended to this buffer and then marked; out_lost in its place where it could not be built. */
struct buf *out_buf(struct out *);
void out_mark(struct out *);
void out_lost(struct out *);
/* Writes what there is, and waits until it is written. 0, or -1 with errno: nothing can be written any more. */
int out_print(struct out *);

#endif
