/*
 * session: what a stream of messages means, in both versions of the protocol: connections, sessions, turns, tool calls, questions to
 * the user. The only fold from messages to these; each rule stands here once:
 *
 * A connection begins with initialize (or proxy/initialize). What is open then ends with the connection before.
 * What travels in an envelope is unwrapped. In a session of which plain messages speak, too, it is a copy, and changes nothing.
 * A turn goes from a prompt to its response. A prompt that comes while a turn is open waits: its turn begins when that one ends.
 * Version 2 accepts a prompt with its response; there the idle state ends the turn, and with it all prompts that were accepted
 * meanwhile. States of work without a turn begin one without a prompt. An idle state that repeats ends nothing; one with other usage
 * than the last is a turn of its own. Sub-agents have no turns unless they are prompted: their work belongs to the turn of the
 * session at the root of their tree that was open when they were started, or were started again after an idle state.
 * A tool call begins with the first message that names it, and ends with a status other than pending, in_progress and paused, or
 * unfinished with its turn. Calls of sub-agents survive the turn; so do those that an idle state with a list of background work leaves.
 * While session/load or session/resume has no response, a history is replayed, in which no turn and no call begins or ends.
 * Who uses an id again does not wait for the older response. What a restarted agent had asked, and worked on, has ended.
 * The response of what was open as messages were lost may be one of them. Such a turn ends, unfinished, at the next prompt of its
 * session, with all that waits in its family; such a question ends with its turn, or as the tool call goes on that it is about.
 */
#ifndef SESSION_H
#define SESSION_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/acp/requests.h"

/* How a session became known on its connection. NAMED: a message spoke of one that nobody has opened. */
enum session_how { SESSION_NAMED, SESSION_NEW, SESSION_LOADED, SESSION_RESUMED, SESSION_FORKED, SESSION_CHILD, SESSION_NES };

/* `data` is the tool's own, NULL at first: in all that follows. */
struct session {
	UT_hash_handle hh;             /* all there are, in the order in which they were seen */
	void *data;
	struct session *parent;        /* it is a sub-agent of this one; or NULL */
	struct session_turn *turn;     /* the one that is open; those that wait for its end follow */
	struct session_call *calls;    /* by their ids, also those that have ended; the oldest first */
	struct session_request *requests; /* that are open and name it, the oldest first */
	enum session_how how;
	bool closed;                   /* by session/close or delete, or with its connection */
	unsigned history;              /* open session/load and resume: nothing in it happens now */
	uint64_t number;               /* 1 for the first that was seen */
	uint64_t turns;                /* that have begun on this connection */
	/* the module's own */
	bool plain, idles;             /* idles: a sub-agent whose work has ended */
	uint64_t starter;              /* of a sub-agent: the serial number of the turn that started it */
	unsigned children;
	uint64_t idle;
	size_t n;
	char id[];                     /* plain text, NUL after it */
};

struct session_turn {
	struct session_turn *next;     /* waits for the end of this one */
	void *data;
	struct session *session;
	uint64_t number;               /* in its session, from 1; 0: it has not begun */
	uint64_t asked, begin, end;    /* us; asked: when its prompt came */
	bool prompted;                 /* a prompt began it */
	bool accepted;                 /* version 2 has accepted its prompt */
	bool failed;                   /* it ended with an error */
	bool unfinished;               /* it had no end */
	bool joined;                   /* its prompt was accepted while another turn ran, and ended with it: no turn of its own */
	struct slice stop;             /* when it ends: the stop reason, a JSON string, or p NULL */
	struct slice error;            /* likewise: the error object, or p NULL */
	/* the module's own */
	struct session_request *request;
	bool busy, leaves_calls, doubtful; /* doubtful: messages were lost while it was open */
	uint64_t serial;               /* among all turns */
};

struct session_call {
	UT_hash_handle hh;
	struct session_call *older, *newer, *before, *after; /* the module's own: of all; of those that are open */
	void *data;
	struct session *session;
	struct session_turn *turn;     /* that it belongs to (session_turn_of), until either ends; or NULL */
	uint64_t begin, end;
	bool announced;                /* by an update, not only by a question about it */
	bool enveloped, replayed;      /* replayed: of a history; it is known, but nothing is reported of it */
	bool ended;
	bool failed;
	bool unfinished;               /* it ended with its turn, its session or the stream */
	size_t n;
	char id[];                     /* plain text, NUL after it */
};

/* A permission request or an elicitation. */
struct session_question {
	void *data;
	struct session *session;       /* or NULL */
	struct session_turn *turn;     /* that it belongs to, as long as it is open; or NULL */
	struct session_call *call;     /* about which it is, as long as it is known; or NULL */
	uint64_t begin, end;
	bool unfinished;               /* there was no response */
	struct session_question *before, *after; /* the module's own: of all that are open */
};

/* A request that has no response yet. */
struct session_request {
	void *data;
	struct request *request;       /* its owner is this */
	struct session *session;       /* that it names, as long as that is known; or NULL */
	struct session_turn *turn;     /* of a prompt, until it ends; or NULL */
	struct session_question *question;
	bool enveloped, copy;
	enum acp_dialect dialect;      /* of its envelope */
	/* the module's own */
	bool doubtful;                 /* as that of a turn */
	struct session_request *before, *after; /* of its session */
};

/* A message as it was understood. Valid until the next. */
struct session_message {
	struct message message;        /* out of its envelope; `from` is who wrote it on this wire, if that can be known at all */
	enum acp_side role;            /* whom the sender speaks as: in an envelope the other side */
	bool enveloped, copy;          /* copy: it passed outside of an envelope, too, and does not count */
	enum acp_dialect dialect;      /* of its envelope */
	struct session *session;       /* that it names; of a response: that it opens, or its request names; or NULL */
	struct session_request *request; /* that it is, or (a response) answers; or NULL */
	struct slice kind;             /* of a session/update: a JSON string, or p NULL */
	struct slice update;           /* the update, where it may change what is kept here; else p NULL */
	struct slice members;          /* for json_get: the update's text, which may go on beyond its end: others are not read further;
	                                * p NULL where message.msg.shape says it all */
};

enum session_event_kind {
	SESSION_CONNECTED,      /* a connection begins: with initialize, or with the first message of a stream that has none */
	SESSION_DISCONNECTED,   /* it ends; all that was open has ended */
	SESSION_RESTARTED,      /* the agent is a new process; what the old one had open has ended */
	SESSION_REQUESTED,      /* request */
	SESSION_RESPONDED,      /* request: it has its response, or (`unanswered`) will never have one */
	SESSION_BEGAN,          /* session: seen for the first time */
	SESSION_OPENED,         /* session: its `how` is another now, or it was closed */
	SESSION_ADOPTED,        /* session: has its parent now */
	SESSION_CLOSED,         /* session: by the client. Responses of what is open may still come */
	SESSION_FORGOTTEN,      /* session: its memory is freed */
	SESSION_HISTORY_BEGAN,  /* session, request */
	SESSION_HISTORY_ENDED,  /* likewise */
	SESSION_STATE,          /* session: a state of version 2, of its own or in its parent's subagent_update: see `state` */
	SESSION_CANCEL,         /* session: the client cancels what is open */
	SESSION_COMPACTION,     /* session: see the message's update */
	SESSION_TURN_QUEUED,    /* turn */
	SESSION_TURN_BEGAN,     /* turn */
	SESSION_TURN_ENDED,     /* turn; one that never began has the number 0 */
	SESSION_CALL_BEGAN,     /* call */
	SESSION_CALL_CHANGED,   /* call: an update of one that is known, even if it has ended */
	SESSION_CALL_ENDED,     /* call; after its last change */
	SESSION_CALL_FORGOTTEN, /* call: its memory is freed */
	SESSION_ASKED,          /* question */
	SESSION_ANSWERED,       /* question */
};

/* What has happened. Valid during the call. */
struct session_event {
	enum session_event_kind kind;
	uint64_t t;             /* us since the start of the stream */
	const struct session_message *message; /* that made it happen; NULL: the end of the stream */
	struct session *session; /* that it is about; or NULL */
	struct session_turn *turn;
	struct session_call *call;
	struct session_question *question;
	struct session_request *request;
	struct slice state;     /* of SESSION_STATE: the object that has it: state, stopReason, usage, background */
	bool again;             /* of SESSION_CALL_BEGAN and CHANGED: a tool_call with the id of another call of the session */
	bool unanswered;        /* of SESSION_RESPONDED */
	bool limit;             /* of SESSION_FORGOTTEN and CALL_FORGOTTEN: there were too many */
};

/* Zero is the usual number; SIZE_MAX: no limit. */
struct session_limits {
	size_t sessions, calls, requests; /* that are kept (4096, 4096, 16384): of more, the oldest are forgotten */
	size_t bytes;           /* of the ids of sessions, and of those of calls (4 MiB) */
	bool keep;              /* sessions stay, closed, when their connection ends */
};

struct sessions;

/* The event function may read all that it is given and set data; it must not call those that follow. NULL when out of memory. */
struct sessions *sessions_new(void (*event)(void *arg, const struct session_event *), void *arg, const struct session_limits *);
/* Emits what its end means: sessions_end. */
void sessions_free(struct sessions *);
/* A stream or recording begins: what was open ends; times begin anew. */
void sessions_begin(struct sessions *);
/* A message went by: finds the request that a response answers by itself. *seen (NULL: not wanted) lasts until the next. 0, or -1
 * out of memory. Of noise *seen is NULL. */
int sessions_see(struct sessions *, const struct message *, const struct session_message **seen);
/* Messages were lost here. */
void sessions_lost(struct sessions *);
/* The stream has ended. */
void sessions_end(struct sessions *);
/* Gives up the request of an id that this side sent, or (id p NULL) all of them: it never gets a response. */
void sessions_give_up(struct sessions *, enum acp_side from, struct slice id);
/* By its id, plain text; NULL: not known. The one after it, in the order in which they were seen (NULL: the first). */
struct session *sessions_find(const struct sessions *, struct slice id);
struct session *sessions_next(const struct sessions *, const struct session *);
/* By its id, a JSON string. */
struct session_call *session_call_find(struct sessions *, const struct session *, struct slice id);
/* Open requests, the oldest first: start with NULL. */
struct session_request *sessions_request(const struct sessions *, const struct session_request *);
/* Is it of version 2? Is a response awaited that brings the id of a session? */
bool sessions_v2(const struct sessions *);
bool sessions_opening(const struct sessions *);
/* The session at the root of its tree; is its history, or its root's, replayed? Is a call with this status (JSON) over? */
struct session *session_root(const struct session *);
/* The open turn that what happens in this session belongs to: of a sub-agent the root's that started it. Or NULL. */
struct session_turn *session_turn_of(const struct session *);
bool session_is_replayed(const struct session *);
bool session_status_is_final(struct slice status);
/* Does this result accept a prompt, whose turn goes on? */
bool session_accepts(struct slice result, bool v2);

#endif
