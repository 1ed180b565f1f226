/*
 * io: descriptors that never block and whose flags are never touched: O_NONBLOCK belongs to the
 * open description, which neighbours share. A pipe is opened anew where the system can (Linux); a socket
 * is asked with MSG_DONTWAIT; what is left (terminals, a pipe that may not be opened) is asked only
 * when poll says so, a little at a time; a file or a device like /dev/null does not block.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "lib/base/bytes.h"

enum io_kind { IO_CLOSED, IO_PIPE, IO_SOCKET, IO_POLLED, IO_FILE };

/* What lies between a socket and the bytes: TLS. read and write as io_read and io_writev; finish (or NULL): all has been written. */
struct io_layer {
	ssize_t (*read)(void *arg, void *to, size_t n);
	ssize_t (*write)(void *arg, const void *from, size_t n);
	void (*finish)(void *arg);
	void *arg;
};

struct io {
	int fd; /* -1 when closed */
	enum io_kind kind;
	bool writing;
	bool lent; /* closing it leaves the descriptor open */
	const struct io_layer *layer; /* or NULL; set after it was opened */
};

/*
 * Takes over a descriptor to read from or to write to. The descriptor belongs to the io from now
 * on, whatever is returned: 0, or -1 with errno.
 */
int io_open(struct io *, int fd, bool writing);
/* Both as read and writev, but -1 with EAGAIN instead of waiting, and ECONNRESET read as end of input (0). */
ssize_t io_read(struct io *, void *, size_t);
ssize_t io_writev(struct io *, const struct iovec *, int);
/*
 * Copies at most n bytes of what a pipe or socket holds, which stay there. 0 at its end; -1 with errno: EAGAIN where it holds nothing,
 * and where only taking them out would show them (a pipe, where the system is not Linux).
 */
ssize_t io_peek(int fd, void *, size_t n);
/*
 * What its reader has not read of a pipe can be found when that has died: io_copy_end makes a copy of one of both ends for it (-1
 * with errno). That is the write end, so its owner closes it where the reader is to see the end of its input; or the read end, where
 * that cannot be opened anew. io_unread appends all that is there, and closes the copy (-1: none). 0, or -1 out of memory.
 */
int io_copy_end(const int ends[2]);
int io_unread(int copy, struct buf *);
/*
 * Closes it. With shut, a socket's sending side is shut down first: where the same socket is also
 * read from by us, closing alone would not end the other side's input. 0, or -1 with errno: what was written may be lost.
 */
int io_close(struct io *, bool shut);
/* Are the two descriptors the same socket? */
bool io_same_socket(int a, int b);

#endif
