/* declare: what a session is told of MCP servers (mcpServers of session/new, load, resume and fork). */
#ifndef MCP_DECLARE_H
#define MCP_DECLARE_H

#include "cmd/acp-mcp/mcp.h"

/*
 * The change that the params of such a request need: *what of them is to be replaced by *with. 1 where there is
 * one, 0 where there is none, -1 out of memory.
 */
int declare_change(struct mcp *, struct slice params, struct slice *what, struct buf *with);
/* Does the agent take servers of type acp, by its answer to initialize? */
bool declare_taken(struct slice result, bool *v2);
/* The change that makes that answer say so. As declare_change. */
int declare_claim(struct slice result, bool v2, struct slice *what, struct buf *with);

#endif
