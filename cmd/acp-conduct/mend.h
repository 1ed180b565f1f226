/*
 * mend: what a dead process had in its hands is sorted out, for the next one or for its neighbours: each request is answered
 * once, nothing is doubled, and everything keeps its place.
 */
#ifndef MEND_H
#define MEND_H

#include "route.h"

struct mend_counts {
	size_t adopted, kept, again, unread, failed, past, sessions;
	uint64_t lost;
};

/* Of a proxy, a filter between two hops that are read, or an agent: the queues are ready for the next process. */
void mend_sort(struct component *, const char *why, struct slice data, struct mend_counts *);
/* The same of a proxy that is taken out: its neighbours are joined, and get what was meant for it. */
void mend_bypass(struct port *, const char *why, struct slice data, struct mend_counts *);
/* What waits of requests that have been answered is not given any more. */
void mend_withdraw(struct port *);
/* Says what has happened to a component, and to what it had. */
void mend_report(struct port *, const char *what, const struct mend_counts *);
/* Messages that its process had not read. */
size_t mend_unread(struct port *);
/* Its component does not read any more and cannot be started again: what it has not read is answered. */
void mend_deaf(struct port *, const char *why);

#endif
