/*
 * direct: a chain of filters and an agent, whose neighbours share pipes. A link is one direction between two neighbours; acp-conduct
 * keeps a copy of both ends for a next process, and reads nothing.
 */
#ifndef DIRECT_H
#define DIRECT_H

#include "chain.h"
#include "lib/run/endpoint.h"

struct link {
	struct chain *chain;
	enum acp_direction dir;
	struct component *writer, *reader; /* NULL: the client */
	int rd, wr;                        /* our copies of its ends; -1: none */
	bool ended;                        /* its writer has gone */
	bool may_be_cut;                   /* its writer has died, perhaps within a line, and nothing has ended that line yet */
	bool half;                         /* what a dead reader has left of a line is being discarded */
	uint64_t dropped;                  /* bytes of that */
	uint64_t empty_since;              /* us, when it was empty as its reader had died; 0: it was not */
	struct loop_fd watch;
};

struct direct {
	struct link *client[ACP_DIRECTIONS];
	struct endpoint relay; /* where a component must not hold the client's descriptor: acp-conduct copies from it to a pipe */
	size_t n;
	struct link links[];
};

/* --- direct.c --- */

extern const struct flow direct_flow;

/* --- links.c --- */
/* Makes the links of a chain. Returns 0, or -1 with errno. */
int direct_open(struct chain *);
void direct_free(struct direct *);

#endif
