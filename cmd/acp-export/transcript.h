/*
 * transcript: the sessions of some recordings, as pages show them: what lib/session makes of their messages, and the contents of each
 * turn. All of it is held in memory, because a sub-agent, a report of usage or an update of a tool call can belong to something that
 * began long before. Times (t, end) are in us since the start of the recording.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "lib/redact/redact.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

enum item_kind {
	ITEM_USER,    /* text: of the user, or of the parent of a sub-agent */
	ITEM_AGENT,   /* text */
	ITEM_THOUGHT, /* text */
	ITEM_BLOCK,   /* FIELD_CONTENT: a block of content that is not text */
	ITEM_TOOL,    /* all fields */
	ITEM_PLAN,    /* FIELD_CONTENT: its entries; or text. Neither: it was removed */
	ITEM_ASK,     /* a permission request or an elicitation. TITLE; CONTENT: the options or the schema; OUTPUT: the response */
	ITEM_NOTE,    /* text; FIELD_KIND: its severity */
	ITEM_COMPACTION, /* FIELD_STATUS; text: the summary */
	ITEM_CHILD,   /* child */
};

/* The fields of an item besides its text: JSON values; empty: absent. */
enum field { FIELD_TITLE, FIELD_NAME, FIELD_KIND, FIELD_STATUS, FIELD_CONTENT, FIELD_INPUT, FIELD_OUTPUT, FIELDS };

struct item {
	struct item *next;
	enum item_kind kind;
	bool by_user;          /* ITEM_BLOCK: part of a prompt */
	bool whole;            /* its text came as one, such as a prompt, not in chunks */
	bool ended;            /* ITEM_TOOL: its status is final; ITEM_ASK: there is a response */
	bool changes;          /* ITEM_TOOL: CONTENT has a diff, whose texts are a patch or, in place of its own, "hunks" (diff_make) */
	uint64_t t, end;
	struct buf id;         /* of a tool call, plain; of the plan, the compaction, or the message that a text belongs to, a JSON string */
	struct buf text;       /* plain */
	struct buf field[FIELDS];
	size_t tail;           /* ITEM_TOOL: how long the end of CONTENT is after its last text, which the next chunk goes on with; or 0 */
	struct session *child;
};

/* The usage of a turn. */
struct spent {
	bool known, lower;       /* lower: the tokens are a lower bound */
	struct usage_sums billed;
	uint8_t inside;          /* which counts include which: for usage_disjoint */
	struct buf cost;         /* "0.0164 USD" */
};

/* A turn, or what lies outside of turns. */
enum turn_kind {
	TURN_PROMPTED,
	TURN_WORK,    /* version 2: without a prompt */
	TURN_JOINED,  /* its prompt belongs to the turn before it, which has its items */
	TURN_TASK,    /* of a sub-agent, up to its idle state or its next task */
	TURN_HISTORY, /* what was replayed */
	TURN_OUTSIDE, /* what came while no turn was open */
};

struct export_turn {
	struct export_turn *next;
	enum turn_kind kind;
	bool ended;
	struct item *items, *last;
	struct buf work;         /* struct item *: its calls and questions, those of sub-agents that belong to it, too */
	double started;          /* when its recording began: seconds since 1970, or 0 if not known */
	uint64_t t, end;
	struct buf stop, error;  /* the stop reason, plain; the error of the response, JSON */
	struct spent spent;
};

/* How many tokens were in the context, and what the session had cost. */
struct sample {
	double at;               /* seconds */
	double cost;             /* in the session's currency; below 0: not reported */
	uint64_t used, size;     /* size 0: not known */
};

struct terminal {
	UT_hash_handle hh;
	struct buf output;
	char id[];
};

/* The data of a struct session; that of its open turns is a struct export_turn, that of calls and questions a struct item. */
struct export_session {
	struct session *next_separate; /* for walk: the next one that is written outside its parent */
	struct export_turn *turns, *last;
	struct export_turn *loose;     /* has the items that belong to no turn, or NULL */
	struct export_turn *uncounted; /* the first whose usage has not been reported */
	struct item *compaction;       /* the last */
	struct item *unannounced;      /* a tool call of which only content has come, or NULL */
	struct terminal *terminals;
	struct buf samples;            /* struct sample */
	bool skipping;                 /* the history that is replayed is known already */
	bool nested;                   /* an item of its parent shows it */
	struct buf title, agent, version, cwd; /* plain */
	struct buf currency;           /* that of the first cost, plain */
};

struct transcript {
	struct sessions *sessions;
	struct usage *usage;
	struct usage_words words; /* to recognize messages that may report usage */
	struct redact *redact;    /* or NULL */
	struct buf agent, version, word;
	double started;
	uint64_t now;             /* of the message that is read, us */
	struct slice pieces;      /* the update of the message, where pieces of texts in it have their secrets still */
	bool timed, failed;       /* timed: its recordings have times; failed: out of memory */
};

/* redact: replaces secrets, and stays the caller's; or NULL. All that return an int: 0, or -1 if memory ran out at any time. */
int transcript_open(struct transcript *, struct redact *);
void transcript_free(struct transcript *);
/* Starts a recording. started: seconds since 1970; 0: not known. */
int transcript_begin(struct transcript *, double started);
/* Reads a message as it came. timed: its time is known. */
int transcript_see(struct transcript *, const struct message *, bool timed);
/* Notes the exit of the agent. status: as from waitpid. */
int transcript_exit(struct transcript *, uint64_t t, int status);
/* Ends what is open; to be called when everything has been read. */
int transcript_end(struct transcript *);

/* Returns the value at a path ("a.b") of an object if it has this type; otherwise p is NULL. */
struct slice transcript_get(struct slice object, const char *path, enum json_type);

/* --- the difference between two texts, line by line --- */

/* The kind of a line of a difference. */
enum diff_sign { DIFF_SAME = ' ', DIFF_OLD = '-', DIFF_NEW = '+', DIFF_GAP = '@' };
struct diff_line {
	enum diff_sign sign;
	struct slice text;   /* DIFF_GAP: p NULL */
	size_t skipped;      /* DIFF_GAP: how many lines were left out */
};

/* Appends the lines that changed and a few around each: the sign, and the text or, of a gap, the number. 0, or -1 out of memory. */
int diff_make(struct buf *to, struct slice old, struct slice new);

#endif
