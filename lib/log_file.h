/* log_file: the names and files of logs; for log alone. */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>

/* Descriptors below this are left to the stream: 6 and 7 are a link's. */
enum { LOG_FILE_LOWEST = 8 };

/* The name as of now, expanded by strftime, %p being the pid; the caller frees it. NULL with errno. */
char *log_file_name(const char *path);
/*
 * Opens it to append, without waiting for anything; makes a file with mode 0600. -1 with errno; *late: it is a FIFO that
 * nobody reads, which can not be opened without waiting.
 */
int log_file_open(const char *name, bool *late);
/*
 * Makes a regular file ready: locks it, where it is appended to, and tells in *torn whether it ends within a line; else
 * truncates it. 0, or -1 with errno (EWOULDBLOCK: somebody else has the lock).
 */
int log_file_prepare(int fd, const char *name, bool append, bool *torn);

#endif
