/*
 * log: a file, FIFO or terminal that a tool writes records to. A full disk, or a reader that is slow or gone, never stops the session:
 * records that cannot be written whole are dropped and counted as lost. SIGPIPE and SIGXFSZ have to be ignored.
 */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* Bytes that may be queued for a slow reader, or one record, if it is longer. Further records are lost. */
enum { LOG_QUEUE = 1024 * 1024 };

struct log;

struct log_spec {
	const char *path; /* kept, not copied; expanded by strftime, with %p for the pid; NULL: standard error, or standard output */
	bool plain;       /* the path is not expanded */
	bool output;      /* without a path: standard output, as with `waits` */
	bool waits;       /* no record is lost to a slow reader: the tool waits for the reader (log_wait) */
	bool append;      /* else the file is truncated: at once, or with `waits` before the first write or in log_close */
	char *const *inputs; /* names of files that the tool reads, NULL-terminated, kept, too; or NULL */
	/*
	 * Appends the text that precedes the next record to `to`. With resumed false the text begins a file that was opened or
	 * reopened. With resumed true it reports a gap: how many records were lost, and why. The log asks again for a text that
	 * it could not write. 0, or -1 out of memory. May be NULL.
	 */
	int (*begin)(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why);
	void *arg;
};

/*
 * Opens a file (created with mode 0600, and locked), a FIFO, a terminal or a device, without waiting for a reader. NULL with errno
 * (EINVAL: the file is standard input or one of spec->inputs; EWOULDBLOCK: another output has locked it) and in *why "NAME: reason",
 * which the caller frees (NULL when out of memory).
 */
struct log *log_open(const struct log_spec *, char **why);
/* Queues a record, which log_flush writes. */
void log_add(struct log *, struct slice record);
/* The buffer to append a record to, before log_end_record. Every other function of the log but log_is_begun discards an unended record. */
struct buf *log_buf(struct log *);
/* Queues the bytes that were appended to log_buf as one record. Where none were, a record counts as lost: it could not be built. */
void log_end_record(struct log *);
/* Does log_buf hold bytes of an unended record? */
bool log_is_begun(const struct log *);
/*
 * Writes the queued records with one write, as far as the reader has room (a file always has). 0; -1 with errno only the first time after a
 * loss, so that the caller reports it once (log_why).
 */
int log_flush(struct log *);
/*
 * Expands the path again and opens the file of that name, for logrotate. Has no effect where that is the open file. 0, or -1 with *why as
 * log_open has it: the log continues in the old file.
 */
int log_reopen(struct log *, char **why);
/* While bytes wait for a slow reader, the descriptor to watch for POLLOUT before log_flush; else -1. */
int log_waiting(const struct log *);
/* Writes the queue. Waits wait_ms at most (-1: without limit) for a slow reader, or for a FIFO's first reader. */
void log_wait(struct log *, int wait_ms);
/* How many records have been lost. */
uint64_t log_lost(const struct log *);
/* Why the last of them was lost, in words. */
const char *log_why(const struct log *);
/* The name of the open file; valid until log_reopen or log_close. */
const char *log_name(const struct log *);
/* The descriptor that the log writes to, for ioctls such as a terminal's size; -1: none is open. */
int log_fd(const struct log *);
/* To be called before log_close when the tool has failed: a file that has not been written keeps its old contents. */
void log_abandon(struct log *);
/* Writes the queue (log_wait), closes and frees the log. 0; -1 with errno if a record was ever lost, or closing failed. */
int log_close(struct log *, int wait_ms);

#endif
