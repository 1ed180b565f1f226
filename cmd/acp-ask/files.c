/* --fs: files for the agent, below the session's directory only. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"

void
files_refuse(struct ask *a, struct slice id, const char *path, int error)
{
	bool outside = error == EXDEV || error == ELOOP;

	ask_refuse(a, id, outside ? ACP_ERR_PARAMS : error == ENOENT ? ACP_ERR_NOT_FOUND : ACP_ERR_INTERNAL, "%s: %s", path,
		outside ? "outside of the session's directory" : strerror(error));
}

/* Makes the directories above a path that are missing. */
static void
make_parents(int root, const char *path)
{
	char *copy = strdup(path), *slash, *name;
	int at;

	need(copy ? 0 : -1);
	for (name = copy; (slash = strchr(name, '/')); name = slash + 1) {
		if (name > copy)
			name[-1] = '\0';
		at = name > copy ? system_open_beneath(root, copy, O_RDONLY | O_DIRECTORY, 0) : dup(root);
		*slash = '\0';
		if (at >= 0)
			mkdirat(at, name, 0777);
		proc_close(at);
		if (name > copy)
			name[-1] = '/';
	}
	free(copy);
}

int
files_open(const struct ask *a, const char *path, int flags)
{
	size_t n = strlen(a->cwd);
	const char *below = path + n;
	int root, fd;

	if (strncmp(path, a->cwd, n) != 0 || (*below && *below != '/' && n > 1)) {
		errno = EXDEV;
		return -1;
	}
	while (*below == '/')
		below++;
	root = open(a->cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = system_open_beneath(root, *below ? below : ".", flags | O_CLOEXEC, 0666);
	if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
		make_parents(root, below);
		fd = system_open_beneath(root, below, flags | O_CLOEXEC, 0666);
	}
	proc_close(root);
	return fd;
}

/* The lines from `line` on (from 1), at most `limit`. */
static struct slice
some_lines(struct slice text, uint64_t line, uint64_t limit)
{
	const char *p = text.p, *end = p + text.n, *from;

	for (; line > 1 && p < end; line--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	for (from = p; limit > 0 && p < end; limit--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	return text.n ? slice_between(from, p) : text;
}

/* Reads it. 0, or an error. */
static int
read_file(const struct ask *a, const char *path, struct buf *text)
{
	int fd = files_open(a, path, O_RDONLY | O_NONBLOCK), error = 0;
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else if (buf_read_all(text, fd, a->options->line_limit / 2) < 0)
		error = errno;
	else if (!json_utf8(buf_slice(text)))
		error = EILSEQ;
	close(fd);
	return error;
}

static int
write_file(const struct ask *a, const char *path, struct slice text)
{
	int fd = files_open(a, path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK), error = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	while (text.n && !error) {
		n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR)
			error = errno;
		text = n > 0 ? slice(text.p + n, text.n - (size_t)n) : text;
	}
	return close(fd) < 0 && !error ? errno : error;
}

void
files_serve(struct ask *a, const struct msg *m, bool writes)
{
	SCOPED struct buf path = {0}, text = {0}, room = {0}, result = {0};
	struct slice content = json_get_string(m->params, acp_content);
	uint64_t line, limit;
	int error;

	plain_of(json_get(m->params, "path"), &path);
	if (writes) {
		plain_of(content, &text);
		error = content.p ? write_file(a, path.p, buf_slice(&text)) : EINVAL;
		put(&result, "{}");
	} else {
		if (!json_u64(json_get(m->params, "line"), &line))
			line = 1;
		if (!json_u64(json_get(m->params, "limit"), &limit))
			limit = UINT64_MAX;
		error = read_file(a, path.p, &text);
		if (!error)
			put_object(&result, {"content", string_in(&room, some_lines(buf_slice(&text), line, limit))});
	}
	if (!a->options->quiet)
		show_note(a, "%s: %s%s%s", writes ? "write" : "read", path.p, error ? ": " : "", error ? strerror(error) : "");
	if (error)
		files_refuse(a, m->id, path.p, error);
	else
		ask_reply(a, m->id, buf_slice(&result));
}
