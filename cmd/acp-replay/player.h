/*
 * player: plays one side of a recording to a live other side. What its own side sent goes out when what it may depend on has come;
 * what the other side sends is looked up in the recording. It has no descriptors: lines come in by player_receive, and what is to
 * be sent is queued.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "cmd/acp-replay/plan.h"
#include "cmd/acp-replay/recorder.h"
#include "lib/match/compare.h"
#include "lib/match/normalize.h"
#include "lib/run/endpoint.h"

/* What a request gets that is not recorded. */
enum on_miss { MISS_ERROR, MISS_WAIT, MISS_NEXT };

struct player_options {
	enum acp_side us;
	enum match match;            /* of the requests of a client */
	struct normalize *normalize; /* or NULL */
	bool keep_paths;
	enum on_miss on_miss;
	double speed;       /* the recorded pauses are divided by it; 0: no pauses */
	uint64_t max_pause; /* us */
	bool loop;
	struct plan_range range;
};

struct player {
	const struct player_options *options;
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
int player_open(struct player *, const struct player_options *, struct endpoint *out, struct endpoint *err);
void player_close(struct player *);
/* A line of the live side. After RECEIVED_LATER play, and give it again with last: then something is made of it. */
enum received player_receive(struct player *, struct slice line, bool last);
/* A line of the live side that is longer than the limit. 0, or -1 with errno. */
int player_receive_long(struct player *);
/* Plays as far as it can. Call it whenever something has come, drained or ended, and when it is time. */
enum play player_play(struct player *);
/* At the end of all: reports which requests have no response, and over, which the agent has not sent. */
void player_finish(struct player *, bool over);

#endif
