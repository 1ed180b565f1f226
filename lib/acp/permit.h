/*
 * permit: a program decides on permission requests (--permit-by). It runs once for each request, reads the request as a line on its
 * standard input, and prints the id or the kind of an option. Only a few run at the same time; the other requests wait.
 */
#ifndef PERMIT_H
#define PERMIT_H

#include "lib/base/bytes.h"
#include "lib/run/loop.h"

struct permit;

/* SILENT: the program printed nothing, and exited with 0. FAILED: it could not run, or failed, or printed no option. */
enum permit_outcome { PERMIT_DECIDED, PERMIT_SILENT, PERMIT_FAILED, PERMIT_LATE };

/* The owner sets loop, timeout and decided, and zeroes the others. */
struct permits {
	struct loop *loop;
	uint64_t timeout; /* us from the start of a program; 0: none */
	/* Called at the end of each permit. option: an object in the request, for PERMIT_DECIDED; else p NULL. */
	void (*decided)(void *arg, struct slice option, enum permit_outcome);
	struct permit *all;
	struct loop_task starts;
};

/* Starts the program for a request, from the loop. command: for proc_words; it must last as long as the permit. NULL out of memory. */
struct permit *permit_ask(struct permits *, const char *command, struct slice request, void *arg);
/* The request; valid until it is decided or withdrawn. */
struct slice permit_request(const struct permit *);
/* Kills the program, because nobody waits for its decision. */
void permit_withdraw(struct permit *);

#endif
