/* A stream: the filter. It watches, and changes nothing. */
#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"

static int
start(void *state, struct frame *f)
{
	struct check *c = state;

	c->out.log = frame_log(f);
	c->c.partial = c->options->frame.attach != NULL;
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *received)
{
	struct check *c = state;
	struct message message = frame_unguessed(f, received);

	(void)dir;
	c->where = (struct where){.number = message.number, .t = message.t, .timed = true, .from = message.from};
	check_message(c, &message);
	return VERDICT_PASS;
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct check *c = state;

	c->where = (struct where){.number = e->number, .t = e->t, .timed = true, .from = frame_is_one_way(f) ? ACP_UNKNOWN : e->from};
	switch (e->kind) {
	case FRAME_NOISE:
		check_noise(c, e->text);
		break;
	case FRAME_LONG:
		check_find(c, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", e->text);
		check_lost(c);
		break;
	case FRAME_EOF:
		check_eof(c, e->torn);
		break;
	case FRAME_LOST:
		check_lost(c);
		break;
	default:
		break;
	}
}

static int
end(void *state, struct frame *f)
{
	struct check *c = state;

	check_end(c, c->options->frame.attach != NULL);
	report_end(c);
	if (c->messages == 0)
		frame_warn(f, "no message was checked");
	if (c->failed) {
		frame_warn(f, "out of memory");
		return EXIT_FAILED;
	}
	return c->count[LEVEL_VIOLATION] ? EXIT_NEGATIVE : 0;
}

int
stream_run(const struct options *o)
{
	struct check c;
	const struct frame_log log = {.path = o->frame.output, .append = o->frame.append};
	const struct filter filter = {.name = check_name, .state = &c, .log = &log, .start = start, .message = message, .event = event, .end = end};
	int status;

	check_open(&c, o);
	status = frame_run(&filter, &o->frame);
	c.out.log = NULL;
	check_close(&c);
	return status;
}
