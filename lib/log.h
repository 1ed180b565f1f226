/*
 * log: where a tool writes what it has to tell, so that nothing that happens to it (a full disk, a
 * reader that is slow or gone) ever stops the session. Whole records only.
 */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

#include "lib/bytes.h"

struct log;

struct log_spec {
	const char *path; /* expanded by strftime, %p being the pid; NULL: standard error */
	bool append;      /* take a lock and append; else truncate */
	/*
	 * Called when a file has been opened (again): what to begin with goes to `to`. resumed is the
	 * number of records that were lost since the last that was written, and why; then it is called
	 * for that alone. May be NULL.
	 */
	int (*begin)(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why);
	void *arg;
};

/* Opens it (files with mode 0600). NULL with errno; *name is the expanded name (the log's, or the caller's to free on failure). */
struct log *log_open(const struct log_spec *, char **name);
/* Adds a record; it is written at the next flush at the latest. */
void log_add(struct log *, struct slice record);
/* A place to build records in: whatever is appended counts as one record when log_mark is called. */
struct buf *log_buf(struct log *);
void log_mark(struct log *);
/*
 * Writes what was added with one write, if it can be written without waiting (to a file always).
 * Returns 0; -1 the first time that something was lost, with errno: say it once.
 */
int log_flush(struct log *);
/* Opens the file anew under its (newly expanded) name: for logrotate. 0, or -1 with errno, and goes on with the old one. */
int log_reopen(struct log *);
/* Is something waiting for a slow reader? Then watch this descriptor for POLLOUT and flush; -1: no. */
int log_waiting(const struct log *);
/* How many records were lost so far. */
uint64_t log_lost(const struct log *);
bool log_is_terminal(const struct log *);
/* Writes the rest, waits at most wait_ms for a slow reader, closes, frees. 0, or -1 where anything was ever lost. */
int log_close(struct log *, int wait_ms);

#endif
