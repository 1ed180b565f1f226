/*
 * report: stderr. Conduct's own lines and those of its components, queued, so that nobody ever
 * waits for whoever reads them: when the queue is full lines are dropped, counted and told of.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

#include "lib/run/input.h"
#include "lib/run/loop.h"
#include "lib/run/output.h"

struct report {
	struct loop *loop;
	struct output out;
	struct loop_fd watch;
	struct buf line;
	uint64_t lost; /* lines since the queue was full */
	void (*heard)(void *arg, const char *name, struct slice line); /* who else hears what components say; NULL: nobody */
	void *arg;
};

/* A component's stderr: a pipe, read line by line. */
struct report_source {
	struct report *report;
	const char *name;
	struct input in;
	struct loop_fd watch;
	struct buf tail; /* what it said last */
	bool open; /* somebody holds the other end, as far as we know */
};

/* 0, or -1 with errno. */
int report_open(struct report *, struct loop *);
/* Writes what is queued, for at most so long, and closes. */
void report_close(struct report *, uint64_t patience_us);
/* A line of conduct's own. */
void report_say(struct report *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes over fd; the name is borrowed. 0, or -1 with errno. */
int report_listen(struct report_source *, struct report *, const char *name, int fd);
/* Reads what lies in the pipe now. */
void report_drain(struct report_source *);
/* The last lines that it said. */
struct slice report_tail(const struct report_source *);
void report_source_free(struct report_source *);
/* Reads what lies in the pipe now, completes the last line, and closes. */
void report_hang_up(struct report_source *);

#endif
