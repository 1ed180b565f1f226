/* replace: replaces a file's contents atomically: they are written to a copy beside it, which is then renamed. */
#ifndef REPLACE_H
#define REPLACE_H

#include <sys/types.h>

#include "lib/base/bytes.h"

/* All zero it is closed. */
struct replace {
	char *path; /* symbolic links followed; NULL: closed */
	char *copy; /* the copy's name; NULL: there is none */
	int fd;     /* of the copy */
	int lock;   /* the locked file, which no other process may replace meanwhile; -1: there is no file yet */
};

/*
 * Finds and locks the file, if it exists. It must be none of the inputs (names, NULL-terminated, or NULL). 0, or -1 with errno (EINVAL,
 * EWOULDBLOCK as of log_open; ENOTSUP: it is not a regular file) and *why, which the caller frees.
 */
int replace_open(struct replace *, const char *path, char *const *inputs, char **why);
/* Makes an empty copy with the mode of the file or, where there is no file, with `mode` less the umask. 0, or -1 with errno. */
int replace_begin(struct replace *, mode_t mode);
/*
 * Renames the copy to the file's name. keep: the old file remains as PATH~, and both are synced to the disk. 0, or -1 with errno: the
 * file is unchanged.
 */
int replace_end(struct replace *, bool keep);
/* replace_begin, the contents, and replace_end without keep. 0, or -1 with errno. */
int replace_with(struct replace *, mode_t mode, struct slice contents);
/* Removes a copy that was not renamed, unlocks the file and frees. Preserves errno. */
void replace_close(struct replace *);

#endif
