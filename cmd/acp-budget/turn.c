/* How turns end: with a response, or (v2) with an idle state. */
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* Ends the turn that ends with this message, and fills *e. False: no turn has ended. */
static bool
end_turn(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r, struct turn_end *e)
{
	*e = (struct turn_end){.failed = r->failed, .stop = r->stop};
	e->outcome = r->failed ? message->msg.error : turn_outcome(&message->msg);
	t->judged = t->has_output = false;
	tool_check(t, usage_take(t->usage, message->t, r) || (s->usage && usage_finish(t->usage, s->usage)));
	if (!t->judged)
		return false;
	e->counted = t->has_output;
	t->has_counted |= e->counted;
	if (e->counted) {
		e->output = t->output;
	} else if (t->options->estimate) {
		e->output = (s->streamed + 3) / 4;
		e->counted = e->estimated = true;
	}
	s->streamed = 0;
	if (__builtin_add_overflow(s->output, e->output, &s->output))
		s->output = UINT64_MAX;
	ahead_rearm(t, s);
	limits_check(t, s);
	return true;
}

/* v2 responds to a prompt when it was accepted: then its turn goes on. Returns whether, and notes it in the report. */
static bool
check_accepted(const struct tool *t, struct usage_report *r)
{
	if (r->failed || r->stop.p || r->counts.has || (!t->v2 && !r->accepted))
		return false;
	r->accepted = true;
	return true;
}

static void
accepted(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r)
{
	tool_check(t, usage_take(t->usage, message->t, r));
	s->busy = true;
}

/* Forgets the open prompt of this response. Returns whether acp-budget has already responded to it. */
static bool
close_prompt(struct session *s, const struct message *message)
{
	struct open *o = s->opened;
	bool answered;

	while (o && !msg_same_id(buf_slice(&o->id), message->request->id))
		o = o->next;
	if (!o)
		return false;
	LL_DELETE(s->opened, o);
	answered = o->answered;
	open_free(o);
	s->open -= !answered;
	return answered;
}

enum verdict
turn_answered(struct tool *t, struct session *s, const struct message *message)
{
	struct budget *b = s->budget && !s->budget->held && msg_same_id(buf_slice(&s->budget->id), message->request->id) ? s->budget : NULL;
	enum verdict verdict = close_prompt(s, message) ? VERDICT_DROP : VERDICT_PASS;
	struct usage_report r;
	struct turn_end e;

	if (!usage_read(message, &r))
		return verdict;
	if (check_accepted(t, &r)) {
		accepted(t, s, message, &r);
		if (b)
			budget_accepted(t, b);
		return verdict;
	}
	end_turn(t, s, message, &r, &e);
	if (b)
		return budget_turn(t, b, &e);
	turn_over(t, s);
	return verdict;
}

void
turn_request_answered(struct tool *t, struct request_tag *tag, const struct message *message)
{
	struct session *s = tag->session;
	struct budget *b = tag->kind == TAG_NUDGE ? (struct budget *)tag : NULL;
	struct usage_report r;
	struct turn_end e;

	if (!usage_read(message, &r))
		r = (struct usage_report){.what = USAGE_ANSWER, .session = s->id, .failed = message->msg.error.p != NULL};
	if (check_accepted(t, &r)) {
		accepted(t, s, message, &r);
		if (b)
			budget_accepted(t, b);
		else
			s->accepted = true;
		return;
	}
	end_turn(t, s, message, &r, &e);
	if (b)
		budget_continued(t, b, &e);
	else
		ahead_answered(t, s);
}

/* --- v2 --- */

/* A repeated idle state is changed as the first one was: the sum of all turns. */
static enum verdict
repeat(struct tool *t, struct session *s, struct slice update)
{
	if (s->idle_forwarded.n)
		tool_check(t, frame_replace(t->frame, update, buf_slice(&s->idle_forwarded)));
	return VERDICT_PASS;
}

static enum verdict
turn_idle(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r)
{
	struct slice update = json_get(message->msg.params, acp_update);
	struct budget *b = s->budget;
	struct turn_end e;

	/* A repeat of the held idle state: the agent has not read the nudge yet. */
	if (b && b->held && !b->accepted)
		return VERDICT_DROP;
	if (!s->busy && s->idle_received.n > 0 && slice_eq(buf_slice(&s->idle_received), update))
		return repeat(t, s, update);
	/* The agent has not read the prompt that is on its way: this is the end of another turn. */
	if (!s->busy && (s->open > 0 || s->asked))
		return VERDICT_PASS;
	s->busy = false;
	if (!end_turn(t, s, message, r, &e))
		return VERDICT_PASS;
	if (s->asked && s->accepted) {
		ahead_answered(t, s);
		return VERDICT_PASS;
	}
	if (!b || !b->accepted) {
		turn_over(t, s);
		return VERDICT_PASS;
	}
	s->idle_received.n = s->idle_forwarded.n = 0;
	tool_check(t, buf_add_slice(&s->idle_received, update));
	if (b->held) {
		budget_continued(t, b, &e);
		return VERDICT_DROP;
	}
	b->holds_idle = true;
	return budget_turn(t, b, &e);
}

enum verdict
turn_state(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r)
{
	s->waits = json_string_is(json_path(message->msg.params, acp_update_state), "requires_action");
	if (r->idle)
		return turn_idle(t, s, message, r);
	accepted(t, s, message, r);
	return VERDICT_PASS;
}
