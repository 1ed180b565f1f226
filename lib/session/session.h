/*
 * session: finds the connections, sessions, turns, tool calls and questions to the user in a stream of messages, in both versions of
 * the protocol. No other code of acputils does that. The rules:
 *
 * A connection begins with initialize (or proxy/initialize). Everything that the connection before had open ends then.
 * A message in an envelope is unwrapped. If plain messages name its session, too, it is a copy and changes nothing.
 * A turn goes from a prompt to its response. A prompt that comes while a turn is open waits: its turn begins when the open turn ends.
 * In version 2 the response to a prompt only accepts it. The idle state ends the turn, and with it all prompts that were accepted
 * meanwhile. A state of work without a turn begins a turn without a prompt. A repeated idle state ends nothing; an idle state with
 * other usage than the last is a turn of its own. Sub-agents have no turns unless they are prompted: their work belongs to the turn of
 * the session at the root of their tree that was open when they were started, or were started again after an idle state.
 * A tool call begins with the first message that names it. It ends with a status other than pending, in_progress and paused, or
 * unfinished with its turn. Calls of sub-agents survive the turn; so do all calls if the idle state lists background work.
 * While session/load or session/resume has no response, a history is replayed, in which no turn and no call begins or ends.
 * A sender that uses an id again does not wait for the older response. When an agent is restarted, its requests and turns end.
 * When messages are lost, the responses to open requests may be among them. A turn that was open then ends, unfinished, at the next
 * prompt of its session, with all open requests of its family; a question ends with its turn, or when its tool call goes on.
 */
#ifndef SESSION_H
#define SESSION_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/acp/requests.h"

/* How a session became known on its connection. NAMED: a message named a session that nobody has opened. */
enum session_how { SESSION_NAMED, SESSION_NEW, SESSION_LOADED, SESSION_RESUMED, SESSION_FORKED, SESSION_CHILD, SESSION_NES };

/* In this struct and the next ones, `data` belongs to the tool, and is NULL at first. Times are in us since the start of the stream. */
struct session {
	UT_hash_handle hh;             /* of all sessions, in the order in which they were seen */
	void *data;
	struct session *parent;        /* of a sub-agent; or NULL */
	struct session_turn *turn;     /* the open turn, then the waiting ones; or NULL */
	struct session_call *calls;    /* by their ids, with the ended ones; the oldest first */
	struct session_request *requests; /* the open requests that name this session, the oldest first */
	enum session_how how;
	bool closed;                   /* by session/close or session/delete, or with its connection */
	unsigned history;              /* the number of its open session/load and session/resume */
	uint64_t number;               /* 1 for the first session that was seen */
	uint64_t turns;                /* the number of turns that began on this connection */
	/* private */
	bool plain, idles;             /* plain: messages without an envelope name it; idles: a sub-agent whose work has ended */
	uint64_t starter;              /* of a sub-agent: the serial number of the turn that started it */
	unsigned children;
	uint64_t idle;                 /* a hash of the last idle state; 0: there was none */
	size_t n;                      /* bytes of the id */
	char id[];                     /* plain text, with a NUL at its end */
};

struct session_turn {
	struct session_turn *next;     /* waits for the end of this turn */
	void *data;
	struct session *session;
	uint64_t number;               /* in its session, from 1; 0: the turn has not begun */
	uint64_t asked, begin, end;    /* asked: when its prompt came */
	bool prompted;                 /* it began with a prompt */
	bool accepted;                 /* version 2 has accepted its prompt */
	bool failed;                   /* it ended with an error */
	bool unfinished;               /* nothing in the stream ended it */
	bool joined;                   /* its prompt was accepted during another turn and ended with it: it was no turn of its own */
	struct slice stop;             /* at its end: the stop reason, a JSON string; or p NULL */
	struct slice error;            /* at its end: the error object; or p NULL */
	/* private */
	struct session_request *request;
	bool busy, leaves_calls, doubtful; /* doubtful: messages were lost while it was open */
	uint64_t serial;               /* 1 for the first turn of all sessions */
};

struct session_call {
	UT_hash_handle hh;
	struct session_call *older, *newer, *before, *after; /* private: lists of all calls, and of the open ones */
	void *data;
	struct session *session;
	struct session_turn *turn;     /* session_turn_of at its begin, until the call or the turn ends; or NULL */
	uint64_t begin, end;
	bool announced;                /* an update named it; else only a question did */
	bool enveloped, replayed;      /* replayed: it is in a history, so no event reports it */
	bool ended;
	bool failed;
	bool unfinished;               /* it ended with its turn, its session or the stream */
	size_t n;                      /* bytes of the id */
	char id[];                     /* plain text, with a NUL at its end */
};

/* A permission request or an elicitation. */
struct session_question {
	void *data;
	struct session *session;       /* or NULL */
	struct session_turn *turn;     /* the turn that it belongs to, while that is open; or NULL */
	struct session_call *call;     /* the call that it is about, while that is known; or NULL */
	uint64_t begin, end;
	bool unfinished;               /* it got no response */
	struct session_question *before, *after; /* private: the list of open questions */
};

/* A request that has no response yet. */
struct session_request {
	void *data;
	struct request *request;       /* its `owner` is this struct */
	struct session *session;       /* the session that it names, while that is known; or NULL */
	struct session_turn *turn;     /* of a prompt, until the turn ends; or NULL */
	struct session_question *question;
	bool enveloped, copy;
	enum acp_dialect dialect;      /* of its envelope */
	/* private */
	bool doubtful;                 /* messages were lost while it was open */
	struct session_request *before, *after; /* the list of its session */
};

/* A message as sessions_see understood it. Valid until the next call. */
struct session_message {
	struct message message;        /* without its envelope; `from` is the side that wrote it on this wire, if that can be known */
	enum acp_side role;            /* the side that the sender speaks for: in an envelope the other one */
	bool enveloped, copy;          /* copy: it passed outside of an envelope, too, and changes nothing */
	enum acp_dialect dialect;      /* of its envelope */
	struct session *session;       /* named by it or by its request, or opened by it; or NULL */
	struct session_request *request; /* this request, or the one of this response; or NULL */
	struct slice kind;             /* of a session/update: a JSON string; else p NULL */
	struct slice update;           /* the update, if it can change a session, a turn or a call; else p NULL */
	struct slice members;          /* the update's members, for json_get; the text may go on beyond the update's end. p NULL:
	                                * message.msg.shape has all of them */
};

enum session_event_kind {
	SESSION_CONNECTED,      /* a connection begins: with initialize, or with the first message of a stream that has none */
	SESSION_DISCONNECTED,   /* the connection ends; all that was open has ended */
	SESSION_RESTARTED,      /* the agent is a new process; all that the old one had open has ended */
	SESSION_REQUESTED,      /* request */
	SESSION_RESPONDED,      /* request: its response is here, or (`unanswered`) will never come */
	SESSION_BEGAN,          /* session: it was seen for the first time */
	SESSION_OPENED,         /* session: its `how` has changed, or it was closed before */
	SESSION_ADOPTED,        /* session: its parent has become known */
	SESSION_CLOSED,         /* session: the client closed it. Responses to its open requests may still come */
	SESSION_FORGOTTEN,      /* session: its memory will be freed */
	SESSION_HISTORY_BEGAN,  /* session, request */
	SESSION_HISTORY_ENDED,  /* session, request */
	SESSION_STATE,          /* session: `state` is a state of version 2, its own or in its parent's subagent_update */
	SESSION_CANCEL,         /* session: the client cancels its open turn */
	SESSION_COMPACTION,     /* session: the message's update says more */
	SESSION_TURN_QUEUED,    /* turn */
	SESSION_TURN_BEGAN,     /* turn */
	SESSION_TURN_ENDED,     /* turn: its number is 0 if it never began */
	SESSION_CALL_BEGAN,     /* call */
	SESSION_CALL_CHANGED,   /* call: an update names a known call, even an ended one */
	SESSION_CALL_ENDED,     /* call: this comes after its last change */
	SESSION_CALL_FORGOTTEN, /* call: its memory will be freed */
	SESSION_ASKED,          /* question */
	SESSION_ANSWERED,       /* question */
};

/* Valid during the call of the event function. */
struct session_event {
	enum session_event_kind kind;
	uint64_t t;             /* us since the start of the stream */
	const struct session_message *message; /* the cause; NULL: the end of the stream */
	struct session *session; /* or NULL; so are the next four */
	struct session_turn *turn;
	struct session_call *call;
	struct session_question *question;
	struct session_request *request;
	struct slice state;     /* of SESSION_STATE: the object with state, stopReason, usage, background */
	bool again;             /* of SESSION_CALL_BEGAN and CHANGED: the tool_call has the id of an older call of the session */
	bool unanswered;        /* of SESSION_RESPONDED */
	bool limit;             /* of SESSION_FORGOTTEN and CALL_FORGOTTEN: a limit was reached */
};

/* Beyond a limit the oldest are forgotten. 0: the default; SIZE_MAX: no limit. */
struct session_limits {
	size_t sessions, calls, requests; /* defaults: 4096, 4096, 16384 */
	size_t bytes;           /* of all ids of sessions, and of all ids of calls; default: 4 MiB each */
	bool keep;              /* sessions stay known, as closed ones, when their connection ends */
};

struct sessions;
struct session_label; /* a short name that session_label has given */

/*
 * The event function may read its arguments and set `data`; it must not call functions that change sessions. Returns NULL out of memory,
 * else what the caller frees by sessions_free.
 */
struct sessions *sessions_new(void (*event)(void *arg, const struct session_event *), void *arg, const struct session_limits *);
/* Calls sessions_end first. */
void sessions_free(struct sessions *);
/* Begins a stream or recording: ends all that is open; times begin anew. */
void sessions_begin(struct sessions *);
/*
 * Handles a message; it finds the request of a response itself. Sets *seen (if seen is not NULL), which is valid until the next call; for
 * noise it is NULL. 0, or -1 out of memory.
 */
int sessions_see(struct sessions *, const struct message *, const struct session_message **seen);
/* Handles that messages were lost here. */
void sessions_lost(struct sessions *);
/* Handles the end of the stream: ends all that is open. */
void sessions_end(struct sessions *);
/* Handles that a request of this side with this id, or all its requests (id p NULL), will never get a response. */
void sessions_give_up(struct sessions *, enum acp_side from, struct slice id);
/* Finds a session by its id, plain text. NULL: it is not known. */
struct session *sessions_find(const struct sessions *, struct slice id);
/* The session after this one (NULL: the first), in the order in which they were seen; NULL at the end. */
struct session *sessions_next(const struct sessions *, const struct session *);
/*
 * Writes a short name, ASCII with a NUL at its end: the first `size` (at least 4) bytes of the id, or the last ones if another session has
 * that name, or else the session's number. all: NULL at first; remembers 4,096 names, also those of earlier connections.
 */
void session_label(struct session_label **all, const struct session *, char *to, size_t size);
void session_labels_free(struct session_label *);
/* Finds a call of a session by its id, a JSON string. NULL: it is not known. */
struct session_call *session_call_find(struct sessions *, const struct session *, struct slice id);
/* The open request after this one (NULL: the oldest); NULL at the end. */
struct session_request *sessions_request(const struct sessions *, const struct session_request *);
/* Is the connection of version 2? */
bool sessions_v2(const struct sessions *);
/* Is a request open whose response will bring the id of a session? */
bool sessions_opening(const struct sessions *);
/* The session at the root of its tree. */
struct session *session_root(const struct session *);
/* The open turn to which the session's work belongs: its own, or of a sub-agent the root's turn that started it. Or NULL. */
struct session_turn *session_turn_of(const struct session *);
/* Is a history of the session, or of one above it in its tree, being replayed? */
bool session_is_replayed(const struct session *);
/* Does this status, JSON, end a tool call? */
bool session_status_is_final(struct slice status);
/* Does this result only accept a prompt, whose turn goes on? */
bool session_accepts(struct slice result, bool v2);

#endif
