#include "lib/run/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/bytes.h"

enum { NAME_MOST = 64 * 1024 }; /* the longest expanded name */

/* Appends the path to `to`, with each %p replaced by the pid: a format for strftime. */
static int
put_pid(const char *path, struct buf *to)
{
	int r = 0;

	for (const char *p = path; *p && r == 0; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			r = buf_printf(to, "%ld", (long)getpid());
			p++;
		} else if (p[0] == '%' && p[1]) {
			r = buf_add(to, p++, 2);
		} else {
			r = buf_add(to, p, 1);
		}
	}
	return r;
}

char *
log_file_name(const char *path)
{
	SCOPED struct buf format = {0};
	time_t now = time(NULL);
	struct tm tm;
	char *name = NULL, *p, *slash;
	size_t cap, n = 0;

	if (!strchr(path, '%'))
		return strdup(path);
	/* strftime returns 0 for an empty result, and for one that does not fit. The added '.' excludes the former. */
	if (put_pid(path, &format) < 0 || buf_add(&format, ".", 1) < 0 || !buf_string(&format)
		|| !localtime_r(&now, &tm))
		return NULL;
	for (cap = 256; n == 0 && cap <= NAME_MOST; cap *= 2) {
		p = realloc(name, cap);
		if (!p)
			break;
		name = p;
		n = strftime(name, cap, format.p, &tm);
		errno = ENAMETOOLONG;
	}
	if (n == 0) {
		free(name);
		return NULL;
	}
	name[n - 1] = '\0';
	/* The directory may be named by a date, too. If it cannot be created, opening the file will fail. */
	slash = strrchr(name, '/');
	if (slash && slash > name) {
		*slash = '\0';
		mkdir(name, 0700);
		*slash = '/';
	}
	return name;
}

/* Does the file end with a newline, or is it empty? False where it cannot be read. */
static bool
ends_whole(const char *name, off_t size)
{
	char last = 0;
	int fd;

	if (size == 0)
		return true;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, size - 1) != 1)
		last = 0;
	close(fd);
	return last == '\n';
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
log_file_is_input(const struct stat *output, char *const *inputs)
{
	struct stat st;

	if (!S_ISREG(output->st_mode))
		return false;
	if (fstat(STDIN_FILENO, &st) == 0 && is_same(output, &st))
		return true;
	for (; inputs && *inputs; inputs++)
		if (stat(*inputs, &st) == 0 && is_same(output, &st))
			return true;
	return false;
}

int
log_file_lock(int fd)
{
	/* A file system without locks is accepted. */
	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -1 : 0;
}

int
log_file_prepare(int fd, const char *name, bool append, char *const *inputs, bool *torn)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && log_file_is_input(&st, inputs)) {
		errno = EINVAL;
		return -1;
	}
	if (log_file_lock(fd) < 0 || fstat(fd, &st) < 0)
		return -1;
	*torn = append && !ends_whole(name, st.st_size);
	return 0;
}

char *
log_file_why(const char *name)
{
	const char *why = errno == EINVAL ? "it is also an input" : errno == EWOULDBLOCK ? "it is already being written"
		: errno == ENOTSUP ? "it is not a regular file" : strerror(errno);

	return bytes_printf("%s: %s", name, why);
}
