/* log_file: the names and files of outputs; for log, out and replace alone. */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Descriptors below this are left to the stream: 6 and 7 are a link's. */
enum { LOG_FILE_LOWEST = 8 };

/* The name as of now, expanded by strftime, %p being the pid; what is expanded has its directory made, 0700. The caller frees it. NULL with errno. */
char *log_file_name(const char *path);
/* Is this regular file standard input, or one of these names of inputs (NULL-terminated, or NULL)? */
bool log_file_is_input(const struct stat *, char *const *inputs);
/* Locks an output until fd is closed. 0, or -1 with EWOULDBLOCK: somebody else has the lock. */
int log_file_lock(int fd);
/*
 * Makes a regular file ready, once no other process writes to it: where it is appended to, *torn says whether it ends
 * within a line. 0, or -1 with errno (EINVAL: it is an input; EWOULDBLOCK: it is locked).
 */
int log_file_prepare(int fd, const char *name, bool append, char *const *inputs, bool *torn);
/* "NAME: why it cannot be written", by errno; NULL out of memory. */
char *log_file_why(const char *name);

#endif
