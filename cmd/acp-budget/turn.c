/* How turns end: with a response, or (v2) with an idle state. */
#include "cmd/acp-budget/budget.h"

struct slice
turn_update(const struct msg *m)
{
	struct slice update = json_type(m->params) == JSON_OBJECT ? json_get(m->params, acp_update) : slice(NULL, 0);

	return update.p && json_type(update) == JSON_OBJECT ? update : slice(NULL, 0);
}

struct slice
turn_outcome(const struct msg *m)
{
	return m->kind == MSG_RESPONSE ? m->result : turn_update(m);
}

static bool
same(const struct buf *b, struct slice text)
{
	return b->n > 0 && slice_eq(buf_slice(b), text);
}

void
turn_over(struct tool *t, struct session *s)
{
	s->turns++;
	limits_check(t, s);
}

/* Ends the turn that ends with this message, and fills *e. False: no turn has ended. */
static bool
end_turn(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r, struct turn_end *e)
{
	*e = (struct turn_end){.failed = r->failed, .stop = r->stop};
	e->outcome = r->failed ? message->msg.error : turn_outcome(&message->msg);
	t->judged = t->has_output = false;
	if (usage_take(t->usage, message->t, r) < 0 || (s->usage && usage_finish(t->usage, s->usage) < 0))
		tool_no_memory(t);
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
	if (usage_take(t->usage, message->t, r) < 0)
		tool_no_memory(t);
	s->busy = true;
}

static bool
answers(const struct budget *b, const struct message *message)
{
	struct buf key = {0};
	bool yes = msg_id_key(message->request->id, &key) == 0 && same(&b->id, buf_slice(&key));

	buf_free(&key);
	return yes;
}

/* Forgets the open prompt of this response. Returns whether acp-budget has already responded to it. */
static bool
close_prompt(struct session *s, const struct message *message)
{
	struct open **at = &s->opened, *o;
	struct buf key = {0};
	bool answered;

	if (msg_id_key(message->request->id, &key) < 0)
		return false;
	while ((o = *at) && !same(&o->key, buf_slice(&key)))
		at = &o->next;
	buf_free(&key);
	if (!o)
		return false;
	*at = o->next;
	answered = o->answered;
	open_free(o);
	s->open -= !answered;
	return answered;
}

enum verdict
turn_answered(struct tool *t, struct session *s, const struct message *message)
{
	struct budget *b = s->budget && !s->budget->held && answers(s->budget, message) ? s->budget : NULL;
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

static void
remember_idle(struct tool *t, struct session *s, struct slice update)
{
	s->idle_received.n = s->idle_forwarded.n = 0;
	if (buf_add_slice(&s->idle_received, update) < 0)
		tool_no_memory(t);
}

/* A repeated idle state is changed as the first one was: the sum of all turns. */
static enum verdict
repeat(struct tool *t, struct session *s, struct slice update)
{
	if (s->idle_forwarded.n && frame_replace(t->frame, update, buf_slice(&s->idle_forwarded)) < 0)
		tool_no_memory(t);
	return VERDICT_PASS;
}

static enum verdict
turn_idle(struct tool *t, struct session *s, const struct message *message, const struct usage_report *r)
{
	struct slice update = turn_update(&message->msg);
	struct budget *b = s->budget;
	struct turn_end e;

	/* A repeat of the held idle state: the agent has not read the nudge yet. */
	if (b && b->held && !b->accepted)
		return VERDICT_DROP;
	if (!s->busy && same(&s->idle_received, update))
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
	remember_idle(t, s, update);
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
	struct slice state = json_get(turn_update(&message->msg), "state");

	s->waits = json_type(state) == JSON_STRING && json_string_is(state, "requires_action");
	if (r->idle)
		return turn_idle(t, s, message, r);
	s->busy = true;
	if (usage_take(t->usage, message->t, r) < 0)
		tool_no_memory(t);
	return VERDICT_PASS;
}
