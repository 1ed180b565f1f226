/*
 * post: --post: a process of its own sends what is written into its pipe to a collector, so that nothing that happens to the collector
 * delays the stream. The pipe and the log that writes it (lib/run/log.h) are the queue.
 */
#ifndef POST_H
#define POST_H

#include <stdint.h>
#include <sys/types.h>

struct post_counts {
	uint64_t spans, reports; /* reports: of metrics */
};

/* Zero it to begin. */
struct post {
	pid_t pid;
	int fd;
	char path[32]; /* for the log: the pipe's end */
	struct post_counts *taken; /* shared with the process: what the collector has taken */
};

/*
 * Starts the process, before anything else is open. url: the collector's, up to the path of the API; kept. grace: how long it may still
 * try when the pipe has ended, us. 0; else an exit status, and what is wrong has been reported.
 */
int post_start(struct post *, const char *tool, const char *url, uint64_t grace);
/* Ends the pipe, and waits until the process has ended. The exit status: EXIT_FAILED where not all was taken, which has been said. */
int post_end(struct post *, const char *tool, const struct post_counts *all);

#endif
