/*
 * rendezvous: the directory where the user's running chains are found. For each it has a socket, or a symbolic link to a socket elsewhere.
 * A socket at which no process listens any more is stale; the process that finds it removes it.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The path of the directory: $XDG_RUNTIME_DIR/acp, by default /tmp/acp-UID. The caller frees it. NULL out of memory. */
char *rendezvous_directory(void);
/*
 * Checks that only this user can write to the directory, so that its sockets can be trusted. make: first creates it, if it does not exist.
 * 0, or -1 with errno (ENOENT: it does not exist) and the reason in *why, a static text.
 */
int rendezvous_check(const char *directory, bool make, const char **why);
/*
 * Connects to a socket without waiting. A non-blocking descriptor, or -1 with errno: ECONNREFUSED or ENOENT if no process listens there
 * (a stale socket or link in the directory has been removed); EAGAIN if the listener's queue is full; EPERM if the listener is another
 * user's.
 */
int rendezvous_connect(const char *path);

/* Listens at any path, and replaces a stale socket. The descriptor, or -1 with errno (EADDRINUSE: another process listens there). */
int rendezvous_listen(const char *path);
/*
 * Makes the symbolic link `name`, a path in the directory, to the caller's socket, whose real path is `path`. Replaces a stale link of the
 * name, and older links to the path. 0, or -1 with errno.
 */
int rendezvous_link(const char *path, const char *name);

/* A socket at which this process listens. */
struct rendezvous {
	int fd;           /* non-blocking, close-on-exec, above 7; -1: not open */
	char *path;
	char *link;       /* in the directory, to a socket elsewhere; or NULL */
	struct stat made; /* identifies the socket, as another process may have replaced it */
};

/*
 * Listens at the path `where`, or with "auto" at a socket in the directory that is named by pid. A socket elsewhere gets a link of that name
 * in the directory. A stale socket is replaced. 0, or -1 with the reason in *why, without the path. *why may be set with 0, too: the reason
 * why there is no link. The caller frees it; NULL out of memory.
 */
int rendezvous_open(struct rendezvous *, const char *where, pid_t pid, char **why);
/* Checks that rendezvous_open could listen at `where`, and removes the socket of the trial. 0, or -1 with *why as of rendezvous_open. */
int rendezvous_try(const char *where, char **why);
/* Removes socket and link, if they are still ours. */
void rendezvous_close(struct rendezvous *);

#endif
