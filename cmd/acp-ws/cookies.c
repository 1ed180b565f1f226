/* The cookies of a server's handshake, a line "NAME=VALUE" each, kept in a file from one connection to the next. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ws/ws.h"
#include "lib/run/replace.h"

/* Bytes of all of them: many servers take no longer header. */
enum { MOST = 8 * 1024 };

int
cookies_read(struct buf *jar, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	ssize_t n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	do {
		jar->n += (size_t)n;
		if (buf_reserve(jar, MOST / 4) < 0 || jar->n > MOST)
			error = jar->n > MOST ? EFBIG : ENOMEM;
		else if ((n = read(fd, jar->p + jar->n, MOST / 4)) < 0)
			error = errno;
	} while (!error && n > 0);
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

int
cookies_header(const struct buf *jar, struct buf *to)
{
	const char *p = jar->p, *end = p + jar->n, *next;

	for (; p < end; p = next + 1) {
		next = memchr(p, '\n', (size_t)(end - p));
		if (!next)
			next = end;
		if (next > p && ((to->n > 0 && buf_add_string(to, "; ") < 0) || buf_add_slice(to, slice_between(p, next)) < 0))
			return -1;
	}
	return 0;
}

/* The end of a line, its newline included. */
static char *
line_end(const struct buf *jar, char *p)
{
	char *end = jar->p + jar->n, *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline + 1 : end;
}

static void
forget_line(struct buf *jar, char *p)
{
	char *next = line_end(jar, p);

	jar->n -= (size_t)(next - p);
	memmove(p, next, (size_t)(jar->p + jar->n - p));
}

static void
forget(struct buf *jar, struct slice name)
{
	char *p = jar->p;

	while (p && p < jar->p + jar->n)
		if ((size_t)(line_end(jar, p) - p) > name.n && memcmp(p, name.p, name.n) == 0 && p[name.n] == '=')
			forget_line(jar, p);
		else
			p = line_end(jar, p);
}

/* One that says Max-Age=0 is to be deleted. */
static bool
is_over(const char *attributes)
{
	const char *age = strcasestr(attributes, "max-age=");

	return age && strtol(age + 8, NULL, 10) <= 0;
}

int
cookies_set(struct buf *jar, const char *header)
{
	size_t name, n;

	/* libwebsockets puts blanks before the second header of a name. */
	header += strspn(header, " ");
	name = strcspn(header, "=; ");
	n = strcspn(header, ";");
	if (header[name] != '=' || name == 0 || memchr(header, '\n', n))
		return 0;
	forget(jar, slice(header, name));
	if (is_over(header + n) || n + 2 > MOST)
		return 0;
	/* The oldest are first. */
	while (jar->n > 0 && jar->n + n + 2 > MOST)
		forget_line(jar, jar->p);
	return (jar->n > 0 && jar->p[jar->n - 1] != '\n' && buf_add(jar, "\n", 1) < 0) || buf_add(jar, header, n) < 0 ||
		buf_add(jar, "\n", 1) < 0 ? -1 : 0;
}

int
cookies_write(const struct buf *jar, const char *path)
{
	struct replace file = {0};
	char *why = NULL;
	int r = replace_open(&file, path, NULL, &why), error;

	if (r == 0)
		r = replace_with(&file, 0600, buf_slice(jar));
	error = errno;
	replace_close(&file);
	free(why);
	errno = error;
	return r;
}
