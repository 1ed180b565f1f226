/*
 * system: what Linux has for descriptors and other systems have not. system_linux.c or system_portable.c is built; nothing else
 * asks which system it is.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What poll shows of a socket to whose other side nobody writes any more; 0 where that shows only when all is read. */
extern const short system_hangup;

/* An open description of its own for what a descriptor is open for. -1 with errno where none can be had. */
int system_reopen(int fd, int flags);
/* Is the process at the other end of a local socket (of what connected: the one that listens) this user's? */
bool system_same_user(int socket);

/*
 * As openat, but nothing above the directory is reached: not by "..", not by a symbolic link. -1 with errno: EXDEV where it would be;
 * ELOOP where the system cannot follow links like that, and there is one.
 */
int system_open_beneath(int directory, const char *path, int flags, unsigned mode);

/* Copies what waits in a pipe to another, and takes nothing out. The bytes, or -1 with errno where that cannot be done. */
ssize_t system_copy_pipe(int from, int to, size_t n);
/* 0, or -1 where the wish is not granted. */
int system_set_pipe_size(int fd, int size);
/* Makes a pipe hold twice as much. 0, or -1 likewise. */
int system_grow_pipe(int fd);
/* How many of the bytes written to a pipe or socket its other side has not read, at least; 0 where that cannot be known. */
int system_unread(int fd);
/* The processor time that a process has used, us; 0 where that cannot be known. */
uint64_t system_cpu_time(pid_t);

/* A descriptor that can be read when something has been made in the directory, or moved there; it does not block. -1 with errno. */
int system_watch_directory(const char *path);

#endif
