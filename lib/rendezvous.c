#include "lib/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/socket.h"

char *
rendezvous_directory(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path;
	int n;

	if (runtime && *runtime)
		n = asprintf(&path, "%s/acp", runtime);
	else
		n = asprintf(&path, "/tmp/acp-%lu", (unsigned long)geteuid());
	return n < 0 ? NULL : path;
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

static int
is_seen(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Makes the paths of n entries, which it frees. */
static char **
paths_of(const char *directory, struct dirent **entries, int n)
{
	char **paths = calloc((size_t)n + 1, sizeof(*paths));
	bool whole = paths;
	int i;

	for (i = 0; i < n; i++) {
		if (whole && asprintf(&paths[i], "%s/%s", directory, entries[i]->d_name) < 0) {
			paths[i] = NULL;
			whole = false;
		}
		free(entries[i]);
	}
	free(entries);
	if (whole)
		return paths;
	rendezvous_free(paths);
	return NULL;
}

char **
rendezvous_paths(const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_seen, versionsort);

	return n < 0 ? NULL : paths_of(directory, entries, n);
}

void
rendezvous_free(char **paths)
{
	size_t i;

	for (i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
}

/* --- what is stale --- */

static bool
has_type(const char *path, mode_t type)
{
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

int
rendezvous_connect(const char *path)
{
	int fd = socket_try(path);

	if (fd >= 0 || (errno != ECONNREFUSED && errno != ENOENT))
		return fd;
	/* What is neither is none of ours. */
	if (has_type(path, S_IFSOCK) || has_type(path, S_IFLNK))
		unlink(path);
	errno = ECONNREFUSED;
	return -1;
}

/* The name is taken. True where it was only a stale one's, and is free now. */
static bool
make_way(const char *path)
{
	int fd = rendezvous_connect(path);

	if (fd >= 0)
		close(fd);
	errno = EADDRINUSE;
	return fd < 0 && !has_type(path, S_IFSOCK) && !has_type(path, S_IFLNK);
}

/* --- listening --- */

/* A name beside the path, that nobody looks for. */
static char *
aside(const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path + 1) : 0;
	char *name;

	return asprintf(&name, "%.*s.%ld", folder, path, (long)getpid()) < 0 ? NULL : name;
}

static bool
place(const char *from, const char *path)
{
	if (link(from, path) == 0)
		return true;
	if (errno != EEXIST || !has_type(path, S_IFSOCK))
		return false;
	return make_way(path) && link(from, path) == 0;
}

/* It gets its name when it listens: before that it would look stale. */
int
rendezvous_listen(const char *path)
{
	char *name = aside(path);
	int fd, error;
	bool placed;

	if (!name)
		return -1;
	unlink(name);
	fd = socket_listen(name);
	placed = fd >= 0 && place(name, path);
	error = errno;
	if (fd >= 0)
		unlink(name);
	if (fd >= 0 && !placed)
		close(fd);
	free(name);
	errno = error;
	return placed ? fd : -1;
}

int
rendezvous_link(const char *path, const char *name)
{
	if (symlink(path, name) == 0)
		return 0;
	return errno == EEXIST && make_way(name) ? symlink(path, name) : -1;
}
