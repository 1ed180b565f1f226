#include "lib/recording/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/input.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"

/* As much is read again at once: what stands after is likely to be next. */
enum { BLOCK = 128 * 1024 };

/* Copies all of a stream into a file without a name and closes it. The file, or -1 with errno. */
static int
spool(int from)
{
	FILE *to = tmpfile();
	char buf[INPUT_BLOCK];
	ssize_t r = -1;
	int fd = -1, error;

	while (to && (r = read(from, buf, sizeof(buf))) != 0) {
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 || fwrite(buf, 1, (size_t)r, to) != (size_t)r)
			break;
	}
	if (r == 0 && fflush(to) == 0)
		fd = fcntl(fileno(to), F_DUPFD_CLOEXEC, 8);
	error = errno;
	if (to)
		fclose(to);
	close(from);
	errno = error;
	return fd;
}

static int
open_file(const char *tool, const char *path)
{
	int fd = cli_open(tool, path, &path);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		close(fd);
		errno = EISDIR; /* fstat does not fail on what open has given */
		return -1;
	}
	return S_ISREG(st.st_mode) ? fd : spool(fd);
}

/* A reader with a position of its own, from the beginning. */
static struct recording *
reader(const struct script *s)
{
	struct recording *r;
	int fd = system_reopen(s->fd, O_RDONLY | O_CLOEXEC);

	/* Else one that shares the position, which nobody else of ours needs. */
	if (fd < 0 && lseek(s->fd, 0, SEEK_SET) == 0)
		fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	r = fd < 0 ? NULL : recording_open(fd, s->limit, s->hop);
	if (r && s->environment)
		recording_use_environment(r);
	return r;
}

int
script_open(struct script *s, const char *tool, const char *path, size_t limit, const char *hop, bool environment)
{
	*s = (struct script){.path = path, .hop = hop, .limit = limit, .environment = environment};
	s->fd = open_file(tool, path);
	if (s->fd < 0)
		return -1;
	s->reader = reader(s);
	s->again = recording_of_lines(hop);
	if (s->again && environment)
		recording_use_environment(s->again);
	return s->reader && s->again ? 0 : -1;
}

void
script_close(struct script *s)
{
	recording_close(s->reader);
	recording_close(s->again);
	buf_free(&s->block);
	proc_close(s->fd);
}

int
script_rewind(struct script *s)
{
	recording_close(s->reader);
	s->reader = reader(s);
	return s->reader ? 0 : -1;
}

int
script_next(struct script *s, struct record *r)
{
	struct record header;

	if (recording_next(s->reader, r) < 0)
		return -1;
	/* The names of the hops are told there. */
	if (r->kind == RECORD_HEADER && recording_line(s->again, r->raw, r->number, &header) < 0)
		return -1;
	return 0;
}

struct place
script_place(const struct record *r)
{
	const char *p = r->text.p;

	if (p >= r->raw.p && p + r->text.n <= r->raw.p + r->raw.n)
		return (struct place){r->offset + (uint64_t)(p - r->raw.p), (uint32_t)r->text.n, PLACE_TEXT};
	return (struct place){r->offset, (uint32_t)r->raw.n, PLACE_RECORD};
}

/* Fills the block with at least n bytes from at on. */
static int
fill(struct script *s, uint64_t at, size_t n)
{
	size_t want = n > BLOCK ? n : BLOCK;
	ssize_t r;

	s->block.n = 0;
	s->at = at;
	if (buf_reserve(&s->block, want) < 0)
		return -1;
	while (s->block.n < n) {
		r = pread(s->fd, s->block.p + s->block.n, want - s->block.n, (off_t)(at + s->block.n));
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			errno = EIO; /* somebody has cut the file */
		if (r <= 0)
			return -1;
		s->block.n += (size_t)r;
	}
	return 0;
}

int
script_read(struct script *s, struct place p, struct slice *text)
{
	struct record r;

	if (p.n == 0) {
		*text = slice_of("");
		return 0;
	}
	if ((p.at < s->at || p.at + p.n > s->at + s->block.n) && fill(s, p.at, p.n) < 0)
		return -1;
	*text = slice(s->block.p + (p.at - s->at), p.n);
	if (p.kind != PLACE_RECORD)
		return 0;
	if (recording_line(s->again, *text, 0, &r) != 0) {
		errno = EIO;
		return -1;
	}
	*text = r.text;
	return 0;
}
