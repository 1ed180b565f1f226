/* shares: --control puts an acp-share at a hop, by which other programs watch and join the chain while it runs. */
#ifndef SHARES_H
#define SHARES_H

#include "chain.h"

/* What the command line says of them. */
struct shares {
	const char *control;  /* a socket or "auto"; NULL: there are none */
	const char **hops;    /* numbers and names; none: the client's hop */
	size_t n;
	const char *max_line; /* or NULL */
};

/* Adds them to a chain that is named, and names it again. 0, or -1 and *why says why not (the caller's; NULL out of memory). */
int shares_add(struct chain *, const struct shares *, char **why);

#endif
