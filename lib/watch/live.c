/* Watches a running stream, as a filter that changes nothing. */
#include <signal.h>
#include <stdio.h>

#include "lib/watch/watch_parts.h"

static int
log_begin(void *state, struct frame *f, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct watch *w = state;
	const struct record r = {.kind = RECORD_LOST, .t = frame_now(f), .timed = true, .count = lost, .text = slice_of(why ? why : "")};
	const struct watch_start start = {.started = frame_started(f), .command = w->frame->command, .lost = resumed ? &r : NULL};

	return w->header ? w->header(w, to, &start) : 0;
}

static int
begin(void *state, struct frame *f)
{
	struct watch *w = state;
	const struct watch_start start = {.started = frame_started(f), .command = w->frame->command};

	w->stream = f;
	w->timed = true;
	w->out.log = frame_log(f);
	/* Opens (and empties) the output only after acp-share has accepted us. */
	if (w->frame->attach && watch_open(w))
		return -1;
	watch_begin(w, &start);
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *received)
{
	struct watch *w = state;
	struct message m = *received;

	(void)dir;
	/* One pipe may have messages of both sides. */
	if (frame_is_one_way(f))
		m.from = ACP_UNKNOWN;
	m.msg.shape = shapes_see(&w->shapes, &m.msg);
	watch_message(w, &m, w->sessions ? received : &m);
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	static const enum record_kind kinds[] = {[FRAME_NOISE] = RECORD_NOISE, [FRAME_STDERR] = RECORD_STDERR,
		[FRAME_EOF] = RECORD_EOF, [FRAME_EXIT] = RECORD_EXIT, [FRAME_LOST] = RECORD_LOST, [FRAME_LONG] = RECORD_LOST,
		[FRAME_ROTATE] = RECORD_OTHER};
	struct watch *w = state;
	uint64_t due;
	struct record r = {.from = e->from, .t = e->t, .timed = true, .text = e->text, .raw = e->text, .torn = e->torn,
		.status = e->status, .count = e->kind == FRAME_LOST ? e->count : 1, .number = e->number, .error = e->why,
		.rotated = e->kind == FRAME_ROTATE};
	char why[64];

	switch (e->kind) {
	case FRAME_BATCH:
	case FRAME_TIMER:
		due = w->tick ? w->tick(w, frame_now(f), false) : 0;
		if (due)
			frame_timer(f, due);
		return;
	case FRAME_SIGNAL:
		if (w->signal)
			w->signal(w, e->status);
		return;
	case FRAME_WRITABLE:
		return;
	default:
		break;
	}
	r.kind = kinds[e->kind];
	if (e->kind == FRAME_LONG) {
		snprintf(why, sizeof(why), "a line longer than %zu bytes (--max-line)", w->frame->limit);
		r.text = slice_of(why);
	}
	w->relayed = e->relayed;
	watch_event(w, &r);
}

static int
end(void *state, struct frame *f)
{
	struct watch *w = state;
	int status;

	watch_end(w, w->frame->attach ? WATCH_CUT : WATCH_OVER);
	if (!w->any && w->expects)
		frame_warn(f, "no message passed");
	status = w->finish ? w->finish(w, 0) : 0;
	return w->failed ? EXIT_FAILED : status;
}

int
watch_stream(struct watch *w)
{
	const struct frame_log log = {.path = w->frame->output, .append = w->frame->append, .inputs = w->inputs ? w->inputs : w->frame->files,
		.begin = log_begin};
	struct filter filter = {.name = w->name, .needs = w->needs, .state = w, .start = begin, .message = message, .event = event, .end = end};
	struct frame_options options = *w->frame;
	int status = 0;

	if (!w->replaces)
		filter.log = &log;
	/* A filter with a log handles SIGUSR1 itself. */
	if (w->replaces || !w->signals || *w->signals != SIGUSR1)
		options.signals = w->signals;
	if (!w->frame->attach)
		status = watch_open(w);
	if (status == 0)
		status = frame_run(&filter, &options);
	w->out.log = NULL;
	w->stream = NULL;
	return status;
}
