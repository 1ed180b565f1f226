/*
 * transcript: the sessions of some recordings, put together from their messages: the formats write it. All of it is held in
 * memory, because a sub-agent, a report of usage or an update of a tool call can belong to something that began long before.
 * Times (t, end) are in us since the start of the recording.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "lib/redact/redact.h"
#include "lib/usage/usage.h"

enum item_kind {
	ITEM_USER,    /* text: of the user, or of the parent of a sub-agent */
	ITEM_AGENT,   /* text */
	ITEM_THOUGHT, /* text */
	ITEM_BLOCK,   /* FIELD_CONTENT: a block of content that is not text */
	ITEM_TOOL,    /* all fields */
	ITEM_PLAN,    /* FIELD_CONTENT: its entries */
	ITEM_ASK,     /* a permission request or an elicitation. TITLE; CONTENT: the options or the schema; OUTPUT: the response */
	ITEM_NOTE,    /* text; FIELD_KIND: its severity */
	ITEM_CHILD,   /* child */
};

/* The fields of an item besides its text: JSON values; empty: absent. */
enum field { FIELD_TITLE, FIELD_NAME, FIELD_KIND, FIELD_STATUS, FIELD_CONTENT, FIELD_INPUT, FIELD_OUTPUT, FIELDS };

struct item {
	struct item *next;
	UT_hash_handle hh;     /* ITEM_TOOL: in its session's tools, by its id */
	enum item_kind kind;
	bool by_user;          /* ITEM_BLOCK: part of a prompt */
	bool ended;            /* ITEM_TOOL: completed or failed; ITEM_ASK: there is a response */
	uint64_t t, end;
	struct buf id;         /* of the tool call, or of the message that a text belongs to */
	struct buf text;       /* plain */
	struct buf field[FIELDS];
	struct session *child;
};

/* The usage of a turn. */
struct spent {
	bool known, lower;       /* lower: the tokens are a lower bound */
	struct usage_sums billed;
	uint8_t inside;          /* which counts include which: for usage_disjoint */
	struct buf cost;         /* "0.0164 USD" */
};

struct turn {
	struct turn *next;
	struct item *items, *last;
	double started;          /* when its recording began: seconds since 1970, or 0 if not known */
	uint64_t t, end;
	bool prompted, history, ended; /* prompted: it began with a prompt; history: it was replayed */
	struct item *plan;
	struct buf stop, error;  /* the stop reason, plain; the error of the response, JSON */
	struct spent spent;
};

/* How many tokens were in the context. */
struct sample {
	double at;               /* seconds */
	uint64_t used, size;     /* size 0: not known */
};

struct terminal {
	UT_hash_handle hh;
	struct buf output;
	char id[];
};

struct session {
	UT_hash_handle hh;
	struct session *parent;
	struct session *next_separate; /* for walk: the next one that is written outside its parent */
	struct turn *turns, *last, *open, *uncounted; /* open: the oldest that has not ended */
	struct item *tools;      /* by their ids */
	struct terminal *terminals;
	struct buf samples;      /* struct sample */
	bool loading, skipping;  /* its history is replayed; the history is known already, and is skipped */
	struct buf title, agent, version, cwd; /* plain */
	size_t length;
	char id[];               /* plain, NUL-terminated; of `length` bytes */
};

struct transcript {
	struct session *sessions; /* in the order of their first messages */
	struct usage *usage;
	struct usage_words words; /* to recognize messages that may report usage */
	struct redact *redact;    /* or NULL */
	struct requests *requests;
	struct pending *pending;
	struct session *last_session; /* a cache */
	struct buf agent, version, word;
	double started;
	struct slice pieces;      /* the params of the message, where pieces of texts in it have their secrets still */
	bool timed, failed;       /* timed: its recordings have times; failed: out of memory */
};

/* redact: replaces secrets, and stays the caller's; or NULL. Returns 0, or -1 when out of memory. */
int transcript_open(struct transcript *, struct redact *);
void transcript_free(struct transcript *);
/* Starts a recording. started: seconds since 1970; 0: not known. */
void transcript_begin(struct transcript *, double started);
/* Takes a message. t: us since the start; timed: t is known; line: its text, which msg points into. Failures set failed. */
void transcript_see(struct transcript *, enum acp_side from, uint64_t t, bool timed, struct slice line, const struct msg *);
/* Takes the exit of the agent. status: as from waitpid. */
void transcript_exit(struct transcript *, uint64_t t, int status);
/* Ends what is open; to be called when everything has been read. Returns 0, or -1 if memory ran out at any time. */
int transcript_end(struct transcript *);

/* Returns the value at a path ("a.b") of an object if it has this type; otherwise p is NULL. */
struct slice transcript_get(struct slice object, const char *path, enum json_type);

#endif
