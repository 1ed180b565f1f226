/*
 * diff: declarations for the files of acp-diff. It reads both recordings, and leaves their texts in the files. It pairs their
 * messages session by session, turn by turn and direction by direction, and then compares the partners.
 */
#ifndef DIFF_H
#define DIFF_H

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) diff_must(-1)
#include <uthash.h>

#include "lib/base/cli.h"
#include "lib/match/compare.h"
#include "lib/match/digest.h"
#include "lib/match/items.h"
#include "lib/match/normalize.h"

enum side { RECORDED, LIVE, SIDES };

/* Pointers, in an array that grows. */
struct list {
	void **at;
	size_t n;
};

/* An id of a tool call, a message, ... It becomes the partner of an id of the other side when two messages that name them do. */
struct name {
	UT_hash_handle hh;
	uint64_t sum;  /* of the digests of the messages that name it */
	struct name *partner; /* the id of the other side; or NULL */
	char key[];
};

/* How far two items are alike: values and ids; all that the level compares, without ids; types; kind. */
enum likeness { FULL, CONTENT, SHAPE, KIND, LIKENESSES };

/* An item that is compared: a message, or a line that is not one. It is small, because there are as many as messages. */
struct diff_item {
	struct diff_item *prev, *next; /* in turn->items */
	uint8_t from;       /* enum acp_side */
	uint8_t kind;       /* enum msg_kind */
	bool streamed : 1;   /* a chunk of a text */
	bool called : 1;     /* it is a message of a tool call, whose messages are compared as one */
	bool continues : 1;  /* it is a later piece of a text or a tool call */
	bool introduces : 1; /* it is the first item that names an id */
	bool differs : 1, shown : 1; /* shown: as the context of a difference */
	bool moved : 1;        /* its partner has another place in the direction */
	bool out_of_order : 1; /* a message of the client that breaks the order of requests */
	uint16_t what;         /* enum acp_method; of a response: that of its request */
	uint32_t nnames;
	size_t names; /* the index of its first name in file.names */
	uint64_t line;
	struct turn *turn;
	struct diff_item *request;  /* of a response, or NULL */
	struct diff_item *response; /* of a request, or NULL */
	struct diff_item *partner;
	struct diff_item *piece; /* the next message of the same text or tool call; or NULL */
	uint64_t around;    /* of a chunk: the digest of the message without its text */
	uint32_t index;     /* of the item in file.items */
	struct slice text;  /* the output of --normalize, or noise as a JSON string; p NULL: read the file */
	uint64_t alike[LIKENESSES]; /* for each likeness a digest, which is equal for items that are alike in it */
};

/* A prompt of a session, and all items until the next prompt. Turn 0 has the items before the first prompt. */
struct turn {
	struct diff_session *session;
	uint64_t number;
	struct diff_item *items; /* in the order of the recording */
	struct diff_item *prompt; /* NULL: there is none, or --normalize has left it out */
	uint32_t begun; /* the item of the prompt, also if it is left out; or ITEM_NONE */
	bool accepted; /* the agent has accepted the prompt (version 2): an idle state ends the turn */
	bool ended;
	uint64_t sum; /* a digest of the digests of its items */
};

/* A session, or the items that belong to none. */
struct diff_session {
	enum side side;
	uint64_t number;   /* 1 for the first in the recording; 0: no session */
	struct slice id;   /* a JSON string, or p NULL */
	struct list turns; /* struct turn */
	size_t working;    /* the first turn that may not have ended: the agent works on it */
	struct diff_session *partner;
	struct name *names;
};

/* A difference, or a message that has moved. */
struct found {
	struct found *prev, *next;
	enum difference_kind kind;
	bool whole; /* it concerns a message: missing, unexpected or moved */
	bool moved;
	struct diff_item *item[SIDES];
	struct slice path;         /* as of compare.h */
	struct slice value[SIDES]; /* JSON text, or p NULL; the item has a missing or unexpected message */
	uint64_t line;             /* of the recorded side, at or after which it is reported */
};

/* A turn of both sides, or of one. */
struct section {
	struct turn *turn[SIDES];
	struct found *found; /* in the order of the recording */
	uint64_t messages, differences;
};

struct chain;

/* One of the recordings. */
struct file {
	const char *path;
	struct items items;
	struct diff_item **entries;    /* of each item; NULL: it is not compared */
	struct list order;         /* struct diff_session, in the order of the recording; the first has number 0 */
	struct list names;         /* struct name: the names of one item after another */
	struct diff_session **sessions; /* by the numbers of items.h; NULL: no item belongs to it */
	struct chain *chains;      /* texts and tool calls that may continue */
	bool v2;                   /* the agent speaks version 2 */
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT, FORMAT_GITHUB };

struct diff_options {
	const char *path[SIDES];
	const char *label;     /* the name of B in the report, or NULL */
	const char *hop;       /* --hop, or NULL */
	size_t limit;          /* --max-line, bytes */
	enum match match;
	bool keep_paths, environment;
	const char *normalize; /* a jq program, or NULL */
	struct buf ignore;     /* the paths of --ignore as jq expressions, with commas between */
	double max_slower;     /* 0.2: 20 %; below 0: not given */
	enum format format;
	enum cli_color color;
};

/* The median times of the responses to a method. */
struct method_time {
	struct method_time *next;
	struct slice name; /* plain text */
	struct slice line; /* "session/prompt: 1.5 s, 25 % more than 1.2 s" */
	uint64_t us[SIDES];
	bool slower;     /* than --max-slower allows */
};

struct diff {
	const struct diff_options *options;
	struct normalize *normalize; /* or NULL */
	struct ids *ids;
	struct file file[SIDES];
	size_t nentries;       /* of both recordings */
	struct list sections;  /* struct section */
	uint64_t differing, messages, differences, moved;
	struct method_time *times;
	size_t ntimes, slower;
	struct buf text[SIDES], state[SIDES], scratch;
};

/* Ends the process if r is below 0, with the reason in errno: acp-diff only reads files, so that there is nothing to undo. */
void diff_must(int r);
/* Returns zeroed memory for n elements of this size. Lasts as long as the process, unless the caller frees it. */
void *diff_new(size_t n, size_t size);
/* Appends a pointer. */
void list_add(struct list *, void *);
/* Returns a copy of the bytes. */
struct slice diff_keep(struct slice);

/* --- reading (load.c) --- */

/* Reads the recording of a side. Ends the process, after reporting the error, if it cannot be read. */
void load(struct diff *, enum side);
enum side item_side(const struct diff_item *);
/*
 * Reads the message of an item, that of a tool call with its last state; MSG_NOISE with the text: the item is not a message. Valid
 * until the next call for this side.
 */
void item_message(struct diff *, const struct diff_item *, struct msg *);
/* Writes the whole text of a streamed message, as a JSON string. */
void item_text(struct diff *, const struct diff_item *, struct buf *to);
/* Appends "session/update tool_call", "response to session/prompt". */
void item_label(struct diff *, const struct diff_item *, struct buf *to);

/* --- digests (digests.c) --- */

/* Makes the digests of the items of all sessions, once these have partners; common: of the items of no session. */
void make_digests(struct diff *, bool common);
/* The i-th id that an item names. */
struct name *item_name(const struct diff *, const struct diff_item *, size_t i);

/* --- pairs (pair.c) --- */

/* Pairs and compares all items, and fills diff.sections. */
void diff_run(struct diff *);

/* --- times (times.c) --- */

/* Compares the times of responses, and fills diff.times. */
void compare_times(struct diff *);

/* --- differences (sections.c) --- */

/* Compares the items of a section, and adds the differences to it. */
void compare_section(struct diff *, struct section *);

/* --- the report (report.c) --- */

/* Writes the report to stdout. 0, or an exit status after reporting the error. */
int report_write(struct diff *);

#endif
