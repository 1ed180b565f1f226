/*
 * direct: a chain of filters and an agent, in which neighbours share pipes. A link is such a pipe: one direction between two neighbours.
 * acp-conduct reads nothing from it, but holds both of its ends open for the processes that follow a death.
 */
#ifndef DIRECT_H
#define DIRECT_H

#include "chain.h"
#include "lib/run/endpoint.h"

struct link {
	struct chain *chain;
	enum acp_direction dir;
	struct component *writer, *reader; /* NULL: the client */
	int rd, wr;                        /* acp-conduct's copies of both ends; -1: closed */
	bool ended;                        /* the writer has gone for good */
	bool may_be_cut;                   /* the writer has died, perhaps within a line that nothing has ended yet */
	bool half;                         /* the reader has died within a line, whose rest is being discarded */
	uint64_t dropped;                  /* bytes of that rest so far */
	uint64_t empty_since;              /* us: since when the link of a dead reader has been empty; 0: it is not */
	uint64_t cpu_then;                 /* us: the processor time of the writer at empty_since */
	struct loop_fd watch;
};

struct direct {
	struct link *client[ACP_DIRECTIONS];
	struct endpoint relay; /* copies the client's input to a pipe, for a component that must not hold the client's own descriptor */
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
