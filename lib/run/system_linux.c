/* The functions of system.h on Linux. */
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/run/proc.h"
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

int
system_open_beneath(int directory, const char *path, int flags, unsigned mode)
{
	/* struct open_how, RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS of linux/openat2.h, which older systems lack. */
	struct {
		uint64_t flags, mode, resolve;
	} how = {(unsigned)flags, flags & O_CREAT ? mode : 0, 0x08 | 0x02};
	enum { OPENAT2 = 437 };

	return (int)syscall(OPENAT2, directory, path, &how, sizeof(how));
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

int
system_grow_pipe(int fd)
{
	int size = fcntl(fd, F_GETPIPE_SZ);

	return size < 0 ? -1 : system_set_pipe_size(fd, 2 * size);
}

/* SIOCOUTQ is for sockets, FIONREAD for pipes. */
int
system_unread(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) < 0 && ioctl(fd, FIONREAD, &n) < 0 ? 0 : n;
}

uint64_t
system_cpu_time(pid_t pid)
{
	clockid_t clock;
	struct timespec used;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

int
system_watch_directory(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	return fd < 0 || inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) >= 0 ? fd : proc_close(fd);
}
