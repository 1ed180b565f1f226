/*
 * io: reads and writes descriptors without blocking, and without O_NONBLOCK on them: the flag belongs to the open description, which
 * other processes share. A pipe is reopened where the system can do that (Linux). A socket is used with MSG_DONTWAIT. Terminals, and
 * pipes that cannot be reopened, are used only after poll reports them ready, with few bytes at a time. Files and devices such as
 * /dev/null never block.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "lib/base/bytes.h"

enum io_kind { IO_CLOSED, IO_PIPE, IO_SOCKET, IO_POLLED, IO_FILE };

/* TLS between a socket and its user. Results and errno are those of io_read and io_writev. */
struct io_layer {
	ssize_t (*read)(void *arg, void *to, size_t n);
	ssize_t (*write)(void *arg, const void *from, size_t n);
	void (*finish)(void *arg); /* called before the writing side is closed; or NULL */
	void *arg;
};

struct io {
	int fd; /* -1 when closed */
	enum io_kind kind;
	bool writing;
	bool lent; /* the other side still uses the descriptor: io_close leaves it open */
	const struct io_layer *layer; /* or NULL; to be set after io_open */
};

/* Takes over a descriptor for reading or, with `writing`, for writing, also where it fails. 0, or -1 with errno. */
int io_open(struct io *, int fd, bool writing);
/* As read, but never waits (-1 with EAGAIN). ECONNRESET, and a terminal that is gone, count as the end of input (0). */
ssize_t io_read(struct io *, void *, size_t);
/* As writev, but never waits (-1 with EAGAIN). */
ssize_t io_writev(struct io *, const struct iovec *, int);
/*
 * Copies at most n of the unread bytes of a pipe or socket, and leaves them unread. 0 at its end; -1 with errno: EAGAIN where it holds
 * none, ENOSYS for a pipe where the system is not Linux.
 */
ssize_t io_peek(int fd, void *, size_t n);
/*
 * Copies one end of a pipe, by which io_unread later finds the bytes that a dead reader left unread. The copy is of the write end where
 * a pipe can be reopened for reading (Linux): then the reader sees the end of its input only when the copy is closed, too. Else it is of
 * the read end. ends: read, write. The caller owns the copy; -1 with errno.
 */
int io_copy_end(const int ends[2]);
/* Appends all unread bytes of the pipe, and closes the copy (-1: there is none). 0, or -1 out of memory. */
int io_unread(int copy, struct buf *);
/*
 * Closes the descriptor. shut: first shuts down the sending side of a socket, which has to end the peer's input while we still read
 * from it. 0, or -1 with errno: written bytes may be lost.
 */
int io_close(struct io *, bool shut);
/* Are the two descriptors the same socket? */
bool io_same_socket(int a, int b);

#endif
