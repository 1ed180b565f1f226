/*
 * system: functions of Linux for descriptors and processes that POSIX lacks. Either system_linux.c or system_portable.c is built; in the
 * latter a function that has no substitute fails with ENOSYS.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The event by which poll reports that a socket's peer sends no more, also while bytes are unread; 0 where there is none. */
extern const short system_hangup;

/* Opens the file of a descriptor again: a new open description, with flags of its own. -1 with errno. */
int system_reopen(int fd, int flags);
/* Does the process at the other end of a Unix socket belong to this user? */
bool system_same_user(int socket);

/*
 * As openat, but refuses a path that leaves the directory, by ".." or by a symbolic link. -1 with errno: EXDEV for such a path; ELOOP for
 * any link, where the system cannot check where it leads.
 */
int system_open_beneath(int directory, const char *path, int flags, unsigned mode);

/* Copies at most n unread bytes of a pipe to another pipe, and leaves them unread. The bytes copied, or -1 with errno. */
ssize_t system_copy_pipe(int from, int to, size_t n);
/* Sets how many bytes a pipe can hold. 0, or -1 with errno where the system refuses. */
int system_set_pipe_size(int fd, int size);
/* Doubles how many bytes a pipe can hold. 0, or -1 with errno where the system refuses. */
int system_grow_pipe(int fd);
/* A lower bound of the bytes in a pipe or socket that its reader has not read; 0 where the system cannot report them. */
int system_unread(int fd);
/* The processor time that a process has used, us; 0 where the system cannot report it. */
uint64_t system_cpu_time(pid_t);

/* A non-blocking descriptor that becomes readable when a file is created in the directory, or moved there. -1 with errno. */
int system_watch_directory(const char *path);

#endif
