/*
 * acp-mcp: MCP servers that are part of the chain. To an agent that supports only stdio servers it presents servers of type
 * acp as such (the bridge: server, conn), and it offers commands as servers of type acp (the provider: provide, conn).
 */
#ifndef MCP_H
#define MCP_H

#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"

/* --dialect: which form of MCP over ACP is spoken to a provider. */
enum dialect {
	DIALECT_DECLARED,  /* what its declaration asks for */
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
	uint64_t connections; /* to each of them: the most at once */
	uint64_t token;   /* of this process: part of its connection ids */
	struct frame_options frame;
};

enum agent_kind {
	AGENT_UNKNOWN,
	AGENT_ACP,     /* supports MCP servers of type acp */
	AGENT_STDIO,   /* supports only stdio servers: these replace those of type acp */
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
	size_t early_bytes;        /* client messages that are held until that response (owner: this struct) */
	void (*accept)(struct mcp *, struct server *, int fd); /* a shim has connected to a server. Takes ownership of fd */
	struct server *servers;    /* those that were presented to the agent as stdio servers */
	struct use *uses;          /* which sessions use which of them */
	struct conn *conns;
	struct call *calls;        /* requests that acp-mcp has sent into the chain, without a response */
	struct command *commands;  /* running commands */
	struct local *locals;      /* those of them that are connected directly to a shim */
	struct loop_task update;   /* of conn_update_all */
	struct loop_timer accept_timer; /* accepts again after descriptors had run out */
	bool stopped[ACP_DIRECTIONS];       /* paused, because a peer does not read its messages */
	char *self;                /* the path of this program */
	struct socket_dir sockets;
	uint64_t nsockets, nconns, nrequests; /* the last number that was used for each */
};

static const char tool_name[] = "acp-mcp";

/* Reports a failure of acp-mcp itself, and ends the session. */
static inline void
mcp_fail(struct mcp *m, const char *why)
{
	frame_warn(m->frame, "%s", why);
	frame_exit(m->frame, EXIT_FAILED);
}

/* The same where r is -1, which means out of memory. */
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

/* filter.c. Returns the exit status. */
int mcp_run(const struct options *);

/* shim.c: the small side, between an agent's pipes and the socket. Returns the exit status. */
int shim_run(const char *path);

#endif
