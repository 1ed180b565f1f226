/*
 * log: where a tool writes its records, so that nothing that happens to it (a full disk, a
 * reader that is slow or gone) ever stops the session. Whole records only: what can not be written
 * is counted, never written by halves. SIGPIPE and SIGXFSZ have to be ignored.
 */
#ifndef LOG_H
#define LOG_H

#include <stdint.h>

#include "lib/base/bytes.h"

/* What may wait for a slow reader (or one record, if that is longer); records beyond it are lost. */
enum { LOG_QUEUE = 1024 * 1024 };

struct log;

struct log_spec {
	const char *path; /* expanded by strftime, %p being the pid; NULL: standard error (with waits, or output: output). It is kept, not copied */
	bool plain;       /* the path is a name as it is */
	bool output;
	bool waits;       /* nothing is lost to a slow reader: the tool waits for it (log_wait) */
	bool append;      /* else truncate: with waits not before the first record, or the end (log_abandon) */
	char *const *inputs; /* the names of files that are read, NULL-terminated, kept too; or NULL */
	/*
	 * Called when a file has been opened (again): what to begin with goes to `to`. resumed: lost
	 * is the number of records that were lost since the last that was written, and why says why;
	 * then it is called for that alone. A beginning that could not be written is asked for anew. 0,
	 * or -1 out of memory. May be NULL.
	 */
	int (*begin)(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why);
	void *arg;
};

/*
 * Opens it: a file (made with mode 0600 and locked), or a FIFO, a terminal, a device, of which nothing is
 * ever waited for. Neither standard input nor another input may be the file. NULL with errno (EINVAL: an input;
 * EWOULDBLOCK: another output has the lock), and *why is "NAME: what is wrong" (the caller frees it; NULL when out of memory).
 */
struct log *log_open(const struct log_spec *, char **why);
/* Adds a record; it is written at the next flush at the latest. */
void log_add(struct log *, struct slice record);
/*
 * A buffer to build records in: whatever is appended counts as one record when log_end_record is called.
 * Nothing appended means that the record could not be built: it is lost. What is not marked when
 * anything else is called is discarded.
 */
struct buf *log_buf(struct log *);
void log_end_record(struct log *);
/* Is something appended that is not marked yet? */
bool log_is_begun(const struct log *);
/*
 * Writes what was added with one write, if it can be written without waiting (to a file always).
 * Returns 0; -1 the first time that something was lost: say it once (log_why).
 */
int log_flush(struct log *);
/*
 * Opens the file anew under its (newly expanded) name: for logrotate. 0, or -1 with *why as above, and
 * goes on with the old one. Where the name is the old file's still, nothing happens.
 */
int log_reopen(struct log *, char **why);
/* Is something waiting for a slow reader? Then watch this descriptor for POLLOUT and flush; -1: no. */
int log_waiting(const struct log *);
/* Waits at most wait_ms (-1: as long as it takes) for a slow reader, or a FIFO's first, and writes to it. */
void log_wait(struct log *, int wait_ms);
/* How many records have been lost, and in words why the last of them was. */
uint64_t log_lost(const struct log *);
const char *log_why(const struct log *);
/* Its name now. */
const char *log_name(const struct log *);
/* What it writes to, to ask a terminal for its size; -1: nothing is open. */
int log_fd(const struct log *);
/* What it was to be written for has failed: where nothing has been written the file stays as it was. Then close it. */
void log_abandon(struct log *);
/*
 * Writes what is queued (log_wait), closes, frees. 0; -1 where anything was ever lost, with errno why the
 * last of it was.
 */
int log_close(struct log *, int wait_ms);

#endif
