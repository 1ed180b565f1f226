/*
 * ids: which recorded ids and directories correspond to which live ones (of two recordings: to those of the second). The pairs are
 * learned from pairs of messages (compare.h). lib/acp/acp.h tells which members are ids.
 *
 * All values are JSON text (an id: a string or an integer), in any spelling. A session is the id of a recorded session, or p NULL.
 */
#ifndef MATCH_IDS_H
#define MATCH_IDS_H

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/acp/msg.h"

/* The most pairs of ids of tool calls, messages, requests and the like. Older pairs are forgotten; those of sessions are kept. */
enum { IDS_MOST = 32 * 1024 };

struct ids;

/* keep_paths: directories correspond to themselves only. NULL out of memory. */
struct ids *ids_new(bool keep_paths);
void ids_free(struct ids *);

/* --- ids --- */

enum ids_verdict {
	IDS_FAILED = -1, /* out of memory */
	IDS_CONFLICT,    /* one of the ids corresponds to another id */
	IDS_SAME,        /* the ids correspond */
	IDS_NEW,         /* neither id is known */
};

/* The kind of an id, and its scope. The ids of sessions, connections and servers have no narrower scope. */
struct ids_scope {
	enum acp_id what;
	enum acp_side from;   /* of ACP_ID_REQUEST: the side that made the id, for both may use the same one */
	struct slice session; /* of the kinds that are unique only within a session */
};

/* Do two ids correspond? */
enum ids_verdict ids_judge(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* As ids_judge, but learns a new pair. */
enum ids_verdict ids_learn(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* Makes two ids correspond, whatever they corresponded to: a request's id may be used again. 0, or -1 out of memory. */
int ids_renew(struct ids *, struct ids_scope, struct slice recorded, struct slice live);
/* The corresponding id of the other side, as it was spelled when it was learned; p NULL: it is unknown, or memory ran out. */
struct slice ids_live(struct ids *, struct ids_scope, struct slice recorded);
struct slice ids_recorded(struct ids *, struct ids_scope, struct slice live);

/* --- directories --- */

/* Can this string be a directory that corresponds to another: an absolute path, not the root, and without keep_paths? */
bool ids_is_directory(const struct ids *, struct slice string);
/*
 * Learns a pair of directories from the requests that begin a session. request: the id of the recorded request. session: p NULL if
 * only the response will name it. 0, or -1 out of memory.
 */
int ids_learn_directory(struct ids *, struct slice request, struct slice session, struct slice recorded, struct slice live);
/* Gives the directories of a request to the session that its response names. 0, or -1 out of memory. */
int ids_begin_session(struct ids *, struct slice request, struct slice session);
/*
 * Are two strings equal, except that directories of the session in the one (of any session, if this one has none) correspond to
 * those in the other? Also finds directories in file:// URIs. 1, 0, or -1 out of memory.
 */
int ids_same_text(struct ids *, struct slice session, struct slice recorded, struct slice live);

/*
 * Appends a string with its directories replaced. IDS_NEUTRAL, IDS_NEUTRAL_LIVE: by a byte that is the same for both sides, in the
 * plain text of a recorded or a live string. IDS_WRITTEN: by the live directories, in a recorded string; appends a JSON string. 1;
 * 0: the text does not change, and nothing is appended; -1 out of memory.
 */
enum ids_place { IDS_NEUTRAL, IDS_NEUTRAL_LIVE, IDS_WRITTEN };
int ids_text(struct ids *, struct slice session, enum ids_place, struct slice string, struct buf *to);

/* --- writing --- */

/* Is it certain that ids_write, with the pairs known now, changes only JSON-RPC ids? */
bool ids_change_nothing(const struct ids *);
/*
 * Appends a recorded line for the live side: replaces recorded ids and paths by live ones, and copies all other bytes. m lies in
 * line. from: the sender. session: of a response that names none. id: the new JSON-RPC id; p NULL: it keeps its own. 0, or -1 out
 * of memory; then `to` is unchanged.
 */
int ids_write(struct ids *, struct slice line, const struct msg *m, enum acp_side from, struct slice session,
	struct slice id, struct buf *to);

#endif
