/*
 * transcript: what happened in the sessions of some recordings, put together from their messages: what every format writes.
 * It is held in memory as a whole, for a sub-agent, a late report of usage or an update of a tool call belongs to something
 * that began long before.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include "lib/redact/redact.h"
#include "lib/usage/usage.h"

enum item_kind {
	ITEM_USER,    /* text: what the user said, or to a sub-agent its parent */
	ITEM_AGENT,   /* text */
	ITEM_THOUGHT, /* text */
	ITEM_BLOCK,   /* FIELD_CONTENT: a block of content that is not text */
	ITEM_TOOL,    /* all fields */
	ITEM_PLAN,    /* FIELD_CONTENT: its entries */
	ITEM_ASK,     /* a permission or an elicitation. TITLE, CONTENT: the options or the schema, OUTPUT: the response */
	ITEM_NOTE,    /* text; FIELD_KIND: its severity */
	ITEM_CHILD,   /* child */
};

/* What an item has beside its text: JSON values, empty where they are absent. */
enum field { FIELD_TITLE, FIELD_NAME, FIELD_KIND, FIELD_STATUS, FIELD_CONTENT, FIELD_INPUT, FIELD_OUTPUT, FIELDS };

struct item {
	struct item *next;
	UT_hash_handle hh;     /* ITEM_TOOL: in its session's tools, by its id */
	enum item_kind kind;
	bool by_user;          /* ITEM_BLOCK: part of a prompt */
	bool ended;            /* ITEM_TOOL: completed or failed; ITEM_ASK: there is a response */
	uint64_t t, end;       /* us */
	struct buf id;         /* of the tool call, or of the message of a text */
	struct buf text;       /* plain */
	struct buf field[FIELDS];
	struct session *child;
};

/* The usage of a turn. */
struct spent {
	bool known, lower;       /* lower: the tokens are a lower bound */
	struct usage_sums billed;
	uint8_t inside;          /* what lies in what: for usage_disjoint */
	struct buf cost;         /* "0.0164 USD" */
};

struct turn {
	struct turn *next;
	struct item *items, *last;
	double started;          /* of its recording: seconds since 1970, what t counts from; or 0 */
	uint64_t t, end;         /* us */
	bool prompted, history, ended;
	struct item *plan;
	struct buf stop, error;  /* the stop reason, plain; the error of the response, JSON */
	struct spent spent;
};

/* How full the context was. */
struct sample {
	double at;               /* s */
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
	struct session *apart;   /* for walk: the next that stands apart from its parent */
	struct turn *turns, *last, *open, *uncounted; /* open: the oldest that has not ended */
	struct item *tools;
	struct terminal *terminals;
	struct sample *samples;
	size_t nsamples, room;
	bool loading, skipping;  /* its history is replayed; it is known already */
	struct buf title, agent, version, cwd; /* plain */
	size_t length;
	char id[];               /* plain, NUL after it */
};

struct transcript {
	struct session *sessions; /* in the order in which they were seen */
	struct usage *usage;
	struct usage_words words; /* of messages that may matter to it */
	struct redact *redact;    /* or NULL */
	struct requests *requests;
	struct pending *pending;
	struct session *last_session; /* a cache */
	struct buf agent, version, word;
	double started;
	struct slice pieces;      /* the params of the message, where pieces of texts in it have their secrets still */
	bool timed, failed;       /* failed: out of memory */
};

/* redact: takes the secrets out, or NULL. 0, or -1 out of memory. */
int transcript_open(struct transcript *, struct redact *);
void transcript_free(struct transcript *);
/* Another recording begins, at so many seconds since 1970 (0: not known). */
void transcript_begin(struct transcript *, double started);
void transcript_see(struct transcript *, enum acp_side from, uint64_t t, bool timed, struct slice line, const struct msg *);
/* The agent has exited. status: as waitpid has it. */
void transcript_exit(struct transcript *, uint64_t t, int status);
/* All has been read. 0, or -1 where memory has run out at any time. */
int transcript_end(struct transcript *);

/* The value at a path of an object, of that type, or p NULL. */
struct slice transcript_get(struct slice object, const char *path, enum json_type);

#endif
