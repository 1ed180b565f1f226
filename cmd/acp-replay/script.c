#include "cmd/acp-replay/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/input.h"

/* As much is read again at once: what stands behind is likely to be next. */
enum { BLOCK = 128 * 1024 };

/* Copies all of a stream (-1: nothing) into a file without a name and closes it. The file, or -1 with errno. */
static int
spool(int from)
{
	FILE *to = tmpfile();
	char buf[INPUT_BLOCK];
	ssize_t r = -1;
	int fd = -1, error;

	while (to && (r = from < 0 ? 0 : read(from, buf, sizeof(buf))) != 0) {
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
	if (from >= 0)
		close(from);
	errno = error;
	return fd;
}

static int
open_file(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8) : open(path, O_RDONLY | O_CLOEXEC);
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
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? NULL : recording_open(fd, s->limit, s->hop);
	if (r && s->environment)
		recording_use_environment(r);
	return r;
}

int
script_open(struct script *s, const char *path, size_t limit, const char *hop, bool environment)
{
	*s = (struct script){.path = path, .hop = hop, .limit = limit, .environment = environment, .copies = -1};
	s->fd = open_file(path);
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
	if (s->fd >= 0)
		close(s->fd);
	if (s->copies >= 0)
		close(s->copies);
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

/* Puts the text of a document's record where it can be found again. */
static int
keep_copy(struct script *s, struct slice text, struct place *place)
{
	size_t done = 0;
	ssize_t r;

	if (s->copies < 0)
		s->copies = spool(-1);
	if (s->copies < 0)
		return -1;
	*place = (struct place){s->copied, (uint32_t)text.n, PLACE_COPY};
	while (done < text.n) {
		r = pwrite(s->copies, text.p + done, text.n - done, (off_t)(s->copied + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		done += (size_t)r;
	}
	s->copied += text.n;
	return 0;
}

int
script_place(struct script *s, const struct record *r, struct place *place)
{
	const char *p = r->text.p;

	if (r->offset == RECORDING_NOWHERE)
		return keep_copy(s, r->text, place);
	if (p >= r->raw.p && p + r->text.n <= r->raw.p + r->raw.n)
		*place = (struct place){r->offset + (uint64_t)(p - r->raw.p), (uint32_t)r->text.n, PLACE_TEXT};
	else
		*place = (struct place){r->offset, (uint32_t)r->raw.n, PLACE_RECORD};
	return 0;
}

/* Fills the block with at least n bytes from at on. */
static int
fill(struct script *s, int fd, uint64_t at, size_t n)
{
	size_t want = n > BLOCK ? n : BLOCK;
	ssize_t r;

	s->block.n = 0;
	s->at = at;
	s->from = fd;
	if (buf_reserve(&s->block, want) < 0)
		return -1;
	while (s->block.n < n) {
		r = pread(fd, s->block.p + s->block.n, want - s->block.n, (off_t)(at + s->block.n));
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
	int fd = p.kind == PLACE_COPY ? s->copies : s->fd;
	struct record r;

	if (p.n == 0) {
		*text = slice_of("");
		return 0;
	}
	if ((fd != s->from || p.at < s->at || p.at + p.n > s->at + s->block.n) && fill(s, fd, p.at, p.n) < 0)
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
