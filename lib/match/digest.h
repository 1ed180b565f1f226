/*
 * digest: a number that all messages have in common which are equal at a level of compare.h, whatever their ids and directories. It
 * finds equal messages without comparing all with all. Different messages may have the same digest by chance: compare.h decides.
 */
#ifndef MATCH_DIGEST_H
#define MATCH_DIGEST_H

#include "lib/match/compare.h"

struct digest {
	enum match match;
	struct ids *ids;      /* NULL: ids and paths count as they are */
	bool live;            /* the message is a live one, with live directories */
	enum acp_method what; /* of responses: the method of their request */
	struct slice session; /* the recorded session, which knows the corresponding directories */
	struct slice excluded; /* a value in the message that does not count, or p NULL */
	/* Gets each id in the message, of which only the kind counts; returns false out of memory. May be NULL. */
	bool (*id)(void *arg, enum acp_id, struct slice id);
	void *arg;
};

/* Makes the digest of a message. 0, or -1 out of memory. */
int digest_message(const struct digest *, const struct msg *, uint64_t *);
uint64_t digest_bytes(struct slice);
/* Joins two digests to one; their order counts. */
uint64_t digest_join(uint64_t, uint64_t);

#endif
