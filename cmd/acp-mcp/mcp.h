/*
 * acp-mcp: MCP servers that live in the chain. Towards an agent that knows stdio servers only it
 * stands for servers of type acp (a bridge: server, conn); and it offers commands of its own as
 * such servers (provide, conn).
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
	struct buf id;   /* likewise: what it is declared by */
	char **words;
};

struct options {
	const char *socket;     /* --connect, or NULL */
	const char *socket_dir;
	enum dialect dialect;
	uint64_t timeout; /* us: for a provider's first answer, and for a peer that does not read */
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
	struct server *servers;    /* those that the agent was told of as stdio servers */
	struct use *uses;          /* which session was told of which */
	struct conn *conns;
	struct call *calls;        /* our own requests that are out */
	struct command *commands;  /* that run */
	struct local *locals;      /* those of them that serve a shim of the agent's directly */
	struct loop_timer look;    /* conn_look's */
	struct loop_timer knock;   /* descriptors had run out: when to try again */
	bool stopped[ACP_DIRECTIONS];       /* not read, for a peer does not take what came */
	char *self;                /* the path of this program */
	struct place place;        /* of the sockets */
	uint64_t nsockets, nconns, nrequests; /* numbers given out */
};

extern const char tool_name[];

/* Something that must not fail has: it is reported, and the session ends. */
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
