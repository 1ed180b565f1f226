/* sessions: short names for sessions, and which of them are in a turn. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include "lib/acp/requests.h"

enum { SESSIONS_MOST = 64, SESSION_LABEL = 8, SESSION_SHORT = 4 };

struct session {
	struct buf id;                   /* a JSON string */
	char label[SESSION_LABEL + 1];   /* a part of the id that no other session here has */
	char brief[SESSION_SHORT + 1];
	unsigned number;                 /* 1 for the first session of the stream */
	unsigned open;                   /* prompts without a response */
};

/* The most recent sessions; their number is limited, so memory does not grow with the stream. All zero to begin. */
struct sessions {
	struct session at[SESSIONS_MOST];
	size_t n, oldest;
	unsigned message;
};

/* Where a message stands in the turn of its session. */
enum turn { TURN_NONE, TURN_BEGIN, TURN_WITHIN, TURN_END };

/* The session of a message, or NULL. Sets *turn. */
struct session *sessions_note(struct sessions *, const struct message *, enum turn *turn);
void sessions_free(struct sessions *);

#endif
