/* Timeouts: for agents that fall silent, and for cancelled continuations that do not end. */
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* A tool_call without a status is pending; an update without one changes nothing. */
static void
see_call(struct tool *t, struct session *s, struct slice update)
{
	static const char *const final_states[] = {"completed", "failed", "cancelled", NULL};
	struct slice kind = json_get(update, acp_update_kind), id = json_get(update, "toolCallId"), status = json_get(update, "status");
	bool starts = json_string_is(kind, "tool_call");

	if (!(starts || json_string_is(kind, "tool_call_update")) || json_type(id) != JSON_STRING)
		return;
	if (starts || json_type(status) == JSON_STRING)
		session_note_call(t, s, id, !json_string_in(status, final_states));
}

void
clock_see(struct tool *t, enum acp_direction dir, const struct message *message)
{
	struct slice id = message_session(message);
	struct session *s = t->options->max_silence ? session_of(t, id, false) : NULL;
	size_t *asks = s ? &s->asks : &t->asks;

	if (!t->options->max_silence)
		return;
	if (message->msg.kind == MSG_REQUEST && dir == ACP_UP)
		++*asks;
	if (message->msg.kind == MSG_RESPONSE && dir == ACP_DOWN && *asks > 0)
		--*asks;
	if (s && dir == ACP_UP && message->msg.what == ACP_SESSION_UPDATE)
		see_call(t, s, json_get(message->msg.params, acp_update));
	/* A session without a prompt of its own may be a sub-agent of any that runs. */
	if (dir == ACP_UP || message->msg.kind == MSG_RESPONSE)
		session_heard(t, s && session_runs(s) ? s : NULL);
}

/* --- silence --- */

/* v2: what the client gets for an idle state. */
static void
put_idle(struct tool *t, const struct session *s, struct slice error)
{
	SCOPED struct buf update = {0};

	tool_check(t, buf_printf(&update, "{\"%s\":\"state_update\",\"state\":\"idle\",\"%s\":\"error\"", acp_update_kind, acp_stop_reason)
		|| json_add_member(&update, "error", error) || buf_add(&update, "}", 1));
	session_update(t, s, buf_slice(&update));
}

static void
put_errors(struct tool *t, struct session *s, const char *why)
{
	SCOPED struct buf error = {0}, text = {0};
	struct open *o;

	tool_check(t, buf_printf(&text, "%s: %s", tool_name, why) || buf_printf(&error, "{\"code\":%d,\"message\":", ACP_ERR_INTERNAL)
		|| json_quote(buf_slice(&text), &error) || buf_add(&error, "}", 1));
	LL_FOREACH(s->opened, o) {
		if (o->answered)
			continue;
		text.n = 0;
		tool_check(t, msg_make_failure(&text, buf_slice(&o->id), buf_slice(&error)) || frame_send(t->frame, ACP_UP, buf_slice(&text)));
		o->answered = true;
		s->open--;
	}
	if (s->busy)
		put_idle(t, s, buf_slice(&error));
}

/* Responds to all prompts of the client in the agent's place. */
static void
answer_all(struct tool *t, struct session *s, const char *why)
{
	struct budget *b, *next;

	LL_FOREACH_SAFE(t->budgets, b, next) {
		if (b->tag.session != s || b->over)
			continue;
		/* What was held is the end of the turn. */
		s->busy &= !b->held;
		budget_end(t, b, why);
	}
	put_errors(t, s, why);
	s->busy = s->asked = false;
	prompts_refused(t, s, ACP_ERR_INTERNAL, why);
}

static void
act_on_silence(struct tool *t, struct session *s)
{
	static const char *const what[] = {"", ": cancelled", ": answered in its place"};
	SCOPED struct buf why = {0};

	if (tool_check(t, buf_printf(&why, "no message from the agent for %.3gs", (double)t->options->max_silence * ++s->silent / 1e6)
			|| !buf_string(&why)))
		return;
	session_report(t, s, "%s%s", why.p, what[s->silent - 1]);
	if (s->silent > 1)
		frame_fail(t->frame, EXIT_NEGATIVE);
	if (s->silent == 2)
		session_cancel(t, s);
	if (s->silent == 3)
		answer_all(t, s, why.p);
}

/* Acts if the agent was silent for too long. Returns when to check again; 0: not before a message comes. */
static uint64_t
check_silence(struct tool *t, struct session *s, uint64_t now)
{
	uint64_t silence = t->options->max_silence, from = s->heard > t->heard ? s->heard : t->heard;

	/* What waits for a tool or for the client is not silent. */
	while (silence && s->silent < 3 && session_runs(s) && !s->calls && !s->asks && !t->asks && !s->waits) {
		if (now < from + (s->silent + 1) * silence)
			return from + (s->silent + 1) * silence;
		act_on_silence(t, s);
	}
	return 0;
}

/* --- the alarm --- */

/* Returns whether the deadline has passed, and clears it then; sets the alarm otherwise. */
static bool
expire_deadline(struct tool *t, uint64_t *deadline, uint64_t now)
{
	bool passed = *deadline && *deadline <= now;

	if (passed)
		*deadline = 0;
	else if (*deadline)
		tool_alarm(t, *deadline);
	return passed;
}

void
clock_rings(struct tool *t)
{
	uint64_t now = frame_now(t->frame), when;
	struct budget *b, *next;

	t->alarm = 0;
	LL_FOREACH_SAFE(t->budgets, b, next) {
		if (expire_deadline(t, &b->deadline, now) && !b->over)
			budget_give_up(t, b);
	}
	for (struct session *s = t->sessions; s; s = s->hh.next) {
		if (expire_deadline(t, &s->deadline, now) && s->asked)
			ahead_give_up(t, s);
		when = check_silence(t, s, now);
		if (when)
			tool_alarm(t, when);
	}
}
