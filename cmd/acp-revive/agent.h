/*
 * agent: the process of the agent, its three pipes, and the last lines of its standard error. What it has not read of its input can be
 * taken back after its end: what is queued, and what is still in the pipe.
 */
#ifndef AGENT_H
#define AGENT_H

#include "lib/run/endpoint.h"

struct agent {
	/* The owner's. */
	char *const *argv;
	size_t line_limit;
	struct loop *loop;
	bool (*line)(void *arg, enum input_got, const struct line *); /* of its standard output, as in struct endpoint */
	void (*changed)(void *arg);                                   /* something was read or written, or has ended */
	void *arg;

	/* To look at. */
	struct endpoint pipes;  /* its standard output and input */
	bool running;           /* it has not ended, or its output has not been read to the end */
	pid_t pid;
	int status;             /* as waitpid has it, where it has ended */
	const char *killed_for; /* why agent_kill ended it, or NULL */
	struct buf tail;        /* the last lines of its standard error */

	struct agent_process *process; /* agent.c's */
};

/* Starts it, again if it has ended. 0, or an exit status after a message on standard error. */
int agent_start(struct agent *);
/* Closes its input as soon as the queue is written. */
void agent_finish(struct agent *);
/* Sends a signal to its group. why: kept, for killed_for. */
void agent_kill(struct agent *, int signal, const char *why);
/* After its end: gives what it has not read, without the end of a line that it had partly read. 0, or -1 out of memory. */
int agent_take_unread(struct agent *, struct buf *to);
/* Ends its group and frees what it has. */
void agent_free(struct agent *);

#endif
