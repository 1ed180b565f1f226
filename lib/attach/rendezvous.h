/*
 * rendezvous: where this user's running chains are found: a directory with a socket for each, or a symbolic link to it. A socket at
 * which no process listens any more is stale, and removed when it is found.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* $XDG_RUNTIME_DIR/acp, or where that is not set /tmp/acp-UID; the caller frees it. NULL out of memory. */
char *rendezvous_directory(void);
/*
 * Is the directory this user's alone, so that what lies in it can be trusted? make: makes it, where it is not there. 0,
 * or -1 and *why says why not, with errno (ENOENT: it is not there).
 */
int rendezvous_check(const char *directory, bool make, const char **why);
/*
 * Connects to one of them, without ever waiting. A descriptor that does not block, or -1 with errno: ECONNREFUSED or ENOENT if
 * no process listens there (in the directory, what was there has been removed); EAGAIN if one does, but accepts nobody; EPERM if it
 * is another user's.
 */
int rendezvous_connect(const char *path);

/* Listens at a path, anywhere; a stale socket there is removed. The descriptor, or -1 with errno (EADDRINUSE: somebody listens there). */
int rendezvous_listen(const char *path);
/*
 * Makes a link of this name (a path in the directory) to a socket at which the caller listens (its real path), in the place
 * of stale ones. 0, or -1 with errno.
 */
int rendezvous_link(const char *path, const char *name);

/* A socket at which this process listens, and is found. */
struct rendezvous {
	int fd;           /* accepting never blocks; close-on-exec, above the descriptors of a link; -1: not open */
	char *path;
	char *link;       /* from the directory to a socket elsewhere; NULL: there is none */
	struct stat made; /* the socket: by now another process's may have the name */
};

/*
 * Listens at a path, or, where that is "auto", in the directory, named by pid; a socket elsewhere gets a link of this name there.
 * A stale socket is replaced. 0, or -1 and *why says why not (the caller's to free; NULL out of memory): it does not name the path. Also with 0 there may
 * be a *why: why there is no link.
 */
int rendezvous_open(struct rendezvous *, const char *where, pid_t pid, char **why);
/* Could a process listen there? Tries, and leaves nothing; there is never a link. 0, or -1 and *why as above. */
int rendezvous_try(const char *where, char **why);
/* Removes socket and link, if they are still ours. */
void rendezvous_close(struct rendezvous *);

#endif
