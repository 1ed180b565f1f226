/*
 * acp-mcp: MCP servers that live in the chain. Towards an agent that knows stdio servers only it
 * stands for servers of type acp (a bridge: server, conn); and it offers commands of its own as
 * such servers (provide).
 */
#ifndef MCP_H
#define MCP_H

#include "lib/frame.h"

/* --dialect: which form of MCP over ACP is spoken to a provider (PROTOCOL, section 5). */
enum dialect {
	DIALECT_DECLARED, /* what its declaration asks for */
	DIALECT_ACP_ID,   /* mcp/connect with acpId */
	DIALECT_SERVER_ID, /* mcp/connect with serverId */
	DIALECT_NEWEST,   /* no connect, requestId in each message */
};

/* --provide NAME=CMD */
struct provided {
	struct buf name; /* a JSON string */
	struct buf id;   /* likewise: what it is declared by */
	char **words;
};

struct options {
	const char *socket_dir;
	enum dialect dialect;
	uint64_t timeout; /* us, for an answer to mcp/connect */
	struct provided *provided;
	size_t nprovided;
	struct frame_options frame;
};

enum agent { AGENT_UNKNOWN, AGENT_TAKES, AGENT_LACKS };

/* The filter's state. */
struct mcp {
	const struct options *options;
	struct frame *frame;
	enum agent agent;        /* does it take servers of type acp itself? */
	bool v2;
	struct server *servers;  /* those that it was told of as stdio servers */
	struct conn *conns;
	struct call *calls;      /* our own requests that are out */
	struct local *locals;    /* commands that serve a shim of the agent's directly */
	struct early *early;     /* requests that declare servers, and wait until the agent is known */
	struct loop_timer look;
	bool crowded[LANES];     /* not read, for a peer does not take what came */
	char *self;              /* the path of this program */
	char *dir;               /* where the sockets are; NULL: none yet */
	uint64_t nsockets, nconns;
};

extern const char tool_name[];

/* filter.c. Returns the exit status. */
int mcp_run(const struct options *);
/* Something that must not fail has: the session ends, it is said. */
void mcp_fail(struct mcp *, const char *why);

/* shim.c: the small side, between an agent's pipes and the socket. Returns the exit status. */
int shim_run(const char *path);

#endif
