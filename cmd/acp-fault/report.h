/* report: which fault hit which message, one JSON object a line. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-fault/fault.h"
#include "lib/run/log.h"

/* A message as the report names it. Id and method are JSON text; p NULL: it has none. */
struct subject {
	enum acp_side from;
	uint64_t t, n;   /* t: us; n: its number in its direction, from 1 */
	bool no_message; /* the fault hit no message, but came after the n-th */
	struct slice method, id;
};

/* Append a record. log NULL: they do nothing. details: a format for further members, which begins with a comma; or empty. */
void report_vadd(struct log *, const struct subject *, const struct rule *, enum fault, const char *details, va_list)
	__attribute__((format(printf, 5, 0)));
void report_add(struct log *, const struct subject *, const struct rule *, enum fault, const char *details, ...)
	__attribute__((format(printf, 5, 6)));

#endif
