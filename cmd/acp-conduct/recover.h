/*
 * recover: what a dead process leaves behind is prepared for its next process, or for its neighbours: every request gets exactly one
 * response, no message is duplicated, and the order is kept.
 */
#ifndef RECOVER_H
#define RECOVER_H

#include "route.h"

/* What became of the messages and requests of a dead process, for the line that reports its death. */
struct recover_counts {
	size_t adopted;   /* requests that it had forwarded */
	size_t delivered; /* requests that got the response that it had received for them */
	size_t again;     /* requests that are sent again */
	size_t unread;    /* messages that it had not read */
	size_t failed;    /* requests that got an error */
	size_t past;      /* messages that went to the next component */
	size_t sessions;  /* sessions to restore */
	size_t lost;      /* notifications, at most */
};

/* Sorts the queues of a proxy, of a filter between two hops that are read, or of an agent, for its next process. Adds to the counts. */
void recover_sort(struct component *, struct recover_counts *);
/* Sorts the queue of a proxy that is bypassed, connects its neighbours, and forwards to them what was meant for it. */
void recover_bypass(struct port *, struct recover_counts *);
/* Fails what a dead process that gets no successor was asked, withdraws what it has asked, and empties its queue. */
void recover_end(struct port *);
/* Reports on stderr what happened to the component, and the counts that are not 0. */
void recover_report(struct port *, const char *what, const struct recover_counts *);
/* Removes what was read from the journal, and returns how many messages remain. */
size_t recover_count_unread(struct port *);
/* Fails the requests that a component has not read, because it has closed its input and cannot be restarted. */
void recover_fail_unread(struct port *, const char *why);

#endif
