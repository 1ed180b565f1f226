#include "lib/run/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/log_file.h"
#include "lib/run/proc.h"

/* Locks the file, if there is one. 0, or -1 with errno. */
static int
lock(struct replace *r, char *const *inputs)
{
	struct stat st;

	r->lock = open(r->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r->lock < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(r->lock, &st) == 0 && access(r->path, W_OK) == 0) {
		if (!S_ISREG(st.st_mode))
			errno = ENOTSUP;
		else if (log_file_is_input(&st, inputs))
			errno = EINVAL;
		else if (log_file_lock(r->lock) == 0)
			return 0;
	}
	/* r->lock >= 0 means locked. */
	return r->lock = proc_close(r->lock);
}

int
replace_open(struct replace *r, const char *path, char *const *inputs, char **why)
{
	*r = (struct replace){.fd = -1, .lock = -1};
	*why = NULL;
	r->path = realpath(path, NULL);
	/* /dev/stdout may lead to a pipe or to a removed file, which has no name: a rename would replace the symbolic link. */
	if (!r->path && errno == ENOENT && access(path, F_OK) == 0)
		errno = ENOTSUP;
	else if (!r->path && errno == ENOENT)
		r->path = strdup(path);
	if (r->path && lock(r, inputs) == 0)
		return 0;
	*why = log_file_why(path);
	replace_close(r);
	return -1;
}

static mode_t
mode_of(const struct replace *r, mode_t mode)
{
	struct stat st;
	mode_t mask;

	if (r->lock >= 0 && fstat(r->lock, &st) == 0)
		return st.st_mode & 07777;
	mask = umask(0);
	umask(mask);
	return mode & ~mask;
}

/* Removes the copy, if there is one. Preserves errno. */
static void
remove_copy(struct replace *r)
{
	int error = errno;

	if (r->copy)
		unlink(r->copy);
	free(r->copy);
	r->copy = NULL;
	r->fd = proc_close(r->fd);
	errno = error;
}

int
replace_begin(struct replace *r, mode_t mode)
{
	char *name;

	/* Another process may have created the file since replace_open. */
	if (r->lock < 0 && lock(r, NULL) < 0)
		return -1;
	remove_copy(r); /* of an earlier attempt that failed */
	name = bytes_printf("%s.XXXXXX", r->path);
	r->fd = name ? mkostemp(name, O_CLOEXEC) : -1;
	if (r->fd < 0) {
		free(name);
		return -1;
	}
	r->copy = name;
	if (fchmod(r->fd, mode_of(r, mode)) == 0)
		return 0;
	remove_copy(r);
	return -1;
}

/* Gives the old file the second name PATH~, after the copy is on the disk. 0, or -1 with errno. */
static int
keep_old(const struct replace *r)
{
	char *old;
	int e = -1;

	if (fsync(r->fd) < 0)
		return -1;
	if (r->lock < 0)
		return 0;
	old = bytes_printf("%s~", r->path);
	if (old) {
		unlink(old);
		/* A file system without hard links: the file is renamed. */
		e = link(r->path, old) < 0 ? rename(r->path, old) : 0;
	}
	free(old);
	return e;
}

/* Writes the directory with the new names to the disk, as far as the system can. */
static void
sync_directory(const struct replace *r)
{
	char *slash = strrchr(r->path, '/');
	size_t n = slash ? (size_t)(slash - r->path) + 1 : 0;
	char *name = n ? strndup(r->path, n) : strdup(".");
	int fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	free(name);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int
replace_end(struct replace *r, bool keep)
{
	if ((keep && keep_old(r) < 0) || log_file_lock(r->fd) < 0 || rename(r->copy, r->path) < 0) {
		remove_copy(r);
		return -1;
	}
	free(r->copy);
	r->copy = NULL;
	proc_close(r->lock);
	r->lock = r->fd;
	r->fd = -1;
	if (keep)
		sync_directory(r);
	return 0;
}

int
replace_with(struct replace *r, mode_t mode, struct slice contents)
{
	ssize_t n;

	if (replace_begin(r, mode) < 0)
		return -1;
	while (contents.n) {
		n = write(r->fd, contents.p, contents.n);
		if (n < 0 && errno != EINTR)
			return -1;
		contents = n > 0 ? slice(contents.p + n, contents.n - (size_t)n) : contents;
	}
	return replace_end(r, false);
}

void
replace_close(struct replace *r)
{
	int error = errno;

	if (!r->path)
		return;
	remove_copy(r);
	proc_close(r->lock);
	free(r->path);
	*r = (struct replace){.fd = -1, .lock = -1};
	errno = error;
}
