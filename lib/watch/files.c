/* Reads recordings from files, growing files and pipes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/watch/watch_parts.h"

enum { LOOK = 200000 /* us between looks at a file's end */ };

struct files {
	struct watch *w;
	struct loop *loop;
	struct input in;
	struct recording *lines;
	struct loop_fd fd;
	struct loop_timer timer;
	bool regular, stopped; /* stopped: by a signal */
	bool begun, cut;       /* begun: a recording has begun, and not ended; cut: it may go on in another file */
	bool fresh;            /* no record of the file was handled */
	double started;        /* s since 1970, from the header */
	uint64_t t, waited;    /* t: of the last message; waited: us at the end of the file */
};

static void
caught(void *arg, int signal)
{
	struct files *f = arg;

	if (f->w->signal && signal != SIGINT && signal != SIGTERM)
		f->w->signal(f->w, signal);
	else
		f->stopped = true;
	loop_stop(f->loop);
}

/* --- records --- */

/* Begins a file, or a recording at its header. The recording before ends, unless this is its next part. */
static void
begin(struct files *f, const struct record *r)
{
	struct watch_start start = {.name = f->w->file};

	if (r->kind == RECORD_HEADER) {
		start.started = r->started;
		start.header = r->raw;
		start.continues = r->continues;
		start.selected = r->selected;
	}
	start.same = f->begun && start.continues && start.started == f->started;
	if (f->begun && !start.same)
		watch_end(f->w, f->cut ? WATCH_CUT : f->fresh ? WATCH_OVER : WATCH_HEADER);
	f->begun = true;
	f->cut = f->fresh = false;
	f->started = start.started;
	watch_begin(f->w, &start);
}

static int
read_line(struct files *f, enum input_got got, const struct line *line)
{
	struct watch *w = f->w;
	struct record r;
	int e = watch_line(f->lines, got, line, &r);

	if (e)
		return e < 0 ? -1 : 0;
	w->timed = r.timed;
	w->number = r.number;
	if (r.kind == RECORD_BAD && !w->takes_bad)
		operands_report(&w->operands, &r);
	else if (r.kind == RECORD_BAD)
		watch_event(w, &r);
	if (r.kind == RECORD_BAD || (r.kind == RECORD_OTHER && !r.rotated))
		return 0;
	if (r.kind == RECORD_HEADER || f->fresh)
		begin(f, &r);
	if (r.kind == RECORD_HEADER)
		return 0;
	w->operands.found |= r.kind == RECORD_MESSAGE || (w->counts_events && r.kind != RECORD_OTHER);
	f->t = r.t;
	f->cut = r.rotated || (f->cut && r.kind != RECORD_MESSAGE);
	watch_record(w, &r);
	return 0;
}

/* Skips the lines of the block that do not matter to the tool. */
static void
skip(struct files *f)
{
	struct input *in = &f->in;
	const char *from = in->block ? in->block->data + in->start : NULL, *end = from ? in->block->data + in->end : NULL, *hit;

	if (!f->w->find || !f->w->operands.found || from == end || in->over)
		return;
	end = memrchr(from, '\n', (size_t)(end - from));
	if (!end)
		return;
	hit = f->w->find(f->w, from, end + 1);
	hit = hit > from ? memrchr(from, '\n', (size_t)(hit - from)) : NULL;
	if (!hit)
		return;
	for (const char *line = from; line <= hit; line = (const char *)memchr(line, '\n', (size_t)(hit + 1 - line)) + 1)
		in->lines++;
	f->w->offset += (uint64_t)(hit + 1 - from);
	in->start += (size_t)(hit + 1 - from);
	in->searched = in->start;
}

/* Handles all lines that can be read without waiting. */
static int
read_lines(struct files *f)
{
	enum input_got got;
	struct line line;

	while (!f->w->done && !f->w->leave) {
		skip(f);
		got = input_line(&f->in, &line);
		if (got == INPUT_NOTHING || got == INPUT_END)
			return 0;
		if (read_line(f, got, &line) < 0)
			return -1;
		f->w->offset += line.text.n + (got == INPUT_LINE);
	}
	return 0;
}

/* --- waiting --- */

static void
woken(void *arg)
{
	loop_stop(((struct files *)arg)->loop);
}

static void
readable(void *arg, short revents)
{
	(void)revents;
	woken(arg);
}

/* Waits until fd is readable (-1: none), at most us microseconds (0: without limit), or until a signal. */
static void
wait_for(struct files *f, int fd, uint64_t us)
{
	f->fd = (struct loop_fd){.fd = fd, .events = POLLIN, .ready = readable, .arg = f};
	f->timer = (struct loop_timer){.expired = woken, .arg = f};
	if (fd >= 0)
		loop_add_fd(f->loop, &f->fd);
	if (us)
		loop_add_timer(f->loop, &f->timer, us);
	loop_run(f->loop);
	if (fd >= 0)
		loop_remove_fd(f->loop, &f->fd);
	if (us && f->timer.added)
		loop_remove_timer(f->loop, &f->timer);
}

/* Tells the tool that all records that have come were shown. Returns when it wants to be called again, us; or 0. */
static uint64_t
tick(struct files *f, bool quiet)
{
	uint64_t due = f->w->tick ? f->w->tick(f->w, f->t, quiet) : 0;

	out_print(&f->w->out);
	return due;
}

/* Waits for more in a pipe, and tells the tool if that takes long. */
static void
wait_for_more(struct files *f)
{
	uint64_t before = loop_clock();

	tick(f, false);
	wait_for(f, f->in.io.fd, f->waited < WATCH_QUIET && f->w->tick ? WATCH_QUIET - f->waited : 0);
	f->waited += loop_clock() - before;
	if (f->waited >= WATCH_QUIET && f->waited < 2 * (uint64_t)WATCH_QUIET && f->w->tick) {
		f->waited = 2 * (uint64_t)WATCH_QUIET;
		tick(f, true);
	}
}

static int
open_again(struct files *f, int fd)
{
	struct line line;

	/* A line without a newline will not be completed any more. */
	f->in.ended = true;
	if (input_line(&f->in, &line) == INPUT_TORN && read_line(f, INPUT_TORN, &line) < 0) {
		close(fd);
		return -1;
	}
	input_close(&f->in);
	f->w->offset = 0;
	f->fresh = true;
	return input_open(&f->in, fd, f->w->frame->limit + RECORDING_AROUND);
}

/* Looks again at a followed file, at its end: it may have grown, been truncated or been replaced. 0, or -1 with errno. */
static int
look_again(struct files *f)
{
	struct stat now, ours;
	int fd;

	tick(f, f->waited == WATCH_QUIET);
	wait_for(f, -1, LOOK);
	f->waited += LOOK;
	f->in.ended = false;
	if (f->stopped || stat(f->w->file, &now) < 0 || fstat(f->in.io.fd, &ours) < 0)
		return 0;
	if (now.st_ino == ours.st_ino && now.st_dev == ours.st_dev) {
		if ((uint64_t)ours.st_size >= f->w->offset + (f->in.end - f->in.start))
			return 0;
		watch_warn(f->w, "it has been truncated");
		f->in.start = f->in.end = f->in.searched = f->in.lines = 0;
	}
	fd = open(f->w->file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? open_again(f, fd) : errno == ENOENT ? 0 : -1;
}

/* --- files --- */

/* Reads the file to its end, or follows it. 0, or -1 with errno. */
static int
read_all(struct files *f)
{
	struct watch *w = f->w;
	bool follow = w->frame->follow && f->regular;
	ssize_t n = 1;

	while (!f->stopped && !w->done && !w->leave && !out_has_lost(&w->out)) {
		/* In a file that is followed, a line without a newline may go on. */
		if (n == 0 && follow)
			f->in.ended = false;
		if (read_lines(f) < 0)
			return -1;
		if (n == 0 && !follow)
			return 0;
		if (n == 0 && look_again(f) < 0)
			return -1;
		if (f->loop && loop_run_once(f->loop) < 0)
			return -1;
		out_print_if_large(&w->out);
		n = input_fill(&f->in);
		if (n > 0)
			f->waited = 0;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n < 0)
			wait_for_more(f);
	}
	return 0;
}

static void
read_file(struct files *f, int fd)
{
	struct watch *w = f->w;
	SCOPED struct buf missed = {0};
	struct stat st;

	w->file = w->operands.name;
	w->offset = 0;
	w->leave = false;
	f->fresh = true;
	f->t = f->waited = 0;
	f->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	f->lines = recording_of_lines(w->frame->hop, w->frame->limit);
	if (!f->lines)
		close(fd);
	if (!f->lines || input_open(&f->in, fd, w->frame->limit < SIZE_MAX / 2 ? w->frame->limit + RECORDING_AROUND : w->frame->limit) < 0 ||
		read_all(f) < 0)
		operands_fail(&w->operands);
	/* A tool that stops early has what it asked for. */
	if (f->stopped || w->done || w->leave || out_has_lost(&w->out))
		w->operands.found = true;
	f->cut |= w->operands.failed;
	if (f->lines && recording_missed(f->lines, w->operands.found, &missed) && buf_string(&missed) && w->operands.found)
		watch_warn(w, "%s", missed.p);
	operands_judge(&w->operands, missed.p);
	input_close(&f->in);
	recording_close(f->lines);
	w->file = NULL;
}

static int
read_report_line(void *arg, struct slice line, const char **why)
{
	struct watch *w = arg;

	w->first = w->operands.first;
	w->file = w->operands.name;
	return w->line(w, line, why);
}

/* Catches the signals that end the tool, but SIGPIPE ends it as it ends any filter. */
static int
open_loop(struct files *f)
{
	int signals[8] = {0};
	size_t n = 0;

	for (; f->w->signals && f->w->signals[n] && n < 5; n++)
		signals[n] = f->w->signals[n];
	if (f->w->frame->follow) {
		signals[n++] = SIGINT;
		signals[n++] = SIGTERM;
	}
	f->loop = loop_new(signals, caught, f);
	if (!f->loop)
		return -1;
	if (!f->w->frame->output) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
	}
	return 0;
}

int
watch_files(struct watch *w)
{
	struct files f = {.w = w};
	struct operands *in = &w->operands;
	const struct frame_options *o = w->frame;
	int status = out_open(&w->out, w->name, w->replaces ? NULL : o->output, o->append, w->inputs ? w->inputs : o->files), fd;

	if (status)
		return status;
	*in = (struct operands){.tool = w->name, .files = o->files, .limit = o->limit};
	status = watch_open(w);
	if (status == 0 && open_loop(&f) < 0) {
		cli_warn(w->name, "%s", strerror(errno));
		status = EXIT_FAILED;
	}
	if (status == 0 && w->line)
		operands_lines(in, read_report_line, w);
	while (status == 0 && !w->line && !w->done && !f.stopped && !out_has_lost(&w->out) && (fd = operands_open(in)) >= 0)
		read_file(&f, fd);
	in->any |= w->any;
	w->file = NULL;
	if (f.begun)
		watch_end(w, f.cut ? WATCH_CUT : WATCH_OVER);
	if (status == 0) {
		status = operands_status(in);
		status = w->finish ? w->finish(w, status) : status;
	}
	status = out_close(&w->out, w->failed ? EXIT_FAILED : status);
	loop_free(f.loop);
	return status;
}
