/* A stream: the filter. It watches, and changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-tap/tap.h"

/* What the log begins with, and what is said in it after a loss. */
static int
begin(void *state, struct frame *f, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct tap *t = state;
	struct heading h = {.started = frame_started(f), .command = t->options->frame.command};
	struct record e = {.kind = RECORD_LOST, .t = t->t, .count = lost, .text = slice_of(why)};

	if (!resumed)
		return tap_header(t, to, &h);
	return t->writer.format->event ? t->writer.format->event(&t->writer, to, &e) : 0;
}

static int
start(void *state, struct frame *f)
{
	struct tap *t = state;

	t->out.log = frame_log(f);
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	(void)f;
	(void)dir;
	tap_message(state, message);
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	static const enum record_kind kinds[] = {[FRAME_NOISE] = RECORD_NOISE, [FRAME_STDERR] = RECORD_STDERR,
		[FRAME_EOF] = RECORD_EOF, [FRAME_EXIT] = RECORD_EXIT, [FRAME_LOST] = RECORD_LOST, [FRAME_LONG] = RECORD_LOST};
	struct tap *t = state;
	struct record event = {.from = e->from, .t = e->t, .text = e->text, .torn = e->torn, .status = e->status,
		.count = e->kind == FRAME_LOST ? e->count : 1};
	char why[64];

	(void)f;
	if (e->kind > FRAME_LONG)
		return;
	event.kind = kinds[e->kind];
	/* Standard error has it already. */
	if (e->relayed && !t->options->frame.output)
		return;
	if (e->kind == FRAME_LONG) {
		snprintf(why, sizeof(why), "a line longer than %zu bytes", t->options->frame.limit);
		event.text = slice_of(why);
	}
	tap_event(t, event);
}

static int
end(void *state, struct frame *f)
{
	(void)f;
	tap_rest(state);
	return 0;
}

int
stream_run(const struct options *o)
{
	struct tap t;
	const struct frame_log log = {.path = o->frame.output, .append = o->frame.append, .begin = begin};
	const struct filter filter = {.name = tap_name, .state = &t, .log = &log, .start = start, .message = message, .event = event, .end = end};
	int status;

	if (tap_open(&t, o, o->fold) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	status = frame_run(&filter, &o->frame);
	t.out.log = NULL;
	tap_close(&t);
	return status;
}
