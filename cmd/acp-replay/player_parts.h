/*
 * player_parts: what the files of the player share; for cmd/acp-replay/player*.c only. Each calls only those before it: player.c,
 * player_send.c, player_due.c, player_find.c, player_miss.c, player_receive.c, player_play.c.
 */
#ifndef REPLAY_PLAYER_PARTS_H
#define REPLAY_PLAYER_PARTS_H

#include "cmd/acp-replay/player.h"

/*
 * So many records may wait for their turn, before no more is read in search of what a session that
 * waits for nothing sends next: sessions that were recorded side by side go on while one of them waits.
 */
enum { PLAYER_AHEAD = 1024 };

/* A live request that waits until it is due (--on-miss wait). */
struct waiting {
	struct waiting *prev, *next;
	uint64_t line;
	size_t n;
	char text[]; /* the message */
};

/* How a live message differs from a recorded one, for people: ".params.x is 1, was 2"; empty where it does not. */
struct first_difference {
	struct buf *text;
	bool failed;
};
/* What has been found for a live message. */
struct candidate {
	struct cue *cue;      /* the one that is meant, or NULL */
	struct cue *expected; /* what has to come before it: it is too early */
	bool close;           /* it fits in the letter */
};

/* --- player.c --- */

/* Report on stderr with the place: a record of the recording, or a line of the live side. */
void player_warn(const struct player *, uint64_t number, const char *format, ...) __attribute__((format(printf, 3, 4)));
void player_warn_live(const struct player *, uint64_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The conversation of a live session (p NULL: that of no session), or NULL. */
struct conversation *player_conversation(struct player *, struct slice session);
/* What the live side has to send first (a request), in a conversation or (NULL) in all; or NULL. */
struct cue *player_first_needed(const struct player *, const struct conversation *, bool request);
/* Something of the conversation may be due. */
void player_touch(struct player *, struct conversation *);
/* Something of it has happened that was recorded at that time. */
void player_happened(struct player *, struct conversation *, uint64_t recorded);
/* The comparison of a live message with a cue at the level of --match. differs: called for each difference, or NULL. */
struct compare player_comparison(const struct player *, const struct cue *, bool (*differs)(void *, const struct difference *),
	void *arg);
/* Scans what was recorded. 0, or -1 with errno. */
int player_recorded(struct player *, const struct cue *, struct msg *);

/* --- player_send.c --- */

/* Is it sent as it was recorded, without a scan for ids and paths? */
bool player_is_unchanged(struct player *, const struct conversation *, const struct own *);
/* Queues a record of ours; text is its own, and msg where it is a message that may not go as it is. 0 or -1. */
int player_send(struct player *, struct conversation *, const struct own *, struct slice text, const struct msg *msg);
/* Queues the recorded response to a request that has come, and forgets the request. 0 or -1. */
int player_send_response(struct player *, struct cue *, struct slice text, const struct msg *);
/* Queues a message that is not recorded, unless making it failed, and frees its text. 0 or -1. */
int player_send_made(struct player *, struct buf *text, int failed);

/* --- player_due.c --- */

/* Begins it where nothing is before it. True where it has begun. */
bool player_try_begin(struct player *, struct conversation *);
/* Removes what need not be waited for. True where a message of the live side has to come before that record. */
bool player_settle_before(struct player *, struct conversation *, uint64_t number);
/* Was q sent after k had its response, so that it may depend on that? */
bool player_precedes(const struct player *, const struct cue *k, const struct cue *q);
/* Of all that is due the first of the recording goes out. 1, 0 where nothing is due, or -1. */
int player_send_next(struct player *);
/* Reads the next record, plan.reading; or on until a number is set. 0 or -1. */
int player_read(struct player *);
int player_read_to(struct player *, const uint64_t *number);

/* --- player_find.c --- */

/* Do they differ, when they have been through --normalize? request: of responses. 1, 0, or -1. */
int player_compare(struct player *, const struct compare *, const struct request *, const struct msg *recorded,
	const struct msg *live);
/* 1 found, 0 not (or too early), -1. Where nothing fits, with all, all of the recording is looked through. */
int player_find(struct player *, const struct msg *live, bool all, struct candidate *);
/* The next one of the method, whatever it says, or NULL. */
struct cue *player_next_of_method(struct player *, const struct msg *live);
/* The message of a cue has come: what waited for it may go on. 0 or -1. */
int player_accept(struct player *, struct cue *, const struct msg *live);

/* --- player_miss.c --- */

/* For struct compare. */
bool player_first_difference(void *first_difference, const struct difference *);
/* Handles a message that nothing recorded matches, as --on-miss says. expected: what has to come first, or NULL. 0 or -1. */
int player_miss(struct player *, const struct msg *, struct cue *expected);
/* Answers with an error; data is JSON text or p NULL. 0 or -1. */
int player_refuse(struct player *, struct slice id, int code, const char *why, struct slice data);
/* A session/cancel at a moment that the recording does not have. 0 or -1. */
int player_cancel(struct player *, const struct msg *);

/* --- player_receive.c --- */

/* Tries the waiting requests again. 1 where one of them is due now, 0, or -1. */
int player_retry(struct player *);

#endif
