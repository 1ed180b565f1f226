/* report: what was done to which message, one JSON object a line. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-fault/fault.h"
#include "lib/run/log.h"

/* A message as the report names it. Ids and methods are JSON text, p NULL where there is none. */
struct subject {
	enum acp_side from;
	uint64_t t, n;
	bool alone; /* no message: it came after the n-th */
	struct slice method, id;
};

/* log NULL: no report is wanted. details: further members, from a comma on, or empty. */
void report_vadd(struct log *, const struct subject *, const struct rule *, enum fault, const char *details, va_list)
	__attribute__((format(printf, 5, 0)));
void report_add(struct log *, const struct subject *, const struct rule *, enum fault, const char *details, ...)
	__attribute__((format(printf, 5, 6)));

#endif
