#include "lib/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

static int
address_of(const char *path, struct sockaddr_un *address)
{
	size_t n = strlen(path);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address->sun_path, path, n + 1);
	return 0;
}

static int
fail(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

int
socket_listen(const char *path)
{
	struct sockaddr_un address;
	int fd;

	if (address_of(path, &address) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Nobody can connect before it listens, and then the mode is set. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0)
		return fail(fd);
	return fd;
}

static int
same_user(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

int
socket_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
		errno = EAGAIN;
	if (fd < 0 || same_user(fd))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int
connect_to(const char *path, int flags)
{
	struct sockaddr_un address;
	int fd;

	if (address_of(path, &address) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	return fail(fd);
}

int
socket_connect(const char *path)
{
	return connect_to(path, 0);
}

int
socket_try(const char *path)
{
	return connect_to(path, SOCK_NONBLOCK);
}
