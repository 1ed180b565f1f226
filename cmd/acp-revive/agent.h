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
	struct loop_child child; /* its process */
	int status;             /* as waitpid has it, where it has ended */
	const char *killed_for; /* why agent_kill ended it, or NULL */
	struct buf tail;        /* the last lines of its standard error */

	struct agent_life {
		pid_t first;       /* the process id of the first agent, or 0 */
		bool ended;
		bool finishing;    /* its input is to end */
		struct loop_timer half_closed;
		struct endpoint errors;
		int unread;        /* a copy of an end of its input (io_copy_end), or -1 */
		uint64_t discarded; /* lines of standard error that found no room */
	} own;                     /* agent.c's */
};

/* Starts it, again if it has ended. 0, or an exit status after a message on standard error. */
int agent_start(struct agent *);
/* Has it not ended, or its output not been read to the end? */
bool agent_runs(const struct agent *);
/* Closes its input as soon as the queue is written. */
void agent_finish(struct agent *);
/* Sends a signal to its group. why: kept, for killed_for. */
void agent_kill(struct agent *, int signal, const char *why);
/* After its end: gives what it has not read, without the end of a line that it had partly read. 0, or -1 out of memory. */
int agent_get_unread(struct agent *, struct buf *to);
/* Ends its group and frees what it has. */
void agent_free(struct agent *);

#endif
