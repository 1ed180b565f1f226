#include "lib/run/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/run/proc.h"
#include "lib/run/system.h"

enum { BACKLOG = 128, RECEIVED = 16 * 1024 };

const size_t socket_path_size = sizeof(((struct sockaddr_un *)NULL)->sun_path);

/* A buffer for the control message with one descriptor. */
union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Makes a new socket close-on-exec, and sets O_NONBLOCK as in flags: no other process shares its description. Returns fd, or -1. */
static int
set_flags(int fd, int flags)
{
	if (fd < 0 || (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, flags) == 0))
		return fd;
	return proc_close(fd);
}

/* Makes a socket with the flags of set_flags, and the address for the path. The socket, or -1 with errno. */
static int
new_socket(const char *path, int flags, struct sockaddr_un *address)
{
	size_t n = strlen(path);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address->sun_path, path, n + 1);
	return set_flags(socket(AF_UNIX, SOCK_STREAM, 0), flags);
}

int
socket_listen(const char *path)
{
	struct sockaddr_un address;
	int fd = new_socket(path, O_NONBLOCK, &address);

	/* Nobody can connect before it listens, and then the mode is set. */
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0))
		return proc_close(fd);
	return fd;
}

int
socket_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
		errno = EAGAIN;
	/* On BSDs a connection inherits the listener's O_NONBLOCK. */
	fd = set_flags(fd, 0);
	if (fd < 0 || system_same_user(fd))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

int
socket_connect(const char *path, int flags)
{
	struct sockaddr_un address;
	int fd = new_socket(path, flags, &address);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	return proc_close(fd);
}

int
socket_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -1;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

void
socket_shut(int socket)
{
	shutdown(socket, SHUT_RDWR);
}

ssize_t
socket_send(int socket, struct slice text, int fd)
{
	union control control = {.room = {0}};
	struct iovec part = {(void *)text.p, text.n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t r;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do
		r = sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r;
}

/* Stores the first received descriptor in *fd, if that is -1, and closes the others. Returns how many were received. */
static size_t
read_descriptors(struct msghdr *m, int *fd)
{
	size_t i, n, count = 0;
	int received;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(received);
		for (i = 0; i < n; i++) {
			memcpy(&received, CMSG_DATA(c) + i * sizeof(received), sizeof(received));
			fcntl(received, F_SETFD, FD_CLOEXEC);
			if (*fd < 0)
				*fd = received;
			else
				close(received);
		}
		count += n;
	}
	return count;
}

ssize_t
socket_receive(int socket, struct buf *to, int *fd)
{
	union control control;
	struct iovec part;
	struct msghdr m;
	ssize_t r;

	if (buf_reserve(to, RECEIVED) < 0)
		return -1;
	part = (struct iovec){to->p + to->n, RECEIVED};
	do {
		m = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
		r = recvmsg(socket, &m, MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -1;
	/* The kernel closes descriptors that do not fit. As one fits, none at all means that the process is at its limit. */
	if (read_descriptors(&m, fd) == 0 && (m.msg_flags & MSG_CTRUNC)) {
		errno = EMFILE;
		return -1;
	}
	to->n += (size_t)r;
	return r;
}
