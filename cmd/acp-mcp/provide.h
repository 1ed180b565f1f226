/* provide: commands of ours that are offered as servers of type acp. */
#ifndef MCP_PROVIDE_H
#define MCP_PROVIDE_H

#include "cmd/acp-mcp/mcp.h"

/* The one that has this id (a JSON string), or NULL. */
const struct provided *provide_by_id(const struct mcp *, struct slice id);
/* Has one of ours called a connection this (a JSON string), now or in an earlier life? */
bool provide_by_connection(const struct mcp *, struct slice id);
/* Appends its declaration. 0, or -1 out of memory. */
int provide_put(const struct provided *, struct buf *to);
/*
 * Serves a shim of the agent's: a command is started on its socket and left alone until either ends. fd is taken
 * over. What goes wrong is said; the shim sees the end.
 */
void provide_serve(struct mcp *, const struct provided *, int fd);

/* A command that runs. */
struct command {
	struct command *next;
	struct mcp *mcp;
	const struct provided *what;
	struct loop_child child;
	struct loop_timer kill_timer;
	bool runs;
	int input;           /* its standard input, where another process may have ended it: our copy; else -1 */
	bool input_closed, signalled; /* how it was made to end */
	/* The owner's: it has ended and is buried; where we had not ended it, that has been reported. */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts it with these as its standard input and output; they stay the caller's. 0; -1: not started, it has been said. */
int command_start(struct command *, int in, int out);
/* It is to end, for we have ended its input, or its output has ended: it gets two seconds, and then signals. */
void command_finish(struct command *, bool ours);
/* Ends all of them, those of provide_serve too, and waits for it: not long, and for all together. No owner is told. */
void provide_end_all(struct mcp *);

#endif
