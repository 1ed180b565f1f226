/*
 * report: standard error. The lines of conduct and of its components are queued, so that a slow reader never holds up the chain. When
 * the queue is full, lines are discarded, and their number is reported.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

#include "lib/run/endpoint.h"

struct report {
	struct loop *loop;
	struct endpoint out;
	struct buf line;
	uint64_t lost; /* lines discarded since the queue was full */
	void (*on_line)(void *arg, const char *name, struct slice line); /* also called for each line of a component; may be NULL */
	void *arg;
};

/* A component's stderr: a pipe, read line by line. */
struct report_source {
	struct report *report;
	const char *name;
	struct endpoint in;
	struct buf tail; /* its last lines, at most 2 KiB */
};

/* Opens standard error for writing through the loop. Returns 0, or -1 with errno. */
int report_open(struct report *, struct loop *);
/* Writes what is queued, for at most timeout_us, and closes. */
void report_close(struct report *, uint64_t timeout_us);
/* Queues a line of conduct itself. */
void report_line(struct report *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads a component's stderr from fd, which it owns from now on. The name is borrowed. Returns 0, or -1 with errno. */
int report_source_open(struct report_source *, struct report *, const char *name, int fd);

#endif
