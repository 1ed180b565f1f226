/* fault: what the command line says, and what the parts of acp-fault know of each other. */
#ifndef FAULT_H
#define FAULT_H

#include "cmd/acp-fault/rule.h"
#include "lib/frame/frame_options.h"

struct options {
	struct rule *rules; /* that of the command line, and one for each line of a plan */
	size_t nrules;
	uint64_t seed;
	const char *report; /* or NULL */
	char *inputs[2];    /* the plan, or NULL */
	struct frame_options frame;
};

static const char fault_name[] = "acp-fault";

/* Runs the filter. Returns the exit status, or dies by the signal that a rule wants. */
int fault_run(const struct options *);

#endif
