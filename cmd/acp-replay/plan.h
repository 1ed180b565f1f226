/*
 * plan: the recording as it is played. It is read as a whole; flags tell the played items. A lane has the items of a session, and as the
 * agent those of its sub-agents, too; those of each side in their recorded order. Lanes have no order among each other. The items without
 * a session are a lane, too.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "lib/filter/select.h"
#include "lib/match/compare.h"
#include "lib/match/items.h"
#include "lib/match/normalize.h"

static const char replay_name[] = "acp-replay";
/* The formats of the report of --check. */
static const char *const replay_formats[] = {"text", "json", "junit", NULL};

/* The response to a request that the recording does not have. */
enum on_miss { MISS_ERROR, MISS_WAIT, MISS_NEXT };

/* The options. */
struct replay_options {
	const char *path;       /* the recording */
	char *const *command;   /* of the agent that we start, as the client; or NULL */
	const char *hop;        /* --hop; or NULL */
	bool environment;       /* --env */
	size_t limit;           /* --max-line, bytes */
	uint64_t grace;         /* us */
	uint64_t timeout;       /* us; 0: none */
	/* the play */
	enum { AS_AGENT, AS_CLIENT } as; /* --as */
	enum acp_side us;            /* the side of --as */
	enum match match;            /* of a client's requests */
	const char *program;         /* --normalize; or NULL: */
	struct normalize *normalize;
	bool keep_paths;
	enum on_miss on_miss;
	double speed;           /* recorded pauses are divided by speed; 0: no pauses */
	uint64_t max_pause;     /* us */
	bool loop;              /* the recorded ends of both sides are ignored */
	uint64_t start, until;  /* the numbers of records; 0: not given */
	const char *until_word; /* --until, as the user wrote it */
	struct select *glob;    /* --until, if it is no number; or NULL */
	/* the output */
	const char *record;     /* --record; or NULL */
	bool check, update;     /* --check; --update: replaces the file of path */
	unsigned format;        /* of the report: the index of replay_formats */
};

/* peer.c: plays the recording. Reports errors on stderr, and returns the exit status. */
int peer_run(const struct replay_options *);

/* --- plan.c --- */

/* Flags of an item. */
enum {
	PART_OURS = 1,      /* we send it */
	PART_THEIRS = 2,    /* the live side sends it */
	PART_NEEDED = 4,    /* we wait for it */
	PART_DONE = 8,      /* it was sent, or has come, or will not come */
	PART_RELAXED = 16,  /* it may come, but we do not wait for it any more */
	/* A state of version 2: of its session, or of the sub-agent that it announces. If we are the client, only the end of a turn. */
	PART_IDLE = 32,
	PART_WORKS = 64
};
struct part {
	uint32_t next;    /* the next item of the same side in its lane; or ITEM_NONE */
	uint32_t lane;
	uint32_t announces; /* of an item of ours: the sub-agent's session that it announces; or 0 */
	uint32_t amount;  /* of a measured item: its amount (plan_measure) */
	uint16_t measure; /* of a measured item: the index of its kind */
	uint8_t flags;
};

/* A kind of the agent's messages. */
struct measure {
	uint64_t kind; /* a digest of its name */
	bool text;     /* it is a chunk of a text */
};
/* The amount of a kind that has come since the end of the turn before, and that came then in the recording. */
struct amount {
	uint64_t have, need;
};

struct lane {
	struct slice session;  /* its id, a JSON string; p NULL: the lane without a session */
	uint32_t first;        /* its first item */
	uint32_t opener;       /* the response that begins the session; or ITEM_NONE */
	uint32_t loaded;       /* the client's first request that loads or resumes it; or ITEM_NONE */
	uint32_t parent;       /* of a sub-agent: the session that started it, in whose lane its items are; or ITEM_NONE */
	uint32_t announced;    /* of a sub-agent: the item that announces it first */
	uint32_t begin[2], last[2]; /* the first and the last item: of ours (without responses to requests), of theirs */
	uint64_t pause;        /* if we are the client: the longest pause before an item of the agent, us */
	/* the state of the play */
	uint32_t own, theirs;  /* the first item of each side that is not done */
	uint32_t needed;       /* the first item of theirs that we wait for */
	bool open;             /* the live side may know the session */
	uint32_t known;        /* of a sub-agent whose first announcement was left out: the next one that was not; or ITEM_NONE */
	struct pending *pending; /* the live side's requests without a response */
	uint64_t live, recorded; /* us: when its last item was played, and when that was recorded */
	/* if we are the client */
	uint64_t moved;        /* us: when a message of it last came or was sent */
	uint32_t walked;       /* the first item of theirs that is not in `amounts` */
	uint32_t turns;        /* the number of prompts whose turn has not ended */
	struct amount *amounts; /* by the index of the kind */
};

struct plan {
	struct items items;
	struct part *parts;
	struct lane *lanes;   /* by the number of the session; 0: the lane without a session */
	size_t nlanes;
	struct measure *measures; /* from 1 on */
	size_t nmeasures;
	enum acp_side us, them;
	uint64_t start;       /* us: when the first item at or after --start was recorded */
	uint32_t end;         /* the play goes to here: to the end of a side, or of all */
	uint32_t first;       /* the first item that must be sent or waited for, and is not done */
	uint32_t first_theirs; /* the first item of theirs that a live message can be */
	int exit_status;      /* if we are the agent: the recorded exit status, as a shell has it; or -1 */
	bool missed;          /* a record could not be used */
	bool header, several; /* header: it has one; several: it has other hops, too */
};

/* Do we still wait for this item? */
static inline bool
part_is_awaited(const struct part *part)
{
	return (part->flags & (PART_NEEDED | PART_DONE | PART_RELAXED)) == PART_NEEDED;
}
/* Is the item before `end`? ITEM_NONE is not. */
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

/* The number of the lane of a session. */
static inline uint32_t
plan_root(const struct plan *p, uint32_t session)
{
	while (p->lanes[session].parent != ITEM_NONE)
		session = p->lanes[session].parent;
	return session;
}

/* Returns a number for the kind of a notification or request. *amount: of this message; *text: is it a chunk of a text? */
uint64_t plan_measure(struct items *, const struct msg *, uint32_t *amount, bool *text);

/*
 * Reads the recording, which `items` has opened. 0; 1: it cannot be played, which was reported; -1 with errno.
 */
int plan_read(struct plan *, const struct replay_options *);
void plan_close(struct plan *);
/* Begins the play again. */
void plan_rewind(struct plan *);
/* Goes on after the end of a side that is not the end of the recording. */
void plan_pass(struct plan *);

/* The first items that are not done: of ours in a lane, of those of theirs that we wait for in a lane, and of all. */
uint32_t plan_own(struct plan *, struct lane *);
uint32_t plan_needed(struct plan *, struct lane *);
uint32_t plan_first(struct plan *);
/* The next item of theirs after this one (ITEM_NONE: the first) that is not done, in a lane or (NULL) in all; or ITEM_NONE. */
uint32_t plan_next_theirs(struct plan *, struct lane *, uint32_t item);

#endif
