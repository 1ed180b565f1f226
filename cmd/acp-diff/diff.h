/*
 * diff: what the files of acp-diff share. Both recordings are read; of each message is kept where its text lies. Messages
 * find their partners session by session, turn by turn and direction by direction; then partners are compared.
 */
#ifndef DIFF_H
#define DIFF_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/acp/requests.h"
#include "lib/match/compare.h"
#include "lib/match/digest.h"
#include "lib/match/normalize.h"
#include "lib/recording/script.h"

enum side { RECORDED, LIVE, SIDES };

/* Pointers, in an array that grows. */
struct list {
	void **at;
	size_t n, cap;
};

/* An id of a tool call, a message, ...: what is said of it tells which id of the other side it stands for. */
struct name {
	UT_hash_handle hh;
	uint64_t sum; /* of the digests of all messages that name it */
	char key[];
};

/* How far: values and ids; all that the level compares but ids; types; kind. */
enum likeness { FULL, CONTENT, SHAPE, KIND, LIKENESSES };

/* A message, or a line that is not one. There are as many as messages: they are kept small. */
struct item {
	uint8_t from;       /* enum acp_side */
	uint8_t kind;       /* enum msg_kind */
	bool streamed : 1;  /* a chunk of a text */
	bool continues : 1; /* it continues an earlier chunk */
	bool differs : 1, shown : 1;
	bool moved : 1;        /* its partner has another place */
	bool out_of_order : 1; /* a client's: and that breaks the order of requests */
	uint16_t what;         /* enum acp_method; of a response its request's */
	uint32_t at;           /* in turn->items */
	uint32_t nnames;
	size_t names; /* the index of its first one in its file's names */
	uint64_t line;
	struct turn *turn;
	struct item *request;  /* of a response, or NULL */
	struct item *response; /* of a request, or NULL */
	struct item *partner;
	struct item *piece; /* of a text: the next chunk, or NULL */
	uint64_t rest;      /* of a chunk: the digest of all but its text */
	struct place place;
	char *text;                 /* where it does not lie in the file: place.n bytes of it */
	uint64_t alike[LIKENESSES]; /* digests: the same for items that are alike so far */
};

/* A session's prompt and all that follows until the next one; 0 is what stands before the first. */
struct turn {
	struct session *session;
	uint64_t number;
	struct list items; /* struct item, in the order of the recording */
	struct item *prompt;
	uint64_t sum; /* of what its items' digests are */
};

/* A session, or what belongs to none. */
struct session {
	UT_hash_handle hh;
	enum side side;
	uint64_t number;   /* 1 for the recording's first; 0: no session */
	struct slice id;   /* a JSON string, or p NULL */
	struct list turns; /* struct turn */
	struct session *partner;
	struct name *names;
	char key[];
};

struct found {
	enum difference_kind kind;
	bool whole; /* the message is missing or unexpected, or has moved */
	bool moved;
	struct item *item[SIDES];
	struct slice path;         /* as of compare.h */
	struct slice value[SIDES]; /* JSON text, or p NULL; of a whole message: diff_value */
	uint64_t place;            /* the line of the recording that it stands at or after */
	size_t nth;
};

/* A turn on both sides, or on one. */
struct section {
	struct turn *turn[SIDES];
	struct list found; /* struct found, in the order of the recording */
	uint64_t messages, differences, moved;
};

struct text;

/* One of the recordings. */
struct file {
	const char *path;
	struct script script;
	struct list items;        /* struct item, in the order of the recording */
	struct list order;        /* struct session, likewise; the first is what belongs to none */
	struct list names;        /* struct name, of one item after another */
	struct session *sessions; /* by id */
	struct requests *requests;
	struct text *texts; /* those that may go on */
};

struct diff_options {
	const char *path[SIDES];
	const char *hop; /* --hop, or NULL */
	size_t limit;    /* --max-line, bytes */
	enum match match;
	bool keep_paths, environment;
};

struct diff {
	const struct diff_options *options;
	struct normalize *normalize; /* or NULL */
	struct ids *ids;
	struct file file[SIDES];
	struct list sections; /* struct section */
	uint64_t differing, messages, differences, moved;
	struct buf text[SIDES], scratch;
};

/* 0, or -1 with errno. */
int list_add(struct list *, void *);
/* Adds something new of that size, zeroed. NULL with errno. */
void *list_new(struct list *, size_t size);

/* --- reading (load.c) --- */

/* Reads both recordings. 0, or an exit status; what was wrong has been reported. */
int load(struct diff *, enum side);
void unload(struct diff *, enum side);
/* NULL where there is none. */
struct session *find_session(struct diff *, enum side, struct slice id);
enum side item_side(const struct item *);
/* The message of an item, valid until the next of its side: 0, or -1 with errno. MSG_NOISE with its text for what is none. */
int item_message(struct diff *, const struct item *, struct msg *);
/* All text of a streamed message, as a JSON string. 0 or -1. */
int item_text(struct diff *, const struct item *, struct buf *to);
/* What is shown of it where it stands alone. 0 or -1. */
int item_value(struct diff *, const struct item *, struct buf *to);
/* "session/update tool_call", "response to session/prompt". 0 or -1. */
int item_label(struct diff *, const struct item *, struct buf *to);

/* --- digests (digests.c) --- */

/* Of all items of the sessions that have partners and have none yet; of those of no session where common. 0 or -1. */
int make_digests(struct diff *, bool common);

/* --- pairs (pair.c) --- */

/* Pairs everything and compares it: diff.sections. 0, or -1 with errno. */
int diff_run(struct diff *);

/* --- differences (sections.c) --- */

/* Compares the items of a section and notes what differs. 0 or -1. */
int compare_section(struct diff *, struct section *);

#endif
