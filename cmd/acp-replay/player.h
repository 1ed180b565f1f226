/*
 * player: plays one side of a recording to a live other side. What its own side sent goes out when what it may depend on has come;
 * what the other side sends is looked up in the recording. It has no descriptors: lines come in by player_receive, and what is to
 * be sent is queued.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include <utlist.h>

#include "cmd/acp-replay/plan.h"
#include "lib/recording/recording.h"
#include "lib/run/endpoint.h"

/* --- recorder.c: what happens while a recording is played is written as a recording, and compared with what was recorded --- */

struct recorder;

/* 0, or -1: what is wrong has been reported. The options have to stay. Free it in any case. */
int recorder_new(const struct replay_options *, struct recorder **);
void recorder_free(struct recorder *);

/* All below does nothing where the recorder is NULL. */

/*
 * What a side has done: sent a line, which is a RECORD_MESSAGE, RECORD_NOISE, or on standard error RECORD_STDERR; sent one that was
 * too long to be read, RECORD_LOST; sent its last, RECORD_EOF. line p NULL for the latter two.
 */
void recorder_put(struct recorder *, enum record_kind, enum acp_side from, struct slice line);
/* The agent has ended; status as waitpid has it. */
void recorder_exit(struct recorder *, int status);
/* Writes what has happened so far. */
void recorder_flush(struct recorder *);
/*
 * All is over: --check and --update. played: all of the recording was, and nothing else. kept: why the recording may not be replaced,
 * or NULL. Returns an exit status: 1 where something differs.
 */
int recorder_end(struct recorder *, bool played, const char *kept);

/* --- the player --- */

struct player {
	const struct replay_options *options;
	struct endpoint *out, *err; /* to the live side; stderr */
	enum acp_side us, them;
	struct recorder *recorder; /* writes what is received and sent; or NULL */
	uint64_t now;              /* us; whoever plays keeps it */
	uint64_t wake;             /* play again at this time, at the latest; 0: nothing is due by itself */
	bool left;                 /* the live side will send nothing more */
	bool v2;                   /* of a client: the live agent speaks version 2 */
	bool timed_out;            /* because nothing came within --timeout */
	bool interrupted;          /* because of a signal */
	bool missed;               /* something was not as recorded */
	struct plan plan;
	/* all else is its own */
	struct ids *ids;
	struct requests *ours; /* requests that we sent; owner: its item's number and 1, or NULL in an earlier round of --loop */
	struct lane *touched;  /* those of which something may be due */
	uint64_t lines;        /* live lines */
	bool waits;            /* `wake` was needed for the lane that is looked at */
	bool moved;            /* something has come since those that wait were looked at */
	bool again, played;    /* --loop has begun again; something has come since the recording began (again) */
	struct waiting *waiting;
	struct buf text;
};

enum received {
	RECEIVED_FAILED = -1, /* errno */
	RECEIVED,
	RECEIVED_LATER, /* nothing to make of it before what is due has been played */
};

enum play {
	PLAY_WAITING,   /* for the live side, or for the time to pass */
	PLAY_FULL,      /* for the queues to drain */
	PLAY_LEAVE,     /* our side ended its output here; play on */
	PLAY_EXIT,      /* the recorded agent ended here: plan.exit_status */
	PLAY_OVER,      /* the recording has ended */
	PLAY_ABANDONED, /* the live side left before the end, which has been reported */
	PLAY_FAILED,    /* errno */
};

/*
 * Reads the recording, which plan.items has open. All that is pointed to has to stay. 0; -1 with errno; or 1: it cannot be played,
 * and why has been reported. Close it in any case.
 */
int player_open(struct player *, const struct replay_options *, struct endpoint *out, struct endpoint *err);
void player_close(struct player *);
/* A line of the live side. After RECEIVED_LATER play, and give it again with last: then something is made of it. */
enum received player_receive(struct player *, struct slice line, bool last);
/* A line of the live side that is longer than the limit. 0, or -1 with errno. */
int player_receive_long(struct player *);
/* Plays as far as it can. Call it whenever something has come, drained or ended, and when it is time. */
enum play player_play(struct player *);
/* At the end of all: reports which requests have no response, and over, which the agent has not sent. */
void player_finish(struct player *, bool over);

/* --- what the files of the player share: player_send.c, player_find.c, player_receive.c, player.c; each calls only those before it --- */

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

/* How a live message differs from a recorded one. */
struct differences {
	struct buf *text; /* the first, for people: ".params.x is 1, was 2"; empty where there is none */
	struct buf *data; /* all of them: what a JSON array holds; or NULL */
	size_t n;
	bool failed;
};

/* What has been found for a live message; or ITEM_NONE. */
struct candidate {
	uint32_t item;     /* the one that is meant */
	uint32_t expected; /* what has to come before it: it is too early */
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

/* Reports on stderr: about a record of the recording, or a line of the live side. */
void player_warn(const struct player *, bool live, uint64_t number, const char *format, ...) __attribute__((format(printf, 4, 5)));
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
bool player_add_difference(void *differences, const struct difference *);
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
