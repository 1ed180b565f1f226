/* The functions of system.h on systems other than Linux. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/proc.h"
#include "lib/run/system.h"

#ifdef __linux__ /* This file is built on Linux only for tests. Linux has no getpeereid. */
static int
getpeereid(int fd, uid_t *user, gid_t *group)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	int r = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);

	*user = peer.uid;
	*group = peer.gid;
	return r;
}
#endif

const short system_hangup = 0;

static int
unsupported(void)
{
	errno = ENOSYS;
	return -1;
}

int
system_reopen(int fd, int flags)
{
	(void)fd;
	(void)flags;
	return unsupported();
}

bool
system_same_user(int socket)
{
	uid_t user;
	gid_t group;

	return getpeereid(socket, &user, &group) == 0 && user == geteuid();
}

/* Opens the path component by component, and refuses symbolic links. */
int
system_open_beneath(int directory, const char *path, int flags, unsigned mode)
{
	char name[NAME_MAX + 1];
	int parent = -1, next;
	struct stat st;
	size_t n;
	bool last;

	do {
		n = strcspn(path, "/");
		last = path[n] == '\0';
		errno = n > NAME_MAX ? ENAMETOOLONG : n == 2 && path[0] == '.' && path[1] == '.' ? EXDEV : 0;
		if (errno)
			return proc_close(parent);
		memcpy(name, n ? path : ".", n ? n : 1);
		name[n ? n : 1] = '\0';
		next = openat(parent < 0 ? directory : parent, name, O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_RDONLY | O_DIRECTORY), mode);
		/* For a link some systems report ENOTDIR, because of O_DIRECTORY. */
		if (next < 0 && !last && errno == ENOTDIR && fstatat(parent < 0 ? directory : parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
		proc_close(parent);
		parent = next;
		path += n + !last;
	} while (parent >= 0 && !last);
	return parent;
}

ssize_t
system_copy_pipe(int from, int to, size_t n)
{
	(void)from;
	(void)to;
	(void)n;
	return unsupported();
}

int
system_set_pipe_size(int fd, int size)
{
	(void)fd;
	(void)size;
	return unsupported();
}

int
system_grow_pipe(int fd)
{
	(void)fd;
	return unsupported();
}

/*
 * FIONREAD reports the unread bytes only at the read end: on BSDs it reports 0 at the write end. There a pipe that poll does not report as
 * writable is full, and thus has at least one unread byte.
 */
int
system_unread(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int n = 0;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return ioctl(fd, FIONREAD, &n) < 0 ? 0 : n;
	return poll(&p, 1, 0) == 0;
}

uint64_t
system_cpu_time(pid_t pid)
{
	(void)pid;
	return 0;
}

int
system_watch_directory(const char *path)
{
	(void)path;
	return unsupported();
}
