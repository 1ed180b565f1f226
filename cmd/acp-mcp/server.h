/*
 * server: a server of type acp as the agent sees it: a stdio server, which is this program with --connect SOCKET.
 * Its socket lives as long as a session uses it, and it itself as long as a shim does, too.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "cmd/acp-mcp/mcp.h"

struct server {
	struct server *next;
	struct mcp *mcp;
	struct buf name, id;              /* JSON strings, as they were declared */
	bool by_server_id;                /* declared by serverId */
	char *path;
	int listener;                     /* -1: its sessions have gone */
	struct loop_fd watch;
	bool used;                        /* a shim has connected, or it was reported that none has */
	struct loop_timer unused_timer;   /* until it is reported that no shim has connected */
	size_t nuses, nconns;
};

/*
 * The server that a declaration ({"type":"acp",...}) in this request speaks of; the same for the same name and id.
 * NULL where there can be none, and why has got a text.
 */
struct server *server_declared(struct mcp *, const struct msg *request, struct slice declaration, struct buf *why);
/* Appends the declaration of the stdio server that stands for it. 0, or -1 out of memory. */
int server_put_stdio(const struct server *, struct buf *to);
/* The answer to a request that declared servers: the session that uses them, or none does. 0, or -1 out of memory. */
int server_opened(struct mcp *, const struct message *answer);
/* A prompt of this session has its response: who has not come yet to its servers will not. */
void server_prompted(struct mcp *, struct slice session);
/* A session has gone, and what only it used. */
void server_closed(struct mcp *, struct slice session);
/* A connection that uses it begins; it has ended. */
void server_ref(struct server *);
void server_unref(struct server *);
/* Takes all sockets away. */
void server_end_all(struct mcp *);

#endif
