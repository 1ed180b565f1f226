/*
 * player_parts: what the files of the player share; for cmd/acp-replay/player*.c only. They call each other in a circle: what comes in
 * makes the player read on in the recording, and what it reads may be due and goes out at once.
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
	struct buf text;
	bool failed;
};
/* For struct compare. */
bool player_first_difference(void *first_difference, const struct difference *);

/* Report on stderr with the place: a record of the recording, or a line of the live side. */
void player_warn(const struct player *, uint64_t number, const char *format, ...) __attribute__((format(printf, 3, 4)));
void player_warn_live(const struct player *, uint64_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The conversation of a live session (p NULL: that of no session), or NULL. */
struct conversation *player_conversation(struct player *, struct slice session);
/* Something of the conversation may be due. */
void player_touch(struct player *, struct conversation *);
/* Something of it has happened that was recorded at that time. */
void player_happened(struct player *, struct conversation *, uint64_t recorded);
/* Begins it where nothing is before it. True where it has begun. */
bool player_try_begin(struct player *, struct conversation *);
/* Was q sent after k had its response, so that it may depend on that? */
bool player_precedes(const struct player *, const struct cue *k, const struct cue *q);
/* Reads the next record; what is ours and due goes out where send is true. The reading is valid until the next. 0 or -1. */
int player_read(struct player *, bool send, struct reading *);

/* Is it sent as it was recorded, without a scan for ids and paths? */
bool player_is_unchanged(struct player *, const struct conversation *, const struct own *);
/* Queues a record of ours; text is its own, and msg where it is a message that may not go as it is. 0 or -1. */
int player_send(struct player *, struct conversation *, const struct own *, struct slice text, const struct msg *msg);
/* Queues the recorded response to a request that has come, and forgets the request. 0 or -1. */
int player_send_response(struct player *, struct cue *, struct slice text, const struct msg *);
/* Queues a message that is not recorded, unless making it failed, and frees its text. 0 or -1. */
int player_send_made(struct player *, struct buf *text, int failed);

/* The comparison of a live message with a cue at the level of --match. differs: called for each difference, or NULL. */
struct compare player_comparison(const struct player *, const struct cue *, bool (*differs)(void *, const struct difference *),
	void *arg);
/* Scans what was recorded. 0, or -1 with errno. */
int player_recorded(struct player *, const struct cue *, struct msg *);
/* The message of a cue has come: what waited for it may go on. 0 or -1. */
int player_accept(struct player *, struct cue *, const struct msg *live);
/* Tries the waiting requests again. 1 where one of them is due now, 0, or -1. */
int player_retry(struct player *);
/* Handles a message that nothing recorded matches, as --on-miss says. expected: what has to come first, or NULL. 0 or -1. */
int player_miss(struct player *, const struct msg *, struct cue *expected);
/* Answers with an error; data is JSON text or p NULL. 0 or -1. */
int player_refuse(struct player *, struct slice id, int code, const char *why, struct slice data);
/* A session/cancel at a moment that the recording does not have. 0 or -1. */
int player_cancel(struct player *, const struct msg *);

#endif
