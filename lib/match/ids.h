/*
 * ids: which recorded ids and directories stand for which of the live side (of two recordings: of the second). They are learned from
 * pairs of messages (compare.h). Which members are ids says lib/acp/acp.h.
 *
 * All values are JSON text (an id: a string or an integer); equal values in another spelling are the
 * same. A session is a recorded session's id, or p NULL.
 */
#ifndef MATCH_IDS_H
#define MATCH_IDS_H

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/acp/msg.h"

/* The latest so many ids of tool calls, messages, requests and the like are kept, and all of sessions. */
enum { IDS_MOST = 32 * 1024 };

struct ids;

/* keep_paths: directories stand for themselves only. NULL when out of memory. */
struct ids *ids_new(bool keep_paths);
void ids_free(struct ids *);

/* --- ids --- */

enum ids_verdict {
	IDS_FAILED = -1, /* out of memory */
	IDS_CONFLICT,    /* one of them stands for another */
	IDS_SAME,        /* they stand for each other */
	IDS_NEW,         /* neither has been seen */
};

/* What an id names, and in which scope it does. Sessions, connections and servers have the same id everywhere. */
struct ids_scope {
	enum acp_id what;
	enum acp_side from;   /* of ACP_ID_REQUEST: which side made it, as both may use the same */
	struct slice session; /* of those that live in a session */
};

enum ids_verdict ids_judge(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* The same, and a new pair is learned. */
enum ids_verdict ids_learn(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* They stand for each other from now on, whatever they stood for: a request's id may be used again. 0 or -1. */
int ids_renew(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* What stands for it on the other side, as it was spelled when it was learned; p NULL where nothing does (or memory is out). */
struct slice ids_live(struct ids *, struct ids_scope, struct slice recorded);
struct slice ids_recorded(struct ids *, struct ids_scope, struct slice live);

/* --- directories --- */

/* Is this string a directory that could stand for another? (It is an absolute path, not the root, and paths are not kept.) */
bool ids_is_directory(const struct ids *, struct slice string);
/*
 * A request that begins a session names its directory, or one of several: the recorded request's id, the
 * session if it is known already. ids_begin_session: its response names the session. 0 or -1.
 */
int ids_learn_directory(struct ids *, struct slice request, struct slice session, struct slice recorded, struct slice live);
int ids_begin_session(struct ids *, struct slice request, struct slice session);
/*
 * Are two strings the same if paths in a directory of the session (of any, where it has none of its own) are the same as paths in the
 * directory that stands for it? In file:// URIs too. 1, 0, or -1 out of memory.
 */
int ids_same_text(struct ids *, struct slice session, struct slice recorded, struct slice live);

/*
 * Appends the text of a string with something in place of each directory. IDS_NEUTRAL: a byte that is the same for both sides, in the
 * plain text of the one or of the other. IDS_WRITTEN: the live directory, in a recorded text, as a JSON string. 1; 0 where the
 * text stays as it is, or no directory can be in it (nothing is appended); -1 out of memory.
 */
enum ids_place { IDS_NEUTRAL, IDS_NEUTRAL_LIVE, IDS_WRITTEN };
int ids_text(struct ids *, struct slice session, enum ids_place, struct slice string, struct buf *to);

/* --- writing --- */

/* Is all written as it was recorded, so far, but for JSON-RPC ids? */
bool ids_change_nothing(const struct ids *);
/*
 * Appends a recorded line for the live side: with live ids and paths in place of the recorded ones, and all else byte for byte. m lies
 * in line. from: who sent it. session: of a response that names none. id: the JSON-RPC id that it gets, or p NULL for its own. 0, or
 * -1 out of memory and `to` as it was.
 */
int ids_write(struct ids *, struct slice line, const struct msg *m, enum acp_side from, struct slice session,
	struct slice id, struct buf *to);

#endif
