/*
 * conn: a connection of MCP over ACP. At one end stands a peer that speaks MCP on descriptors (a shim
 * that the agent has started, or a command that we offer), at the other the chain: the peer's requests
 * go into one of its lanes, and what comes for it comes in the other one.
 */
#ifndef MCP_CONN_H
#define MCP_CONN_H

#include "cmd/acp-mcp/mcp.h"
#include "cmd/acp-mcp/peer.h"

struct server;
struct conn;

/* A request of our own that is out in the chain; the frame's tag. */
enum call_kind { CALL_CONNECT, CALL_MESSAGE, CALL_DISCOVER, CALL_DISCONNECT };
struct call {
	struct call *next;
	struct conn *conn;    /* NULL: it has gone */
	enum call_kind kind;
	struct buf id;        /* the peer's own id of the request, if it is one of the peer's */
	struct buf text;      /* the peer's request itself, where it may have to be sent in another form */
	uint64_t number;      /* in the newest form: its requestId */
};

/* A request of the chain's that the peer is to answer. */
struct ask {
	struct ask *next;
	struct held *held;
	struct buf request_id; /* in the newest form: its requestId, a JSON string */
	struct buf token;      /* its progress token, JSON */
	uint64_t number;       /* its id towards the peer */
	bool sent;
};

/* How messages are put for the chain: the forms of section 5. Each returns 0, or -1 out of memory. */
struct form {
	/* A request or notification of the peer's goes into the chain. */
	int (*say)(struct conn *, const struct msg *);
	/* An answer to a call of ours has come. */
	int (*answered)(struct conn *, struct call *, const struct msg *);
	/* A request of the chain's is to go to the peer: now (conn_hand), or when conn_hand_waiting asks again. */
	int (*hand)(struct conn *, struct ask *, struct slice method, struct slice params);
	/* The peer has answered it (NULL: something that was not asked by the chain). */
	int (*reply)(struct conn *, struct ask *, const struct msg *);
};
extern const struct form form_first;        /* both ends */
extern const struct form form_newest;       /* at a shim */
extern const struct form form_newest_offer; /* at a command */

struct conn {
	struct conn *next;
	struct mcp *mcp;
	const struct form *form;
	enum lane lane;                  /* where the peer's requests go */
	struct peer peer;
	bool over;                       /* to be freed */
	bool waits;                      /* the peer does, for a connection */
	bool crowded;                    /* it does, for room in the lane */
	bool warned;                     /* the command was told to end */
	struct buf id;                   /* connectionId, a JSON string; empty: none yet */
	const struct server *server;     /* whose shim the peer is, or NULL */
	const struct provided *provided; /* whose command it is, or NULL */
	struct loop_child child;
	bool running;
	struct loop_timer patience;      /* with mcp/connect; with a command that has been told to end */
	struct buf refusal;              /* no connection: all requests are answered with this error */
	/* In the newest form: */
	bool proven;                     /* the provider has shown that it knows it */
	struct buf hello;                /* the params of the agent's MCP initialize; the result of a command's */
	struct buf again;                /* a request of the peer's that goes once more when the connection stands */
	bool asked;                      /* the command has been sent its initialize */
	struct ask *asks;
	uint64_t last;                   /* number given out */
};

/* A shim has come to a server. fd is taken over. 0, or -1 with errno. */
int conn_accept(struct mcp *, const struct server *, int fd);
/* Starts a command of ours for a connection. NULL where it can not be started; it has been said. */
struct conn *conn_start(struct mcp *, const struct provided *, const struct form *);
/* The one that a message which comes in a lane is for, or NULL. */
struct conn *conn_find(struct mcp *, enum lane, struct slice id);
/* The command that serves the newest form's messages to this id, or NULL. */
struct conn *conn_serving(struct mcp *, const struct provided *);

/* The message that is being shown, mcp/message, is for it. */
enum verdict conn_take(struct conn *, const struct seen *);
/* The chain has cancelled one of its requests that came in a lane: true where a peer has it. */
bool conn_cancel_any(struct mcp *, enum lane, struct slice id);
/* A notification about a request that a shim has sent in the newest form: true where there is such a one. */
bool conn_tell_about(struct mcp *, struct slice server_id, const struct msg *);
/* An answer to a call of ours. */
void conn_answered(struct mcp *, struct call *, const struct msg *);
/* The chain's side has disconnected. */
void conn_finish(struct conn *);
/* Those that may go on do, those that are over are freed. */
void conn_look(struct mcp *);
void conn_end_all(struct mcp *);

/* --- for the forms --- */

/* Sends a request into the chain; the call keeps copies. NULL out of memory. */
struct call *conn_call(struct conn *, enum call_kind, enum acp_method, struct slice params, const struct msg *of);
int conn_notify(struct conn *, struct slice params);
/* To the peer: a request or notification (id p NULL), and an answer with the member "result" or "error". */
int conn_tell(struct conn *, struct slice id, struct slice method, struct slice params);
int conn_reply(struct conn *, struct slice id, const char *member, struct slice value);
int conn_reply_error(struct conn *, struct slice id, int code, const char *message);
/* Gives it to the peer; asks form.hand for those that have not gone yet. */
int conn_hand(struct conn *, struct ask *, struct slice method, struct slice params);
int conn_hand_waiting(struct conn *);
/* Answers one, with a result or an error object; it is then gone. */
int conn_settle_ask(struct conn *, struct ask *, struct slice result);
int conn_settle_error(struct conn *, struct ask *, struct slice error);
/* A line on stderr about the server of this connection: what, and why. */
void conn_say(struct conn *, const char *what, struct slice why);
/* The peer is not read until the connection stands; it is read again. */
void conn_wait(struct conn *, bool);
/* Begins with mcp/connect; the peer waits. */
int conn_connect(struct conn *, bool by_server_id);

#endif
