#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/run/system.h"

const short system_hangup = POLLRDHUP;

int
system_reopen(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags);
}

bool
system_same_user(int socket)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

ssize_t
system_copy_pipe(int from, int to, size_t n)
{
	return tee(from, to, n, SPLICE_F_NONBLOCK);
}

int
system_set_pipe_size(int fd, int size)
{
	return fcntl(fd, F_SETPIPE_SZ, size) < 0 ? -1 : 0;
}

/* A pipe has the one, a socket the other. */
int
system_unread(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) < 0 && ioctl(fd, FIONREAD, &n) < 0 ? 0 : n;
}
