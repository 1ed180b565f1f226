/*
 * player_parts: what the files of the player share; for cmd/acp-replay/player*.c only. Each calls only those before it: player_send.c,
 * player_find.c, player_receive.c, player.c.
 */
#ifndef REPLAY_PLAYER_PARTS_H
#define REPLAY_PLAYER_PARTS_H

#include <utlist.h>

#include "cmd/acp-replay/player.h"

/* A live request that waits until it is due (--on-miss wait). */
struct waiting {
	struct waiting *prev, *next;
	uint64_t line;
	size_t n;
	char text[]; /* the message */
};

/* A live request that has no response yet. */
struct pending {
	struct pending *prev, *next; /* in its lane, by their responses */
	uint32_t item;               /* the recorded request */
	size_t n;
	char id[]; /* the live id */
};

/* How a live message differs from a recorded one, for people: ".params.x is 1, was 2"; empty where it does not. */
struct first_difference {
	struct buf *text;
	bool failed;
};

/* What has been found for a live message; or ITEM_NONE. */
struct candidate {
	uint32_t item;     /* the one that is meant */
	uint32_t expected; /* what has to come before it: it is too early */
	bool close;        /* it fits with the same ids and directories */
};

static inline const struct item *
player_item(const struct player *p, uint32_t item)
{
	return &p->plan.items.at[item];
}

static inline void
player_done(struct player *p, uint32_t item)
{
	p->plan.parts[item].flags |= PART_DONE;
}

/* --- player_send.c --- */

/* Report on stderr: about a record of the recording, or a line of the live side. */
void player_warn(const struct player *, uint64_t number, const char *format, ...) __attribute__((format(printf, 3, 4)));
void player_warn_live(const struct player *, uint64_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The lane of a live session (p NULL: that of no session), or NULL. */
struct lane *player_lane(struct player *, struct slice session);
/* Something of the lane may be due. */
void player_touch(struct player *, struct lane *);
/* Something of it has happened that was recorded at that time. */
void player_happened(struct player *, struct lane *, uint64_t recorded);
/* The live side may know the session of a lane. */
void player_begin(struct player *, struct lane *);
/* Begins it where nothing comes before it. True where it has begun. */
bool player_try_begin(struct player *, struct lane *);
/* The lane that a recorded response begins, or NULL. */
struct lane *player_begun_by(struct player *, uint32_t response, const struct msg *);
/* A request that has come has its response now. */
void player_forget(struct lane *, struct pending *);
/* Was q sent after k had its response, so that it may depend on that? */
bool player_precedes(const struct player *, uint32_t k, uint32_t q);
/* The agent has reported something; or it has sent a recorded request. */
void player_reported(struct player *, const struct msg *);
void player_requested(struct player *, uint32_t item);
/* A turn has ended, in the recording with that item (or ITEM_NONE). */
void player_end_turn(struct player *, struct lane *, uint32_t item);
/* Has the agent reported less than it had in the recording up to there, and may more come? Then p->wake says how long to wait. */
bool player_wants_more(struct player *, struct lane *, uint32_t item);
/* Queues a message that is not recorded, unless making it failed, and frees its text. 0 or -1. */
int player_send_made(struct player *, struct buf *text, int failed);
/* Responds with an error; data is JSON text or p NULL. 0 or -1. */
int player_refuse(struct player *, struct slice id, int code, const char *why, struct slice data);
/* Of all that is due the first of the recording goes out. 1, 0 where nothing is due, or -1. */
int player_send_next(struct player *);

/* --- player_find.c --- */

/* The comparison of a live message with an item at the level of --match. differs: called for each difference, or NULL. */
struct compare player_comparison(const struct player *, uint32_t item, bool (*differs)(void *, const struct difference *),
	void *arg);
/* For struct compare. */
bool player_first_difference(void *first_difference, const struct difference *);
/* Do they differ, when they have been through --normalize? request: of responses. 1, 0, or -1. */
int player_compare(struct player *, const struct compare *, const struct request *, const struct msg *recorded,
	const struct msg *live);
/* 1 found, 0 not (or too early), -1. */
int player_find(struct player *, const struct msg *live, struct candidate *);
/* The next one of the method after an item (ITEM_NONE: the first), in a lane or in all, whatever it says; or ITEM_NONE. */
uint32_t player_next_of_method(struct player *, const struct msg *live, struct lane *, uint32_t item);
/* What the live side has to send first (request: which request), in a lane or (NULL) in all; or ITEM_NONE. */
uint32_t player_first_awaited(struct player *, struct lane *, bool request);
/* The message of an item has come: what waited for it may go on. 0 or -1. */
int player_accept(struct player *, uint32_t item, const struct msg *live);
/* Handles a message that nothing recorded matches, as --on-miss says. expected: what has to come first, or ITEM_NONE. 0 or -1. */
int player_miss(struct player *, const struct msg *, uint32_t expected);

/* --- player_receive.c --- */

/* Tries the waiting requests again. 1 where one of them is due now, 0, or -1. */
int player_retry(struct player *);

#endif
