/* msg: JSON-RPC messages as slices of their line; ids, splices, and the envelopes of proxy chains. */
#ifndef MSG_H
#define MSG_H

#include <sys/uio.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/json/json.h"

struct shape;

enum msg_kind { MSG_NOISE, MSG_REQUEST, MSG_NOTIFICATION, MSG_RESPONSE };

/*
 * One message. All slices are values as they are written, in `text`; p is NULL if the member is absent.
 */
struct msg {
	enum msg_kind kind;
	enum acp_method what;  /* the method; of a response the one of its request, if a caller has set it */
	struct slice text;     /* the object, without white space around it */
	struct slice id;       /* may be null */
	struct slice method;   /* with its quotes */
	struct slice params;
	struct slice result;
	struct slice error;
	struct shape *shape;   /* from shapes_scan (shape.h); else NULL */
};

/*
 * Reads one line without its newline; a CR and other white space at its ends do not matter. Other lines than JSON-RPC messages
 * (HACKING.md, rule 5), for example arrays, are MSG_NOISE, and error (or NULL) says why.
 */
enum msg_kind msg_scan(struct slice line, struct msg *, struct json_error *error);

/*
 * What a malformed line was meant to be (HACKING.md, rule 5). MSG_REQUEST: its sender must get an error with *id, which is null unless
 * exactly one valid id can be read. MSG_RESPONSE: the sender of the request *id must get an error. MSG_NOTIFICATION: nobody must.
 * MSG_NOISE: this cannot be known. The line may be cut off or be no JSON; an array counts as a request.
 */
enum msg_kind msg_guess_kind(struct slice line, struct slice *id);

/* Is the id null? A request may have such an id, but an error with it belongs to no request. */
bool msg_null_id(const struct msg *);
/*
 * Appends a key that is the same for all spellings of an id (strings unescaped, integers as numbers). 0, or -1 out of memory.
 */
int msg_id_key(struct slice id, struct buf *to);
/* Are these two ids equal in value? False if one is missing, or out of memory. */
bool msg_same_id(struct slice a, struct slice b);

/* The session that a message names in its params or result: a JSON string with its quotes; or p NULL. */
struct slice msg_session(const struct msg *);
/* The kind of a session/update: a JSON string with its quotes; or p NULL. */
struct slice msg_update_kind(const struct msg *);

/*
 * A change to a line: `with` replaces its bytes [from, to). The splices of a line are in its order, and do not overlap. `with` may point
 * into the line; its bytes belong to the maker of the splice.
 */
struct splice {
	const char *from, *to;
	struct slice with;
};

/* A list of splices: as many as an envelope, an id and the id of a request that is named need. */
enum { MSG_SPLICES = 5 };
struct splices {
	struct splice at[MSG_SPLICES];
	size_t n;
};

/* Adds a splice that replaces a value, in the order of the line. */
void splice_value(struct splices *, struct slice value, struct slice with);
/* Appends the line with its splices applied. 0, or -1 out of memory. */
int splice_write(struct slice line, const struct splice *, size_t n, struct buf *to);
/* Fills in the parts of the line with its splices applied; there is room for 2 * n + 1. Returns their number. */
size_t splice_parts(struct slice line, const struct splice *, size_t n, struct iovec *parts);
/*
 * Moves the slices of a message from the line to `made`, the text with the splices applied, which saves a scan. The slices must lie in the
 * line, where splices may change their insides, or be the `with` of a splice.
 */
void msg_moved(struct slice line, const struct splice *, size_t n, const char *made, struct msg *);

/*
 * Opens an envelope: a message proxy/successor, in either dialect, with an inner method. *inner is the inner message; its slices are in
 * the envelope's line, and its text and id are the envelope's. *peer: the name of its peer, a JSON string; or p NULL. 0; -1 with *why if
 * it is malformed, or if it has a peer and `peer` is NULL (then its sender must get the error -32602).
 */
int msg_open_envelope(const struct msg *envelope, struct msg *inner, struct slice *peer, const char **why);
/* Makes the splices that turn the envelope's text into the line of the inner message. */
void msg_unwrap(const struct msg *envelope, const struct msg *inner, struct splices *);
/*
 * Makes the splices that put a request or notification into an envelope; with gets their bytes. peer: the name of the peer that it comes
 * from, without characters that JSON escapes; or NULL. 0, or -1 out of memory.
 */
int msg_wrap(const struct msg *, enum acp_dialect, const char *peer, struct splices *, struct buf *with);

/* Append a message, without a newline. id, params, result, error, data: JSON text; p NULL: no params or data. 0, or -1 out of memory. */
int msg_make_request(struct buf *, struct slice id, const char *method, struct slice params);
int msg_make_notification(struct buf *, const char *method, struct slice params);
int msg_make_result(struct buf *, struct slice id, struct slice result);
int msg_make_failure(struct buf *, struct slice id, struct slice error);
int msg_make_error(struct buf *, struct slice id, int code, const char *message, struct slice data);
/* Appends the data of such an error: the program's name, how it ended, its last lines of stderr. 0, or -1 out of memory. */
int msg_put_reason(struct buf *, const char *component, const char *status, struct slice tail);

#endif
