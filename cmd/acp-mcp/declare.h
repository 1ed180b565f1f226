/* declare: which MCP servers an agent supports, and the mcpServers of session/new, load, resume and fork. */
#ifndef MCP_DECLARE_H
#define MCP_DECLARE_H

#include "cmd/acp-mcp/mcp.h"

/* Returns which MCP servers the agent supports, by the result of its initialize. Sets *v2: it speaks version 2 of ACP. */
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

#endif
