/* replace: gives a file new contents, whole or not at all: they are written to a copy beside it, which then takes its name. */
#ifndef REPLACE_H
#define REPLACE_H

#include <sys/types.h>

#include "lib/base/bytes.h"

/* Zeroed it is closed. */
struct replace {
	char *path; /* symbolic links followed; NULL: closed */
	char *copy; /* the copy's name; NULL: there is none */
	int fd;     /* of the copy */
	int lock;   /* the file, so that no other process replaces it; -1: there is none yet */
};

/*
 * Finds and locks the file, which need not exist and must be none of the inputs (NULL-terminated, or NULL). 0, or -1 with
 * errno and *why as log_open has them (ENOTSUP: it is not a regular file).
 */
int replace_open(struct replace *, const char *path, char *const *inputs, char **why);
/* Makes an empty copy, with the file's mode, or where there is no file with `mode` less the umask. 0, or -1 with errno. */
int replace_begin(struct replace *, mode_t mode);
/*
 * The copy takes the file's place. keep: the old file remains as PATH~, and both survive a crash of the machine. 0, or -1
 * with errno: the file is as it was.
 */
int replace_end(struct replace *, bool keep);
/* Both, with these contents in between. 0, or -1 with errno. */
int replace_with(struct replace *, mode_t mode, struct slice contents);
/* Removes a copy that has not taken the file's place. */
void replace_close(struct replace *);

#endif
