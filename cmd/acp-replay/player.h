/*
 * player: plays one side of a recording to a live other side. What its own side sent goes out when
 * what stands before it in its conversation has come; what the other side sends is looked for in the
 * recording. It knows no descriptors: lines come in by player_receive, and what is to be sent is queued.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "lib/match/compare.h"
#include "cmd/acp-replay/plan.h"
#include "cmd/acp-replay/recorder.h"
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
	struct recorder *recorder; /* writes what is heard and sent; or NULL */
	uint64_t now;              /* us; whoever plays keeps it */
	uint64_t wake;             /* play again at this time, at the latest; 0: nothing is due by itself */
	bool left;                 /* the live side will send nothing more */
	bool timed_out;            /* because nothing came within --timeout */
	bool interrupted;          /* because of a signal */
	bool missed;               /* something was not as recorded */
	/* the rest is its own */
	struct plan plan;
	struct ids *ids;
	struct requests *ours;        /* requests we sent; owner: the recorded response */
	struct conversation *touched; /* those of which something may be due */
	size_t unanswered;            /* requests that have come and are not answered */
	uint64_t lines;               /* live lines */
	uint64_t arrived, taken;      /* live notifications, and those that had their turn (client only) */
	uint64_t reached;             /* the latest record that has come (client only) */
	uint64_t last_notification;   /* us: when the last live notification came (client only) */
	struct buf turn;              /* the live session whose turn goes on; empty where none does (client only) */
	uint64_t idle;                /* ends of turns that have come as notifications and have not been taken */
	bool lingers;                 /* a notification may still come */
	bool moved;                   /* something has come since those that wait were looked at */
	bool again;                   /* --loop has begun again */
	bool played;                  /* something has come since the recording began (again) */
	struct waiting *waiting;
	struct buf text;
};

enum play {
	PLAY_WAITING,   /* for the live side, or for the time to pass */
	PLAY_FULL,      /* for the queues to drain */
	PLAY_LEAVE,     /* our side ended its output here; play on */
	PLAY_EXIT,      /* the recorded agent ended here: exit_status */
	PLAY_OVER,      /* the recording has ended */
	PLAY_ABANDONED, /* the live side left before the end; it has been said */
	PLAY_BAD,       /* the recording can not be read; it has been said */
	PLAY_FAILED,    /* errno */
};

enum received {
	RECEIVED_FAILED = -1, /* errno */
	RECEIVED,
	RECEIVED_LATER, /* nothing to make of it before more has been played */
};

/* 0, or -1 with errno. All that is pointed to has to stay. */
int player_open(struct player *, const struct player_options *, struct script *, struct endpoint *out, struct endpoint *err);
void player_close(struct player *);
/*
 * A line of the live side. After RECEIVED_LATER play, and let it be heard again with last: then
 * something is made of it.
 */
enum received player_receive(struct player *, struct slice line, bool last);
/* A line of the live side that is longer than the limit. 0, or -1 with errno. */
int player_receive_long(struct player *);
/* Plays as far as it can. Call it whenever something has come, drained or ended, and when it is time. */
enum play player_play(struct player *);
/* At the end of all: what has never been answered is told. */
void player_finish(struct player *);
/* Of PLAY_EXIT: the status as a shell has it. */
int player_exit_status(const struct player *);

#endif
