/* socket: Unix sockets that only this user's processes may use. */
#ifndef SOCKET_H
#define SOCKET_H

/* Listens at a path (mode 0600; accepting never blocks). The descriptor, or -1 with errno (ENAMETOOLONG: a hundred bytes are what fits). */
int socket_listen(const char *path);
/*
 * Takes the next who has come. -1 with errno: EAGAIN where nobody has, or he has left; EPERM where it was
 * another user's process, which has been turned away.
 */
int socket_accept(int listener);
/* Connects. -1 with errno. */
int socket_connect(const char *path);
/* The same without ever waiting, and the descriptor does not block. EAGAIN: somebody listens there, but takes nobody in. */
int socket_try(const char *path);

#endif
