/*
 * items: a recording as one indexed array, read once. Each message has an item, and so has each line of noise and of standard error,
 * and the end of a side. Texts are not kept: they are read again from the file.
 */
#ifndef MATCH_ITEMS_H
#define MATCH_ITEMS_H

#include "lib/acp/requests.h"
#include "lib/recording/recording.h"

#define ITEM_NONE UINT32_MAX

struct item {
	uint64_t offset;  /* of its text in the file; in_record: of the record, which does not hold the text as it is */
	uint32_t length;
	bool in_record;
	uint8_t from;     /* enum acp_side; of an unknown sender, who could have sent it */
	uint8_t kind;     /* enum msg_kind; MSG_NOISE: it is no message */
	uint8_t record;   /* enum record_kind */
	uint64_t line;    /* its record's number */
	uint64_t t;       /* us, as recorded */
	uint64_t method;  /* of a request or notification: a digest */
	uint32_t session; /* a number; 0: none. A response has that of its request, $/cancel_request of the one it names */
	uint32_t pair;    /* of a request its response, of a response its request; or ITEM_NONE */
	uint16_t what;    /* enum acp_method; of a response its request's */
};

struct items {
	const char *tool, *path;
	struct item *at;
	size_t n;
	size_t nsessions; /* with the number 0 */
	bool any;         /* there is a message */
	bool timed;       /* one has a time */
	/* the reader's own */
	size_t cap;
	struct items_session *sessions;
	struct items_session **order;
	struct requests *requests; /* recorded ones that have no response yet */
	struct buf key;
	int fd;                    /* a regular file */
	struct recording *reader;  /* from the beginning to the end */
	struct recording *again;   /* of single records */
	struct buf block;          /* what was read again, */
	uint64_t block_at;         /* and its offset */
};

/*
 * Opens a recording. A pipe is copied into a file without a name first. tool (the name in diagnostics), path and hop must outlive it.
 * environment: ${NAME} stands for the environment variable. Returns 0, or -1 with errno; close it in any case.
 */
int items_open(struct items *, const char *tool, const char *path, size_t limit, const char *hop, bool environment);
void items_close(struct items *);
/*
 * Reads the next record. item: its index, or ITEM_NONE if it makes none. Reports losses and lines that are no records; a torn last
 * line is RECORD_END. Returns 0, 1 if the line is no record, or -1 with errno.
 */
int items_next(struct items *, struct record *, uint32_t *item);
/* After the end: is there no message? That is reported, as is a hop that the recording does not have. */
bool items_missed(const struct items *);

/* The id of a session, a JSON string; p NULL for 0. */
struct slice items_session(const struct items *, uint32_t session);
/* The number of a session: ITEM_NONE where there is none. */
uint32_t items_find_session(struct items *, struct slice id);
/* What items_next makes of the name of a method (a JSON string), to look it up. 0 out of memory. */
uint64_t items_method(struct items *, struct slice name);
/* Is it a session/update that says that a turn is over (v2)? */
bool items_is_idle(const struct msg *);

/* The text of an item, until the next is read; and scanned (MSG_NOISE with its text, for what is no message). 0, or -1 with errno. */
int items_text(struct items *, uint32_t item, struct slice *);
int items_message(struct items *, uint32_t item, struct msg *);

#endif
