/* diff_parts: what the files of diff share; for cmd/acp-replay/diff*.c only. */
#ifndef REPLAY_DIFF_PARTS_H
#define REPLAY_DIFF_PARTS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "cmd/acp-replay/align.h"
#include "cmd/acp-replay/diff.h"
#include "cmd/acp-replay/digest.h"
#include "lib/requests.h"

/* A message that waits for its partner. Pieces of a streamed text that follow one another are one. */
struct item {
	struct item *next;
	enum acp_side from;
	uint64_t line, turn;
	struct msg msg;         /* its own copy, normalized */
	enum acp_method what;   /* of an answer: its request's */
	struct exchange *exchange; /* of a request */
	size_t size;            /* bytes, of all pieces */
	bool marked;
	struct mark mark;
	/* of a piece of text: */
	bool piece;
	bool open;              /* the next piece may belong to it */
	struct acp_chunk chunk;
	struct buf text;        /* all their text, as a JSON string; its closing quote comes when it is closed */
	struct item *others, *last_other; /* pieces that differ from the one before them in more than the text */
	/* what and message follow */
	struct slice label;     /* session/update tool_call */
	char bytes[];
};

/* A request and its answer. Partners are compared when both have been answered. */
struct exchange {
	struct exchange *next, **link; /* among all that are not settled */
	struct exchange *partner;
	enum diff_side side;
	bool alone;             /* its request has no partner: so has its answer */
	bool answered;
	bool begins;            /* a session: it counts in diff.beginning */
	struct item *answer;    /* NULL where it was left out, or never came */
	enum acp_method what;
	struct slice session;   /* recorded or live: JSON text, kept; p NULL */
	struct thread *thread;
	struct turn *turn;      /* of partners: that is open because of it */
	char bytes[];
};

struct queue {
	struct item *first, *last;
	size_t n, bytes;
};

struct turn {
	struct turn *next;
	struct diff_turn told;
	struct found **found;
	size_t cap;
	size_t open;            /* partners that are not answered */
	uint64_t place[3];      /* by enum acp_side: the recorded line that was last looked at */
	struct buf prompt;
};

/* A session on both sides, or what is of no session. */
struct thread {
	struct thread *prev, *next; /* among those that are in two, or those that are in one */
	bool here[DIFF_SIDES];  /* it is there on that side */
	bool foreign[DIFF_SIDES]; /* nothing on that side has begun it */
	struct slice session[DIFF_SIDES];
	struct queue queue[DIFF_SIDES][LANES];
	uint64_t now[DIFF_SIDES]; /* the turn */
	int64_t shift;          /* what makes a recorded turn's number of a live one's */
	struct turn *turns;     /* that are not over, by number */
};

struct name {
	UT_hash_handle hh;
	struct thread *thread;
	char key[];
};

struct diff {
	struct diff_spec spec;
	struct requests *requests[DIFF_SIDES];
	struct name *names[DIFF_SIDES];
	struct thread connection;      /* what is of no session */
	struct thread *paired, *single; /* sessions on both sides, and on one, in the order in which they came */
	struct exchange *exchanges;
	size_t waiting[DIFF_SIDES];
	size_t beginning[DIFF_SIDES];  /* requests that begin a session and are not settled */
	bool ended[DIFF_SIDES];
	bool closing;                  /* both have ended, and nobody waits any more */
	uint64_t count;
	struct buf key, normal;        /* scratch */
};

static inline enum diff_side
other(enum diff_side side)
{
	return side == DIFF_LIVE ? DIFF_RECORDED : DIFF_LIVE;
}

static inline bool
thread_paired(const struct thread *t)
{
	return t->here[DIFF_RECORDED] && t->here[DIFF_LIVE];
}

/* --- items (diff_item.c) --- */

/* What a message is to be told as, and who it belongs to. */
struct item_spec {
	enum diff_side side;
	enum acp_side from;
	uint64_t line;
	enum acp_method what;         /* of an answer: its request's */
	struct slice method, session; /* of an answer: its request's */
};
/* A copy, normalized. 0, and *to is NULL where it is left out; or -1. */
int item_new(struct diff *, const struct item_spec *, const struct msg *, struct item **to);
void item_free(struct item *);
/* Joins a piece to the one before it and takes it over: 1; 0 where it does not belong there; -1. */
int item_join(struct item *before, struct item *piece);
/* No more pieces will come. 0 or -1. */
int item_close(struct item *);
/* Makes the mark, once. 0 or -1. */
int item_mark(const struct diff *, const struct thread *, enum diff_side, struct item *);
/* What is shown of it where it stands alone: JSON text. */
struct slice item_value(const struct item *);

/* --- turns (diff_turn.c) --- */

/* The thread's turn of that number. NULL when out of memory. */
struct turn *turn_get(struct thread *, uint64_t number);
/* The number of a live turn as the recording counts. */
uint64_t turn_of_live(const struct thread *, uint64_t live);
/* Notes that a message belongs to it. */
void turn_count(struct turn *, const struct item *recorded, const struct item *live);
/* Copies what has been found into a turn. 0 or -1. */
int turn_add(struct diff *, struct turn *, const struct found *);
/* Tells and frees the turns that are over. 0 or -1. */
int turn_finish(struct diff *, struct thread *);
/* The same with all of them, over or not. */
int turn_tell_all(struct diff *, struct thread *);
void turn_free_all(struct thread *);

/* --- pairs (diff_pair.c) --- */

/* These two belong together: they are compared, and freed. 0 or -1. */
int pair_items(struct diff *, struct thread *, struct item *recorded, struct item *live);
/* This one has no partner: it is told, and freed. 0 or -1. */
int pair_alone(struct diff *, struct thread *, enum diff_side, struct item *);
struct exchange *exchange_new(struct diff *, enum diff_side, struct thread *, const struct msg *);
/* Its answer has come, or is left out, or will never come (NULL). 0 or -1. */
int exchange_answer(struct diff *, struct exchange *, struct item *answer);
/* At the end: those that are still open are settled. 0 or -1. */
int exchange_settle_all(struct diff *);
void exchange_free_all(struct diff *);

/* --- the threads (diff_thread.c) --- */

/* The thread of a session (p NULL: of none). NULL when out of memory. */
struct thread *thread_get(struct diff *, enum diff_side, struct slice session);
/* Puts an item in its place. 0 or -1. */
int thread_put(struct diff *, struct thread *, enum diff_side, enum lane, struct item *);
/* Nothing will be joined to what has come. 0 or -1. */
int thread_close_texts(struct thread *, enum diff_side);
/* Finds partners as far as that is possible now. 0 or -1. */
int thread_settle(struct diff *, struct thread *);
/* Sessions may have become known: those that stand for each other become one thread. 0 or -1. */
int thread_join_known(struct diff *);
/* At the end: sessions that are left on both sides are taken in their order. 0 or -1. */
int thread_join_rest(struct diff *);
void thread_free_all(struct diff *);

#endif
