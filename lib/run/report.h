/*
 * report: standard error. The lines of a tool and of its children are queued, so that a slow reader never holds up the session. When the
 * queue is full, lines are discarded, and their number is reported.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

#include "lib/run/endpoint.h"

struct report {
	struct loop *loop;
	const char *tool;
	struct endpoint out;
	struct buf line;
	uint64_t lost; /* lines discarded since the queue was full */
	/* Also called for each line of a child, or piece of a long one, without its newline; may be NULL. */
	void (*on_line)(void *arg, const char *name, const struct line *);
	void *arg;
};

/* A child's stderr: a pipe, read line by line. Zero it to begin; the owner may set `changed` and its argument. */
struct report_source {
	void (*changed)(void *arg); /* called after each event of `in`; it may free the source */
	void *arg;
	struct report *report;
	const char *name;
	struct endpoint in;
	struct buf tail; /* its last lines, at most 2 KiB */
};

/* Opens standard error for writing through the loop. tool: its name, borrowed. Returns 0, or -1 with errno. */
int report_open(struct report *, const char *tool, struct loop *);
/* Writes what is queued, and closes. Waits for a slow reader, idle_us at a time and total_us in all at most. */
void report_close(struct report *, uint64_t idle_us, uint64_t total_us);
/* Queues a line of the tool itself: "TOOL: ...". */
void report_line(struct report *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads a child's stderr from fd, which it owns from now on. name: what its lines begin with, borrowed. With a name each piece of a long
 * line is a line; with NULL the lines stay as they are. Returns 0, or -1 with errno.
 */
int report_source_open(struct report_source *, struct report *, const char *name, int fd);

#endif
