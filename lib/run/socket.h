/* socket: Unix sockets that only this user's processes may use. */
#ifndef SOCKET_H
#define SOCKET_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/bytes.h"

extern const size_t socket_path_size; /* the path of a socket must be shorter */

/* Listens at a path (mode 0600; accepting never blocks). The descriptor, or -1 with errno (ENAMETOOLONG: a hundred bytes are what fits). */
int socket_listen(const char *path);
/*
 * Accepts the next connection. -1 with errno: EAGAIN if there is none, or it was closed; EPERM where it was
 * another user's process, which has been turned away.
 */
int socket_accept(int listener);
/* Connects. -1 with errno. */
int socket_connect(const char *path);
/* The same without ever waiting, and the descriptor does not block. EAGAIN: somebody listens there, but takes nobody in. */
int socket_try(const char *path);

/* Two that are connected with each other. 0, or -1 with errno. */
int socket_pair(int ends[2]);

/*
 * Text and descriptors over a connection, also one that blocks: -1 with EAGAIN instead of waiting.
 *
 * Sends what finds room of the text, and with its first byte a copy of the descriptor (-1: none). The bytes sent, or -1
 * with errno.
 */
ssize_t socket_send(int socket, struct slice text, int fd);
/*
 * Reads once, appends it, and where a descriptor comes with it and *fd is -1, puts that there (close-on-exec; the
 * caller's); further ones are closed. The bytes read, 0 at the end, or -1 with errno: EMFILE where a descriptor came
 * that this process has no room for.
 */
ssize_t socket_receive(int socket, struct buf *to, int *fd);

#endif
