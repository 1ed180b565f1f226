/* Budgets: when they continue, which message is held, and how they end. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* The number of continuations before the gains can count as diminishing. */
enum { DIMINISH_AFTER = 3 };

void
turn_over(struct tool *t, struct budget_session *s)
{
	s->turns++;
	limits_check(t, s, false);
}

struct budget *
budget_new(struct tool *t, struct budget_session *s, uint64_t target, struct slice id)
{
	struct budget *b = calloc(1, sizeof(*b));

	if (!b || buf_add_slice(&b->id, id) < 0) {
		free(b);
		return NULL;
	}
	b->tag = (struct tag){TAG_BUDGET, s};
	b->target = target;
	b->began = frame_now(t->frame);
	LL_PREPEND(t->budgets, b);
	return b;
}

void
budgets_free(struct tool *t, bool all)
{
	struct budget *b, *next;

	LL_FOREACH_SAFE(t->budgets, b, next) {
		if (!all && (b->state != BUDGET_OVER || b->refs > 0))
			continue;
		LL_DELETE(t->budgets, b);
		buf_free(&b->id);
		buf_free(&b->text);
		buf_free(&b->why);
		free(b);
	}
}

/* Returns the part of a message that says how a turn ended: the result of a response, or the idle state. */
static struct slice
outcome_of(const struct msg *m)
{
	return m->kind == MSG_RESPONSE ? m->result : json_get(m->params, acp_update);
}

static struct slice
held_text(const struct budget *b)
{
	return b->text.n ? buf_slice(&b->text) : frame_held_text(b->held);
}

void
budget_end(struct tool *t, struct budget *b, const char *why)
{
	struct budget_session *s = b->tag.session;
	struct msg m;

	if (s->budget == b)
		s->budget = NULL;
	if (b->state != BUDGET_OVER)
		status_report(t, b, true, why && *why ? why : NULL);
	b->state = BUDGET_OVER;
	if (b->held) {
		if (b->holds_idle && msg_scan(held_text(b), &m, NULL) == MSG_NOTIFICATION) {
			s->idle.forwarded.n = 0;
			tool_check(t, buf_add_slice(&s->idle.forwarded, outcome_of(&m)));
		}
		frame_release(t->frame, b->held, VERDICT_PASS, b->text.n ? buf_slice(&b->text) : slice(NULL, 0));
		b->held = NULL;
		turn_over(t, s);
	}
}

void
budgets_end(struct tool *t, const struct budget_session *s, const char *why)
{
	struct budget *b;

	LL_FOREACH(t->budgets, b)
		if ((!s || b->tag.session == s) && b->state != BUDGET_OVER)
			budget_end(t, b, b->why.n && buf_string(&b->why) ? b->why.p : why);
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
budget_check(struct tool *t, struct budget_session *s)
{
	const char *why = NULL;

	if (t->counts == COUNTS_KNOWN || t->options->estimate)
		return true;
	if (t->counts == COUNTS_LACKING)
		why = "the agent reports no usage of its turns";
	else if (s->usage && usage_session_basis(t->usage, s->usage) == USAGE_LAST_CALL)
		why = "the agent reports the usage of a turn's last call only";
	if (why && !(s->limits.unenforced & LIMIT_TARGET))
		session_report(t, s, "no budget: %s (--estimate counts the text)", why);
	s->limits.unenforced |= why ? LIMIT_TARGET : 0u;
	return !why;
}

/* --- whether a budget goes on --- */

/* Returns whether the turn ended otherwise than with end_turn; then appends the error or stop reason to why. */
static bool
check_stop_reason(struct tool *t, struct budget *b, const struct turn_end *e)
{
	struct slice message = json_type(e->error) == JSON_OBJECT ? json_get(e->error, "message") : e->error;
	bool says = json_type(message) == JSON_STRING;
	int r;

	if (e->failed)
		r = buf_printf(&b->why, "the agent answered %swith an error%s", b->held ? "a continuation " : "", says ? ": " : "")
			|| (says && json_unescape(message, &b->why));
	else if (json_string_is(e->stop, "end_turn"))
		return false;
	else if (json_string_is(e->stop, "cancelled"))
		r = buf_add_string(&b->why, "cancelled");
	else
		r = buf_add_string(&b->why, e->stop.p ? "stop reason " : "no stop reason") || (e->stop.p && json_unescape(e->stop, &b->why));
	tool_check(t, r);
	return true;
}

/* Returns whether the budget ends; then appends the reason to why, unless the target was reached. */
static bool
check_end(struct tool *t, struct budget *b, const struct turn_end *e)
{
	const struct options *o = t->options;
	const char *why = NULL;

	if (b->why.n || limits_reached(t, b->tag.session, false, &b->why) || check_stop_reason(t, b, e) || b->tokens >= b->target)
		return true;
	if (!e->counted)
		why = "the agent reported no usage";
	else if (usage_reaches(b->tokens, b->target, o->threshold, true))
		why = "near enough";
	else if (t->end_reason)
		why = t->end_reason;
	else if (b->continuations >= o->max_continuations)
		why = "--max-continuations is reached";
	else if (b->continuations >= DIMINISH_AFTER && b->gains[0] < o->min_gain && b->gains[1] < o->min_gain)
		why = "diminishing returns";
	if (why)
		tool_check(t, buf_add_string(&b->why, why));
	return why != NULL;
}

static int
nudge(struct tool *t, struct budget *b)
{
	struct budget_session *s = b->tag.session;

	status_report(t, b, false, NULL);
	b->continuations++;
	s->nudge.n = s->echoed.nudge = 0;
	if (nudge_put(t, b, &s->nudge) || session_prompt(t, s, buf_slice(&s->nudge), &b->tag))
		return -1;
	b->refs++;
	return 0;
}

/* Replaces a value of the text that will be forwarded. Slices of the old text are invalid afterwards. 0, or -1 out of memory. */
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

/* Sets the stop reason of the held response, if it has one. 0, or -1 out of memory. */
static int
put_stop(struct budget *b, struct slice reason)
{
	struct slice stop;
	struct msg m;

	if (msg_scan(held_text(b), &m, NULL) == MSG_NOISE)
		return 0;
	stop = json_get(outcome_of(&m), acp_stop_reason);
	return stop.p ? splice_text(b, stop, reason) : 0;
}

void
budget_cancel(struct tool *t, struct budget *b)
{
	b->state = BUDGET_CANCELLED;
	if (b->held && !b->deadline)
		tool_deadline(t, &b->deadline);
	/* The client gets this if the nudge fails or does not end; otherwise the nudge's own stop reason. */
	if (b->held)
		tool_check(t, put_stop(b, slice_of("\"cancelled\"")));
	budget_drop(t, b, "cancelled");
}

/* Adds the usage of a continuation to the response that the client will get. 0, or -1 out of memory. */
static int
add_outcome(struct tool *t, struct budget *b, const struct turn_end *e)
{
	enum usage_basis basis = usage_session_basis(t->usage, b->tag.session->usage);
	struct slice base;
	SCOPED struct buf sum = {0};
	struct msg m;

	if (msg_scan(held_text(b), &m, NULL) == MSG_NOISE)
		return 0;
	base = outcome_of(&m);
	if (json_type(base) != JSON_OBJECT || json_type(e->outcome) != JSON_OBJECT)
		return 0;
	if (usage_add_responses(base, e->outcome, b->holds_idle, basis, &sum) || splice_text(b, base, buf_slice(&sum)))
		return -1;
	return e->stop.p && !(b->state == BUDGET_CANCELLED && e->failed) ? put_stop(b, e->stop) : 0;
}

/* Handles the end of the first turn of a budget, which the client's prompt has begun. */
static enum verdict
end_prompt_turn(struct tool *t, struct budget *b, const struct turn_end *e)
{
	struct budget_session *s = b->tag.session;

	if (!e->counted && !t->counts && json_string_is(e->stop, "end_turn"))
		t->counts = COUNTS_LACKING;
	if (!e->counted && !budget_check(t, s)) {
		s->budget = NULL;
		b->state = BUDGET_OVER;
	} else if (!check_end(t, b, e) && nudge(t, b) == 0 && (b->held = frame_hold(t->frame, NULL))) {
		return VERDICT_HOLD;
	} else {
		budget_end(t, b, buf_string(&b->why));
	}
	turn_over(t, s);
	return VERDICT_PASS;
}

enum verdict
budget_turn(struct tool *t, struct budget *b, const struct turn_end *e)
{
	struct budget_session *s = b->tag.session;

	if (__builtin_add_overflow(b->tokens, e->output, &b->tokens))
		b->tokens = UINT64_MAX;
	b->gains[1] = b->gains[0];
	b->gains[0] = e->output;
	b->estimated |= e->estimated;
	if (e->idle)
		tool_check(t, buf_add_slice(&s->idle.received, e->outcome));
	if (!b->held) {
		b->holds_idle = e->idle;
		return end_prompt_turn(t, b, e);
	}
	if (!e->failed || e->idle)
		tool_check(t, add_outcome(t, b, e));
	if (check_end(t, b, e) || nudge(t, b) < 0)
		budget_end(t, b, buf_string(&b->why));
	return VERDICT_DROP;
}
