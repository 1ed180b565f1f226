/*
 * relay: carries bytes from one pipe to another, a block at a time. Conduct puts one on either side of a filter that
 * has died, so that what the dead process has left by halves does not meet what the next one writes or reads.
 */
#ifndef RELAY_H
#define RELAY_H

#include "lib/loop.h"
#include "lib/output.h"

/* A line that is longer is not waited for, where it has to be whole. */
enum { RELAY_LINE_LIMIT = 64 * 1024 * 1024 };

enum relay_event {
	RELAY_DROPPED, /* the first line was the rest of another: so many bytes of it were dropped */
	RELAY_ENDED,   /* what it reads has ended; relay_end passes that on */
	RELAY_OVER,    /* it has ended, or nobody reads what it writes: both sides are closed */
};

enum relay_stage {
	RELAY_PASSES,
	RELAY_JUDGES, /* the first line is kept until it is seen whether it is a message */
	RELAY_DROPS,  /* it is not: the rest of it is dropped */
};

struct relay {
	struct loop *loop;
	struct io from;
	struct output to;
	struct loop_fd readable, writable;
	struct block *block;  /* for what is read next */
	enum relay_stage stage;
	struct buf first;     /* the line that is judged, so far */
	uint64_t dropped;     /* bytes of it */
	bool ended, ending, over;
	void (*event)(void *arg, struct relay *, enum relay_event);
	void *arg;
};

/* One that writes to fd, which it takes over, and reads nothing yet. NULL with errno. */
struct relay *relay_new(struct loop *, int fd, void (*event)(void *arg, struct relay *, enum relay_event), void *arg);
/* Takes over fd, to read it instead of what it has read so far. 0, or -1 with errno. */
int relay_read(struct relay *, int fd);
/* From here on the first line is judged: one that is no message is taken for the rest of one, and dropped. */
void relay_judge(struct relay *);
/* Writes this as well. 0, or -1 out of memory. */
int relay_write(struct relay *, struct slice text);
/*
 * Takes over what another one has not delivered: what lies unread in its pipe, which is read from fd (taken over;
 * -1: nothing), and then what it has not written. All of that is judged. 0, or -1 out of memory.
 */
int relay_inherit(struct relay *heir, struct relay *dead, int fd);
/* Reads what lies in its pipe now. */
void relay_drain(struct relay *);
/* As if what it reads had ended. */
void relay_cut(struct relay *);
/* When all is written it is over. */
void relay_end(struct relay *);
/* Closes both sides, without an event, and frees; NULL is none. */
void relay_free(struct relay *);

#endif
