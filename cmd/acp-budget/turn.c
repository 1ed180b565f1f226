/* How turns end, and what then becomes of their budgets. */
#include <stdlib.h>

#include "cmd/acp-budget/budget.h"

/* Before this many continuations returns can not be said to diminish. */
enum { DIMINISH_AFTER = 3 };

/* --- budgets --- */

struct budget *
budget_new(struct tool *t, struct session *s, uint64_t target, struct slice id)
{
	struct budget *b = calloc(1, sizeof(*b));

	if (!b || msg_id_key(id, &b->id) < 0) {
		free(b);
		return NULL;
	}
	b->own = (struct own){OWN_NUDGE, s};
	b->target = target;
	b->began = frame_now(t->frame);
	b->next = t->budgets;
	t->budgets = b;
	return b;
}

/* Nobody asks for it any more, and no answer to it is to come. */
static void
budget_free(struct tool *t, struct budget *b)
{
	struct budget **at = &t->budgets;

	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	buf_free(&b->id);
	buf_free(&b->text);
	buf_free(&b->why);
	free(b);
}

static struct slice
held_text(const struct budget *b)
{
	return b->text.n ? buf_slice(&b->text) : frame_held_text(b->held);
}

static bool
same(const struct buf *b, struct slice text)
{
	return b->n > 0 && slice_eq(buf_slice(b), text);
}

static struct slice
update_of(const struct msg *m)
{
	struct slice update = json_type(m->params) == JSON_OBJECT ? json_get(m->params, acp_update) : slice(NULL, 0);

	return update.p && json_type(update) == JSON_OBJECT ? update : slice(NULL, 0);
}

/* What an answer, or an idle state, says. */
static struct slice
outcome_of(const struct msg *m)
{
	return m->kind == MSG_RESPONSE ? m->result : update_of(m);
}

/* With all its continuations. */
static void
client_turn_ended(struct tool *t, struct session *s)
{
	s->turns++;
	limits_see(t, s);
}

void
budget_end(struct tool *t, struct budget *b, const char *why)
{
	struct session *s = b->own.session;
	struct json_error error;
	struct msg m;

	if (s->budget == b)
		s->budget = NULL;
	if (!b->over)
		status_end(t, b, why && *why ? why : NULL);
	b->over = true;
	if (b->held) {
		if (b->idle && msg_scan(held_text(b), &m, &error) == MSG_NOTIFICATION) {
			s->idle_went.n = 0;
			if (buf_add_slice(&s->idle_went, update_of(&m)) < 0)
				tool_no_memory(t);
		}
		frame_release(t->frame, b->held, VERDICT_PASS, b->text.n ? buf_slice(&b->text) : slice(NULL, 0));
		b->held = NULL;
		client_turn_ended(t, s);
	}
	if (!b->nudging)
		budget_free(t, b);
}

void
budget_drop(struct tool *t, struct budget *b, const char *why)
{
	if (b->why.n)
		return;
	if (b->held && buf_add_string(&b->why, why) == 0)
		return;
	budget_end(t, b, why);
}

bool
budget_can_be(struct tool *t, struct session *s)
{
	const char *why = NULL;

	if (t->counted || t->options->estimate)
		return true;
	if (t->lacks)
		why = "the agent reports no usage of its turns";
	else if (s->usage && usage_session_basis(t->usage, s->usage, NULL, NULL) == USAGE_LAST_CALL)
		why = "the agent reports the usage of a turn's last call only";
	if (why && !s->lacked)
		session_say(t, s, "no budget: %s (--estimate counts the text)", why);
	s->lacked |= why != NULL;
	return !why;
}

/* --- going on, or not --- */

static bool
is_stop(struct slice stop, const char *name)
{
	return stop.p && json_type(stop) == JSON_STRING && json_string_is(stop, name);
}

/* Appends a string's text. */
static int
put_text(struct slice string, struct buf *to)
{
	return string.p && json_type(string) == JSON_STRING ? json_unescape(string, to) : 0;
}

static bool
is_limit(struct tool *t, struct budget *b)
{
	struct buf text = {0};
	bool yes = limits_reached(t, b->own.session, false, &text);

	if (yes && buf_add_slice(&b->why, buf_slice(&text)) < 0)
		tool_no_memory(t);
	buf_free(&text);
	return yes;
}

/* Did the agent not end its turn in order? Then why has what it said. */
static bool
is_stopped(struct tool *t, struct budget *b, const struct turn_end *e)
{
	int r;

	if (e->failed)
		r = buf_printf(&b->why, "the agent answered %swith an error: ", b->held ? "a continuation " : "")
			|| put_text(json_type(e->outcome) == JSON_OBJECT ? json_get(e->outcome, "message") : e->outcome, &b->why);
	else if (is_stop(e->stop, "end_turn"))
		return false;
	else if (is_stop(e->stop, "cancelled"))
		r = buf_add_string(&b->why, "cancelled");
	else
		r = buf_add_string(&b->why, e->stop.p ? "stop reason " : "no stop reason") || put_text(e->stop, &b->why);
	if (r)
		tool_no_memory(t);
	return true;
}

/* Is the budget over? why then says why, unless the target was simply reached. */
static bool
is_over(struct tool *t, struct budget *b, const struct turn_end *e)
{
	const struct options *o = t->options;
	const char *why = NULL;

	if (b->why.n || is_limit(t, b) || is_stopped(t, b, e) || b->tokens >= b->target)
		return true;
	if (!e->counted)
		why = "the agent reported no usage";
	else if (usage_reaches(b->tokens, b->target, o->threshold, true))
		why = "near enough";
	else if (t->left)
		why = t->gone;
	else if (b->continuations >= o->max_continuations)
		why = "no more continuations (--max-continuations)";
	else if (b->continuations >= DIMINISH_AFTER && b->gains[0] < o->min_gain && b->gains[1] < o->min_gain)
		why = "diminishing returns";
	if (why && buf_add_string(&b->why, why) < 0)
		tool_no_memory(t);
	return why != NULL;
}

static void
count(struct budget *b, const struct turn_end *e)
{
	if (__builtin_add_overflow(b->tokens, e->output, &b->tokens))
		b->tokens = UINT64_MAX;
	b->gains[1] = b->gains[0];
	b->gains[0] = e->output;
	b->estimated |= e->estimated;
}

static int
nudge(struct tool *t, struct budget *b)
{
	struct session *s = b->own.session;
	struct buf text = {0};
	int r = nudge_put(t, b, &text);

	status_progress(t, b);
	if (r == 0)
		r = echo_expect(&s->nudge, buf_slice(&text));
	if (r == 0)
		r = session_ask(t, s, buf_slice(&text), &b->own);
	buf_free(&text);
	if (r < 0)
		return -1;
	b->continuations++;
	b->accepted = false;
	b->nudging = true;
	return 0;
}

static const char *
why_of(struct budget *b)
{
	return buf_string(&b->why);
}

/* The turn of the client's own prompt has ended with what is shown: hold it, and go on; or it was all. */
static enum verdict
go_on(struct tool *t, struct budget *b, const struct turn_end *e)
{
	struct session *s = b->own.session;

	count(b, e);
	if (!e->counted && is_stop(e->stop, "end_turn") && !budget_can_be(t, s)) {
		s->budget = NULL;
		budget_free(t, b);
	} else if (!is_over(t, b, e) && nudge(t, b) == 0 && (b->held = frame_hold(t->frame))) {
		return VERDICT_HOLD;
	} else {
		budget_end(t, b, why_of(b));
	}
	client_turn_ended(t, s);
	return VERDICT_PASS;
}

/* Replaces a value of the text that is to go on; the text is scanned anew each time. */
static int
splice_text(struct budget *b, struct slice what, struct slice with)
{
	struct splice splice = {what.p, what.p + what.n, with};
	struct buf text = {0};

	if (splice_write(held_text(b), &splice, 1, &text) < 0) {
		buf_free(&text);
		return -1;
	}
	buf_free(&b->text);
	b->text = text;
	return 0;
}

/* Adds what a continuation has brought to what the client will get. */
static int
add_outcome(struct tool *t, struct budget *b, const struct turn_end *e)
{
	enum usage_basis basis = usage_session_basis(t->usage, b->own.session->usage, NULL, NULL);
	struct json_error error;
	struct slice base, stop;
	struct buf sum = {0};
	struct msg m;
	int r;

	if (msg_scan(held_text(b), &m, &error) == MSG_NOISE)
		return 0;
	base = outcome_of(&m);
	if (!base.p || json_type(base) != JSON_OBJECT || !e->outcome.p || json_type(e->outcome) != JSON_OBJECT)
		return 0;
	r = usage_add_answers(base, e->outcome, b->idle, basis, &sum) || splice_text(b, base, buf_slice(&sum));
	buf_free(&sum);
	if (r || msg_scan(held_text(b), &m, &error) == MSG_NOISE)
		return -1;
	stop = json_get(outcome_of(&m), acp_stop_reason);
	return e->stop.p && stop.p ? splice_text(b, stop, e->stop) : 0;
}

static void
continued(struct tool *t, struct budget *b, const struct turn_end *e)
{
	b->nudging = false;
	count(b, e);
	if (!b->over && !e->failed && add_outcome(t, b, e) < 0)
		tool_no_memory(t);
	if (b->over)
		budget_free(t, b);
	else if (is_over(t, b, e) || nudge(t, b) < 0)
		budget_end(t, b, why_of(b));
}

/* --- the ends of turns --- */

/* What the turn brought that ends with this message. False: nothing has ended. */
static bool
end_turn(struct tool *t, struct session *s, const struct seen *seen, const struct usage_report *r, struct turn_end *e)
{
	*e = (struct turn_end){.failed = r->failed, .stop = r->stop, .outcome = r->failed ? seen->msg.error : outcome_of(&seen->msg)};
	t->judged = t->has_output = false;
	if (usage_take(t->usage, seen->t, r, seen->msg.id) < 0 || (s->usage && usage_finish(t->usage, s->usage) < 0))
		tool_no_memory(t);
	if (!t->judged)
		return false;
	e->counted = t->has_output;
	t->counted |= e->counted;
	if (e->counted) {
		e->output = t->output;
	} else if (t->options->estimate) {
		e->output = (s->streamed + 3) / 4;
		e->counted = e->estimated = true;
	} else if (!t->counted && !e->failed && is_stop(e->stop, "end_turn")) {
		t->lacks = true;
	}
	s->streamed = 0;
	if (__builtin_add_overflow(s->output, e->output, &s->output))
		s->output = UINT64_MAX;
	ahead_rearm(t, s);
	limits_see(t, s);
	return true;
}

/* v2 answers a prompt when it has been taken in: its turn goes on. */
static bool
is_accepted(const struct tool *t, struct usage_report *r)
{
	if (r->failed || r->stop.p || r->counts.has || (!t->v2 && !r->accepted))
		return false;
	r->accepted = true;
	return true;
}

static void
accepted(struct tool *t, struct session *s, const struct seen *seen, const struct usage_report *r)
{
	if (usage_take(t->usage, seen->t, r, seen->msg.id) < 0)
		tool_no_memory(t);
	s->busy = true;
}

static bool
answers(const struct budget *b, const struct seen *seen)
{
	struct buf key = {0};
	bool yes = msg_id_key(seen->request->id, &key) == 0 && same(&b->id, buf_slice(&key));

	buf_free(&key);
	return yes;
}

enum verdict
turn_answered(struct tool *t, struct session *s, const struct seen *seen)
{
	struct budget *b = s->budget && !s->budget->held && answers(s->budget, seen) ? s->budget : NULL;
	struct usage_report r;
	struct turn_end e;

	if (s->open > 0)
		s->open--;
	if (!usage_read(seen, &r))
		return VERDICT_PASS;
	if (is_accepted(t, &r)) {
		accepted(t, s, seen, &r);
		if (b)
			b->accepted = true;
		return VERDICT_PASS;
	}
	end_turn(t, s, seen, &r, &e);
	if (b)
		return go_on(t, b, &e);
	client_turn_ended(t, s);
	return VERDICT_PASS;
}

void
turn_own_answered(struct tool *t, struct own *own, const struct seen *seen)
{
	struct session *s = own->session;
	struct budget *b = own->kind == OWN_NUDGE ? (struct budget *)own : NULL;
	struct usage_report r;
	struct turn_end e;

	if (!usage_read(seen, &r))
		r = (struct usage_report){.what = USAGE_ANSWER, .session = s->id, .failed = seen->msg.error.p != NULL};
	if (is_accepted(t, &r)) {
		accepted(t, s, seen, &r);
		if (!b) {
			s->accepted = true;
			return;
		}
		b->accepted = true;
		b->nudging = false;
		if (b->over)
			budget_free(t, b);
		return;
	}
	end_turn(t, s, seen, &r, &e);
	if (b)
		continued(t, b, &e);
	else
		ahead_answered(t, s);
}

/* --- v2 --- */

static void
remember_idle(struct tool *t, struct session *s, struct slice update)
{
	s->idle_came.n = s->idle_went.n = 0;
	if (buf_add_slice(&s->idle_came, update) < 0)
		tool_no_memory(t);
}

/* An end that the client has been told with the sum of all is told so again. */
static enum verdict
repeat(struct tool *t, struct session *s, struct slice update)
{
	if (s->idle_went.n && frame_replace(t->frame, update, buf_slice(&s->idle_went)) < 0)
		tool_no_memory(t);
	return VERDICT_PASS;
}

static enum verdict
turn_idle(struct tool *t, struct session *s, const struct seen *seen, const struct usage_report *r)
{
	struct slice update = update_of(&seen->msg);
	struct budget *b = s->budget;
	struct turn_end e;

	/* The end that is held, once more: the agent has not got to our nudge yet. */
	if (b && b->held && !b->accepted)
		return VERDICT_DROP;
	if (!s->busy && same(&s->idle_came, update))
		return repeat(t, s, update);
	s->busy = false;
	if (!end_turn(t, s, seen, r, &e))
		return VERDICT_PASS;
	if (s->asked && s->accepted) {
		ahead_answered(t, s);
		return VERDICT_PASS;
	}
	if (!b || !b->accepted) {
		client_turn_ended(t, s);
		return VERDICT_PASS;
	}
	remember_idle(t, s, update);
	if (b->held) {
		continued(t, b, &e);
		return VERDICT_DROP;
	}
	b->idle = true;
	return go_on(t, b, &e);
}

enum verdict
turn_state(struct tool *t, struct session *s, const struct seen *seen, const struct usage_report *r)
{
	if (r->idle)
		return turn_idle(t, s, seen, r);
	s->busy = true;
	if (usage_take(t->usage, seen->t, r, slice(NULL, 0)) < 0)
		tool_no_memory(t);
	return VERDICT_PASS;
}
