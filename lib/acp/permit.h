/*
 * permit: a program decides on permission requests (--permit-by). For each request it runs once, gets the request as a line on its
 * standard input, and prints the id or the kind of an option. A few run at the same time, for there may be a thousand requests.
 */
#ifndef PERMIT_H
#define PERMIT_H

#include "lib/base/bytes.h"
#include "lib/run/loop.h"

struct permit;

/* What came of it: PERMIT_SILENT: it ended well and printed nothing; PERMIT_FAILED: it could not run, failed, or printed no option. */
enum permit_outcome { PERMIT_DECIDED, PERMIT_SILENT, PERMIT_FAILED, PERMIT_LATE };

/* The owner fills in loop, timeout and decided; all else is zero at first. */
struct permits {
	struct loop *loop;
	uint64_t timeout; /* us from the start of a program; 0: none */
	/* Called last; option: an object in the request, p NULL unless it is PERMIT_DECIDED. */
	void (*decided)(void *arg, struct slice option, enum permit_outcome);
	struct permit *all;
	struct loop_task starts;
};

/* Asks the program (as proc_words reads it; it has to stay) about a request, from the loop. NULL out of memory. */
struct permit *permit_ask(struct permits *, const char *command, struct slice request, void *arg);
/* The request; valid until it is decided, or withdrawn. */
struct slice permit_request(const struct permit *);
/* Nobody waits for it any more: kills the program. */
void permit_withdraw(struct permit *);

#endif
