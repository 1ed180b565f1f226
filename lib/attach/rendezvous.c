#include "lib/attach/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"
#include "lib/run/socket.h"
#include "lib/run/system.h"

char *
rendezvous_directory(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	return runtime && *runtime ? bytes_printf("%s/acp", runtime) : bytes_printf("/tmp/acp-%lu", (unsigned long)geteuid());
}

int
rendezvous_check(const char *directory, bool make, const char **why)
{
	struct stat st;

	*why = NULL;
	if ((make && mkdir(directory, 0700) < 0 && errno != EEXIST) || lstat(directory, &st) < 0) {
		*why = strerror(errno);
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		*why = "not a directory";
	else if (st.st_uid != geteuid())
		*why = "another user's";
	else if (st.st_mode & 077)
		*why = "open to others (its mode has to be 0700)";
	errno = EPERM;
	return *why ? -1 : 0;
}

/* --- stale sockets and links --- */

static bool
has_type(const char *path, mode_t type)
{
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/*
 * Locks the directory against the user's other processes: without a lock, two that find the same stale socket could remove a new one that
 * has replaced it. A descriptor that holds the lock, or -1.
 */
static int
lock(void)
{
	char *directory = rendezvous_directory();
	const char *why;
	int fd = -1;

	/* In another directory another user could hold the lock for ever. */
	if (directory && rendezvous_check(directory, true, &why) == 0)
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	return fd;
}

/*
 * Removes the socket or link if it is stale. To be called with the lock, which a new socket's owner holds until it listens. Where a process
 * listens, returns a connection to it; else -1 with errno.
 */
static int
remove_stale(const char *path)
{
	bool is_link = has_type(path, S_IFLNK); /* checked before connecting, since a link that appears later is not stale */
	int fd = socket_connect(path, O_NONBLOCK);

	/* Files of other types are never removed. */
	if (fd < 0 && (is_link ? errno == ECONNREFUSED || errno == ENOENT : errno == ECONNREFUSED && has_type(path, S_IFSOCK)))
		unlink(path);
	return fd;
}

/* Is the path directly in the directory? A stale socket elsewhere may belong to another program. */
static bool
is_in_directory(const char *path)
{
	char *directory = rendezvous_directory(), *above = bytes_printf("%s%s", path[0] == '/' ? "" : "./", path);
	struct stat ours, its;
	bool in = false;

	if (directory && above) {
		strrchr(above, '/')[1] = '\0';
		in = stat(directory, &ours) == 0 && stat(above, &its) == 0 && ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
	}
	free(directory);
	free(above);
	return in;
}

int
rendezvous_connect(const char *path)
{
	int fd = socket_connect(path, O_NONBLOCK), locked, error = errno;

	if (fd < 0 && (error == ECONNREFUSED || error == ENOENT) && is_in_directory(path)) {
		locked = lock();
		fd = remove_stale(path);
		proc_close(locked);
	}
	errno = error;
	/* The link may lead to a path at which another user listens now. */
	if (fd >= 0 && !system_same_user(fd)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

/* --- listening --- */

int
rendezvous_listen(const char *path)
{
	int locked = lock(), fd = socket_listen(path), error;

	if (fd < 0 && errno == EADDRINUSE && has_type(path, S_IFSOCK)) {
		proc_close(remove_stale(path));
		fd = socket_listen(path);
	}
	error = errno == EADDRINUSE && !has_type(path, S_IFSOCK) ? EEXIST : errno;
	proc_close(locked);
	errno = error;
	return fd;
}

/* Removes the links in the directory of `name` that lead to the path: those of chains that listened there before. */
static void
unlink_others(const char *path, const char *name)
{
	char *directory = strndup(name, (size_t)(strrchr(name, '/') - name)), **paths = NULL, *to;

	if (directory)
		paths = directory_paths(directory);
	for (size_t i = 0; paths && paths[i]; i++) {
		to = has_type(paths[i], S_IFLNK) ? realpath(paths[i], NULL) : NULL;
		if (to && strcmp(to, path) == 0)
			unlink(paths[i]);
		free(to);
	}
	directory_free(paths);
	free(directory);
}

int
rendezvous_link(const char *path, const char *name)
{
	int fd;

	unlink_others(path, name);
	if (symlink(path, name) == 0)
		return 0;
	if (errno != EEXIST)
		return -1;
	/* rendezvous_connect removes a stale link or socket of that name. */
	fd = rendezvous_connect(name);
	proc_close(fd);
	errno = EADDRINUSE;
	return fd < 0 && !has_type(name, S_IFSOCK) && !has_type(name, S_IFLNK) ? symlink(path, name) : -1;
}

/* --- opening and closing --- */

static const char *
error_text(int error)
{
	return error == EADDRINUSE ? "another process listens there" : error == EEXIST ? "it exists and is not a socket" :
		error == ENAMETOOLONG ? "the path is too long for a socket" : strerror(error);
}

/* DIRECTORY/PID, after a check of the directory; the caller frees it. NULL with *why. */
static char *
make_name(pid_t pid, char **why)
{
	char *directory = rendezvous_directory(), *name = NULL;
	const char *wrong;

	if (directory && rendezvous_check(directory, true, &wrong) < 0)
		*why = bytes_printf("%s: %s", directory, wrong);
	else if (directory)
		name = bytes_printf("%s/%ld", directory, (long)pid);
	free(directory);
	return name;
}

/* Makes the link to a socket elsewhere. A failure only sets *why: the stream can still be attached to by its path. */
static void
make_link(struct rendezvous *r, pid_t pid, char **why)
{
	char *path = realpath(r->path, NULL);

	r->link = path ? make_name(pid, why) : NULL;
	if (r->link && rendezvous_link(path, r->link) < 0) {
		*why = bytes_printf("%s: %s", r->link, strerror(errno));
		free(r->link);
		r->link = NULL;
	}
	free(path);
}

int
rendezvous_open(struct rendezvous *r, const char *where, pid_t pid, char **why)
{
	bool automatic = strcmp(where, "auto") == 0;
	int fd;

	*why = NULL;
	*r = (struct rendezvous){.fd = -1, .path = automatic ? make_name(pid, why) : strdup(where)};
	fd = r->path ? rendezvous_listen(r->path) : -1;
	if (fd >= 0 && stat(r->path, &r->made) == 0)
		r->fd = proc_move_high(fd);
	if (r->fd < 0) {
		if (r->path)
			*why = strdup(error_text(errno));
		free(r->path);
		return -1;
	}
	/* In the directory of streams there is no link; whether that directory will be searched is checked all the same. */
	if (!automatic && !is_in_directory(r->path))
		make_link(r, pid, why);
	else if (!automatic)
		free(make_name(pid, why));
	return 0;
}

int
rendezvous_try(const char *where, char **why)
{
	bool automatic = strcmp(where, "auto") == 0;
	char *name = NULL;
	int fd = automatic ? -1 : rendezvous_listen(where);

	*why = NULL;
	if (automatic)
		name = make_name(getpid(), why);
	else if (fd >= 0)
		unlink(where);
	else
		*why = strdup(error_text(errno));
	proc_close(fd);
	free(name);
	return name || fd >= 0 ? 0 : -1;
}

void
rendezvous_close(struct rendezvous *r)
{
	struct stat st;

	if (r->fd < 0)
		return;
	if (stat(r->path, &st) == 0 && st.st_dev == r->made.st_dev && st.st_ino == r->made.st_ino)
		unlink(r->path);
	if (r->link)
		unlink(r->link);
	close(r->fd);
	r->fd = -1;
	free(r->path);
	free(r->link);
}
