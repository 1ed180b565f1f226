/*
 * rendezvous: where this user's running chains are found: a directory with a socket for each, or a symbolic link to it.
 * A socket that has its name there listens. One at which nobody does any more is stale: it goes when it is found.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdbool.h>

/* $XDG_RUNTIME_DIR/acp, or where that is not set /tmp/acp-UID; the caller frees it. NULL out of memory. */
char *rendezvous_directory(void);
/*
 * Is the directory this user's alone, so that what lies in it can be trusted? make: makes it, where it is not there. 0,
 * or -1 and *why says why not, with errno (ENOENT: it is not there).
 */
int rendezvous_check(const char *directory, bool make, const char **why);
/* The paths of what lies in it, in the order of the names (numbers as numbers), NULL at the end. NULL with errno. */
char **rendezvous_paths(const char *directory);
void rendezvous_free(char **paths);
/*
 * Connects to one of them, without ever waiting. A descriptor that does not block, or -1 with errno: ECONNREFUSED where
 * nobody listens there, and it has been removed; EAGAIN where somebody does, but takes nobody in.
 */
int rendezvous_connect(const char *path);

/* Listens at a path, anywhere; a stale socket there is removed. The descriptor, or -1 with errno (EADDRINUSE: somebody listens there). */
int rendezvous_listen(const char *path);
/* Makes a link to the path in the directory, in the place of a stale one. 0, or -1 with errno. */
int rendezvous_link(const char *path, const char *name);

#endif
