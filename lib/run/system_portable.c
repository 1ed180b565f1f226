/* What only the system can do, on others than Linux; nothing where POSIX has no way. */
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

#ifdef __linux__ /* where this is built for its tests only, and has no getpeereid */
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
unknown(void)
{
	errno = ENOSYS;
	return -1;
}

int
system_reopen(int fd, int flags)
{
	(void)fd;
	(void)flags;
	return unknown();
}

bool
system_same_user(int socket)
{
	uid_t user;
	gid_t group;

	return getpeereid(socket, &user, &group) == 0 && user == geteuid();
}

/* Component by component, none of which may be a link. */
int
system_open_beneath(int directory, const char *path, int flags, unsigned mode)
{
	char name[NAME_MAX + 1];
	int at = -1, next;
	struct stat st;
	size_t n;
	bool last;

	do {
		n = strcspn(path, "/");
		last = path[n] == '\0';
		errno = n > NAME_MAX ? ENAMETOOLONG : n == 2 && path[0] == '.' && path[1] == '.' ? EXDEV : 0;
		if (errno)
			return proc_close(at);
		memcpy(name, n ? path : ".", n ? n : 1);
		name[n ? n : 1] = '\0';
		next = openat(at < 0 ? directory : at, name, O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_RDONLY | O_DIRECTORY), mode);
		/* Where O_DIRECTORY meets a link, some systems report ENOTDIR. */
		if (next < 0 && !last && errno == ENOTDIR && fstatat(at < 0 ? directory : at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
		proc_close(at);
		at = next;
		path += n + !last;
	} while (at >= 0 && !last);
	return at;
}

ssize_t
system_copy_pipe(int from, int to, size_t n)
{
	(void)from;
	(void)to;
	(void)n;
	return unknown();
}

int
system_set_pipe_size(int fd, int size)
{
	(void)fd;
	(void)size;
	return unknown();
}

int
system_grow_pipe(int fd)
{
	(void)fd;
	return unknown();
}

/*
 * FIONREAD reports 0 at the write end of a pipe of a BSD; but a full pipe is not empty. At the read end, where poll knows nothing of
 * room, it reports what waits.
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
	return unknown();
}
