/* What the files of session share: messages (session.c) know of turns (turns.c), and these of tool calls and questions (calls.c). */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include "lib/session/session.h"

struct sessions {
	void (*event)(void *arg, const struct session_event *);
	void *arg;
	struct session_limits limits;
	struct requests *requests;     /* owner: struct session_request */
	struct session *all, *last;    /* last: a cache */
	struct session_call *calls, *open_calls;
	struct session_question *questions;
	size_t ncalls, session_bytes, call_bytes, opening;
	struct buf text;
	uint64_t now, number, serial;  /* of sessions; of turns */
	bool connected, plain, v2;     /* plain: the connection began outside of an envelope */
	bool lossy;                    /* messages were lost */
	struct session_message seen;
	const struct session_message *message; /* that is being handled; NULL: none */
	struct session_request *answered;      /* its response has been handed out: freed with the next message */
};

/* Fills in what all events have. */
void session_emit(struct sessions *, struct session_event);

/* turns.c. Those that return an int: 0, or -1 out of memory. */
struct session_turn *session_turn_new(struct sessions *, struct session *, struct session_request *);
void session_turn_end(struct sessions *, struct session_turn *);
/* What is open in the session ends without an end of its own. */
void session_abandon(struct sessions *, struct session *);
int session_state(struct sessions *, struct session *, struct slice object);

/* calls.c */
int session_call_update(struct sessions *, struct session *, struct slice update, bool first);
/* Ends the calls of a session without an end of their own. */
void session_calls_end(struct sessions *, const struct session *);
/* The turn is over: no call and no question points to it any more. */
void session_calls_leave(struct sessions *, const struct session_turn *);
void session_calls_free(struct sessions *, struct session *);
int session_ask(struct sessions *, struct session_request *, struct slice params);
void session_answer(struct sessions *, struct session_request *, bool unfinished);

#endif
