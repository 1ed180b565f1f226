/*
 * server: a server of type acp as the agent sees it: a stdio server, which is this program with --connect SOCKET.
 * The socket exists while a session uses it; the struct exists while a session or a shim uses it.
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
/* Appends the declaration of the stdio server that replaces it. Returns 0, or -1 out of memory. */
int server_put_stdio(const struct server *, struct buf *to);
/* Handles the response to a request that declared servers: its session uses them, or after an error they are released. */
void server_opened(struct mcp *, const struct message *response);
/* To be called after the response to a prompt of this session: reports its servers to which no shim has connected. */
void server_prompted(struct mcp *, struct slice session);
/* To be called after a session was closed: releases its servers. */
void server_closed(struct mcp *, struct slice session);
/* Removes a connection that uses the server, which may free it. */
void server_unref(struct server *);
/* Frees all servers, and removes their sockets and the directory. */
void server_end_all(struct mcp *);

#endif
