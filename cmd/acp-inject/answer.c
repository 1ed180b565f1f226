/* --answer, --permit, --permit-by and --deny: responds to requests in place of their receiver. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-inject/inject.h"

/* A permission request that a program decides on. */
struct question {
	struct question *prev, *next;
	struct inject *inject;
	const struct answer *rule;
	struct permit *program;
	struct held *held; /* the request; NULL: attached, where no message can be held */
	struct later *later; /* messages to send after the request */
};

/* Responds to a request with a result. held: the request, unless it is the shown one; NULL also when attached. 0 or -1. */
static int
respond(struct inject *in, const struct msg *request, struct held *held, struct slice result)
{
	SCOPED struct buf text = {0};

	if (!in->options->frame.attach)
		return frame_reply(in->frame, held, result);
	return msg_make_result(&text, request->id, result) || frame_send(in->frame, ACP_DOWN, buf_slice(&text)) ? -1 : 0;
}

/* --- a program --- */

static void
question_free(struct question *q)
{
	DL_DELETE(q->inject->questions, q);
	later_free(q->later);
	free(q);
}

static enum step
ask_program(struct passing *p, const struct answer *a)
{
	struct inject *in = p->inject;
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return STEP_FAILED;
	*q = (struct question){.inject = in, .rule = a};
	DL_APPEND(in->questions, q);
	q->program = permit_ask(&in->permits, a->text, p->message.msg.text, q);
	if (!q->program) {
		question_free(q);
		return STEP_FAILED;
	}
	if (in->options->frame.attach)
		return STEP_GONE;
	if (passing_settle(p) < 0 || !(q->held = frame_hold(in->frame, NULL)))
		return STEP_FAILED;
	q->later = p->later;
	p->later = NULL;
	return STEP_HELD;
}

enum step
answer_withdraw(struct passing *p)
{
	static const char cancelled[] = "{\"outcome\":{\"outcome\":\"cancelled\"}}";
	const struct msg *m = &p->message.msg;
	struct frame *f = p->inject->frame;
	struct question *q, *next;
	SCOPED struct buf text = {0};
	enum step step = STEP_ON;
	struct msg asked;
	int r = 0;

	DL_FOREACH_SAFE(p->inject->questions, q, next) {
		msg_scan(permit_request(q->program), &asked, NULL);
		if (p->dir == ACP_UP && m->what == ACP_CANCEL_REQUEST && msg_same_id(asked.id, json_get(m->params, acp_request_id))) {
			step = q->held ? STEP_GONE : STEP_ON;
			r |= q->held ? frame_reply_error(f, q->held, ACP_ERR_CANCELLED, "cancelled") : 0;
		} else if (p->dir == ACP_DOWN && m->what == ACP_SESSION_CANCEL && json_string_eq(msg_session(m), msg_session(&asked))) {
			/* The client cannot respond to a request that it has not seen. */
			text.n = 0;
			r |= q->held ? msg_make_result(&text, asked.id, slice_of(cancelled)) || later_add(&p->later, ACP_DOWN, buf_slice(&text), NULL) : 0;
		} else if (p->dir == ACP_UP || m->kind != MSG_RESPONSE || !msg_same_id(asked.id, m->id)) {
			continue;
		}
		permit_withdraw(q->program);
		if (q->held)
			frame_release(f, q->held, VERDICT_DROP, slice(NULL, 0));
		later_join(&p->later, q->later);
		q->later = NULL;
		question_free(q);
		/* A response belongs to one request, even where several have its id. */
		if (m->kind == MSG_RESPONSE)
			break;
	}
	return r ? STEP_FAILED : step;
}

void
answer_close(void *state, struct frame *f)
{
	struct inject *in = state;
	struct question *q, *next;

	(void)f;
	DL_FOREACH_SAFE(in->questions, q, next) {
		permit_withdraw(q->program);
		question_free(q);
	}
}

/* --- rules --- */

/* Appends the program's result for the request; nothing if the program has no output: then the next rule is tried. 0 or -1. */
static int
result_of(struct passing *p, const struct answer *a, struct buf *to)
{
	struct outputs result = {.most = 1};
	int r = passing_run(p, a->program, a->rule, "the rule is skipped", &result);

	if (r == 0 && result.n > 0)
		r = buf_add_slice(to, outputs_at(&result, 0));
	outputs_free(&result);
	return r < 0 ? -1 : 0;
}

static enum step
apply(struct passing *p, const struct answer *a)
{
	struct inject *in = p->inject;
	SCOPED struct buf result = {0};
	struct slice option;
	int r;

	if (a->kind == ANSWER_PERMIT_BY)
		return ask_program(p, a);
	if (a->kind == ANSWER_DENY) {
		inject_note(in, a->rule, p->message.msg.method);
		return frame_reply_error(in->frame, NULL, a->code, a->text) < 0 ? STEP_FAILED : STEP_GONE;
	}
	option = a->kind == ANSWER_PERMIT ? acp_find_option(p->message.msg.params, acp_option_kind, a->text) : slice(NULL, 0);
	r = a->kind == ANSWER_WITH ? result_of(p, a, &result) : option.p ? acp_put_selected(&result, json_get(option, acp_option_id)) : 0;
	if (r == 0 && result.n == 0)
		return STEP_ON;
	if (r < 0 || respond(in, &p->message.msg, NULL, buf_slice(&result)) < 0)
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
	a = p->inject->resume ? p->inject->resume + 1 : o->answers;
	for (; step == STEP_ON && !p->inject->stopped && a < o->answers + o->nanswers; a++) {
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

/* Applies the rules after the rule whose program did not decide. */
static void
go_on(struct question *q, struct passing *p, enum permit_outcome outcome)
{
	static const char *const whys[] = {[PERMIT_FAILED] = "it failed, or printed no option", [PERMIT_LATE] = "--permit-timeout"};
	struct inject *in = q->inject;

	if (outcome != PERMIT_SILENT)
		passing_failed(p, q->rule->rule, whys[outcome], "the rule is skipped");
	in->resume = q->rule;
	in->resumed = q->later;
	q->later = NULL;
	if (q->held)
		frame_show_again(in->frame, q->held);
	else if (answer_message(p) == STEP_FAILED)
		inject_failed(in);
	in->resume = NULL;
	if (later_send(&in->later, in->frame) < 0)
		inject_failed(in);
}

void
answer_decided(void *arg, struct slice option, enum permit_outcome outcome)
{
	struct question *q = arg;
	struct inject *in = q->inject;
	struct passing p = {.inject = in, .dir = ACP_UP, .message = {.from = ACP_AGENT}};
	SCOPED struct buf result = {0};

	msg_scan(permit_request(q->program), &p.message.msg, NULL);
	if (outcome != PERMIT_DECIDED) {
		go_on(q, &p, outcome);
	} else {
		if (acp_put_selected(&result, json_get(option, acp_option_id)) < 0 ||
			respond(in, &p.message.msg, q->held, buf_slice(&result)) < 0)
			inject_failed(in);
		inject_note(in, q->rule->rule, buf_slice(&result));
		if (q->held)
			frame_release(in->frame, q->held, VERDICT_DROP, slice(NULL, 0));
		if (later_send(&q->later, in->frame) < 0)
			inject_failed(in);
	}
	question_free(q);
}
