/* The filter: each message goes through the rules. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

static enum step (*const rules[])(struct passing *) = {edit_message, answer_message, context_message, send_message};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

/* --- the filter --- */

static void
failed(struct inject *in)
{
	if (!in->stopped)
		frame_warn(in->frame, "out of memory");
	in->stopped = true;
	frame_exit(in->frame, EXIT_FAILED);
}

static void
send_later(struct inject *in)
{
	if (later_send(&in->later, in->frame) < 0)
		failed(in);
}

static int
start(void *state, struct frame *f)
{
	struct inject *in = state;

	in->frame = f;
	return 0;
}

static enum verdict
finish(struct passing *p, enum step step)
{
	struct inject *in = p->inject;

	if (step == STEP_ON && passing_settle(p) < 0)
		step = STEP_FAILED;
	if (step == STEP_FAILED)
		failed(in);
	later_join(&in->later, p->later);
	buf_free(&p->text);
	if (in->stopped)
		return VERDICT_DROP;
	return step == STEP_HELD ? VERDICT_HOLD : step == STEP_GONE ? VERDICT_DROP : VERDICT_PASS;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	struct inject *in = state;
	struct passing p = {.inject = in, .dir = dir, .message = *message, .was = message->msg.text};
	enum step step = STEP_ON;
	bool chosen;
	char *why;

	send_later(in);
	chosen = select_match(in->options->session, message, &why);
	if (why)
		frame_warn(f, "%s: %s", select_culprit(in->options->session), why);
	free(why);
	if (!chosen)
		return VERDICT_PASS;
	for (size_t i = 0; step == STEP_ON && !in->stopped && i < RULES; i++)
		step = rules[i](&p);
	return finish(&p, step);
}

static void
answer(void *state, struct frame *f, void *tag, const struct message *message)
{
	(void)f;
	send_later(state);
	send_answered(state, tag, message);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct inject *in = state;

	switch (e->kind) {
	case FRAME_EOF:
		send_side_ended(in, e->from);
		break;
	case FRAME_LOST:
		frame_warn(f, "%llu messages were lost: a --send that waits for one of them sends nothing", (unsigned long long)e->count);
		break;
	case FRAME_BATCH:
		send_later(in);
		if (in->options->leave && !in->stopped && send_done(in))
			frame_exit(f, in->refused ? EXIT_NEGATIVE : 0);
		break;
	default:
		break;
	}
}

static int
end(void *state, struct frame *f)
{
	struct inject *in = state;

	send_side_ended(in, ACP_UNKNOWN);
	send_later(in);
	if (!in->options->leave || in->stopped)
		return 0;
	if (!send_done(in))
		frame_warn(f, "ended before everything was sent and had its response");
	return in->refused || !send_done(in) ? EXIT_NEGATIVE : 0;
}

/* Does it only send messages after those of others? */
static bool
only_sends(const struct options *o)
{
	size_t i;

	for (i = 0; i < o->nsends && o->sends[i].when == SEND_AFTER; i++)
		;
	return i == o->nsends && !o->edit && !o->ncontexts && !o->nservers && !o->nanswers;
}

/* What the filter needs of the transport. */
static unsigned
needs(const struct options *o)
{
	unsigned needs = FILTER_EDITS;

	if (only_sends(o))
		return FILTER_SENDS;
	if (o->nanswers || o->nsends)
		needs |= FILTER_SENDS;
	return needs;
}

int
stream_run(const struct options *o)
{
	struct inject in = {.options = o};
	struct filter filter = {.name = tool_name, .needs = needs(o), .state = &in, .start = start, .message = message,
		.response = answer, .event = event, .end = end};
	int status;

	in.fired = calloc(o->nsends + 1, sizeof(*in.fired));
	if (!in.fired)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = frame_run(&filter, &o->frame);
	send_free(&in);
	later_free(in.later);
	commands_free(in.commands);
	once_free(in.sessions);
	once_free(in.reported);
	free(in.fired);
	return status;
}
