/* provide: commands of ours that are offered as servers of type acp. */
#ifndef MCP_PROVIDE_H
#define MCP_PROVIDE_H

#include "cmd/acp-mcp/mcp.h"

/* The one that has this id, or name (JSON strings), or NULL. */
const struct provided *provide_by_id(const struct mcp *, struct slice id);
const struct provided *provide_by_name(const struct mcp *, struct slice name);
/* Appends its declaration. 0, or -1 out of memory. */
int provide_put(const struct provided *, struct buf *to);
/* Starts it: its standard input and output are at *in and *out. Its pid, or -1; it has been said. */
pid_t provide_start(struct mcp *, const struct provided *, int *in, int *out);
/* Starts it on a socket, where it is left alone until the other side closes it. fd is taken over. */
void provide_serve(struct mcp *, const struct provided *, int fd);
/* Tells a command to end; waits for it, and kills it where it does not. */
void provide_end(const struct loop_child *);
void provide_bury(struct mcp *, struct loop_child *);
void provide_end_all(struct mcp *);

#endif
