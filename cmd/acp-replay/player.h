/*
 * player: plays one side of a recording to a live other side. It walks the recording: what its own
 * side sent goes out, and what the other side sent is waited for. It knows no descriptors: lines
 * come in by player_hear, and what is to be sent is queued.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "cmd/acp-replay/script.h"
#include "lib/output.h"
#include "lib/requests.h"

struct session; /* a recorded session's id, and the live one's */

struct player {
	struct script *script;
	struct output *out, *err; /* to the live side; stderr */
	enum acp_side us, them;
	bool left;    /* the live side will send nothing more */
	bool stopped; /* because somebody told us so, not the live side */
	bool missed;  /* something was not as recorded */
	/* the rest is its own */
	struct record head;
	bool ready;   /* head is a record that has not had its turn */
	bool begun;   /* a message has been read */
	struct json_iter batch; /* where in head's batch */
	struct msg now;         /* head's message, or its entry's */
	struct requests *ours;   /* requests we sent; owner: the live answer, as struct kept */
	struct requests *theirs; /* recorded requests that have come; owner: the live one's id, as struct kept */
	size_t unanswered;       /* of ours */
	size_t kept;             /* live requests and answers that wait for their turn */
	uint64_t lines;          /* live lines */
	uint64_t arrived, taken; /* live notifications, and those that had their turn (client only) */
	struct session *sessions;
	uint64_t *early;         /* lines of the recording that were played before their turn */
	size_t nearly, cap;
};

enum play {
	PLAY_WAITING,   /* for the live side */
	PLAY_FULL,      /* for the queues to drain */
	PLAY_LEAVE,     /* our side ended its output here; play on */
	PLAY_EXIT,      /* the recorded agent ended here: exit_status */
	PLAY_OVER,      /* the recording has ended */
	PLAY_ABANDONED, /* the live side left before the end; it has been said */
	PLAY_BAD,       /* the recording can not be read; it has been said */
	PLAY_FAILED,    /* errno */
};

/* 0, or -1 with errno. All that is pointed to has to stay. */
int player_open(struct player *, struct script *, struct output *out, struct output *err, enum acp_side us);
void player_close(struct player *);
/* A line of the live side. 0, or -1 with errno. */
int player_hear(struct player *, struct slice line);
/* A line of the live side that is longer than the limit. 0, or -1 with errno. */
int player_hear_long(struct player *);
/* Plays as far as it can. Call it whenever something has come, drained or ended. */
enum play player_play(struct player *);
/* At the end of all: answers of the live side that the recording never had are told. */
void player_finish(struct player *);
/* Of PLAY_EXIT: the status as a shell has it. */
int player_exit_status(const struct player *);

#endif
