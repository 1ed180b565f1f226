/*
 * diff: what the files of acp-diff share. Both recordings are read; their texts stay in the files. Messages find their partners
 * session by session, turn by turn and direction by direction; then partners are compared.
 */
#ifndef DIFF_H
#define DIFF_H

#define HASH_NONFATAL_OOM 1
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
	size_t n, cap;
};

/* An id of a tool call, a message, ...: the messages that name it decide which id of the other side it is paired with. */
struct name {
	UT_hash_handle hh;
	uint64_t sum;  /* of the digests of all messages that name it */
	struct name *partner; /* the other side's id, as soon as two messages that name them are partners */
	char key[];
};

/* How far: values and ids; all that the level compares but ids; types; kind. */
enum likeness { FULL, CONTENT, SHAPE, KIND, LIKENESSES };

/* What is compared of an item: a message, or a line that is not one. There are as many as messages: they are kept small. */
struct diff_item {
	struct diff_item *prev, *next; /* in turn->items */
	uint8_t from;       /* enum acp_side */
	uint8_t kind;       /* enum msg_kind */
	bool streamed : 1;   /* a chunk of a text */
	bool called : 1;     /* it reports on a tool call: the messages of one call are compared as one */
	bool continues : 1;  /* it continues an earlier chunk, or says more of a tool call */
	bool introduces : 1; /* it is the first to name an id */
	bool differs : 1, shown : 1;
	bool moved : 1;        /* its partner comes elsewhere in its direction */
	bool out_of_order : 1; /* a message of the client that breaks the order of requests */
	uint16_t what;         /* enum acp_method; of a response its request's */
	uint32_t nnames;
	size_t names; /* the index of its first one in its file's names */
	uint64_t line;
	struct turn *turn;
	struct diff_item *request;  /* of a response, or NULL */
	struct diff_item *response; /* of a request, or NULL */
	struct diff_item *partner;
	struct diff_item *piece; /* of a text or a tool call: the next message, or NULL */
	uint64_t around;    /* of a chunk: the digest of all but its text */
	uint32_t index;     /* of the item */
	struct slice text;  /* as --normalize has it, or noise as a string; or p NULL */
	uint64_t alike[LIKENESSES]; /* digests: the same for items that are alike so far */
};

/* A session's prompt and all that follows until the next one; 0 is what comes before the first. */
struct turn {
	struct diff_session *session;
	uint64_t number;
	struct diff_item *items; /* in the order of the recording */
	struct diff_item *prompt;
	bool accepted; /* version 2 has accepted its prompt: an idle state ends it */
	bool ended;
	uint64_t sum; /* of what its items' digests are */
};

/* A session, or what belongs to none. */
struct diff_session {
	enum side side;
	uint64_t number;   /* 1 for the recording's first; 0: no session */
	struct slice id;   /* a JSON string, or p NULL */
	struct list turns; /* struct turn */
	size_t working;    /* the first turn that may not have ended: the agent works on it */
	struct diff_session *partner;
	struct name *names;
};

struct found {
	struct found *prev, *next;
	enum difference_kind kind;
	bool whole; /* the message is missing or unexpected, or has moved */
	bool moved;
	struct diff_item *item[SIDES];
	struct slice path;         /* as of compare.h */
	struct slice value[SIDES]; /* JSON text, or p NULL; of a whole message: item_value */
	uint64_t line;             /* of the recording, at or after which it is reported */
};

/* A turn on both sides, or on one. */
struct section {
	struct turn *turn[SIDES];
	struct found *found; /* in the order of the recording */
	uint64_t messages, differences, moved;
};

struct chain;

/* One of the recordings. */
struct file {
	const char *path;
	struct items items;
	struct diff_item **entries;    /* of each item, or NULL where it is left out */
	struct list order;         /* struct diff_session, in the order of the recording; the first is what belongs to none */
	struct list names;         /* struct name, of one item after another */
	struct diff_session **sessions; /* by the numbers of items.h; NULL where nothing belongs to it */
	struct chain *chains;      /* texts and tool calls that may go on */
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
	struct buf ignore;     /* what jq is to find of the paths, with commas between */
	double max_slower;     /* 0.2: 20 %; below 0: not asked for */
	enum format format;
	enum cli_color color;
};

/* How long the responses to a method took: the medians. */
struct method_time {
	struct method_time *next;
	struct slice name; /* plain */
	uint64_t us[SIDES];
	bool slower;     /* than is allowed */
};

struct diff {
	const struct diff_options *options;
	struct kept *kept;     /* all that diff_new has made */
	struct normalize *normalize; /* or NULL */
	struct ids *ids;
	struct file file[SIDES];
	size_t nentries;       /* of both */
	struct list sections;  /* struct section */
	uint64_t differing, messages, differences, moved;
	struct method_time *times;
	size_t ntimes, slower;
	struct buf text[SIDES], state[SIDES], scratch;
};

/* 0, or -1 with errno. */
int list_add(struct list *, void *);
/* Memory that lasts until diff_free, zeroed. NULL with errno. */
void *diff_new(struct diff *, size_t size);
/* A copy of the bytes that lasts as long; p NULL with errno. */
struct slice diff_keep(struct diff *, struct slice);
/* Frees all that was read. */
void diff_free(struct diff *);

/* --- reading (load.c) --- */

/* Reads both recordings. 0, or an exit status; what was wrong has been reported. */
int load(struct diff *, enum side);
enum side item_side(const struct diff_item *);
/*
 * The message of an item, of a tool call with its last state, valid until the next of its side: 0, or -1 with errno. MSG_NOISE with
 * its text for what is none.
 */
int item_message(struct diff *, const struct diff_item *, struct msg *);
/* All text of a streamed message, as a JSON string. 0 or -1. */
int item_text(struct diff *, const struct diff_item *, struct buf *to);
/* What is shown of a message that is missing or unexpected. 0 or -1. */
int item_value(struct diff *, const struct diff_item *, struct buf *to);
/* "session/update tool_call", "response to session/prompt". 0 or -1. */
int item_label(struct diff *, const struct diff_item *, struct buf *to);

/* --- digests (digests.c) --- */

/* Of all items of the sessions that have partners and have none yet; of those of no session where common. 0 or -1. */
int make_digests(struct diff *, bool common);
/* The i-th of the ids that an item names. */
struct name *item_name(const struct diff *, const struct diff_item *, size_t i);

/* --- pairs (pair.c) --- */

/* Pairs everything and compares it: diff.sections. 0, or -1 with errno. */
int diff_run(struct diff *);

/* --- times (times.c) --- */

/* Compares how long responses took: diff.times. 0, or -1 with errno. */
int compare_times(struct diff *);

/* --- differences (sections.c) --- */

/* Compares the items of a section and notes what differs. 0 or -1. */
int compare_section(struct diff *, struct section *);

/* --- the report (report.c) --- */

/* Writes it to stdout. 0, or -1: it could not be written, which has been reported. */
int report_write(struct diff *);

#endif
