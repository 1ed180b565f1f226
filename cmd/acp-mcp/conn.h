/*
 * conn: a connection of MCP over ACP. At one end is a peer that speaks MCP on descriptors: a shim (acp-mcp --connect) that
 * the agent has started, or a command of --provide. At the other end is the chain: the peer's requests are sent in one
 * direction of it, and messages for the peer come in the other.
 *
 * A connection is not freed while the loop or the frame may be in one of its functions: the timer of conn_look frees it.
 */
#ifndef MCP_CONN_H
#define MCP_CONN_H

#include "cmd/acp-mcp/mcp.h"
#include "cmd/acp-mcp/peer.h"
#include "cmd/acp-mcp/provide.h"

struct server;
struct conn;

/* A request that acp-mcp has sent into the chain; the tag of the frame's request. */
enum call_kind { CALL_CONNECT, CALL_MESSAGE, CALL_PROBE, CALL_DISCOVER, CALL_LISTEN, CALL_DISCONNECT };
struct call {
	struct call *next;
	struct conn *conn;   /* NULL: no connection waits for the response any more */
	enum call_kind kind;
	struct buf id;       /* the peer's own id of the request, if it is one of the peer's */
	uint64_t number;     /* in the newest form: its requestId, else 0 */
	struct buf subscription; /* in the first form: what the provider calls it, of CALL_LISTEN; empty: not known yet */
	bool cancelled;      /* by the peer, which wants no response */
};

/* A request from the chain that the peer has to respond to. */
struct ask {
	struct ask *next;
	struct held *held;
	struct buf id;         /* JSON */
	struct buf request_id; /* in the newest form: its requestId, a JSON string */
	struct buf token;      /* its progress token, JSON */
	uint64_t number;       /* its id towards the peer */
	bool sent;
	bool listens;          /* it stays open; acp-mcp responds to it when the server ends */
};

/* A form of the protocol (see "Forms" in acp-mcp(1)). Each function returns 0, or -1 out of memory. */
struct form {
	/* Sends a request or notification of the peer into the chain. */
	int (*say)(struct conn *, const struct msg *);
	/* Passes the response to a call on to the peer, which waits for it. */
	int (*answered)(struct conn *, struct call *, const struct msg *);
	/* May answer a request of the chain's that is being shown, without the peer: 1 where it has. */
	int (*at_once)(struct conn *, struct slice method);
	/* Any other is to go to the peer: now (conn_hand), or when conn_hand_waiting asks again. None where a provider asks nothing. */
	int (*hand)(struct conn *, struct ask *, struct slice method, struct slice params);
	/* The peer has responded to the request; ask is NULL if the chain did not send it. */
	int (*reply)(struct conn *, struct ask *, const struct msg *);
};
extern const struct form form_first;        /* both ends */
extern const struct form form_newest;       /* at a shim */
extern const struct form form_newest_offer; /* at a command */

struct conn {
	struct conn *next;
	struct mcp *mcp;
	const struct form *form;
	enum acp_direction dir;               /* where the peer's requests go */
	struct peer peer;
	bool older;                   /* its provider does not know the newest form, nor its server the newest MCP */
	bool waits;                   /* the peer is not heard: it has to wait for the chain's answer, */
	bool crowded;                 /* or for room in the direction */
	bool ended;                   /* the peer has */
	bool over;                    /* to be freed, once no command of it runs */
	struct buf id;                /* connectionId, a JSON string; empty: none */
	struct server *server;        /* whose shim the peer is, or NULL: */
	struct command command;       /* the peer */
	struct loop_timer patience;   /* with the chain's first answer */
	struct loop_timer stuck;      /* with a peer that does not read */
	uint64_t taken;               /* what it had read when that began */
	struct buf noise;             /* the beginning of the peer's last line that was not a message */
	uint64_t repeated;            /* how often that came again */
	struct buf refusal;           /* the error that answers all of the peer's requests; empty: none */
	struct buf first;             /* a request of the peer's that is out, and may have to go again in another form */
	uint64_t last;                /* number given to an ask */
	struct ask *asks;
	/* In the newest form: */
	bool proven;                  /* the provider has shown that it knows it */
	bool modern;                  /* the agent's MCP client speaks the protocol of it */
	bool greeted;                 /* the command has been sent its initialize */
	struct buf hello;             /* the params of the agent's MCP initialize; the result of a command's */
	struct call *listening;       /* what the provider tells an older client of comes on it, or NULL */
	struct buf lists, uris;       /* its filter: members, and an array of resources */
};

/* A shim has come to a server. fd is taken over. 0, or -1 with errno. */
int conn_accept(struct mcp *, struct server *, int fd);
/* Starts a command of ours for a connection. NULL where it can not be started; it has been said. */
struct conn *conn_start(struct mcp *, const struct provided *, const struct form *);
/* The one that a message which comes in a direction is for, or NULL. */
struct conn *conn_find(struct mcp *, enum acp_direction, struct slice id);
/* The command that serves the newest form's messages to this id, or NULL. */
struct conn *conn_serving(struct mcp *, const struct provided *);
/*
 * A shim's connection is over, from either side: the provider is told, nothing more is read, and the shim ends. The agent may
 * start another. 0, or -1 out of memory.
 */
int conn_end(struct conn *);
/* The chain's side has disconnected. */
void conn_finish(struct conn *);
/* After anything has been read or written: who is to wait does, who may go on goes on, who is over is freed. */
void conn_look(struct mcp *);
/* At the end, in two steps: the peers' inputs end and providers are told; all is freed. */
void conn_close_all(struct mcp *);
void conn_free_all(struct mcp *);

/* conn_chain.c: the requests that are out in the chain, and those that came from it. */

/* The message that is being shown, mcp/message, is for it. */
enum verdict conn_take(struct conn *, const struct message *);
/* The chain has cancelled one of its requests that came in a direction: true where a peer has it. */
bool conn_cancel_any(struct mcp *, enum acp_direction, struct slice id);
/* A notification about a request that a shim has sent in the newest form: true where there is such a one. */
bool conn_tell_about(struct mcp *, struct slice server_id, const struct msg *);
/* An answer to a call of ours. */
void conn_answered(struct mcp *, struct call *, const struct msg *);
/* A message of the peer's. 0, or -1 out of memory. */
int conn_hear(struct conn *, const struct msg *);
/* Nobody waits for the answers to its calls any more: they are cancelled in the chain. */
void conn_drop_calls(struct conn *);
/* The chain's requests to the peer will not be answered by it. */
void conn_refuse_asks(struct conn *, int code, const char *why);
/* Tells the provider. 0, or -1 out of memory. */
int conn_disconnect(struct conn *);
void conn_free_calls(struct mcp *);

/* For the forms. Those that return an int return 0, or -1 out of memory. */

/* Sends a request into the chain, one of the peer's or (of NULL) none. NULL out of memory. */
struct call *conn_call(struct conn *, enum call_kind, enum acp_method, struct slice params, const struct msg *of);
int conn_notify(struct conn *, struct slice params);
/* To the peer: a request or notification (id p NULL), and an answer with the member "result" or "error". */
int conn_tell(struct conn *, struct slice id, struct slice method, struct slice params);
int conn_reply(struct conn *, struct slice id, const char *member, struct slice value);
int conn_reply_error(struct conn *, struct slice id, int code, const char *message);
/* The request of the chain's that the peer knows by this id, or NULL. */
struct ask *conn_asked(const struct conn *, struct slice id);
/* Gives it to the peer; asks form.hand for those that have not gone yet. */
int conn_hand(struct conn *, struct ask *, struct slice method, struct slice params);
int conn_hand_waiting(struct conn *);
/* Answers one, with a result or an error object; it is then gone. */
int conn_settle(struct conn *, struct ask *, struct slice result);
int conn_settle_error(struct conn *, struct ask *, struct slice error);
int conn_refuse(struct conn *, struct ask *, int code, const char *why);
/* The peer waits for the chain's answer to its first request, at most for --timeout; it is heard again. */
void conn_wait(struct conn *, enum call_kind);
void conn_go_on(struct conn *);
/* Begins with mcp/connect; the peer waits. */
int conn_connect(struct conn *, bool by_server_id);
/*
 * An error of the provider's for a request of the peer's: where it says that the server has ended, so does the connection. A
 * CALL_PROBE (the peer's own server/discover) then gets no response, for an error would say that the server goes on with an
 * older protocol.
 */
int conn_failed(struct conn *, const struct call *, struct slice error);
/* There is none: the peer's next request gets this error object, and then the connection ends. */
int conn_refused(struct conn *, struct slice error);
/* What was out (first) goes again, in the form that it has come to; or is refused. */
int conn_again(struct conn *);

#endif
