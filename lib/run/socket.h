/* socket: Unix sockets for the processes of one user. */
#ifndef SOCKET_H
#define SOCKET_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/bytes.h"

extern const size_t socket_path_size; /* the path of a socket must be shorter */

/* Listens at a path, mode 0600. The descriptor, which does not block, or -1 with errno (ENAMETOOLONG: see socket_path_size). */
int socket_listen(const char *path);
/* Accepts the next connection. -1 with errno: EAGAIN where none waits; EPERM where another user's process connected: it is closed. */
int socket_accept(int listener);
/*
 * Connects. flags: 0, or O_NONBLOCK: never waits for the listener (EAGAIN: its queue is full), and the descriptor does not block. The
 * descriptor, or -1 with errno.
 */
int socket_connect(const char *path, int flags);

/* Makes two sockets that are connected with each other, close-on-exec. 0, or -1 with errno. */
int socket_pair(int ends[2]);

/* Ends both directions for all processes that have the socket. (FreeBSD's <sys/socket.h>, which has shutdown, takes names of lib/acp.) */
void socket_shut(int socket);

/*
 * Sends as much of the text as there is room for, and with its first byte a copy of the descriptor (-1: none). Never waits. The bytes
 * sent, or -1 with errno (EAGAIN: there is no room).
 */
ssize_t socket_send(int socket, struct slice text, int fd);
/*
 * Reads once, without waiting, and appends the bytes. If *fd is -1, a received descriptor is stored there, close-on-exec, and belongs to
 * the caller; further descriptors are closed. The bytes read, 0 at the end, or -1 with errno: EAGAIN; EMFILE where this process had no
 * free number for a descriptor.
 */
ssize_t socket_receive(int socket, struct buf *to, int *fd);

#endif
