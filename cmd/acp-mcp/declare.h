/* declare: which MCP servers an agent supports, and the mcpServers of session/new, load, resume and fork. */
#ifndef MCP_DECLARE_H
#define MCP_DECLARE_H

#include "cmd/acp-mcp/mcp.h"

/* What the agent takes, by the result of its initialize. */
enum agent_kind declare_agent_kind(struct slice result, bool *v2);
/*
 * The change that makes that result say that it takes servers of type acp: *what of it is to be replaced by *with. 1 where
 * there is one, 0 where there is none, -1 out of memory.
 */
int declare_claim(struct slice result, bool v2, struct slice *what, struct buf *with);
/* May the servers that such a request declares need a change, once it is known what the agent takes? */
bool declare_any(const struct mcp *, const struct msg *request);
/* The change that the params of such a request need. As declare_claim. */
int declare_change(struct mcp *, const struct msg *request, struct slice *what, struct buf *with);

#endif
