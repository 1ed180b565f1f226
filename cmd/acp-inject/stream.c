/* The filter: each message goes through the rules. */
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* How many kinds of failures are reported and remembered: a peer's method names must not fill the memory. */
enum { REPORTED_MOST = 1000 };

static enum step (*const rules[])(struct passing *) = {edit_message, answer_message, context_message, send_message};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

/* --- a message on its way --- */

int
passing_become(struct passing *p, struct slice text)
{
	struct buf old = p->text, new = {0};
	struct json_error error;

	if (buf_add_slice(&new, text) < 0)
		return -1;
	buf_free(&old);
	p->text = new;
	if (msg_scan(buf_slice(&p->text), &p->message.msg, &error) == MSG_NOISE)
		return -1;
	return 0;
}

int
passing_settle(struct passing *p)
{
	return p->text.n > 0 ? frame_replace(p->inject->frame, p->was, p->message.msg.text) : 0;
}

/* --- what is reported --- */

static void
report_failure(struct inject *in, const char *rule, const struct message *message, const char *why, const char *then)
{
	static const char *const kinds[] = {[MSG_RESPONSE] = "the response to ", [MSG_REQUEST] = "", [MSG_NOTIFICATION] = ""};
	struct slice name = msg_update_kind(&message->msg);

	if (!name.p)
		name = message_method(message);
	frame_warn(in->frame, "%s: %s%.*s: %s: %s", rule, kinds[message->msg.kind], (int)(name.n > 128 ? 128 : name.n),
		name.p ? name.p : "", why, then);
}

/* Failures that differ in a value only are one kind. */
static int
add_kind(struct buf *to, const char *rule, const char *why, const struct message *message)
{
	struct slice method = message_method(message), update = msg_update_kind(&message->msg);

	if (buf_printf(to, "%s %d ", rule, (int)message->msg.kind) < 0 || buf_add(to, why, strcspn(why, "0123456789\"({[")) < 0)
		return -1;
	return buf_add_slice(to, method) < 0 ? -1 : buf_add_slice(to, update);
}

void
passing_failed(struct passing *p, const char *rule, const char *why, const char *then)
{
	struct inject *in = p->inject;
	const struct options *o = in->options;
	struct buf kind = {0};

	if (in->stopped)
		return;
	if (o->strict) {
		report_failure(in, rule, &p->message, why, "ending (--strict)");
		in->stopped = true;
		frame_exit(in->frame, EXIT_FAILED);
	} else if (add_kind(&kind, rule, why, &p->message) == 0 && in->nreported < REPORTED_MOST &&
		once_new(&in->reported, 0, buf_slice(&kind)) && once_add(&in->reported, 0, buf_slice(&kind)) == 0) {
		in->nreported++;
		report_failure(in, rule, &p->message, why, then);
	}
	buf_free(&kind);
}

void
passing_jq_failed(struct passing *p, const char *rule, int result, char *why, const char *then)
{
	passing_failed(p, rule, result == 2 ? "too deep for jq" : why ? why : "out of memory", then);
	free(why);
}

void
inject_note(struct inject *in, const char *what, struct slice detail)
{
	if (in->options->verbose)
		frame_warn(in->frame, "%s: %.*s", what, (int)(detail.n < 512 ? detail.n : 512), detail.p ? detail.p : "");
}

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
	size_t i;

	send_later(in);
	chosen = select_match(in->options->session, message, &why);
	if (why)
		frame_warn(f, "%s: %s", select_culprit(in->options->session), why);
	free(why);
	if (!chosen)
		return VERDICT_PASS;
	for (i = 0; step == STEP_ON && !in->stopped && i < RULES; i++)
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
