/*
 * requests: finds the request of a response. Each side numbers its own requests, so the same id may be open in both directions. Of equal
 * ids of one side, the oldest request gets its response first.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/acp/msg.h"

struct requests;

/* A request that waits for its response. The slices are copies, which live as long as the request. */
struct request {
	enum acp_side from;
	enum acp_method what;
	uint64_t t;           /* when it passed, us */
	struct slice id;      /* as it is written */
	struct slice method;  /* a JSON string with its quotes */
	struct slice session; /* a JSON string with its quotes; or p NULL */
	struct slice cwd;     /* of a request that opens a session: a JSON string; or p NULL */
	void *owner;          /* for the owner of the table; at first NULL */
};

/* The most requests to keep where responses may not be seen. */
enum { REQUESTS_ONE_WAY = 16 * 1024 };

struct requests *requests_new(void);
void requests_free(struct requests *);
/* Adds a request. NULL out of memory. */
struct request *requests_open(struct requests *, enum acp_side from, uint64_t t, const struct msg *);
/*
 * The oldest open request of this side with this id, or NULL. ACP_UNKNOWN: of either side; if both have one, the later one, because an
 * agent's requests get their responses before its turn ends. Do not call it for an error with a null id, which has no request.
 */
struct request *requests_find(struct requests *, enum acp_side from, struct slice id);
/* Takes a request out of the table; it is valid until requests_done. */
void requests_remove(struct requests *, struct request *);
void requests_done(struct request *);
size_t requests_count(const struct requests *);
/* The open request after this one (NULL: the oldest); NULL at the end. */
struct request *requests_next(const struct requests *, const struct request *);

/*
 * A passing message, with its context, for filters and readers of recordings. Valid during the call only.
 */
struct message {
	enum acp_side from;
	uint64_t t;        /* us since the start of the stream or recording */
	struct slice line; /* its whole line, with its CR, without its newline */
	struct msg msg;
	const struct request *request; /* of a response; or NULL */
	uint64_t number;   /* of the line in its direction, from 1; 0: not known */
};

/* The method of a message, or of a response's request: a JSON string with its quotes; or p NULL. */
struct slice message_method(const struct message *);
/* The session that a message, or else its request, names: a JSON string with its quotes; or p NULL. */
struct slice message_session(const struct message *);

#endif
