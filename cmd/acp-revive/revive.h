/* revive: passes messages between the client and an agent, and starts the agent again when it dies. */
#ifndef REVIVE_H
#define REVIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const char revive_name[] = "acp-revive";

enum { SHOWN = 200 }; /* bytes of an agent's error that a diagnostic quotes */

struct revive_options {
	char *const *command;
	const char *allowed;       /* --restarts as it was given: "3/1m" */
	size_t restarts;           /* at most ... */
	uint64_t window;           /* ... in this time, us */
	uint64_t init_timeout, grace; /* us */
	size_t line_limit;
	bool verbose;
};

/* Runs until both sides have ended. Returns the exit status, after messages on standard error. */
int revive_run(const struct revive_options *);

#endif
