/* A stream: the filter. It watches, and changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-tap/tap.h"

/* How long a slow reader of the log is waited for when all else is done. */
enum { PATIENCE_MS = 2000 };

struct stream {
	struct tap tap;
	struct loop *loop;
	struct loop_fd watch; /* the log, while its reader is slow */
	double started;
	bool told;            /* it has been said that records are lost */
};

/* What the log begins with, and what is said in it after a loss. */
static int
begin(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct stream *s = arg;
	struct writer *w = &s->tap.writer;
	struct heading h = {.started = s->started, .command = s->tap.options->frame.command};
	struct event e = {.kind = RECORD_LOST, .t = s->tap.t, .count = lost, .text = slice_of(why)};

	if (!resumed)
		return tap_header(&s->tap, to, &h);
	return w->format->event ? w->format->event(w, to, &e) : 0;
}

/* --- writing, beside the stream --- */

static void
say_lost(struct stream *s, const char *why)
{
	cli_warn(tap_name, "%s: %s: records are lost, the session goes on", log_name(s->tap.out.log), why);
	s->told = true;
}

static void
write_log(struct stream *s)
{
	struct log *l = s->tap.out.log;

	if (log_flush(l) < 0)
		say_lost(s, log_why(l));
	s->watch.fd = log_waiting(l);
	loop_watch(s->loop, &s->watch, POLLOUT);
}

static void
log_ready(void *arg, short revents)
{
	(void)revents;
	write_log(arg);
}

/* --- the filter --- */

static int
open_log(struct stream *s)
{
	const struct options *o = s->tap.options;
	struct log_spec spec = {.path = o->output, .append = o->append || cli_started_again(), .begin = begin, .arg = s};
	char *why;

	if (out_open_log(&s->tap.out, &spec, &why) == 0)
		return 0;
	cli_warn(tap_name, "%s", why ? why : "out of memory");
	free(why);
	return -1;
}

static int
start(void *state, struct frame *f)
{
	struct stream *s = state;

	/* What was written before is let alone until the chain has taken us in. */
	if (frame_way(f) == FRAME_ATTACH) {
		s->started = frame_started(f);
		if (open_log(s) < 0)
			return -1;
	}
	s->watch = (struct loop_fd){.fd = -1, .events = POLLOUT, .ready = log_ready, .arg = s};
	s->loop = frame_loop(f);
	return loop_add_fd(s->loop, &s->watch);
}

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *seen)
{
	struct stream *s = state;

	(void)f;
	(void)lane;
	tap_message(&s->tap, seen);
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	static const enum record_kind kinds[] = {[FRAME_NOISE] = RECORD_NOISE, [FRAME_STDERR] = RECORD_STDERR,
		[FRAME_EOF] = RECORD_EOF, [FRAME_EXIT] = RECORD_EXIT, [FRAME_LOST] = RECORD_LOST, [FRAME_LONG] = RECORD_LOST};
	struct stream *s = state;
	struct event event = {.kind = kinds[e->kind], .from = e->from, .t = e->t, .text = e->text, .torn = e->torn,
		.status = e->status, .count = e->kind == FRAME_LOST ? e->count : 1};
	char why[64];

	/* Standard error has it already. */
	if (e->kind == FRAME_STDERR && !s->tap.options->output && frame_way(f) != FRAME_ATTACH)
		return;
	if (e->kind == FRAME_LONG) {
		snprintf(why, sizeof(why), "a line longer than %zu bytes", s->tap.options->frame.limit);
		event.text = slice_of(why);
	}
	tap_event(&s->tap, event);
}

static void
flush(void *state, struct frame *f)
{
	(void)f;
	write_log(state);
}

static void
caught(void *state, struct frame *f, int signal)
{
	struct stream *s = state;

	(void)signal;
	if (log_reopen(s->tap.out.log) < 0)
		frame_say(f, "%s: cannot be opened again: %s", s->tap.options->output, strerror(errno));
	write_log(s);
}

static int
end(void *state, struct frame *f)
{
	struct stream *s = state;

	tap_rest(&s->tap);
	write_log(s);
	loop_remove_fd(frame_loop(f), &s->watch);
	return 0;
}

/* --- its beginning and its end --- */

static int
close_log(struct stream *s)
{
	if (!s->tap.out.log || log_close(s->tap.out.log, PATIENCE_MS) == 0)
		return 0;
	if (!s->told)
		cli_warn(tap_name, "the last records are lost: %s", strerror(errno));
	return -1;
}

int
stream_run(const struct options *o)
{
	static const int signals[] = {SIGUSR1, 0};
	struct stream s = {0};
	struct filter filter = {.name = tap_name, .needs = FRAME_WATCH, .state = &s, .start = start, .message = message,
		.event = event, .flush = flush, .caught = caught, .end = end};
	struct frame_options frame = o->frame;
	const struct format *format = o->format;
	struct timespec now;
	int status;

	if (!format)
		format = o->output ? &format_record : &format_pretty;
	frame.signals = signals;
	clock_gettime(CLOCK_REALTIME, &now);
	s.started = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (tap_open(&s.tap, o, format, o->fold == 1) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	if (!o->frame.attach) {
		if (open_log(&s) < 0)
			return EXIT_FAILED;
		write_log(&s);
	}
	status = frame_run(&filter, &frame);
	if (close_log(&s) < 0 && status == 0)
		status = EXIT_FAILED;
	tap_close(&s.tap);
	return status;
}
