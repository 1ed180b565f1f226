/*
 * digest: a number that is the same for all messages that are the same at a level, whatever their ids and directories, so that equals
 * are found without comparing all with all. Other messages may share it by chance: compare.h decides.
 */
#ifndef MATCH_DIGEST_H
#define MATCH_DIGEST_H

#include "lib/match/compare.h"

struct digest {
	enum match match;
	struct ids *ids;      /* or NULL */
	bool live;            /* whose directories these are */
	enum acp_method what; /* of responses: what their request was */
	struct slice session; /* recorded, whose directories stand for which */
	struct slice excluded; /* a value in it that does not count, or p NULL */
	/* Gets each id in the message, which counts by its kind only; false: out of memory. Or NULL. */
	bool (*id)(void *arg, enum acp_id, struct slice id);
	void *arg;
};

/* 0, or -1 out of memory. */
int digest_message(const struct digest *, const struct msg *, uint64_t *);
uint64_t digest_bytes(struct slice);
/* Two to one; their order counts. */
uint64_t digest_join(uint64_t, uint64_t);

#endif
