/*
 * acp-mcp: MCP servers that are part of the chain. To an agent that supports only stdio servers it presents servers of type
 * acp as such (the bridge: server, conn), and it offers commands as servers of type acp (the provider: provide, conn).
 */
#ifndef MCP_H
#define MCP_H

#include "cmd/acp-mcp/place.h"
#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"

/* --dialect: which form of MCP over ACP is spoken to a provider (PROTOCOL, section 5). */
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
	uint64_t timeout; /* us: for a provider's first response, and for a peer that does not read */
	struct provided *provided;
	size_t nprovided;
	uint64_t token;   /* this process's own: in what it calls its connections */
	struct frame_options frame;
};

enum agent_kind {
	AGENT_UNKNOWN,
	AGENT_TAKES, /* servers of type acp */
	AGENT_LACKS, /* them: it is given stdio servers */
	AGENT_HELPLESS, /* it takes neither */
};

struct server;

/* The filter's state. */
struct mcp {
	const struct options *options;
	struct frame *frame;
	enum agent_kind agent;
	bool v2;
	uint64_t asked;            /* the line in which it was asked what it takes; 0: not asked, or answered */
	struct early *early;       /* messages from the client that are held until then, in order */
	size_t early_bytes;
	void (*came)(struct mcp *, struct server *, int fd); /* a shim has come to a server; fd is taken over */
	struct server *servers;    /* those that were presented to the agent as stdio servers */
	struct use *uses;          /* which sessions use which of them */
	struct conn *conns;
	struct call *calls;        /* requests of acp-mcp without a response */
	struct command *commands;  /* that run */
	struct local *locals;      /* those of them that serve a shim of the agent's directly */
	struct loop_timer look;    /* conn_look's */
	struct loop_timer knock;   /* when to accept again, after descriptors had run out */
	bool stopped[ACP_DIRECTIONS];       /* not read, for a peer does not take what came */
	char *self;                /* the path of this program */
	struct place place;        /* of the sockets */
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

/* filter.c. Returns the exit status. */
int mcp_run(const struct options *);

/* shim.c: the small side, between an agent's pipes and the socket. Returns the exit status. */
int shim_run(const char *path);

#endif
