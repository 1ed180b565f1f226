/* report: what was done to which message, one JSON object a line. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-fault/fault.h"

struct report;

/* A message, or a batch, as the report names it. Ids and methods are JSON text, p NULL where there is none. */
struct subject {
	enum acp_side from;
	uint64_t t, n;
	struct slice method, id;
};

/* path NULL: a report that goes nowhere. NULL where it cannot be opened; that has been said. */
struct report *report_open(const char *path, uint64_t seed);
/* What goes on in the loop while its reader is slow. 0, or -1 out of memory. */
int report_watch(struct report *, struct frame *);
void report_unwatch(struct report *);
/* details: further members, from a comma on, or empty. */
void report_add(struct report *, const struct subject *, enum fault, const char *details, ...)
	__attribute__((format(printf, 4, 5)));
void report_flush(struct report *);
/* 0, or -1 where some of it was lost. */
int report_close(struct report *);

#endif
