/* msg: JSON-RPC messages as slices of their line, ids, splices, and the envelopes of proxy chains. */
#ifndef MSG_H
#define MSG_H

#include <sys/uio.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/json/json.h"

struct shape;

enum msg_kind { MSG_NOISE, MSG_REQUEST, MSG_NOTIFICATION, MSG_RESPONSE };

/*
 * One message. All slices are values as they are written, in `text`; p is NULL where the member
 * is absent.
 */
struct msg {
	enum msg_kind kind;
	enum acp_method what;  /* of a request or notification; of a response its request's, where somebody has put it there */
	struct slice text;     /* the object itself, without white space around it */
	struct slice id;       /* null included */
	struct slice method;   /* with its quotes */
	struct slice params;
	struct slice result;
	struct slice error;
	struct shape *shape;   /* NULL, or where somebody looks for it (shape.h) */
};

/*
 * Reads one line (its newline off; a CR and other white space at its ends do not matter). What is
 * not a JSON-RPC message (HACKING.md, rule 5; an array is none) is MSG_NOISE, and error says why, where it is not NULL.
 */
enum msg_kind msg_scan(struct slice line, struct msg *, struct json_error *error);

/*
 * What a malformed line was meant to be (HACKING.md, rule 5). MSG_REQUEST: its sender gets an error under *id, which is null where
 * not exactly one valid id can be read. MSG_RESPONSE: the sender of the request *id gets one. MSG_NOTIFICATION: nobody does.
 * MSG_NOISE: it cannot be known. The line may be cut off or be no JSON; an array counts as a request.
 */
enum msg_kind msg_guess_kind(struct slice line, struct slice *id);

/* Is the id the value null? (A request may have it; an error with it is no response to it.) */
bool msg_null_id(const struct msg *);
/*
 * Appends a spelling of the id that is the same for all ids of equal value (strings unescaped,
 * integers as numbers). 0, or -1 out of memory.
 */
int msg_id_key(struct slice id, struct buf *to);
/* Are these two ids the same by value? False where one is missing, or there is no memory to find out. */
bool msg_same_id(struct slice a, struct slice b);

/* The session a message speaks of: a JSON string with its quotes from params or result, or p NULL. */
struct slice msg_session(const struct msg *);
/* The kind of a session/update: a JSON string with its quotes, or p NULL. */
struct slice msg_update_kind(const struct msg *);

/*
 * A change to a line: `with` replaces the bytes [from, to) of it. Splices of one line are kept
 * in its order and do not overlap; with may point into the line itself. Who makes one owns the
 * bytes.
 */
struct splice {
	const char *from, *to;
	struct slice with;
};

/* A few splices, as many as an envelope takes. */
enum { MSG_SPLICES = 4 };
struct splices {
	struct splice at[MSG_SPLICES];
	size_t n;
};

/* Replaces a value of the line; keeps the order. */
void splice_value(struct splices *, struct slice value, struct slice with);
/* Appends the line with its splices made. 0, or -1 out of memory. */
int splice_write(struct slice line, const struct splice *, size_t n, struct buf *to);
/* The same as slices; parts has room for 2 * n + 1. Returns how many there are. */
size_t splice_parts(struct slice line, const struct splice *, size_t n, struct iovec *parts);
/*
 * The message that the line carries once its splices are made, in the text that they make: this saves a scan. The slices of
 * the message lie in the line, outside of what is replaced, or are what is put in.
 */
void msg_moved(struct slice line, const struct splice *, size_t n, const char *made, struct msg *);

/*
 * Envelopes. An envelope's id is the message's.
 * msg_open_envelope: is this message proxy/successor in either spelling, with an inner method? Then *inner is what it carries
 * (text, id and slices still those of the envelope's line), and *peer the name of its peer, a JSON string; p NULL: none.
 * Returns 0; -1 where it is malformed, or has a peer and `peer` is NULL (an error -32602 is due), and *why says what is wrong.
 */
int msg_open_envelope(const struct msg *envelope, struct msg *inner, struct slice *peer, const char **why);
/* The splices that turn the envelope's text into the inner message's own line. */
void msg_unwrap(const struct msg *envelope, const struct msg *inner, struct splices *);
/*
 * The splices that put a request or notification into an envelope; with holds the pieces that are made. peer: from which peer it
 * comes, a name without characters that JSON escapes, or NULL.
 */
int msg_wrap(const struct msg *, enum acp_dialect, const char *peer, struct splices *, struct buf *with);

/* Appends a whole message, without a newline. id and params (or result, data) are JSON text; p NULL leaves params and data out. 0 or -1. */
int msg_make_request(struct buf *, struct slice id, const char *method, struct slice params);
int msg_make_notification(struct buf *, const char *method, struct slice params);
int msg_make_result(struct buf *, struct slice id, struct slice result);
/* The same with an error object that is there already. */
int msg_make_failure(struct buf *, struct slice id, struct slice error);
int msg_make_error(struct buf *, struct slice id, int code, const char *message, struct slice data);
/* Appends what such an error has as data where a program did not respond: its name, how it ended, and its last lines of standard error. */
int msg_put_reason(struct buf *, const char *component, const char *status, struct slice tail);

#endif
