/*
 * mcp: what the files of acp-mcp have in common. The bridge (server, conn) presents MCP servers of type acp as stdio servers, to an
 * agent that supports only these. The provider (provide, conn) offers commands as servers of type acp.
 */
#ifndef MCP_H
#define MCP_H

#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"

/* --dialect: which form of MCP over ACP acp-mcp uses with a provider. */
enum dialect {
	DIALECT_DECLARED,  /* the form that the provider's declaration asks for */
	DIALECT_ACP_ID,    /* mcp/connect with acpId */
	DIALECT_SERVER_ID, /* mcp/connect with serverId */
	DIALECT_NEWEST,    /* no connect, requestId in each message */
};

/* --provide NAME=CMD */
struct provided {
	struct buf name; /* a JSON string */
	struct buf id;   /* a JSON string: the id in its declaration */
	char **words;
};

struct options {
	const char *socket;     /* --connect, or NULL */
	const char *socket_dir;
	enum dialect dialect;
	uint64_t timeout; /* us: limit for a provider's first response, and for a peer that does not read */
	struct provided *provided;
	size_t nprovided;
	uint64_t connections; /* to each command: the most at once */
	uint64_t token;   /* of this process: a part of its connection ids */
	struct frame_options frame;
};

enum agent_kind {
	AGENT_UNKNOWN,
	AGENT_ACP,     /* supports MCP servers of type acp */
	AGENT_STDIO,   /* supports only stdio servers, which replace servers of type acp */
	AGENT_NEITHER, /* supports neither type */
};

/* The directory of this process's sockets (server.c). */
struct socket_dir {
	char *path; /* absolute, and short enough for socket paths below it; NULL: not made yet */
	int lock;   /* descriptor of the directory, locked while this process lives: an unlocked directory is stale */
};

struct server;

/* The filter's state. */
struct mcp {
	const struct options *options;
	struct frame *frame;
	enum agent_kind agent;
	bool v2;
	bool asked;                /* initialize has no response yet */
	size_t early_bytes;        /* of client messages that are held, with this struct as owner, until that response */
	void (*accept)(struct mcp *, struct server *, int fd); /* a shim has connected to a server. Takes ownership of fd */
	struct server *servers;    /* of type acp, presented to the agent as stdio servers */
	struct use *uses;          /* which sessions use which servers */
	struct conn *conns;
	struct call *calls;        /* requests that acp-mcp has sent into the chain, without a response */
	struct command *commands;  /* running commands */
	struct local *locals;      /* commands that are connected directly to a shim */
	struct loop_task update;   /* of conn_update_all */
	struct loop_timer accept_timer; /* accepts again after descriptors had run out */
	bool stopped[ACP_DIRECTIONS];       /* paused directions, in which a peer does not read its messages */
	char *self;                /* the path of this program */
	struct socket_dir sockets;
	uint64_t nsockets, nconns, nrequests; /* the last number that was used for each kind */
};

static const char tool_name[] = "acp-mcp";

/* Reports a failure of acp-mcp itself, and ends the session. */
static inline void
mcp_fail(struct mcp *m, const char *why)
{
	frame_warn(m->frame, "%s", why);
	frame_exit(m->frame, EXIT_FAILED);
}

/* Ends the session if r is -1, which means out of memory. */
static inline void
mcp_check(struct mcp *m, int r)
{
	if (r < 0)
		mcp_fail(m, "out of memory");
}

/* Discards the current message of the frame; a request gets an error. */
static inline enum verdict
mcp_refuse(struct mcp *m, const struct msg *msg, int code, const char *why)
{
	if (msg->kind == MSG_REQUEST)
		mcp_check(m, frame_reply_error(m->frame, NULL, code, why));
	return VERDICT_DROP;
}

/* --- names of MCP that are used here, and a function to get members --- */

/* Members and methods. */
static const char mcp_method[] = "method";
static const char mcp_params[] = "params";
static const char mcp_result[] = "result";
static const char mcp_error[] = "error";
static const char mcp_meta[] = "_meta";
static const char mcp_capabilities[] = "capabilities";
static const char mcp_client_info[] = "clientInfo";
static const char mcp_server_info[] = "serverInfo";
static const char mcp_instructions[] = "instructions";
static const char mcp_ping[] = "ping";
static const char mcp_discover[] = "server/discover";
static const char mcp_listen[] = "subscriptions/listen";
static const char mcp_uri[] = "uri";
static const char mcp_filter[] = "notifications";       /* of subscriptions/listen */
static const char mcp_uris[] = "resourceSubscriptions"; /* in the filter */

/* Keys in the _meta of MCP 2026-07-28, which has no handshake; that version; and the last version with a handshake. */
static const char mcp_key_version[] = "io.modelcontextprotocol/protocolVersion";
static const char mcp_key_capabilities[] = "io.modelcontextprotocol/clientCapabilities";
static const char mcp_key_client[] = "io.modelcontextprotocol/clientInfo";
static const char mcp_key_level[] = "io.modelcontextprotocol/logLevel";
static const char mcp_key_server[] = "io.modelcontextprotocol/serverInfo";
static const char mcp_key_subscription[] = "io.modelcontextprotocol/subscriptionId";
static const char mcp_newest[] = "2026-07-28";
static const char mcp_handshake[] = "\"2025-11-25\""; /* a JSON string */

/* Returns a member that is an object. p NULL: there is none. */
static inline struct slice
mcp_object(struct slice object, const char *member)
{
	struct slice v = json_get(object, member);

	return json_type(v) == JSON_OBJECT ? v : slice(NULL, 0);
}

/* Error codes of MCP over ACP. */
enum { MCP_ERR_LIMIT = -33000, MCP_ERR_UNAVAILABLE = -33001, MCP_ERR_BACKEND = -33002 };

/* --- declare.c: which MCP servers an agent supports, and the mcpServers of session/new, load, resume and fork --- */

/* Returns which MCP servers the agent supports, by the result of its initialize. Sets *v2: the agent speaks version 2 of ACP. */
enum agent_kind declare_agent_kind(struct slice result, bool *v2);
/*
 * Makes the change to the result of initialize that declares support of servers of type acp: *what is the part of result to
 * replace, and the new text is appended to *with. Returns 1, 0 if no change is needed, or -1 out of memory.
 */
int declare_claim(struct slice result, bool v2, struct slice *what, struct buf *with);
/* Could declare_change change this request, once it is known which servers the agent supports? */
bool declare_any(const struct mcp *, const struct msg *request);
/*
 * Makes the change to the servers that a request declares: replaces servers that the agent does not support, and adds those of
 * --provide. *what, *with and the returned value are those of declare_claim.
 */
int declare_change(struct mcp *, const struct msg *request, struct slice *what, struct buf *with);

/*
 * --- server.c: a server of type acp as the agent sees it: a stdio server, which is this program with --connect SOCKET. The socket
 * exists while a session uses it; the struct exists while a session or a shim uses it. ---
 */

struct server {
	struct server *next;
	struct mcp *mcp;
	struct slice name, id;            /* JSON strings, as the client spells them; stored after the struct */
	bool by_server_id;                /* declared by serverId */
	char *path;
	int listener;                     /* -1: no session uses it */
	struct loop_fd watch;
	bool used;                        /* a shim has connected, or it was reported that none has */
	struct loop_timer unused_timer;   /* until it is reported that no shim has connected */
	size_t nuses, nconns;
};

/*
 * Returns the server of a declaration ({"type":"acp",...}) in this request; declarations with the same name and id have the same
 * server. Returns NULL on failure, with a message in why.
 */
struct server *server_declared(struct mcp *, const struct msg *request, struct slice declaration, struct buf *why);
/* Appends the declaration of the stdio server that replaces a server of type acp. Returns 0, or -1 out of memory. */
int server_put_stdio(const struct server *, struct buf *to);
/* Handles the response to a request that declared servers: its session uses them, or after an error they are released. */
void server_opened(struct mcp *, const struct message *response);
/*
 * To be called after the response to a prompt of this session, which ends the turn in version 1, and at its state idle, which does so in
 * version 2: at the end of a turn reports the session's servers to which no shim has connected.
 */
void server_turn(struct mcp *, struct slice session, bool response);
/* To be called after a session was closed: releases its servers. */
void server_closed(struct mcp *, struct slice session);
/* Notes that a connection uses the server no more, and frees the server after its last use. */
void server_unref(struct server *);
/* Frees all servers, and removes their sockets and the directory. */
void server_end_all(struct mcp *);

/* --- provide.c: commands of --provide, which are offered as servers of type acp --- */

/* Finds the server with this id, a JSON string. NULL: none. */
const struct provided *provide_by_id(const struct mcp *, struct slice id);
/* Is this connection id, a JSON string, one that this program makes for a server of --provide, now or before a restart? */
bool provide_by_connection(const struct mcp *, struct slice id);
/* Is there room for one more process of this server's command (--max-connections)? */
bool provide_may_start(const struct mcp *, const struct provided *);
/*
 * Starts a command on a shim's socket, so that they are connected directly until either ends. Takes ownership of fd. Reports
 * failures, and then closes fd.
 */
void provide_serve(struct mcp *, const struct provided *, int fd);

/* A command of --provide, running or not. */
struct command {
	struct command *next;
	struct mcp *mcp;
	const struct provided *what;
	struct loop_child child;
	struct loop_timer kill_timer;
	bool runs;           /* it runs, or processes of its group do, which it has left */
	int input;           /* a socket that is its standard input and output, and that another process can close; else -1: pipes */
	bool input_closed, signalled; /* how acp-mcp made it end */
	/*
	 * The owner's: called when the command has ended, and where `runs` is still true, again when that is false. An end that acp-mcp
	 * did not cause has been reported.
	 */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts the command. pipes: the other ends of its standard input and output, if it has no socket. 0, or -1 (reported). */
int command_start(struct command *, int pipes[2]);
/*
 * Makes the command end: SIGTERM after two seconds, SIGKILL after two more. ours: acp-mcp has closed its input; else the command
 * has closed its output. The first call decides.
 */
void command_finish(struct command *, bool ours);
/* Ends all commands, also those of provide_serve, and waits at most 2 s for all together. Does not call `ended`. */
void provide_end_all(struct mcp *);

/*
 * --- meta.c: what MCP 2026-07-28 has added to params and results, and how to add and remove it. One part is subscriptions/listen,
 * a request that stays open: the server sends the notifications that its filter names. Servers of older MCP send notifications
 * without a request; notifications about resources, after resources/subscribe. ---
 */

/* All functions that return an int return 0, or -1 out of memory. */

/* Appends params (p NULL or not an object: {}) with these members first in their _meta. */
int meta_put(struct slice params, struct slice members, struct buf *to);

/*
 * Removes the members of _meta that only 2026-07-28 has from *params, which become a copy in room: for a server that was
 * initialized with a handshake. Does nothing if there are none.
 */
int meta_strip_envelope(struct slice *params, struct buf *room);
/* Removes the members that only 2026-07-28 has, and older clients may refuse, from *result, which then becomes a copy in room. */
int meta_strip_result(struct slice *result, struct buf *room);

/*
 * Appends the members of a filter that ask for changes of the lists which a server with these capabilities reports. asked: a
 * filter, whose missing members are left out here, too; p NULL: all are appended.
 */
int listen_put_lists(struct slice capabilities, struct slice asked, struct buf *to);
/* Is this method, a JSON string, one of the notifications that belong to subscriptions? */
bool listen_brings(struct slice method);
/* Does the filter ask for a notification with this method, a JSON string, and these params? */
bool listen_wants(struct slice filter, struct slice method, struct slice params);
/* Appends the array of strings `uris` (p NULL: empty) with uri added, or, if not `with`, without uri. */
int listen_put_uris(struct slice uris, struct slice uri, bool with, struct buf *to);
/* Returns the subscription id in params or in a result, as JSON. p NULL: there is none. */
struct slice listen_name(struct slice params);
/* Replaces the subscription id in *value, params or a result: *value becomes a copy in room. Does nothing if there is none. */
int listen_rename(struct slice *value, struct slice id, struct buf *room);
/* Appends params (p NULL: none) with this subscription id, JSON, in their _meta. */
int listen_put_params(struct slice params, struct slice id, struct buf *to);

/* --- filter.c, shim.c --- */

/* filter.c: runs the filter. Returns the exit status. */
int mcp_run(const struct options *);

/* shim.c: forwards bytes between an agent's pipes and the socket at this path. Returns the exit status. */
int shim_run(const char *path);

#endif
