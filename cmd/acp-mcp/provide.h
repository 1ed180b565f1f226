/* provide: commands of --provide, which are offered as servers of type acp. */
#ifndef MCP_PROVIDE_H
#define MCP_PROVIDE_H

#include "cmd/acp-mcp/mcp.h"

/* Finds the server with this id, a JSON string. NULL: none. */
const struct provided *provide_by_id(const struct mcp *, struct slice id);
/* Is this connection id, a JSON string, one that this program makes for a server of --provide, now or before a restart? */
bool provide_by_connection(const struct mcp *, struct slice id);
/* Is there room for one more process of this server's command (--max-connections)? */
bool provide_may_start(const struct mcp *, const struct provided *);
/*
 * Starts a command on a shim's socket, so that they are connected directly until either ends. Takes ownership of fd. Reports
 * failures, and then closes fd.
 */
void provide_serve(struct mcp *, const struct provided *, int fd);

/* A command of --provide, running or not. */
struct command {
	struct command *next;
	struct mcp *mcp;
	const struct provided *what;
	struct loop_child child;
	struct loop_timer kill_timer;
	bool runs;
	int input;           /* a copy of its standard input, if another process can close that; else -1 */
	bool input_closed, signalled; /* how it was made to end */
	/* The owner's: called after the command has ended and was reaped. An end that acp-mcp did not cause has been reported. */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts the command with these as its standard input and output, which the caller still owns. Returns 0, or -1 (reported). */
int command_start(struct command *, int in, int out);
/*
 * Makes the command end: SIGTERM after two seconds, SIGKILL after two more. ours: acp-mcp has closed its input; else the command
 * has closed its output.
 */
void command_finish(struct command *, bool ours);
/* Ends all commands, those of provide_serve too, and waits at most 2 s for all together. Does not call `ended`. */
void provide_end_all(struct mcp *);

#endif
