/* server: a server of type acp as the agent sees it: a stdio server, which is this program with --connect SOCKET. */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "cmd/acp-mcp/mcp.h"

struct server {
	struct server *next;
	struct mcp *mcp;
	struct buf name, id;              /* JSON strings, as they were declared */
	bool by_server_id;                /* declared by serverId */
	const struct provided *provided;  /* one of our own, or NULL */
	char *path;
	int listener;
	struct loop_fd watch;
};

/*
 * The server that a declaration ({"type":"acp",...}) speaks of; the same for the same name and id. NULL with
 * *why where there can be none.
 */
struct server *server_declared(struct mcp *, struct slice declaration, const char **why);
/* Appends the declaration of the stdio server that stands for it. 0, or -1 out of memory. */
int server_put_stdio(const struct server *, struct buf *to);
/* Listens again where descriptors had run out. */
void server_listen_all(struct mcp *);
/* Takes all sockets away. */
void server_end_all(struct mcp *);

#endif
