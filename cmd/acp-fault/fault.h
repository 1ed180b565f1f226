/* fault: the options of acp-fault, and the filter. */
#ifndef FAULT_H
#define FAULT_H

#include "cmd/acp-fault/rule.h"
#include "lib/frame/frame_options.h"

struct options {
	struct rule *rules; /* first that of the command line, then one for each line of a plan */
	size_t nrules;
	uint64_t seed;
	const char *report; /* or NULL */
	char *inputs[2];    /* the path of the plan, or NULL; NULL */
	struct frame_options frame;
};

static const char fault_name[] = "acp-fault";

/* Runs the filter. Returns the exit status, or raises the signal of --exit-signal. */
int fault_run(const struct options *);

#endif
