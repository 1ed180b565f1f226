/*
 * out: the output of a tool that watches: a log. On a live stream the log is the frame's, and a slow reader never delays the session. A
 * tool that reads files waits for its reader, as Unix filters do.
 */
#ifndef OUT_H
#define OUT_H

#include "lib/run/log.h"

struct out {
	struct log *log;
	const char *tool; /* its name, for diagnostics; NULL on a live stream */
};

/*
 * For tools that read files: opens path (NULL: standard output), which must be none of the files (NULL-terminated). With a path SIGPIPE and
 * SIGXFSZ are ignored. tool: the name for diagnostics, kept. 0; or the exit status, after a diagnostic.
 */
int out_open(struct out *, const char *tool, const char *path, bool append, char *const *files);
/*
 * Writes the queue, waits for the reader and closes. Returns status; or EXIT_FAILED, after a diagnostic, if a record was ever lost. Where
 * status is a failure, a file that has not been written keeps its old contents.
 */
int out_close(struct out *, int status);

/* The buffer to append a record to, before out_end_record or out_commit. */
struct buf *out_buf(struct out *);
/* Ends the record that was appended since the buffer had `before` bytes, if there are bytes. */
void out_end_record(struct out *, size_t before);
/* As out_end_record if r is 0. If r is -1 the record could not be built: its bytes are removed, and it counts as lost. */
void out_commit(struct out *, size_t before, int r);
/* Writes the queue, and waits for the reader. */
void out_print(struct out *);
/* As out_print, once the queue has enough bytes for a large write. */
void out_print_if_large(struct out *);
/* Has a record been lost? */
bool out_has_lost(const struct out *);

#endif
