#include "cmd/acp-mcp/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/socket.h"

static const char template[] = "acp-mcp.XXXXXX";
/* Up to its X's. */
enum { PREFIX = sizeof(template) - sizeof("XXXXXX") };
/* What follows the directory in a socket's path, and how often another process may be in our way. */
enum { SOCKET_ROOM = sizeof(template) + sizeof("/1234567890"), TRIES = 100 };

/* The directory, locked; -1 where somebody holds it, or it is not this user's. */
static int
lock_directory(int in, const char *name)
{
	int fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	/* It may have been removed before we had the lock. */
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
		return fd;
	close(fd);
	return -1;
}

/* Calls fn for each entry of an open directory, which stays open. */
static void
each_entry(int dir, void (*fn)(int dir, const char *name))
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;

	if (!entries && copy >= 0)
		close(copy);
	while (entries && (e = readdir(entries)))
		fn(dir, e->d_name);
	if (entries)
		closedir(entries);
}

static void
remove_socket(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
		unlinkat(dir, name, 0);
}

/* One of ours whose process has died. */
static void
remove_stale(int in, const char *name)
{
	int fd;

	if (strlen(name) != strlen(template) || strncmp(name, template, PREFIX) != 0)
		return;
	fd = lock_directory(in, name);
	if (fd < 0)
		return;
	each_entry(fd, remove_socket);
	unlinkat(in, name, AT_REMOVEDIR);
	close(fd);
}

static void
clean(const char *in)
{
	int dir = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	each_entry(dir, remove_stale);
	close(dir);
}

static int
make(struct place *p, const char *in)
{
	struct buf path = {0};
	int tries;

	clean(in);
	for (tries = 0; tries < TRIES; tries++) {
		path.n = 0;
		if (buf_printf(&path, "%s/%s", in, template) < 0 || !buf_string(&path) || !mkdtemp(path.p))
			break;
		p->lock = lock_directory(AT_FDCWD, path.p);
		if (p->lock >= 0) {
			p->path = path.p;
			return 0;
		}
		/* Another process took it for a stale one; or there are no descriptors left. */
		rmdir(path.p);
	}
	buf_free(&path);
	return -1;
}

int
place_make(struct place *p, const char *in, struct buf *why)
{
	char *real = realpath(in, NULL);
	bool fits = real && strlen(real) + SOCKET_ROOM <= socket_path_size;
	int r = real ? make(p, fits ? real : "/tmp") : -1;

	if (r < 0)
		buf_printf(why, "%s: %s", real && !fits ? "/tmp" : in, strerror(errno));
	free(real);
	return r < 0 ? -1 : !fits;
}

void
place_remove(struct place *p)
{
	if (!p->path)
		return;
	rmdir(p->path);
	close(p->lock);
	free(p->path);
	p->path = NULL;
}
