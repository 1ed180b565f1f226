/*
 * diff: two conversations side by side, one recorded, one live or recorded too. Messages are put in as
 * they come, from either side first; those that belong together find each other session by session and
 * lane by lane, an answer by its request; what differs is told turn by turn. A message that is missing or
 * too much is one difference: the ones behind it find their partners again. What waits for a partner is
 * kept for a few turns, and no more than some thousand messages of a lane.
 */
#ifndef REPLAY_DIFF_H
#define REPLAY_DIFF_H

#include "cmd/acp-replay/compare.h"
#include "cmd/acp-replay/normalize.h"

enum diff_side { DIFF_RECORDED, DIFF_LIVE, DIFF_SIDES };

/* A difference. All is kept as long as its turn. */
struct found {
	enum difference_kind kind;
	bool whole;            /* it is the message that is missing or unexpected, not something in it */
	enum acp_side from;    /* who sent it */
	uint64_t line[DIFF_SIDES]; /* where; 0 where it is not there */
	struct slice what;     /* session/update tool_call; answer to session/prompt: plain text */
	struct slice path;     /* as of compare.h; "." where it is the message */
	struct slice value[DIFF_SIDES]; /* JSON text, or p NULL */
	uint64_t place, nth;   /* diff's own: its order among the others */
};

/* A session's prompt and all that follows it until the next; 0: what stands before the first. */
struct diff_turn {
	struct slice session;  /* recorded, or live where it was not; JSON text, p NULL: what is of no session */
	uint64_t number;       /* of what is of no session: so many prompts stood before it */
	struct slice prompt;   /* the text that it begins with: a JSON string, or p NULL */
	uint64_t line[DIFF_SIDES]; /* of its first message; 0 where there is none */
	uint64_t messages;     /* how many were compared */
	struct found *const *found; /* those of the recording in its order */
	size_t nfound;
};

struct diff_spec {
	enum match match;
	struct ids *ids;             /* what stands for what: it is learned here */
	struct normalize *normalize; /* or NULL */
	/* A turn is over on both sides. Valid during the call. Not 0: it has failed, and all fails (errno). */
	int (*turn)(void *arg, const struct diff_turn *);
	/* The normalizing program failed on a message. NULL: nobody wants to know. */
	void (*failed)(void *arg, enum diff_side, uint64_t line, const char *why);
	void *arg;
};

struct diff;

/* NULL when out of memory. What the spec points to has to stay. */
struct diff *diff_new(const struct diff_spec *);
void diff_free(struct diff *);
/*
 * A message or batch of one side, and its line. from: ACP_UNKNOWN is worked out. 0, or -1 with errno
 * (EINVAL: the normalizing program failed; it has been told).
 */
int diff_message(struct diff *, enum diff_side, enum acp_side from, const struct msg *, uint64_t line);
/* A side begins anew, as a recording does at another header: what has no answer never gets one. Likewise. */
int diff_begin(struct diff *, enum diff_side);
/* A line that is no message: it counts from MATCH_SHAPE up, a blank one where all has to be the same. Likewise. */
int diff_noise(struct diff *, enum diff_side, enum acp_side from, struct slice text, uint64_t line);
/* A side has come to its end; after both have, all turns have been told. Likewise. */
int diff_end(struct diff *, enum diff_side);
/* How many messages of a side wait for a partner: it is the other's turn to be read. */
size_t diff_waiting(const struct diff *, enum diff_side);
/* How many differences have been told. */
uint64_t diff_count(const struct diff *);

#endif
