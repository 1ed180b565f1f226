/*
 * Recordings. Most of their lines do not matter here, and those are stepped over without being
 * read: usage_find looks for the others in whole blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-usage/tool.h"
#include "lib/recording/operands.h"

enum { BLOCK = 64 * 1024, QUIET_MS = 2000, QUIET_US = QUIET_MS * 1000, LOOK_MS = 200 };

struct files {
	struct tool tool;
	struct operands in;
	struct recording *lines;
	int fd;
	char *data;
	size_t n, room;     /* what has been read and not been looked at */
	uint64_t offset;    /* of data in the file */
	bool skipping;      /* the rest of a line beyond the limit */
	uint64_t t;         /* of the last message */
};

/* Set by a signal while a file is followed. */
static volatile sig_atomic_t stopped;

static void
stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* 0, or -1 out of memory. */
static int
see_line(struct files *f, struct slice line, uint64_t offset, bool torn)
{
	struct usage_report usual;
	struct record r;
	int e;

	if (recording_peek(f->lines, line, &r) && usage_read_usual(r.text, &usual)) {
		f->tool.timed = r.timed;
		f->t = r.t;
		f->in.found = true;
		return usage_take(f->tool.usage, r.t, &usual);
	}
	e = recording_line(f->lines, line, 1, &r);
	if (e != 0)
		return e < 0 ? -1 : 0;
	switch (r.kind) {
	case RECORD_HEADER:
		return tool_begin(&f->tool, r.started);
	case RECORD_MESSAGE:
		f->tool.timed = r.timed;
		f->t = r.t;
		f->in.found = true;
		return tool_see(&f->tool, &(struct message){.from = r.from, .t = r.t, .line = r.text, .msg = r.msg}, NULL, NULL);
	case RECORD_BAD:
		r.number = 0;
		r.offset = offset;
		r.torn = torn;
		operands_report(&f->in, &r);
		return 0;
	default:
		return 0;
	}
}

static const char *
line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

/* Whole lines. */
static int
see_lines(struct files *f, const char *from, const char *end)
{
	const char *p, *hit = NULL, *begin, *after;

	for (p = from; p < end; p = after + 1) {
		begin = p;
		/* Until there is a message every line is read, so that it is known whether there is one. */
		if (!f->in.found)
			hit = p;
		else if (!hit || hit < p)
			hit = usage_find(&f->tool.words, p, end);
		if (usage_waits(f->tool.usage) && hit > (after = line_end(p, end))) {
			if (!usage_expects(f->tool.usage, slice_between(begin, after)))
				continue;
		} else if (hit == end) {
			return 0;
		} else {
			begin = memrchr(p, '\n', (size_t)(hit - p));
			begin = begin ? begin + 1 : p;
			after = line_end(hit, end);
		}
		if (see_line(f, slice_between(begin, after), f->offset + (uint64_t)(begin - f->data), false) < 0)
			return -1;
	}
	return 0;
}

static void
drop_front(struct files *f, size_t n)
{
	memmove(f->data, f->data + n, f->n - n);
	f->n -= n;
	f->offset += n;
}

/* Looks at the lines that are whole. */
static int
see_data(struct files *f, size_t fresh)
{
	char *newline = memrchr(f->data + f->n - fresh, '\n', fresh);
	const char *from = f->data;
	size_t whole;

	if (!newline) {
		if (f->n > f->tool.options->frame.limit) {
			if (!f->skipping)
				cli_warn(tool_name, "%s: byte %llu: a line longer than the limit", f->in.name, (unsigned long long)f->offset + 1);
			f->skipping = true;
			drop_front(f, f->n);
		}
		return 0;
	}
	whole = (size_t)(newline + 1 - f->data);
	if (f->skipping) {
		from = (char *)memchr(f->data, '\n', f->n) + 1;
		f->skipping = false;
	}
	if (see_lines(f, from, newline + 1) < 0)
		return -1;
	drop_front(f, whole);
	return 0;
}

static int
make_room(struct files *f)
{
	size_t room = f->room ? f->room * 2 : BLOCK;
	char *data;

	if (f->room - f->n >= BLOCK / 2)
		return 0;
	data = realloc(f->data, room);
	if (!data)
		return -1;
	f->data = data;
	f->room = room;
	return 0;
}

/* The last line, where it has no newline. */
static int
see_rest(struct files *f)
{
	int r = 0;

	if (f->n > 0 && !f->skipping && (!f->in.found || usage_may_matter(&f->tool.words, slice(f->data, f->n))
			|| usage_expects(f->tool.usage, slice(f->data, f->n))))
		r = see_line(f, slice(f->data, f->n), f->offset, true);
	drop_front(f, f->n);
	f->skipping = false;
	return r;
}

/* --- waiting --- */

static int
judge_quiet(struct files *f, bool all)
{
	uint64_t next, since = f->t > QUIET_US ? f->t - QUIET_US : 0;

	return usage_quiet(f->tool.usage, all ? UINT64_MAX : since, &next);
}

/* Shows what there is, and waits until there may be more. */
static int
wait_for_more(struct files *f)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	int n;

	out_print(&f->tool.out);
	n = poll(&p, 1, QUIET_MS);
	if (n < 0 && errno != EINTR)
		return -1;
	if (n != 0)
		return 0;
	if (f->tool.prom)
		prom_write(f->tool.prom, &f->tool, false);
	if (judge_quiet(f, true) < 0)
		return -1;
	out_print(&f->tool.out);
	return poll(&p, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

/* At the end of a file that is followed: 0 where there may be more, 1 where another one has its name, -1 with errno. */
static int
look_again(struct files *f, unsigned *rounds)
{
	struct stat now, ours;

	out_print(&f->tool.out);
	poll(NULL, 0, LOOK_MS);
	if (++*rounds == QUIET_MS / LOOK_MS && judge_quiet(f, true) < 0)
		return -1;
	if (f->tool.prom)
		prom_write(f->tool.prom, &f->tool, false);
	if (stat(f->in.name, &now) < 0 || fstat(f->fd, &ours) < 0)
		return 0;
	if (now.st_ino != ours.st_ino || now.st_dev != ours.st_dev)
		return 1;
	if ((uint64_t)ours.st_size < f->offset + f->n) {
		tool_warn(&f->tool, "%s: it has been truncated", f->in.name);
		f->n = 0;
		f->offset = 0;
		return lseek(f->fd, 0, SEEK_SET) < 0 ? -1 : 0;
	}
	return 0;
}

static int
reopen(struct files *f)
{
	int fd = open(f->in.name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (see_rest(f) < 0 || tool_begin(&f->tool, 0) < 0) {
		close(fd);
		return -1;
	}
	close(f->fd);
	f->fd = fd;
	f->offset = 0;
	return 0;
}

/* Reads all, and what is added where the file is followed. 0, or -1 with errno. */
static int
read_all(struct files *f, bool is_file)
{
	bool follow = f->tool.options->follow;
	unsigned rounds = 0;
	ssize_t n;
	int r;

	while (!stopped && !out_failed(&f->tool.out)) {
		if (make_room(f) < 0)
			return -1;
		if (!is_file && wait_for_more(f) < 0)
			return -1;
		n = read(f->fd, f->data + f->n, f->room - f->n);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -1;
		if (n > 0) {
			rounds = 0;
			f->n += (size_t)n;
			if (see_data(f, (size_t)n) < 0 || ((follow || !is_file) && judge_quiet(f, false) < 0))
				return -1;
			continue;
		}
		if (!follow || !is_file)
			break;
		r = look_again(f, &rounds);
		if (r < 0 || (r == 1 && reopen(f) < 0))
			return -1;
	}
	return see_rest(f);
}

static void
read_files(struct files *f)
{
	struct stat st;

	while (!out_failed(&f->tool.out) && (f->fd = operands_open(&f->in)) >= 0) {
		f->offset = 0;
		f->n = 0;
		if (fstat(f->fd, &st) < 0 || tool_begin(&f->tool, 0) < 0 || read_all(f, S_ISREG(st.st_mode)) < 0)
			operands_fail(&f->in);
		f->in.found |= stopped || out_failed(&f->tool.out);
		operands_judge(&f->in);
		close(f->fd);
	}
}

/* --- the order of files --- */

/* When the first recording in a file began; 0: not known. */
static double
started_at(const char *name)
{
	struct recording *lines = recording_of_lines(NULL);
	struct record r = {0};
	char text[4096];
	ssize_t n = -1;
	int fd = lines && strcmp(name, "-") != 0 ? open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

	if (fd >= 0) {
		n = pread(fd, text, sizeof(text), 0);
		close(fd);
	}
	if (n <= 0 || recording_line(lines, slice_between(text, line_end(text, text + n)), 1, &r) != 0 || r.kind != RECORD_HEADER)
		r.started = 0;
	recording_close(lines);
	return r.started;
}

struct operand {
	char *name;
	double started;
	size_t number;
};

static int
by_time(const void *a, const void *b)
{
	const struct operand *x = a, *y = b;

	if (x->started < y->started || x->started > y->started)
		return x->started < y->started ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* What crosses from one recording to the next needs them by time. Those that do not say when they began come first. */
static void
sort_files(char **files)
{
	struct operand *all;
	size_t n = 0, i;

	while (files[n])
		n++;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	for (i = 0; i < n; i++)
		all[i] = (struct operand){files[i], n > 1 ? started_at(files[i]) : 0, i};
	qsort(all, n, sizeof(*all), by_time);
	for (i = 0; i < n; i++)
		files[i] = all[i].name;
	free(all);
}

/* --- the output --- */

void
files_open_output(struct tool *t)
{
	const struct options *o = t->options;
	int status = out_open(&t->out, tool_name, t->prom ? NULL : o->frame.output, o->frame.append, o->inputs);

	if (status == 0 && t->prom)
		status = prom_open_file(t->prom, o->inputs);
	if (status)
		exit(status);
}

int
files_run(const struct options *o)
{
	struct files f = {.in = {.tool = tool_name, .files = o->frame.files}};
	struct sigaction action = {.sa_handler = stop};
	int status;

	if (tool_open(&f.tool, o, false) < 0)
		return EXIT_FAILED;
	f.lines = recording_of_lines(o->frame.hop);
	if (!f.lines)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	files_open_output(&f.tool);
	if (o->follow) {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
	}
	sort_files(o->frame.files);
	read_files(&f);
	tool_end(&f.tool);
	if (o->summary && summary_put(&f.tool) < 0)
		tool_fail(&f.tool, "out of memory");
	if (f.in.any)
		alerts_end(&f.tool);
	status = operands_close(&f.in);
	status = status ? status : f.tool.status;
	if (out_close(&f.tool.out) < 0 || f.tool.failed)
		status = EXIT_FAILED;
	recording_close(f.lines);
	tool_close(&f.tool);
	free(f.data);
	return status;
}
