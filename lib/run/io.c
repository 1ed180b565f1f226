#include "lib/run/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/proc.h"
#include "lib/run/system.h"

/* Is the descriptor ready for one of the events? With 0: has the other side hung up? */
static bool
is_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 0) > 0;
}

int
io_open(struct io *io, int fd, bool writing)
{
	struct stat st;
	int reopened;

	*io = (struct io){.fd = -1, .writing = writing};
	if (fstat(fd, &st) < 0)
		return -1;
	io->fd = fd;
	io->kind = IO_POLLED;
	/* /dev/null and the like never block; a terminal may. */
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd))) {
		io->kind = IO_FILE;
	} else if (S_ISSOCK(st.st_mode)) {
		io->kind = IO_SOCKET;
	} else if (S_ISFIFO(st.st_mode)) {
		/* The new description is ours alone. Without a reader it cannot be had for writing: then IO_POLLED reports EPIPE. */
		reopened = system_reopen(fd, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
		if (reopened >= 0 && !writing && is_ready(fd, 0)) {
			/* All writers are gone. A description that was opened after that would never report the end of a named pipe. */
			close(reopened);
		} else if (reopened >= 0) {
			close(fd);
			io->fd = reopened;
			io->kind = IO_PIPE;
		} else if (fd > STDERR_FILENO) {
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		}
	}
	return 0;
}

ssize_t
io_read(struct io *io, void *to, size_t n)
{
	ssize_t r;

	if (io->layer)
		return io->layer->read(io->layer->arg, to, n);
	do {
		if (io->kind == IO_POLLED && !is_ready(io->fd, POLLIN)) {
			errno = EAGAIN;
			return -1;
		}
		if (io->kind == IO_SOCKET)
			r = recv(io->fd, to, n, MSG_DONTWAIT);
		else
			r = read(io->fd, to, n);
	} while (r < 0 && errno == EINTR);
	/* A terminal that is gone reports EIO. */
	if (r < 0 && (errno == ECONNRESET || (errno == EIO && io->kind == IO_POLLED)))
		return 0;
	if (r < 0 && errno == EWOULDBLOCK)
		errno = EAGAIN;
	return r;
}

enum { PIPE_BYTES = 64 * 1024 /* bytes: what a new pipe holds */ };

ssize_t
io_peek(int fd, void *to, size_t n)
{
	int copy[2], size = PIPE_BYTES;
	ssize_t r = recv(fd, to, n, MSG_PEEK | MSG_DONTWAIT);

	if (r >= 0 || errno != ENOTSOCK || proc_pipe(copy) < 0)
		return r;
	/* The pipe may have been enlarged: the copy has to hold as much. */
	while (n > PIPE_BYTES && (size_t)size < n && system_grow_pipe(copy[1]) == 0)
		size *= 2;
	r = system_copy_pipe(fd, copy[1], n);
	if (r > 0)
		r = read(copy[0], to, (size_t)r);
	close(copy[0]);
	close(copy[1]);
	return r;
}

int
io_copy_end(const int ends[2])
{
	int reader = system_reopen(ends[1], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	proc_close(reader);
	return proc_copy(ends[reader < 0 ? 0 : 1]);
}

int
io_unread(int copy, struct buf *to)
{
	int fd = copy < 0 ? -1 : system_reopen(copy, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r = 0;
	struct io io = {.fd = -1};
	char bytes[4096];
	ssize_t n;

	if (copy >= 0 && io_open(&io, fd < 0 ? copy : fd, false) == 0)
		while (r == 0 && (n = io_read(&io, bytes, sizeof(bytes))) > 0)
			r = buf_add(to, bytes, (size_t)n);
	io_close(&io, false);
	if (fd >= 0)
		proc_close(copy);
	return r;
}

ssize_t
io_writev(struct io *io, const struct iovec *parts, int n)
{
	struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (__typeof__(m.msg_iovlen))n};
	ssize_t r;

	if (io->layer)
		return io->layer->write(io->layer->arg, parts->iov_base, parts->iov_len);
	do {
		if (io->kind == IO_POLLED && !is_ready(io->fd, POLLOUT)) {
			errno = EAGAIN;
			return -1;
		}
		if (io->kind == IO_SOCKET)
			r = sendmsg(io->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		else if (io->kind == IO_POLLED) /* poll promises room for PIPE_BUF bytes only */
			r = write(io->fd, parts->iov_base, parts->iov_len < PIPE_BUF ? parts->iov_len : PIPE_BUF);
		else
			r = writev(io->fd, parts, n);
	} while (r < 0 && errno == EINTR);
	if (r < 0 && errno == EWOULDBLOCK)
		errno = EAGAIN;
	return r;
}

int
io_close(struct io *io, bool shut)
{
	int fd = io->fd;

	if (io->kind == IO_CLOSED)
		return 0;
	if (io->layer && io->layer->finish && io->writing)
		io->layer->finish(io->layer->arg);
	if (shut && io->kind == IO_SOCKET && io->writing)
		shutdown(fd, SHUT_WR);
	io->fd = -1;
	io->kind = IO_CLOSED;
	return io->lent ? 0 : close(fd);
}

bool
io_same_socket(int a, int b)
{
	struct stat x, y;

	if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
		return false;
	return S_ISSOCK(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
