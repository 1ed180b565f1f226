/* log_file: opens and checks the files of outputs; only log.c, out.c and replace.c use it. */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Expands the path by strftime with the current time, and %p to the pid. Creates the last directory of an expanded name, mode 0700.
 * The caller frees the name. NULL with errno.
 */
char *log_file_name(const char *path);
/* Is it a regular file that is also standard input, or one of the inputs (names, NULL-terminated, or NULL)? */
bool log_file_is_input(const struct stat *, char *const *inputs);
/* Locks an output until fd is closed. 0, or -1 with EWOULDBLOCK: another process has the lock. */
int log_file_lock(int fd);
/*
 * Checks and locks a regular file before it is written. append: sets *torn if the file ends within a line. 0, or -1 with errno
 * (EINVAL: the file is an input; EWOULDBLOCK: another process has locked it).
 */
int log_file_prepare(int fd, const char *name, bool append, char *const *inputs, bool *torn);
/* "NAME: why it cannot be written", from errno. The caller frees it; NULL out of memory. */
char *log_file_why(const char *name);

#endif
