#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "lib/base/text.h"

enum {
	LINE_LIMIT = 16 * 1024, /* longer ones come in pieces, a line each */
	LAST_READS = 64,        /* more than a pipe holds */
	TAIL = 2048,            /* bytes of what a component said last */
};

static void
queue(struct report *r, const char *name, struct slice text)
{
	r->line.n = 0;
	if (r->out.full || text_plain(&r->line, slice_of(name)) < 0 || buf_add_string(&r->line, ": ") < 0 ||
		text_plain(&r->line, text) < 0 || buf_add(&r->line, "\n", 1) < 0 ||
		output_copy(&r->out, buf_slice(&r->line)) < 0)
		r->lost++;
}

static void
report_lost(struct report *r)
{
	struct buf text = {0};

	if (r->lost == 0 || r->out.full)
		return;
	if (buf_printf(&text, "%llu lines of standard error discarded: its reader is too slow", (unsigned long long)r->lost) == 0) {
		r->lost = 0;
		queue(r, "acp-conduct", buf_slice(&text));
	}
	buf_free(&text);
}

/* Reports what was lost as soon as there is room: the queue may empty without a wait for it. */
static void
flush(struct report *r)
{
	bool waits = output_flush(&r->out) == 1;

	if (r->lost > 0 && !r->out.full) {
		report_lost(r);
		waits = output_flush(&r->out) == 1;
	}
	loop_watch(r->loop, &r->watch, waits ? POLLOUT : LOOP_PAUSED);
}

static void
writable(void *arg, short revents)
{
	(void)revents;
	flush(arg);
}

int
report_open(struct report *r, struct loop *loop)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	*r = (struct report){.loop = loop};
	if (fd < 0 || output_open(&r->out, fd) < 0)
		return -1;
	r->watch = (struct loop_fd){.fd = r->out.io.fd, .events = LOOP_PAUSED, .ready = writable, .arg = r};
	loop_add_fd(loop, &r->watch);
	return 0;
}

void
report_close(struct report *r, uint64_t timeout_us)
{
	uint64_t end = loop_clock() + timeout_us, now;
	struct pollfd p = {.fd = r->out.io.fd, .events = POLLOUT};

	loop_remove_fd(r->loop, &r->watch);
	while (output_flush(&r->out) == 1 && (now = loop_clock()) < end) {
		poll(&p, 1, (int)((end - now) / 1000) + 1);
		report_lost(r);
	}
	report_lost(r);
	output_flush(&r->out);
	output_close(&r->out);
	buf_free(&r->line);
}

void
report_line(struct report *r, const char *format, ...)
{
	struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0)
		queue(r, "acp-conduct", buf_slice(&text));
	va_end(args);
	buf_free(&text);
	flush(r);
}

/* Whole lines, the newest that fit. */
static void
remember(struct report_source *s, struct slice text)
{
	const char *from;
	size_t n;

	if (text.n > TAIL / 2)
		text.n = TAIL / 2;
	if (s->tail.n + text.n + 1 > TAIL) {
		from = memchr(s->tail.p + s->tail.n / 2, '\n', s->tail.n - s->tail.n / 2);
		n = from ? (size_t)(s->tail.p + s->tail.n - (from + 1)) : 0;
		if (n)
			memmove(s->tail.p, from + 1, n);
		s->tail.n = n;
	}
	if (buf_add_slice(&s->tail, text) < 0 || buf_add(&s->tail, "\n", 1) < 0)
		s->tail.n = 0;
}

/* Hands on the lines that have been read. */
static void
forward_lines(struct report_source *s)
{
	struct line line;
	enum input_got got;
	struct slice text;

	for (;;) {
		got = input_line(&s->in, &line);
		if (got == INPUT_NOTHING || got == INPUT_END)
			break;
		text = line.text;
		if (got == INPUT_PIECE && text.n > 0 && text.p[text.n - 1] == '\n')
			text.n--;
		/* The last piece of a long line may be its newline alone. */
		if (got == INPUT_PIECE && text.n == 0)
			continue;
		queue(s->report, s->name, text);
		remember(s, text);
		if (s->report->on_line)
			s->report->on_line(s->report->arg, s->name, text);
	}
	flush(s->report);
}

/* Reads once; false when nothing more is to be had now. */
static bool
read_on(struct report_source *s)
{
	ssize_t r = input_fill(&s->in);

	if (r < 0 && (errno == EAGAIN || errno == ENOMEM) && !s->in.ended)
		return false;
	forward_lines(s);
	return r > 0;
}

static void
readable(void *arg, short revents)
{
	struct report_source *s = arg;

	(void)revents;
	read_on(s);
	if (s->in.ended) {
		s->open = false;
		loop_remove_fd(s->report->loop, &s->watch);
		input_close(&s->in);
	}
}

int
report_source_open(struct report_source *s, struct report *r, const char *name, int fd)
{
	s->tail.n = 0;
	*s = (struct report_source){.report = r, .name = name, .tail = s->tail};
	if (input_open(&s->in, fd, LINE_LIMIT) < 0)
		return -1;
	s->open = true;
	s->watch = (struct loop_fd){.fd = s->in.io.fd, .events = POLLIN, .ready = readable, .arg = s};
	loop_add_fd(r->loop, &s->watch);
	return 0;
}

void
report_drain(struct report_source *s)
{
	int i;

	for (i = 0; s->open && i < LAST_READS && read_on(s); i++)
		;
}

struct slice
report_tail(const struct report_source *s)
{
	return buf_slice(&s->tail);
}

void
report_source_free(struct report_source *s)
{
	buf_free(&s->tail);
}

void
report_source_close(struct report_source *s)
{
	int i;

	if (!s->open)
		return;
	for (i = 0; i < LAST_READS && read_on(s); i++)
		;
	/* A process that has left the group may hold the pipe: only what it has written so far is forwarded. */
	s->in.ended = true;
	forward_lines(s);
	s->open = false;
	loop_remove_fd(s->report->loop, &s->watch);
	input_close(&s->in);
}
