/* A stream: the filter. Unless it fills in, it watches, and changes nothing. */
#include <signal.h>
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"

enum { QUIET_US = 2000000 }; /* a turn is complete when it has been quiet so long */

struct stream {
	struct tool tool;
	bool lossy;              /* not all that went by got here */
};

/* Judges what has been quiet, writes metrics, and comes back when there is more to do. */
static void
plan(struct stream *s)
{
	uint64_t now = frame_now(s->tool.frame), next, due = now + QUIET_US / 2;

	if (usage_quiet(s->tool.usage, now > QUIET_US ? now - QUIET_US : 0, &next) < 0)
		tool_fail(&s->tool, "out of memory");
	if (s->tool.prom)
		prom_write(s->tool.prom, &s->tool, false);
	if (next > 0)
		due = (next + QUIET_US > now ? next + QUIET_US : now) + 1;
	if (next > 0 || s->tool.prom)
		frame_timer(s->tool.frame, due);
}

/* --- the filter --- */

static int
start(void *state, struct frame *f)
{
	struct stream *s = state;

	s->tool.frame = f;
	s->tool.timed = true;
	s->tool.out.log = frame_log(f);
	if (tool_begin(&s->tool, frame_started(f)) < 0)
		return -1;
	/* What was written before is let alone until the chain has taken us in. */
	return s->tool.options->frame.attach && s->tool.prom && prom_open_file(s->tool.prom, s->tool.options->inputs) ? -1 : 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *original)
{
	struct stream *s = state;
	struct message message = frame_unguessed(f, original);

	(void)dir;
	fill_flush(&s->tool);
	if (tool_see(&s->tool, &message, s->tool.options->fill ? fill_message : NULL, &s->tool) < 0)
		tool_fail(&s->tool, "out of memory");
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct stream *s = state;

	(void)f;
	switch (e->kind) {
	case FRAME_BATCH:
		fill_flush(&s->tool);
		plan(s);
		break;
	case FRAME_TIMER:
		plan(s);
		break;
	case FRAME_LOST:
		if (!s->lossy)
			tool_warn(&s->tool, "messages were lost: figures may be too low from here on");
		s->lossy = true;
		break;
	case FRAME_SIGNAL:
		if (e->status == SIGWINCH && s->tool.meter)
			meter_draw(s->tool.meter, &s->tool);
		break;
	default:
		break;
	}
}

static int
end(void *state, struct frame *f)
{
	struct stream *s = state;

	(void)f;
	tool_end(&s->tool);
	if (s->tool.options->summary && summary_put(&s->tool) < 0)
		tool_fail(&s->tool, "out of memory");
	alerts_end(&s->tool);
	return s->tool.failed ? EXIT_FAILED : s->tool.status;
}

/* --- its beginning and its end --- */

int
stream_run(const struct options *o)
{
	static const int signals[] = {SIGWINCH, 0};
	struct stream s = {0};
	const struct frame_log log = {.path = o->frame.output, .append = o->frame.append, .inputs = o->inputs};
	struct filter filter = {.name = tool_name, .needs = o->fill ? FILTER_EDITS | FILTER_SENDS : 0, .state = &s,
		.start = start, .message = message, .event = event, .end = end};
	struct frame_options frame = o->frame;
	int status = 0;

	frame.signals = signals;
	if (tool_open(&s.tool, o, true) < 0)
		return EXIT_FAILED;
	if (!s.tool.prom)
		filter.log = &log;
	else if (!o->frame.attach)
		status = prom_open_file(s.tool.prom, o->inputs);
	if (status) {
		tool_close(&s.tool);
		return status;
	}
	status = frame_run(&filter, &frame);
	s.tool.out.log = NULL;
	s.tool.frame = NULL;
	tool_close(&s.tool);
	return status;
}
