/*
 * out: where a tool that reads files or watches a stream writes records: a log. Beside a stream it is the frame's, which never
 * stops anything; what is printed of files waits for its reader, as any filter does.
 */
#ifndef OUT_H
#define OUT_H

#include "lib/run/log.h"

struct out {
	struct log *log;
	const char *tool; /* its name, for diagnostics; NULL beside a stream */
};

/*
 * For who reads files: opens path (NULL: standard output), which must be none of the files (NULL-terminated). Ignores the
 * signals that would end us where it can not be written. tool: its name, for diagnostics, kept. 0; else the exit status, and
 * what is wrong has been reported.
 */
int out_open(struct out *, const char *tool, const char *path, bool append, char *const *files);
/*
 * Writes what is queued, waits and closes. Returns the exit status; EXIT_FAILED where anything was ever lost, which has been
 * reported. Where the status is a failure and nothing was written, the file stays as it was.
 */
int out_close(struct out *, int status);

/* A record is appended to this buffer and then marked or committed. */
struct buf *out_buf(struct out *);
/* What has been appended since the buffer had `before` bytes is a record; nothing is none. */
void out_end_record(struct out *, size_t before);
/* The same where it may not have been built: r is 0, or -1, and what has been appended of it is taken back and counts as lost. */
void out_commit(struct out *, size_t before, int r);
/* Writes what there is, and waits until it is written. */
void out_print(struct out *);
/* The same where there is enough for a write. */
void out_print_much(struct out *);
/* Can nothing be written any more? */
bool out_failed(const struct out *);

#endif
