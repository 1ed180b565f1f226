/*
 * post: --post: a separate process reads lines from a pipe and sends them to a collector, so that the collector never delays the
 * stream. The pipe and the log that writes into the pipe (lib/run/log.h) are the queue.
 */
#ifndef POST_H
#define POST_H

#include <stdint.h>
#include <sys/types.h>

struct post_counts {
	uint64_t spans, reports; /* reports: lines of metrics */
};

/* Zero it to begin. */
struct post {
	pid_t pid;
	int fd;
	char path[32]; /* the end of the pipe that the log opens: /dev/fd/N */
	struct post_counts *taken; /* what the collector has taken; in memory shared with the process */
};

/*
 * Starts the process; to be called before other files are open. url: the collector's, without the path of the API; must stay valid.
 * grace: us that the process may go on after the pipe has ended. Returns 0; or an exit status, after a diagnostic.
 */
int post_start(struct post *, const char *tool, const char *url, uint64_t grace);
/* Ends the pipe, and waits for the process. all: what was written. 0; or EXIT_FAILED and a diagnostic if a part was not taken. */
int post_end(struct post *, const char *tool, const struct post_counts *all);

#endif
