/*
 * requests: finds the request of a response. Each side numbers its own requests, so the same id may be open in both directions at
 * once; of equal ids in one direction the oldest gets its response first.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/acp/msg.h"

struct requests;

/* A request that waits for its response. All is copied; the slices live as long as it does. */
struct request {
	enum acp_side from;
	enum acp_method what;
	uint64_t t;           /* us, when it went by */
	struct slice id;      /* its own bytes */
	struct slice method;  /* a JSON string with its quotes */
	struct slice session; /* likewise; p NULL where it names none */
	struct slice cwd;     /* likewise, of what opens a session */
	void *owner;          /* for the owner of the table; NULL at first */
};

/* The most that are worth keeping where responses may not be seen. */
enum { REQUESTS_ONE_WAY = 16 * 1024 };

struct requests *requests_new(void);
void requests_free(struct requests *);
/* Notes a request. NULL when out of memory. */
struct request *requests_open(struct requests *, enum acp_side from, uint64_t t, const struct msg *);
/*
 * The oldest open request with this id that the given side sent, or NULL. ACP_UNKNOWN: either; where both have one, the later, for
 * the requests of an agent get their responses before its turn ends. An error with a null id has no request: do not ask for it.
 */
struct request *requests_find(struct requests *, enum acp_side from, struct slice id);
/* Takes it out of the table; it stays valid until requests_done. */
void requests_remove(struct requests *, struct request *);
void requests_done(struct request *);
size_t requests_count(const struct requests *);
/* Those that are open, oldest first: start with NULL. */
struct request *requests_next(const struct requests *, const struct request *);

/*
 * A message as it goes by, with what is known of it: what filters and readers of recordings are
 * shown. Valid during the call only.
 */
struct message {
	enum acp_side from;
	uint64_t t;        /* us since the start of the stream or recording */
	struct slice line; /* the whole line it came in, a CR included, its newline not */
	struct msg msg;
	const struct request *request; /* of a response, or NULL */
	uint64_t number;   /* of the line in its direction, 1 for the first; 0 where it is not known */
};

/* The method: of a response its request's. A JSON string with its quotes, or p NULL. */
struct slice message_method(const struct message *);
/* The session: of a response without one its request's. A JSON string with its quotes, or p NULL. */
struct slice message_session(const struct message *);

#endif
