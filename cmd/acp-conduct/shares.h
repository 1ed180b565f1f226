/* shares: the acp-share that --control adds at a hop, so that other programs can attach to the chain while it runs. */
#ifndef SHARES_H
#define SHARES_H

#include "chain.h"

/* The options of the command line. */
struct shares {
	const char *control;  /* a socket or "auto"; NULL: no option --control */
	const char **hops;    /* of --control-hop, numbers and names, NULL-terminated; or NULL: the client's hop */
	size_t max_line;      /* of --max-line, or 0 */
};

/*
 * Adds them to a chain whose components have names, and names all components again. Returns 0, or -1; *why is then a text that the
 * caller frees, or NULL out of memory.
 */
int shares_add(struct chain *, const struct shares *, char **why);

#endif
