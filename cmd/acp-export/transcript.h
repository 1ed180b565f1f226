/*
 * transcript: the sessions of some recordings, as pages show them: sessions and turns of lib/session, and the items of each turn.
 * Memory holds the whole transcript, because a sub-agent, a report of usage or an update of a tool call can belong to a turn that
 * began long before. Times (t, end) are in us since the start of the recording.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

/* Ends the process if r is below 0, as functions return it out of memory: a page needs all of its recordings. */
void export_must(int r);
#define uthash_nonfatal_oom(element) export_must(-1)

#include "lib/redact/redact.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

enum item_kind {
	ITEM_USER,    /* text, which the user wrote, or the parent of a sub-agent */
	ITEM_AGENT,   /* text */
	ITEM_THOUGHT, /* text */
	ITEM_BLOCK,   /* FIELD_CONTENT: a block of content that is not text */
	ITEM_TOOL,    /* all fields */
	ITEM_PLAN,    /* FIELD_CONTENT: the entries; or text. Neither: the agent has removed the plan */
	ITEM_ASK,     /* FIELD_KIND: "permission" or "elicitation"; TITLE; text: more about it, or empty; INPUT: a subject that is no tool
	                 call; CONTENT: options or schema; OUTPUT: the response */
	ITEM_NOTE,    /* text; FIELD_KIND: the severity, plain */
	ITEM_COMPACTION, /* FIELD_STATUS; text: the summary */
	ITEM_CHILD,   /* child */
};

/* The fields of an item besides the text: JSON values, but FIELD_KIND of ITEM_ASK and ITEM_NOTE is plain; empty: absent. */
enum field { FIELD_TITLE, FIELD_NAME, FIELD_KIND, FIELD_STATUS, FIELD_CONTENT, FIELD_INPUT, FIELD_OUTPUT, FIELDS };

struct item {
	struct item *next;
	enum item_kind kind;
	bool by_user;          /* ITEM_BLOCK: part of a prompt */
	bool whole;            /* the text came whole, such as a prompt: a chunk without a message's id begins another text */
	bool ended;            /* ITEM_TOOL: the status is final; ITEM_ASK: there is a response */
	bool changes;          /* ITEM_TOOL: CONTENT has a diff; the diff has a patch, or in place of its texts "hunks" (diff_make) */
	uint64_t t, end;
	struct buf id;         /* plain; of a text or block the id of its message */
	struct buf text;       /* plain */
	struct buf field[FIELDS];
	size_t tail;           /* ITEM_TOOL: how many bytes of CONTENT follow the text that the next chunk continues; or 0 */
	struct session *child;
	struct item *more, *final; /* of a message with an id: the next item; of its first item: the last */
	UT_hash_handle hh;     /* of the first item of a message */
};

/* The usage of a turn. */
struct spent {
	bool lower;              /* the tokens are a lower bound */
	struct usage_sums billed;
	uint8_t inside;          /* which counts include other counts, for usage_disjoint */
	struct buf cost;         /* "0.0164 USD" */
};

/* A turn, or what lies outside of turns. */
enum turn_kind {
	TURN_PROMPTED,
	TURN_WORK,    /* version 2: a turn without a prompt */
	TURN_JOINED,  /* a prompt that joined an earlier turn; that turn has the items */
	TURN_TASK,    /* a task of a sub-agent, up to the idle state or the next task */
	TURN_HISTORY, /* the history that was replayed */
	TURN_OUTSIDE, /* updates that came while no turn was open */
};

struct export_turn {
	struct export_turn *next;
	enum turn_kind kind;
	bool ended;
	struct item *items, *last;
	struct buf work;         /* struct item *: tool calls and questions of the turn and of the sub-agents that work for the turn */
	double started;          /* when the recording began: seconds since 1970, or 0 if not known */
	uint64_t t, end;
	struct buf prompt;       /* the first text of the prompt before redaction, plain; empty if nothing is redacted */
	struct buf stop, error;  /* the stop reason, plain; the error of the response, JSON */
	struct spent spent;
};

/* A report of usage: the tokens in the context, and the cost of the session up to then. */
struct sample {
	double at;               /* seconds since 1970, or since the start of the recording if that is not known */
	double cost;             /* in the session's currency; below 0: not reported */
	uint64_t used, size;     /* tokens in the context, and how many the context can hold; size 0: not known */
};

struct terminal {
	UT_hash_handle hh;
	struct buf output;
	char id[];
};

/* The data of a struct session. The data of an open turn is a struct export_turn, the data of a call or question a struct item. */
struct export_session {
	struct session *next_separate; /* for walk.c: the next in the list of sub-agents that are written outside of their parents */
	struct export_turn *turns, *last;
	struct export_turn *loose;     /* collects the items that belong to no turn of lib/session; or NULL */
	struct export_turn *uncounted; /* the first turn whose usage has not been reported; or NULL */
	struct item *compaction;       /* the last compaction, or NULL */
	struct item *messages[ITEM_THOUGHT + 1]; /* the first item of each message with an id, by the id and the kind of its texts */
	struct item *unannounced;      /* a tool call of which only pieces of content have come, or NULL */
	struct terminal *terminals;
	struct buf samples;            /* struct sample */
	bool skipping;                 /* the transcript already has the history that is replayed */
	bool nested;                   /* an item of the parent shows this session */
	struct buf title, agent, version, cwd; /* plain */
	struct buf currency;           /* the currency of the first cost, plain */
};

struct transcript {
	struct sessions *sessions;
	struct usage *usage;
	struct usage_words words; /* words by which a message that may report usage is found */
	struct redact *redact;    /* or NULL */
	struct buf agent, version, word, id; /* agent, version: of the connection, plain; word, id: scratch */
	double started;
	uint64_t now;             /* the time of the current message, us */
	struct slice params;      /* the params of the current message before redaction; p NULL: they are redacted at once */
	bool timed;               /* a recording has times */
};

/* Makes an empty transcript, which lasts as long as the process. redact stays the caller's, or is NULL. */
void transcript_open(struct transcript *, struct redact *);
/* Starts a recording. started: seconds since 1970; 0: not known. */
void transcript_begin(struct transcript *, double started);
/* Reads a message, before redaction. timed: the time of the message is known. */
void transcript_see(struct transcript *, const struct message *, bool timed);
/* Notes in each open turn that the agent failed. status: as from waitpid; 0 is not noted. */
void transcript_exit(struct transcript *, uint64_t t, int status);
/* Ends what is open, and redacts texts that came in pieces. To be called when everything has been read. */
void transcript_end(struct transcript *);

/* Returns the value at a path ("a.b") of an object if it has this type; otherwise p is NULL. */
struct slice transcript_get(struct slice object, const char *path, enum json_type);
/* Appends the plain text of a JSON string; of another value nothing. */
void transcript_add_plain(struct buf *, struct slice string);

/* --- the difference between two texts, line by line --- */

/* The kind of a line of a difference. */
enum diff_sign { DIFF_SAME = ' ', DIFF_OLD = '-', DIFF_NEW = '+', DIFF_GAP = '@' };
struct diff_line {
	enum diff_sign sign;
	struct slice text;   /* DIFF_GAP: p NULL */
	size_t skipped;      /* DIFF_GAP: how many lines were left out */
};

/* Appends changed lines, with equal lines around them: a sign, and the text, or of a gap the number. */
void diff_make(struct buf *to, struct slice old, struct slice new);

#endif
