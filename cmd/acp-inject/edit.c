/* -e and -E: a jq program edits the messages that are selected. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* May this output replace the message? A request and its response must keep their id: the sender of the request waits for it. */
static bool
is_same_message(const struct msg *was, const struct msg *is)
{
	if (is->kind != was->kind)
		return false;
	return was->kind == MSG_NOTIFICATION ? slice_eq(was->method, is->method) : msg_same_id(was->id, is->id);
}

/* Are all outputs messages? If not, reports that. *carrier: the index of the output that replaces the message; o->n: none does. */
static bool
check(struct passing *p, const struct outputs *o, size_t *carrier)
{
	struct json_error error;
	char why[128];
	struct msg m;

	*carrier = o->n;
	for (size_t i = 0; i < o->n; i++) {
		if (o->at[i].same)
			m = p->message.msg;
		else if (msg_scan(outputs_at(o, i), &m, &error) == MSG_NOISE) {
			snprintf(why, sizeof(why), "its output is not a message (%s)", error.what);
			passing_failed(p, p->inject->options->edit_rule, why, "forwarded unchanged");
			return false;
		}
		if (*carrier == o->n && is_same_message(&p->message.msg, &m))
			*carrier = i;
	}
	/* A notification has no response, so any output may replace it. */
	if (*carrier == o->n && p->message.msg.kind == MSG_NOTIFICATION)
		*carrier = 0;
	return true;
}

/* Drops the message. A request gets an error response, so that its sender does not wait for ever. */
static enum step
drop(struct passing *p)
{
	struct inject *in = p->inject;
	SCOPED struct buf text = {0};

	if (p->message.msg.kind != MSG_REQUEST || in->options->silent)
		return STEP_GONE;
	if (frame_is_one_way(in->frame)) {
		if (!in->silence_reported)
			frame_warn(in->frame, "%s: dropped a request, which gets no response: a one-way pipe cannot carry one back", in->options->edit_rule);
		in->silence_reported = true;
		return STEP_GONE;
	}
	if (buf_printf(&text, "%s: dropped by %s", tool_name, in->options->edit_rule) || !buf_string(&text)
		|| frame_reply_error(in->frame, NULL, ACP_ERR_INTERNAL, text.p))
		return STEP_FAILED;
	return STEP_GONE;
}

/* Replaces the message by the carrier; sends outputs before the carrier at once, and later outputs after the message. 0 or -1. */
static int
send_output(struct passing *p, const struct outputs *o, size_t i, size_t carrier)
{
	struct slice text = outputs_at(o, i);
	SCOPED struct buf made = {0};

	/* Peers refuse a message without jsonrpc. But if the edited message came without jsonrpc, its receiver accepts that. */
	if ((i != carrier || json_get(o->input, "jsonrpc").p) && !json_get(text, "jsonrpc").p) {
		if (buf_add_string(&made, "{\"jsonrpc\":\"2.0\",") < 0 || buf_add(&made, text.p + 1, text.n - 1) < 0)
			return -1;
		text = buf_slice(&made);
	}
	if (i < carrier)
		return frame_send(p->inject->frame, p->dir, text);
	if (i > carrier)
		return later_add(&p->later, p->dir, text, NULL);
	return text.p != o->input.p ? passing_become(p, text) : 0;
}

static enum step
edit(struct passing *p, struct outputs *o)
{
	const struct options *options = p->inject->options;
	size_t carrier;
	int r = passing_run(p, options->edit, options->edit_rule, "forwarded unchanged", o);

	if (r < 0)
		return STEP_FAILED;
	if (r > 0 || !check(p, o, &carrier))
		return STEP_ON;
	for (size_t i = 0; i < o->n; i++)
		if (send_output(p, o, i, carrier) < 0)
			return STEP_FAILED;
	return carrier == o->n ? drop(p) : STEP_ON;
}

enum step
edit_message(struct passing *p)
{
	const struct options *options = p->inject->options;
	struct outputs o = {.input = p->message.msg.text};
	enum step step;
	char *why;

	if (!options->edit)
		return STEP_ON;
	if (!select_match(options->select, &p->message, &why)) {
		if (why)
			passing_failed(p, "-w", why, "not selected");
		free(why);
		return STEP_ON;
	}
	step = edit(p, &o);
	outputs_free(&o);
	return step;
}
