/*
 * player: plays one side of a recording with a live other side. It sends a message of its own side when the messages have come on which it
 * may depend, and finds the other side's messages in the recording. It reads no descriptors: player_receive gets the lines; the messages to
 * send go into queues.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include <utlist.h>

#include "cmd/acp-replay/plan.h"
#include "lib/recording/recording.h"
#include "lib/run/endpoint.h"

/* --- recorder.c: records the play, and compares it with the recording --- */

struct recorder;

/* Makes a recorder, whose options must last as long as it. 0; -1: an error, which was reported. Free it in both cases. */
int recorder_new(const struct replay_options *, struct recorder **);
void recorder_free(struct recorder *);

/* These functions do nothing if the recorder is NULL. */

/*
 * Records that a side has sent a line (RECORD_MESSAGE, RECORD_NOISE, or on standard error RECORD_STDERR), or a line that was not kept
 * (RECORD_LOST; text: why), or has ended (RECORD_EOF; text.p is NULL).
 */
void recorder_put(struct recorder *, enum record_kind, enum acp_side from, struct slice text);
/* Records that the agent has ended, with a status from waitpid. */
void recorder_exit(struct recorder *, int status);
/* Writes the records to the file. */
void recorder_flush(struct recorder *);
/*
 * Does, at the end, what --check and --update want. passed: all of the recording was played, and nothing else, and the agent has not failed.
 * kept: why the recording may not be replaced; or NULL. Returns the exit status; 1: something differs.
 */
int recorder_end(struct recorder *, bool passed, const char *kept);

/* --- the player --- */

struct player {
	const struct replay_options *options;
	struct endpoint *out, *err; /* to the live side; stderr */
	struct recorder *recorder; /* or NULL */
	uint64_t now;              /* us; the caller sets it before each call */
	uint64_t wake;             /* call player_play again at this time, us; 0: nothing is due by itself */
	bool left;                 /* the live side sends nothing more */
	bool v2;                   /* if we are the client: the live agent speaks version 2 */
	bool timed_out;            /* nothing came within --timeout */
	bool interrupted;          /* a signal ended the play */
	bool missed;               /* the live side differed from the recording */
	struct plan plan;
	/* private */
	struct ids *ids;
	struct requests *ours; /* requests that we sent; owner: the item's number + 1, or NULL for an earlier round of --loop */
	uint64_t lines;        /* the number of live lines */
	bool moved;            /* a message came since the waiting requests were last tried */
	bool again, played;    /* again: --loop has begun again; played: a message came since the recording began (again) */
	struct waiting *waiting;
	struct buf text;
};

enum received {
	RECEIVED_FAILED = -1, /* with errno */
	RECEIVED,
	RECEIVED_LATER, /* play first, and then give the line again */
};

enum play {
	PLAY_WAITING,   /* for the live side, or for a time */
	PLAY_FULL,      /* for room in the queues */
	PLAY_LEAVE,     /* our side ended its output here; the play goes on */
	PLAY_EXIT,      /* the recorded agent ended here: plan.exit_status */
	PLAY_OVER,      /* the recording has ended */
	PLAY_ABANDONED, /* the live side left before the end, which was reported */
	PLAY_FAILED,    /* with errno */
};

/*
 * Reads the recording, which plan.items has opened. The arguments must last as long as the player. 0; 1: it cannot be played, which was
 * reported; -1 with errno. Close it in all cases.
 */
int player_open(struct player *, const struct replay_options *, struct endpoint *out, struct endpoint *err);
void player_close(struct player *);
/* Handles a line of the live side. After RECEIVED_LATER play, and give the line again with `last`. */
enum received player_receive(struct player *, struct slice line, bool last);
/* Handles a line of the live side beyond the limit. 0, or -1 with errno. */
int player_receive_long(struct player *);
/* Plays as far as it can. Call it after each event of an endpoint, and at the time of `wake`. */
enum play player_play(struct player *);
/* Reports, at the end, the requests without a response and, if over, those that the agent has not sent. */
void player_finish(struct player *, bool over);

/* --- for the files of the player: player_send.c, player_find.c, player_receive.c, player.c; each calls only those before it --- */

/* A live request that waits until it is due (--on-miss wait). */
struct waiting {
	struct waiting *prev, *next;
	uint64_t line;
	size_t n;
	char text[]; /* the message */
};

/* A live request without a response. */
struct pending {
	struct pending *prev, *next; /* in its lane, in the order of the recorded responses */
	uint32_t item;               /* the recorded request */
	size_t n;
	char id[]; /* the live id */
};

/* The differences between a live message and a recorded one. */
struct differences {
	struct buf *text; /* the first, for people: ".params.x is 1, was 2"; empty: there is none */
	struct buf *data; /* all of them: the inside of a JSON array; or NULL */
	size_t n;
	bool failed;
};

/* The item that was found for a live message; ITEM_NONE: none. */
struct candidate {
	uint32_t item;     /* the item that the message is */
	uint32_t expected; /* the item that must come before: the message is too early; or ITEM_NONE */
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

/* Reports on stderr an error in a record of the recording, or in a live line. */
void player_warn(const struct player *, bool live, uint64_t number, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The number of a live session (0 for p NULL); or ITEM_NONE. */
uint32_t player_session(struct player *, struct slice session);
/* The lane of a live session (p NULL: the lane without a session); or NULL. */
struct lane *player_lane(struct player *, struct slice session);
/* Notes that an item of the lane was played that was recorded at this time, us. */
void player_happened(struct player *, struct lane *, uint64_t recorded);
/* Notes that the live side may know the session of a lane. */
void player_begin(struct player *, struct lane *);
/* Begins the lane if it waits for nothing. Has it begun? */
bool player_try_begin(struct player *, struct lane *);
/* The lane that a recorded response begins; or NULL. */
struct lane *player_begun_by(struct player *, uint32_t response, const struct msg *);
/* Removes a live request, which has its response. */
void player_forget(struct lane *, struct pending *);
/* Was q recorded after the response to k, so that it may depend on that? */
bool player_precedes(const struct player *, uint32_t k, uint32_t q);
/* Adds a notification of the agent to the amounts. */
void player_reported(struct player *, const struct msg *);
/* Adds a recorded request, which the agent has sent, to the amounts. */
void player_requested(struct player *, uint32_t item);
/* Notes that a turn has ended, in the recording with this item (or ITEM_NONE). */
void player_end_turn(struct player *, struct lane *, uint32_t item);
/* Has the agent sent less than in the recording before this item, and may more come? Then p->wake is set. */
bool player_wants_more(struct player *, struct lane *, uint32_t item);
/* Queues a message that is not recorded, unless failed is not 0; frees its text. 0, or -1 with errno. */
int player_send_made(struct player *, struct buf *text, int failed);
/* Responds with an error; data: JSON text, or p NULL. 0, or -1 with errno. */
int player_refuse(struct player *, struct slice id, int code, const char *why, struct slice data);
/* Sends the first of all items that are due. 1; 0: none is due; -1 with errno. */
int player_send_next(struct player *);

/* --- player_find.c --- */

/* Prepares the comparison of a live message with an item, at the level of --match. differs: called for each difference; or NULL. */
struct compare player_comparison(const struct player *, uint32_t item, bool (*differs)(void *, const struct difference *),
	void *arg);
/* For player_comparison; arg: a struct differences. */
bool player_add_difference(void *differences, const struct difference *);
/* Do the messages differ after --normalize? request: of responses. 1; 0; -1 with errno. */
int player_compare(struct player *, const struct compare *, const struct request *, const struct msg *recorded,
	const struct msg *live);
/* Finds the item of a live message. 1; 0: there is none, or it is too early; -1 with errno. */
int player_find(struct player *, const struct msg *live, struct candidate *);
/* The next item with the method of a live message after an item (ITEM_NONE: the first), in a session or (ITEM_NONE) in all; or ITEM_NONE. */
uint32_t player_next_of_method(struct player *, const struct msg *live, uint32_t session, uint32_t item);
/* The first item (request: the first request) that we wait for, in a lane or (NULL) in all; or ITEM_NONE. */
uint32_t player_first_awaited(struct player *, struct lane *, bool request);
/* Notes that the message of an item has come. 0, or -1 with errno. */
int player_accept(struct player *, uint32_t item, const struct msg *live);
/* Handles a message without an item, as --on-miss says. expected: the item that must come first; or ITEM_NONE. 0, or -1 with errno. */
int player_miss(struct player *, const struct msg *, uint32_t expected);

/* --- player_receive.c --- */

/* Tries the waiting requests again. 1: one of them was accepted; 0; -1 with errno. */
int player_retry(struct player *);

#endif
