/*
 * conn: a connection of MCP over ACP, between a peer and the chain. The peer speaks MCP on descriptors: JSON-RPC, one message a
 * line. The peer is a shim (acp-mcp --connect) that the agent has started, or a command of --provide. acp-mcp sends the
 * peer's requests into the chain in one direction (calls); requests from the chain to the peer come in the other direction (asks).
 *
 * conn.c has the connections and their peers, and uses the forms of the protocol. The forms use conn_chain.c, which has calls and
 * asks. A function that runs out of memory ends the session with mcp_check.
 *
 * The functions of a connection do not free it, since the loop or the frame may still use it: the task of conn_update_all frees
 * the connection.
 */
#ifndef MCP_CONN_H
#define MCP_CONN_H

#include "cmd/acp-mcp/mcp.h"
#include "lib/acp/outline.h"
#include "lib/run/endpoint.h"

struct server;
struct conn;

/*
 * A request that acp-mcp has sent into the chain. It is the tag of the frame's request. Three kinds are server/discover: CALL_PROBE is the
 * peer's own, CALL_DISCOVER stands for its initialize, and CALL_FORM comes before another first request.
 */
enum call_kind { CALL_CONNECT, CALL_MESSAGE, CALL_PROBE, CALL_DISCOVER, CALL_FORM, CALL_LISTEN, CALL_DISCONNECT };
struct call {
	struct call *next;
	struct conn *conn;   /* NULL: no connection waits for the response any more */
	enum call_kind kind;
	struct slice id;     /* the id of the peer's request that the call forwards, stored after the struct; empty: none */
	uint64_t number;     /* in the newest form: its requestId, else 0 */
	struct buf subscription; /* in the first form: the provider's id of a CALL_LISTEN; empty: not known yet */
	bool cancelled;      /* the peer has cancelled its request, and wants no response */
};

/* A request from the chain to the peer, which has no response yet. */
struct ask {
	struct ask *next;
	struct held *held;
	struct msg msg;        /* the request, in the text of `held` */
	struct slice request_id; /* in the newest form: its requestId, a JSON string */
	uint64_t number;       /* its id towards the peer */
	bool sent;             /* the peer has got the request */
	bool listens;          /* a subscription: acp-mcp responds to it when the server ends */
};

/* A form of the protocol (see "Forms" in acp-mcp(1)). */
struct form {
	/* Sends a request or notification of the peer into the chain. */
	void (*send)(struct conn *, const struct msg *);
	/* Handles the response to a call, and responds to the peer's request, if the call forwards one. NULL: the form makes no calls. */
	void (*response)(struct conn *, struct call *, const struct msg *);
	/* Responds to the current request of the chain without the peer, and returns true, if that is possible. May be NULL. */
	bool (*reply_locally)(struct conn *, struct slice method);
	/* Sends the chain's request to the peer with conn_send_ask, now or later. NULL if a provider sends no requests in this form. */
	void (*deliver)(struct conn *, struct ask *);
	/* Handles a response of the peer. ask: NULL if the request did not come from the chain. NULL if deliver is NULL. */
	void (*peer_response)(struct conn *, struct ask *, const struct msg *);
};
extern const struct form form_first;        /* for shims and commands */
extern const struct form form_newest;       /* for shims */
extern const struct form form_newest_offer; /* for commands */

struct conn {
	struct conn *next;
	struct mcp *mcp;
	const struct form *form;
	enum acp_direction dir;       /* in which the peer's requests are sent */
	struct endpoint peer;
	struct outline outline;       /* of the peer's line that is too long */
	bool older;                   /* the provider does not know the newest form, nor its server the newest MCP */
	bool awaiting;                /* the peer is not read: a response from the chain has to come first */
	bool ended;                   /* the peer has ended, or the connection was closed: nothing more is sent to it */
	bool over;                    /* to be freed as soon as the command does not run */
	struct buf id;                /* connectionId, a JSON string; empty: none */
	struct server *server;        /* of a shim; NULL: the peer is the command */
	struct command command;
	struct loop_timer response_timer; /* limits the wait for the chain's first response */
	struct loop_timer stall_timer;    /* closes the connection of a peer that does not read */
	uint64_t last_written;        /* bytes that had been written to the peer when stall_timer was last started */
	struct buf noise;             /* the beginning of the peer's last line that was not a message */
	uint64_t repeated;            /* how often the line of `noise` has been repeated */
	struct buf refusal;           /* an error object: the response to all requests of the peer; empty: none */
	struct buf first;             /* the peer's first request, while it may have to be sent again in another form */
	uint64_t last;                /* number of the last ask */
	struct ask *asks;             /* oldest first */
	/* In the newest form: */
	bool proven;                  /* the provider has used this form */
	bool modern;                  /* the agent's MCP client speaks the protocol version of this form */
	bool greeted;                 /* initialize has been sent to the command */
	struct buf hello;             /* of a shim: params of the agent's MCP initialize; of a command: the result of its initialize */
	struct call *listening;       /* the subscription that is kept for an older client, or NULL */
	struct buf lists, uris;       /* the filter of that subscription: members, and an array of resources */
};

/* --- conn.c: connections and their peers --- */

/* Makes a connection for a shim that has connected to a server. Takes ownership of fd. Returns 0, or -1 with errno. */
int conn_accept(struct mcp *, struct server *, int fd);
/* Starts a command of --provide, with a connection, for this message. NULL: that is not possible, and the message has been refused. */
struct conn *conn_start(struct mcp *, const struct provided *, const struct form *, const struct msg *);
/* Finds the connection with this connectionId that receives messages in direction dir. NULL: none. */
struct conn *conn_find(struct mcp *, enum acp_direction dir, struct slice id);
/* Finds the running command that serves this server in the newest form. NULL: none. */
struct conn *conn_serving(struct mcp *, const struct provided *);
/* Ends a command's connection after mcp/disconnect: closes the command's input. The connection is freed when it has ended. */
void conn_finish(struct conn *);
/*
 * To be called after data was read or written: before the loop waits again, peers and directions whose queues are full are not read
 * any more, others are, and connections that are over are freed.
 */
void conn_update_all(struct mcp *);
/* At the end: first disconnects from providers and closes all peers; then, after the last write, frees everything. */
void conn_close_all(struct mcp *);
void conn_free_all(struct mcp *);

/* --- conn_chain.c: calls and asks --- */

/* Writes a line about the connection's server to stderr: what, why. */
void conn_warn(struct conn *, const char *what, struct slice why);
/* Handles the current message of the frame, an mcp/message for the peer. Returns the verdict on it. */
enum verdict conn_deliver(struct conn *, const struct message *);
/* Cancels the ask with this id that came in direction dir. Returns false if there is none. */
bool conn_cancel_any(struct mcp *, enum acp_direction dir, struct slice id);
/* Forwards a notification about a request that a shim has sent in the newest form. Returns false if there is no such request. */
bool conn_forward_notification(struct mcp *, struct slice server_id, const struct msg *);
/* Handles the response to a call, and frees the call. */
void conn_response(struct mcp *, struct call *, const struct msg *);
/* Handles a message from the peer. */
void conn_receive(struct conn *, const struct msg *);
/* Cancels the connection's calls in the chain. Their responses are ignored. */
void conn_drop_calls(struct conn *);
/* Takes a call out of the list, and frees it. */
void call_free(struct mcp *, struct call *);
/* Responds to all of the connection's asks with this error, and frees them. */
void conn_refuse_asks(struct conn *, int code, const char *why);
/* Cancels all asks from the client, with an error: the frame closes the agent's input only when it holds no message. */
void conn_client_left(struct mcp *);
/* Sends mcp/disconnect if there is a connectionId. */
void conn_disconnect(struct conn *);
/* Ends the peer's input after all that is queued, cancels the calls, and responds to the asks with this error. */
void conn_stop(struct conn *, int code, const char *why);
/*
 * Ends a shim's connection: disconnects from the provider, responds to open requests with errors, and closes the shim's input.
 * The agent may start another shim.
 */
void conn_end(struct conn *);

/* For the forms. */

/* Sends a request into the chain. of: the peer's request that it forwards, or NULL. Returns NULL out of memory. */
struct call *conn_call(struct conn *, enum call_kind, const struct json_member *params, const struct msg *of);
/* Sends an mcp/message notification into the chain. */
void conn_notify(struct conn *, const struct json_member *params);
/* Sends a request to the peer; id p NULL: a notification. method: a JSON string. params p NULL: none. */
void conn_send(struct conn *, struct slice id, struct slice method, struct slice params);
/* Send a response to the peer: a result (its subscription gets the name `id`), an error object, or a new error. */
void conn_reply(struct conn *, struct slice id, struct slice result);
void conn_reply_failure(struct conn *, struct slice id, struct slice error);
void conn_reply_error(struct conn *, struct slice id, int code, const char *message);
/* Finds the ask with this id towards the peer. NULL: none. */
struct ask *conn_find_ask(const struct conn *, struct slice id);
/* Sends an ask to the peer, with these params. */
void conn_send_ask(struct conn *, struct ask *, struct slice params);
/* Respond to an ask with a result or (error.p not NULL) an error object, or with a new error; and free it. */
void conn_respond(struct conn *, struct ask *, struct slice result, struct slice error);
void conn_refuse(struct conn *, struct ask *, int code, const char *why);
/* Stops reading the peer until conn_resume. The connection is refused after --timeout. */
void conn_await(struct conn *);
void conn_resume(struct conn *);
/*
 * Passes a provider's error response on to the peer. If it says that the server has ended, also ends the connection; a
 * CALL_PROBE (the peer's own server/discover) then gets no response, because the peer would take an error to mean that the
 * server speaks an older protocol.
 */
void conn_call_failed(struct conn *, const struct call *, struct slice error);
/* Reports that there is no connection. The peer's next request gets this error object; then the connection ends. */
void conn_refuse_all(struct conn *, struct slice error);
/* Handles the peer's request in `first` again, after the form has changed or the connection was refused. */
void conn_retry_first(struct conn *);

/* form_first.c: sends mcp/connect, and stops reading the peer until its response. */
void form_first_connect(struct conn *, bool by_server_id);

#endif
