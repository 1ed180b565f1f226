#include "lib/run/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/run/io.h"
#include "lib/run/log_file.h"
#include "lib/run/loop.h"
#include "lib/run/proc_parts.h"

enum {
	KEEP = LOG_QUEUE, /* bytes: a larger buffer is freed once it is empty */
	NO_READER_MS = 10, /* how often a FIFO is checked for a reader */
};

/* An entry is written whole or not at all: a record, the texts that precede it (log_spec.begin), or both. */
struct entry {
	size_t end;     /* offset in log.text */
	bool record;    /* it has a record; at opening and closing an entry may have only the texts */
	bool newline;   /* it begins with the newline that the last record in the file lacks */
	bool header;    /* it has the text that begins the file */
	uint64_t lost;  /* the number of lost records that it reports */
};

struct log {
	struct log_spec spec;
	char *name;
	struct io io;
	bool ours;       /* io is a regular file that we opened, and may truncate */
	bool full;       /* the file is to be truncated, and still has its old contents */
	bool created;    /* the file did not exist before */
	enum { READER_OPEN, READER_AWAITED, READER_GONE } reader; /* awaited: a FIFO has none yet; gone: no more is written */
	dev_t dev;
	ino_t ino;
	struct buf text;
	struct entry *entries;
	size_t n, cap;
	size_t base;     /* offset in text of the first entry */
	size_t sent;     /* bytes of text that are written */
	bool torn;       /* the file ends within a record */
	bool headless;   /* the text that begins the file is still to be queued */
	uint64_t lost;   /* records, in all */
	uint64_t unrecorded; /* lost records that no queued or written entry reports */
	int error;       /* errno of the latest loss */
	bool loss_reported; /* log_flush has returned -1 */
};

/* --- the queue --- */

static size_t
entry_start(const struct log *l, size_t i)
{
	return i ? l->entries[i - 1].end : l->base;
}

/* The first entry that is not wholly written. */
static size_t
unsent(const struct log *l)
{
	size_t k = 0;

	while (k < l->n && l->entries[k].end <= l->sent)
		k++;
	return k;
}

static int
entries_grow(struct log *l)
{
	size_t cap = l->cap + l->cap / 2 + 16;
	struct entry *p = reallocarray(l->entries, cap, sizeof(*p));

	if (!p)
		return -1;
	l->entries = p;
	l->cap = cap;
	return 0;
}

static void
count_lost(struct log *l, uint64_t n, int error)
{
	l->lost += n;
	l->unrecorded += n;
	l->error = error;
}

/* Drops the entries from the k-th on. The texts that preceded their records have to be queued again. */
static void
lose_from(struct log *l, size_t k, int error)
{
	for (const struct entry *e = l->entries + k; e < l->entries + l->n; e++) {
		if (e->record)
			count_lost(l, 1, error);
		l->unrecorded += e->lost;
		l->headless |= e->header;
		l->torn |= e->newline;
		l->error = error;
	}
	l->text.n = entry_start(l, k);
	if (l->sent > l->text.n)
		l->sent = l->text.n;
	l->n = k;
}

static const char *
reason(int error)
{
	return error == EAGAIN ? "its reader is too slow" : strerror(error);
}

static bool
is_due(const struct log *l)
{
	return l->headless || l->unrecorded;
}

/* Inserts the due texts before the record that has begun: the beginning of the file, and the report of lost records. */
static int
insert_due(struct log *l, struct entry *e)
{
	const struct log_spec *s = &l->spec;
	size_t start = entry_start(l, l->n);
	SCOPED struct buf due = {0};

	if ((l->torn && buf_add(&due, "\n", 1) < 0) || (l->headless && s->begin && s->begin(s->arg, &due, false, 0, "") < 0) ||
		(l->unrecorded && s->begin && s->begin(s->arg, &due, true, l->unrecorded, reason(l->error)) < 0) ||
		buf_reserve(&l->text, due.n) < 0)
		return -1;
	if (due.n > 0) {
		memmove(l->text.p + start + due.n, l->text.p + start, l->text.n - start);
		memcpy(l->text.p + start, due.p, due.n);
	}
	l->text.n += due.n;
	e->newline = l->torn;
	e->header = l->headless;
	e->lost = l->unrecorded;
	l->torn = l->headless = false;
	l->unrecorded = 0;
	return 0;
}

/* Queues the due texts as an entry without a record. 0, or -1 out of memory: they stay due. */
static int
add_due(struct log *l)
{
	struct entry e = {.record = false};

	l->text.n = entry_start(l, l->n);
	if (!is_due(l))
		return 0;
	if ((l->n == l->cap && entries_grow(l) < 0) || insert_due(l, &e) < 0)
		return -1;
	e.end = l->text.n;
	l->entries[l->n++] = e;
	return 0;
}

/* Frees the entries that have been written. */
static void
forget_sent(struct log *l)
{
	size_t k = unsent(l), i;

	if (k > 0) {
		l->base = l->entries[k - 1].end;
		l->n -= k;
		memmove(l->entries, l->entries + k, l->n * sizeof(*l->entries));
	}
	if (l->n == 0) {
		l->text.n = l->base = l->sent = 0;
		if (l->text.cap > KEEP)
			buf_free(&l->text);
	} else if (l->base > l->text.n / 2) {
		memmove(l->text.p, l->text.p + l->base, l->text.n - l->base);
		l->text.n -= l->base;
		l->sent -= l->base;
		for (i = 0; i < l->n; i++)
			l->entries[i].end -= l->base;
		l->base = 0;
	}
}

struct buf *
log_buf(struct log *l)
{
	return &l->text;
}

bool
log_is_begun(const struct log *l)
{
	return l->text.n > entry_start(l, l->n);
}

void
log_end_record(struct log *l)
{
	size_t start = entry_start(l, l->n);
	struct entry *e;

	if (l->text.n > start && (l->n < l->cap || entries_grow(l) == 0)) {
		e = &l->entries[l->n];
		*e = (struct entry){.record = true};
		if (!is_due(l) || insert_due(l, e) == 0) {
			e->end = l->text.n;
			l->n++;
			return;
		}
	}
	l->text.n = start;
	count_lost(l, 1, ENOMEM);
}

void
log_add(struct log *l, struct slice record)
{
	l->text.n = entry_start(l, l->n);
	(void)buf_add_slice(&l->text, record); /* if it fails, log_end_record counts a loss */
	log_end_record(l);
}

/* --- the file --- */

/* Truncates the file before the first write to it. 0, or -1 with errno. */
static int
truncate_once(struct log *l)
{
	if (!l->full)
		return 0;
	l->full = false;
	return ftruncate(l->io.fd, 0);
}

/* Opens the file of that name in place of the open one. 1 where it is the open one; 0; or -1 with errno: the log is unchanged. */
static int
open_file(struct log *l, const char *name)
{
	struct io old = l->io;
	struct stat st;
	bool created = stat(name, &st) < 0, fifo = !created && S_ISFIFO(st.st_mode);
	int fd = proc_raise(open(name, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));

	if (fd < 0 && !(fifo && errno == ENXIO))
		return -1;
	/* ENXIO: the FIFO has no reader. Opening it would wait for one. */
	if (fd < 0) {
		l->reader = READER_AWAITED;
		io_close(&l->io, false); /* the file that was open before */
		return 0;
	}
	if (fstat(fd, &st) < 0)
		return proc_close(fd);
	if (old.kind != IO_CLOSED && st.st_dev == l->dev && st.st_ino == l->ino) {
		close(fd);
		return 1;
	}
	if (S_ISREG(st.st_mode) && log_file_prepare(fd, name, l->spec.append, l->spec.inputs, &l->torn) < 0)
		return proc_close(fd);
	l->ours = S_ISREG(st.st_mode);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	/* Its description has O_NONBLOCK and is ours alone: as IO_PIPE it is written without poll. */
	l->io = (struct io){.fd = fd, .kind = l->ours ? IO_FILE : IO_PIPE, .writing = true};
	l->full = l->ours && !l->spec.append;
	l->created = created;
	if (!l->spec.waits && truncate_once(l) < 0)
		return proc_close(fd);
	l->reader = READER_OPEN;
	io_close(&old, false);
	return 0;
}

static void
release(struct log *l)
{
	io_close(&l->io, false);
	free(l->name);
	free(l->entries);
	buf_free(&l->text);
	free(l);
}

struct log *
log_open(const struct log_spec *spec, char **why)
{
	struct log *l = calloc(1, sizeof(*l));
	int r = -1, error, fd;

	*why = NULL;
	if (!l)
		return NULL;
	l->spec = *spec;
	l->io = (struct io){.fd = -1, .kind = IO_CLOSED};
	l->headless = true;
	l->name = spec->path && !spec->plain ? log_file_name(spec->path)
		: strdup(spec->path ? spec->path : spec->waits || spec->output ? "standard output" : "standard error");
	if (l->name && spec->path) {
		r = open_file(l, l->name);
	} else if (l->name) {
		fd = proc_copy(spec->waits || spec->output ? STDOUT_FILENO : STDERR_FILENO);
		r = fd < 0 ? -1 : io_open(&l->io, fd, true);
	}
	if (r == 0 && add_due(l) == 0)
		return l;
	error = errno;
	if (l->name)
		*why = log_file_why(l->name);
	release(l);
	errno = error;
	return NULL;
}

/* --- writing --- */

/* Writes the queue. 0, or an errno: EAGAIN where the reader has no room. */
static int
write_queue(struct log *l)
{
	if (l->sent < l->text.n && truncate_once(l) < 0)
		return errno;
	while (l->sent < l->text.n) {
		struct iovec v = {l->text.p + l->sent, l->text.n - l->sent};
		ssize_t r = io_writev(&l->io, &v, 1);

		if (r < 0)
			return errno;
		if (r == 0)
			return EIO;
		l->sent += (size_t)r;
	}
	return 0;
}

/* Removes the last n written bytes from the file. False: it is no file of ours, or another process has written after them. */
static bool
cut_end(struct log *l, size_t n)
{
	off_t end = lseek(l->io.fd, 0, SEEK_CUR);
	struct stat st;

	return l->ours && end >= (off_t)n && fstat(l->io.fd, &st) == 0 && st.st_size == end
		&& ftruncate(l->io.fd, end - (off_t)n) == 0;
}

/* After a failed write: drops the entries that are not wholly written, and removes the part of one from the file. */
static void
lose_unsent(struct log *l, int error)
{
	size_t k = unsent(l), partial;

	partial = l->sent - entry_start(l, k);
	if (partial && cut_end(l, partial))
		partial = 0;
	lose_from(l, k, error);
	l->torn |= partial > 0;
}

/* Drops the entries beyond LOG_QUEUE, except one that is partly written. */
static void
lose_overflow(struct log *l)
{
	size_t k = unsent(l) + 1;

	while (k < l->n && l->entries[k].end - l->sent <= LOG_QUEUE)
		k++;
	if (k < l->n)
		lose_from(l, k, EAGAIN);
}

/* Writes no more: every further record is lost. */
static void
give_up(struct log *l, int error)
{
	io_close(&l->io, false);
	l->reader = READER_GONE;
	l->error = error;
}

static void
flush_queue(struct log *l)
{
	int error;

	l->text.n = entry_start(l, l->n);
	if (l->reader == READER_AWAITED && open_file(l, l->name) < 0)
		give_up(l, errno);
	if (l->reader == READER_GONE) {
		lose_from(l, 0, l->error);
		return;
	}
	error = l->reader == READER_AWAITED ? EAGAIN : write_queue(l);
	if (error == EAGAIN && !l->spec.waits)
		lose_overflow(l);
	else if (error && error != EAGAIN)
		lose_unsent(l, error);
	if (error == EPIPE)
		give_up(l, error);
	forget_sent(l);
}

int
log_flush(struct log *l)
{
	if (l->sent < l->text.n)
		flush_queue(l);
	if (l->lost == 0 || l->loss_reported)
		return 0;
	l->loss_reported = true;
	errno = l->error;
	return -1;
}

int
log_reopen(struct log *l, char **why)
{
	char *name;
	bool torn;
	int r;

	*why = NULL;
	if (!l->spec.path || l->reader != READER_OPEN)
		return 0;
	name = l->spec.plain ? strdup(l->spec.path) : log_file_name(l->spec.path);
	if (!name)
		return -1;
	add_due(l);
	flush_queue(l);
	torn = l->torn;
	l->torn = false;
	r = open_file(l, name);
	if (r != 0) {
		l->torn = torn;
		if (r < 0)
			*why = log_file_why(name);
		free(name);
		return r < 0 ? -1 : 0;
	}
	free(l->name);
	l->name = name;
	lose_from(l, 0, EAGAIN); /* these were for the old reader, which was too slow */
	l->headless = true;
	return 0;
}

int
log_waiting(const struct log *l)
{
	return l->sent < l->text.n && l->io.kind != IO_CLOSED ? l->io.fd : -1;
}

uint64_t
log_lost(const struct log *l)
{
	return l->lost;
}

const char *
log_why(const struct log *l)
{
	return reason(l->error);
}

const char *
log_name(const struct log *l)
{
	return l->name;
}

int
log_fd(const struct log *l)
{
	return l->io.fd;
}

void
log_wait(struct log *l, int wait_ms)
{
	uint64_t until = loop_clock() + (uint64_t)(wait_ms > 0 ? wait_ms : 0) * 1000, now;

	while ((l->reader == READER_AWAITED && l->sent < l->text.n) || log_waiting(l) >= 0) {
		struct pollfd p = {.fd = l->io.fd, .events = POLLOUT};
		int ms = -1;

		now = loop_clock();
		if (wait_ms >= 0 && now >= until)
			return;
		if (wait_ms >= 0)
			ms = (int)((until - now + 999) / 1000);
		/* poll cannot report that a FIFO has got its first reader. */
		if (l->reader == READER_AWAITED && (ms < 0 || ms > NO_READER_MS))
			ms = NO_READER_MS;
		if (poll(&p, 1, ms) < 0 && errno != EINTR)
			return;
		flush_queue(l);
	}
}

void
log_abandon(struct log *l)
{
	if (l->full && l->created)
		unlink(l->name);
	l->full = false;
}

int
log_close(struct log *l, int wait_ms)
{
	int error = 0;

	add_due(l);
	if (l->n)
		flush_queue(l);
	log_wait(l, wait_ms);
	lose_from(l, 0, EAGAIN);
	if (truncate_once(l) < 0)
		error = errno;
	if (l->lost || l->headless)
		error = l->error;
	/* A network file system may report the error of a write only here. */
	if (io_close(&l->io, false) < 0)
		error = errno;
	release(l);
	errno = error;
	return error ? -1 : 0;
}
