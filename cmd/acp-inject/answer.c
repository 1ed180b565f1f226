/* --answer, --permit and --deny: requests that get their response here and are not forwarded. */
#include "cmd/acp-inject/inject.h"

/* Appends the result that the program makes of the request; nothing if it makes none: then the next rule is tried. 0 or -1. */
static int
result_of(struct passing *p, const struct answer *a, struct buf *to)
{
	struct outputs result = {.most = 1};
	struct select_vars vars;
	char *why;
	int r;

	select_vars(&vars, &p->message);
	r = jqprog_run(a->program, p->message.msg.text, vars.at, SELECT_VARS, outputs_take, &result, &why);
	if (r > 0)
		passing_jq_failed(p, a->rule, r, why, "the rule is skipped");
	if (result.n > 0 && buf_add_slice(to, outputs_at(&result, 0)) < 0)
		result.failed = true;
	outputs_free(&result);
	return result.failed ? -1 : 0;
}

static enum step
apply(struct passing *p, const struct answer *a)
{
	struct inject *in = p->inject;
	SCOPED struct buf result = {0};
	struct slice option;
	int r;

	if (a->kind == ANSWER_DENY) {
		inject_note(in, a->rule, p->message.msg.method);
		return frame_reply_error(in->frame, NULL, a->code, a->text) < 0 ? STEP_FAILED : STEP_GONE;
	}
	option = a->kind == ANSWER_PERMIT ? acp_option_of_kind(p->message.msg.params, a->text) : slice(NULL, 0);
	r = a->kind == ANSWER_WITH ? result_of(p, a, &result) : option.p ? acp_put_selected(&result, option) : 0;
	if (r == 0 && result.n == 0)
		return STEP_ON;
	if (r < 0 || frame_reply(in->frame, NULL, buf_slice(&result)) < 0)
		return STEP_FAILED;
	inject_note(in, a->rule, buf_slice(&result));
	return STEP_GONE;
}

enum step
answer_message(struct passing *p)
{
	const struct options *o = p->inject->options;
	enum step step = STEP_ON;
	const struct answer *permit = NULL, *a;
	char *why;

	if (p->message.msg.kind != MSG_REQUEST)
		return STEP_ON;
	for (a = o->answers; step == STEP_ON && !p->inject->stopped && a < o->answers + o->nanswers; a++) {
		if (!select_match(a->select, &p->message, &why))
			continue;
		step = apply(p, a);
		if (a->kind == ANSWER_PERMIT)
			permit = a;
	}
	if (step == STEP_ON && permit)
		passing_failed(p, permit->rule, "no such option is offered", "the rule is skipped");
	return step;
}
