/* For the files of session: session.c calls turns.c and calls.c, and turns.c calls calls.c. */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include "lib/session/session.h"

struct sessions {
	void (*event)(void *arg, const struct session_event *);
	void *arg;
	struct session_limits limits;
	struct requests *requests;     /* the open ones; their owner is a struct session_request */
	struct session *all, *last;    /* last: the session that was noted last, which sessions_find tries first */
	struct session_call *calls, *open_calls;
	struct session_question *questions;
	size_t ncalls, session_bytes, call_bytes, opening;
	struct buf text;
	uint64_t now, number, serial;  /* number: sessions seen; serial: turns begun */
	bool connected, plain, v2;     /* plain: its initialize had no envelope */
	bool lossy;                    /* messages of this stream were lost */
	struct session_message seen;
	const struct session_message *message; /* the one that is being handled; or NULL */
	struct session_request *answered;      /* its events are over; the next message frees it */
};

/* Fills in the members that all events have, and calls the event function. */
void session_emit(struct sessions *, struct session_event);

/* turns.c. An int: 0, or -1 out of memory; a pointer: NULL out of memory. */
struct session_turn *session_turn_new(struct sessions *, struct session *, struct session_request *);
void session_turn_end(struct sessions *, struct session_turn *);
/* Ends all that is open in the session, as unfinished. */
void session_abandon(struct sessions *, struct session *);
/* Handles a state of version 2. */
int session_state(struct sessions *, struct session *, struct slice object);

/* calls.c. An int: 0, or -1 out of memory. */
/* Handles an update of a call. first: it is a tool_call. */
int session_call_update(struct sessions *, struct session *, struct slice update, bool first);
/* Ends the open calls of a session, as unfinished. */
void session_calls_end(struct sessions *, const struct session *);
/* Clears the pointers of calls and questions to a turn that is over. */
void session_calls_leave(struct sessions *, const struct session_turn *);
void session_calls_free(struct sessions *, struct session *);
int session_ask(struct sessions *, struct session_request *, struct slice params);
void session_answer(struct sessions *, struct session_request *, bool unfinished);

#endif
