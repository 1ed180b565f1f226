/*
 * plan: the recording as it is played. All of it has been read; flags say what has been played. A lane holds the items of a session,
 * each side's in their recorded order; between lanes there is no order. What has no session is a lane, too.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "lib/filter/select.h"
#include "lib/match/compare.h"
#include "lib/match/items.h"
#include "lib/match/normalize.h"

static const char replay_name[] = "acp-replay";

/* What a request gets that is not recorded. */
enum on_miss { MISS_ERROR, MISS_WAIT, MISS_NEXT };

/* What all files read: the whole of it, once the options have been read. */
struct replay_options {
	const char *path;       /* the recording */
	char *const *command;   /* of an agent to be started (we are the client), or NULL */
	const char *hop;        /* --hop, or NULL */
	bool environment;       /* --env */
	size_t limit;           /* --max-line, bytes */
	uint64_t grace;         /* us */
	uint64_t timeout;       /* us; 0: none */
	/* how it is played */
	enum acp_side us;
	enum match match;            /* of the requests of a client */
	const char *program;         /* --normalize, or NULL: */
	struct normalize *normalize;
	bool keep_paths;
	enum on_miss on_miss;
	double speed;           /* the recorded pauses are divided by it; 0: no pauses */
	uint64_t max_pause;     /* us */
	bool loop;              /* the recorded ends of both sides do not matter */
	uint64_t start, until;  /* numbers of records; 0: not given */
	const char *until_word; /* --until as it was given */
	struct select *glob;    /* --until where it is no number, or NULL */
	/* what is written of it */
	const char *record;     /* --record, or NULL */
	bool check, update;     /* --check, --update: in the place of path */
	const char *format;     /* of the report */
};

/* Plays the recording. Returns the exit status; every problem has been reported on stderr. (peer.c) */
int peer_run(const struct replay_options *);

/* --- plan.c --- */

/* What an item is to the play. */
enum {
	PART_OURS = 1,      /* we send it */
	PART_THEIRS = 2,    /* the live side does */
	PART_NEEDED = 4,    /* it is waited for */
	PART_DONE = 8,      /* it was sent, has come, or will not */
	PART_RELAXED = 16,  /* it may come, but nothing waits for it any more */
	PART_ENDS_TURN = 32 /* the idle state after a prompt (v2) */
};
struct part {
	uint32_t next;    /* of the same side, in its lane */
	uint32_t lane;
	uint32_t amount;  /* of what the agent reports: how much (plan_measure) */
	uint16_t measure; /* of which kind that is */
	uint8_t flags;
};

/* A kind of message of the agent. */
struct measure {
	uint64_t kind; /* a digest */
	bool text;     /* it is a piece of one */
};
/* How much of a kind has come since the turn before ended, and had come in the recording. */
struct amount {
	uint64_t have, need;
};

struct lane {
	struct slice session;  /* a JSON string, or p NULL */
	uint32_t first;        /* its first item */
	uint32_t opener;       /* the response that begins it, or ITEM_NONE */
	uint32_t begin[2], last[2]; /* of ours (without responses to requests) and of theirs */
	uint64_t pause;        /* us: of a client: the longest before something of the agent */
	/* as it is played */
	uint32_t own, theirs;  /* the first of each that is not done */
	uint32_t needed;       /* the first of theirs that is waited for */
	bool open;             /* the live side may know its session */
	bool touched;          /* something of it may be due */
	struct lane *next_touched;
	struct pending *pending; /* requests of the live side that have no response yet */
	uint64_t live, recorded; /* us: when something of it was last played, and when that was recorded */
	/* of a client */
	uint64_t moved;        /* us: when something of it was last received or sent */
	uint32_t walked;       /* the first of theirs that is not in `amounts` yet */
	uint32_t turns;        /* prompts whose turn has not ended */
	struct amount *amounts; /* by the numbers of kinds */
};

struct plan {
	struct items items;
	struct part *parts;
	struct lane *lanes;   /* by the numbers of sessions; 0: that of none */
	size_t nlanes;
	struct measure *measures; /* from 1 on */
	size_t nmeasures;
	enum acp_side us, them;
	uint32_t end;         /* it is played up to here: an item that says that a side has ended, or all */
	uint32_t first;       /* the first that is to be sent or waited for, and is not done */
	uint32_t first_theirs; /* the first of theirs that a live message may be */
	int exit_status;      /* as a shell has it: of the recorded agent, where we are it; or -1 */
	bool missed;          /* something could not be read */
	bool header, several; /* it has a header; and other hops, too */
};

/* Is something still waiting for it? */
static inline bool
part_is_awaited(const struct part *part)
{
	return (part->flags & (PART_NEEDED | PART_DONE | PART_RELAXED)) == PART_NEEDED;
}
/* Does `end` come after it? Of ITEM_NONE: no. */
static inline bool
plan_has(const struct plan *p, uint32_t item)
{
	return item < p->end;
}
static inline struct lane *
plan_lane(const struct plan *p, uint32_t item)
{
	return &p->lanes[p->parts[item].lane];
}

/* A number that is the same for all notifications and requests of one kind, and how much this reports. text: it is a piece of one. */
uint64_t plan_measure(struct items *, const struct msg *, uint32_t *amount, bool *text);

/*
 * Reads the recording, whose items are open. 0; -1 with errno; or 1: it cannot be played, and why has been reported.
 */
int plan_read(struct plan *, const struct replay_options *);
void plan_close(struct plan *);
/* All is to be played again. */
void plan_rewind(struct plan *);
/* Goes on after an end that is not that of the recording. */
void plan_pass(struct plan *);

/* Each lane's first, and the first of all, that is not done. */
uint32_t plan_own(struct plan *, struct lane *);
uint32_t plan_needed(struct plan *, struct lane *);
uint32_t plan_first(struct plan *);
/* What theirs comes next that is not done: in a lane, or (NULL) in all; begin with ITEM_NONE. */
uint32_t plan_next_theirs(struct plan *, struct lane *, uint32_t item);

#endif
