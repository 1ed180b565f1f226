/* The filter: passes each message through the rules. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

static enum step (*const rules[])(struct passing *) = {edit_message, answer_message, context_message, wrap_message, send_message};
enum { ANSWER = 1, RULES = sizeof(rules) / sizeof(rules[0]) };

/* --- the filter --- */

static void
send_later(struct inject *in)
{
	if (later_send(&in->later, in->frame) < 0)
		inject_failed(in);
}

/* Forgets which rules were applied in a session that ends or begins: a new session may get the id of an earlier one. */
static void
on_session(void *arg, const struct session_event *e)
{
	(void)arg;
	if (e->kind != SESSION_FORGOTTEN && !(e->kind == SESSION_OPENED && e->session->how == SESSION_NEW))
		return;
	free(e->session->data);
	e->session->data = NULL;
}

static int
start(void *state, struct frame *f)
{
	struct inject *in = state;

	in->frame = f;
	in->permits = (struct permits){.loop = frame_loop(f), .timeout = in->options->permit_timeout, .decided = answer_decided};
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	struct inject *in = state;
	struct passing p = {.inject = in, .dir = dir, .message = *message, .was = message->msg.text, .later = in->resumed};
	enum step step = STEP_ON;
	bool chosen;
	char *why;

	in->resumed = NULL;
	send_later(in);
	chosen = select_match(in->options->session, message, &why);
	if (why)
		frame_warn(f, "%s: %s", select_culprit(in->options->session), why);
	free(why);
	/* A request that is shown again has been seen before. */
	if (in->sessions && !in->resume && sessions_see(in->sessions, message, NULL) < 0)
		inject_failed(in);
	/* What --session does not select may end a question as well: a $/cancel_request names no session. */
	if (in->questions)
		step = answer_withdraw(&p);
	for (size_t i = in->resume ? ANSWER : 0; chosen && step == STEP_ON && !in->stopped && i < RULES; i++)
		step = rules[i](&p);
	if (step == STEP_ON && passing_settle(&p) < 0)
		step = STEP_FAILED;
	if (step == STEP_FAILED)
		inject_failed(in);
	later_join(&in->later, p.later);
	buf_free(&p.text);
	if (in->stopped)
		return VERDICT_DROP;
	/* An attached acp-inject cannot keep a request from the client, which may respond first. */
	if (step == STEP_GONE && in->options->frame.attach)
		return VERDICT_PASS;
	return step == STEP_HELD ? VERDICT_HOLD : step == STEP_GONE ? VERDICT_DROP : VERDICT_PASS;
}

static void
response(void *state, struct frame *f, void *tag, const struct message *message)
{
	(void)f;
	send_later(state);
	send_response(state, tag, message);
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

/* Returns the needs of the filter (FILTER_EDITS, ...). */
static unsigned
needs(const struct options *o)
{
	bool edits = o->edit || o->ncontexts || o->nservers || o->wrap, permits = true;

	/* Sending after other messages is not an edit; nor, when attached, is a response to a permission request. */
	for (size_t i = 0; i < o->nsends; i++)
		edits |= o->sends[i].when != SEND_AFTER;
	for (size_t i = 0; i < o->nanswers; i++)
		permits &= o->answers[i].kind == ANSWER_PERMIT || o->answers[i].kind == ANSWER_PERMIT_BY;
	if (o->nanswers && o->frame.attach && permits)
		return (edits ? FILTER_EDITS : 0) | FILTER_SENDS | FILTER_RESPONDS;
	return (edits || o->nanswers ? FILTER_EDITS : 0) | (o->nanswers || o->nsends ? FILTER_SENDS : 0);
}

int
stream_run(const struct options *o)
{
	struct inject in = {.options = o};
	struct filter filter = {.name = tool_name, .needs = needs(o), .state = &in, .start = start, .message = message,
		.response = response, .event = event, .end = end, .close = answer_close};
	int status;

	in.fired = calloc(o->nsends + 1, sizeof(*in.fired));
	if (o->ncontexts || o->nsends)
		in.sessions = sessions_new(on_session, NULL, NULL);
	if (!in.fired || ((o->ncontexts || o->nsends) && !in.sessions))
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = frame_run(&filter, &o->frame);
	send_free(&in);
	later_free(in.later);
	commands_free(in.commands);
	sessions_free(in.sessions);
	buf_free(&in.reported);
	free(in.fired);
	return status;
}
