/* A stream: it is watched, and nothing of it changes. */
#include <signal.h>

#include "cmd/acp-stat/stat.h"

struct stream {
	struct tool tool;
	bool lossy; /* not all that went by got here */
};

static int
start(void *state, struct frame *f)
{
	struct stream *s = state;

	s->tool.out.log = frame_log(f);
	if (tool_begin(&s->tool, frame_started(f)) < 0)
		return -1;
	/* An attached tool replaces the old output only when the chain has accepted it. */
	return s->tool.options->frame.attach && report_open(&s->tool) ? -1 : 0;
}

static void
fail(struct stream *s, struct frame *f)
{
	if (!s->tool.failed)
		frame_warn(f, "out of memory: the report is incomplete");
	s->tool.failed = true;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *received)
{
	struct stream *s = state;
	struct message message = frame_unguessed(f, received);

	(void)dir;
	if (tool_see(&s->tool, &message, true) < 0)
		fail(s, f);
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct stream *s = state;

	if (e->kind == FRAME_LOST && !s->lossy) {
		frame_warn(f, "messages were lost: figures may be too low from here on");
		s->lossy = true;
	} else if (e->kind == FRAME_SIGNAL && e->status == SIGUSR1) {
		report(&s->tool, false);
	}
}

static int
end(void *state, struct frame *f)
{
	struct stream *s = state;

	if (tool_end(&s->tool) < 0)
		fail(s, f);
	if (s->tool.any)
		report(&s->tool, true);
	else
		frame_warn(f, "no message passed");
	return s->tool.failed ? EXIT_FAILED : 0;
}

int
stream_run(const struct options *o)
{
	static const int signals[] = {SIGUSR1, 0};
	struct stream s = {0};
	const struct frame_log log = {.path = o->frame.output, .append = o->frame.append, .inputs = o->frame.files};
	struct filter filter = {.name = tool_name, .state = &s, .start = start, .message = message, .event = event, .end = end};
	struct frame_options frame = o->frame;
	int status = 0;

	if (tool_open(&s.tool, o) < 0)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	if (o->format != FORMAT_PROM || !o->frame.output)
		filter.log = &log;
	else
		frame.signals = signals;
	if (!o->frame.attach)
		status = report_open(&s.tool);
	if (status == 0)
		status = frame_run(&filter, &frame);
	s.tool.out.log = NULL;
	tool_close(&s.tool);
	return status;
}
