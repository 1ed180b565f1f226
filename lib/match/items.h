/*
 * items: reads a recording once, into one indexed array. There is an item for each message, line of noise, line of standard error,
 * exit of the agent and end of a side. Texts are not kept: they are read again from the file.
 */
#ifndef MATCH_ITEMS_H
#define MATCH_ITEMS_H

#include "lib/acp/requests.h"
#include "lib/recording/recording.h"

#define ITEM_NONE UINT32_MAX

struct item {
	uint64_t offset;  /* of the text in the file; in_record: of the record, which does not hold the text unchanged */
	uint32_t length;
	bool in_record;
	uint8_t from;     /* enum acp_side; if it is not recorded, the side that method or request imply */
	uint8_t kind;     /* enum msg_kind; MSG_NOISE: the item is not a message */
	uint8_t record;   /* enum record_kind */
	uint64_t line;    /* the number of the record */
	uint64_t t;       /* us, as recorded */
	uint64_t method;  /* of a request or notification: items_method */
	uint32_t session; /* a number; 0: none. Responses and $/cancel_request have the session of their request */
	uint32_t pair;    /* the item of a request's response or a response's request; or ITEM_NONE */
	uint16_t what;    /* enum acp_method; of a response: that of its request */
};

struct items {
	const char *tool, *path;
	struct item *at;
	size_t n;
	size_t nsessions; /* including number 0 */
	bool any;         /* the recording has a message */
	bool timed;       /* a message has a time */
	/* private */
	size_t cap;
	struct items_session *sessions;
	struct items_session **order;
	struct requests *requests; /* the recorded requests that have no response yet */
	struct buf key;
	int fd;                    /* a regular file */
	struct recording *reader;  /* reads from the beginning to the end */
	struct recording *again;   /* reads single records again */
	struct buf block;          /* the bytes that were last read again */
	uint64_t block_at;         /* their offset in the file */
};

/*
 * Opens a recording; copies a pipe into a file without a name first. tool (the name in diagnostics), path and hop must outlive it.
 * environment: replaces ${NAME} by the environment variable. Returns 0, or -1 with errno; items_close has to follow both.
 */
int items_open(struct items *, const char *tool, const char *path, size_t limit, const char *hop, bool environment);
void items_close(struct items *);
/*
 * Reads the next record. item: the index of its item; or ITEM_NONE. Reports losses and lines that are no records; a torn last
 * line is RECORD_END. Returns 0, 1 if the line is no record, or -1 with errno.
 */
int items_next(struct items *, struct record *, uint32_t *item);
/* After the end: has the recording no message? Reports that, and a hop that the recording does not have. */
bool items_missed(const struct items *);

/* The id of a session, a JSON string; p NULL for 0. */
struct slice items_session(const struct items *, uint32_t session);
/* The number of a session, 0 for p NULL; ITEM_NONE: the recording does not have it. */
uint32_t items_find_session(struct items *, struct slice id);
/* The digest of a method's name (a JSON string), as in item.method. 0 out of memory. */
uint64_t items_method(struct items *, struct slice name);
/* Is a message a session/update that ends a turn (version 2)? */
bool items_is_idle(const struct msg *);

/* Read an item's text, and scan it (MSG_NOISE: it is not a message). Valid until the next call. 0, or -1 with errno. */
int items_text(struct items *, uint32_t item, struct slice *);
int items_message(struct items *, uint32_t item, struct msg *);

#endif
