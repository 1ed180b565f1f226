/* fault: what the command line says, and what the parts of acp-fault know of each other. */
#ifndef FAULT_H
#define FAULT_H

#include "cmd/acp-fault/chance.h"
#include "lib/frame.h"
#include "lib/select.h"

struct options {
	struct select *select;
	double probability[FAULTS]; /* of those that have one */
	uint64_t delay, jitter;     /* us */
	uint64_t late;              /* us: how long a line waits for another to go ahead of it */
	uint64_t stall;             /* us */
	uint64_t exit_after;        /* 0: never */
	uint64_t seed;
	const char *report;         /* or NULL */
	struct frame_options frame;
};

extern const char fault_name[]; /* "acp-fault" */

/* Runs the filter. Returns the exit status. */
int fault_run(const struct options *);

#endif
