/* Timeouts: for agents that fall silent, and for cancelled continuations that do not end. */
#include <limits.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* Returns whether the agent is not silent, but waits for a tool call of the turn, a response of the client, or the user. */
static bool
agent_waits(const struct tool *t, const struct budget_session *s)
{
	struct session_request *r = NULL;
	struct session *other = NULL;
	struct session_call *call;

	while ((r = sessions_request(t->sessions, r)))
		if (r->request->from == ACP_AGENT && (!r->session || session_root(r->session) == s->session))
			return true;
	while ((other = sessions_next(t->sessions, other)))
		for (call = other->calls; call; call = call->hh.next)
			if (!call->ended && call->turn && call->turn == s->session->turn)
				return true;
	return s->silence.waits;
}

/* v2: makes the idle state that the agent does not send, for lib/session and (to_client) for the client. */
static void
put_idle(struct tool *t, struct budget_session *s, const char *why, bool to_client)
{
	SCOPED struct buf params = {0}, text = {0}, message = {0};

	if (tool_check(t, buf_printf(&message, "%s: %s", tool_name, why)
			|| json_format(&params, "{\"sessionId\":%b,\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"idle\","
				"\"stopReason\":\"error\",\"error\":{\"code\":-32603,\"message\":%j}}}", buf_slice(&s->id),
				buf_slice(&message))
			|| msg_make_notification(&text, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params))
			|| (to_client && frame_send(t->frame, ACP_UP, buf_slice(&text)))))
		return;
	tool_see_own(t, buf_slice(&text));
}

/* Ends all that runs in the session in the agent's place. */
static void
end_all(struct tool *t, struct budget_session *s, const char *why)
{
	struct budget *b;
	bool ended = false;

	LL_FOREACH(t->budgets, b) {
		if (b->tag.session != s || b->state == BUDGET_OVER)
			continue;
		/* For the client, the held message ends the turn: budget_end forwards it. */
		ended |= b->held != NULL;
		budget_end(t, b, why);
	}
	s->at.runs = false;
	prompts_failed(t, s, why, false);
	if (s->session->turn)
		put_idle(t, s, why, !ended);
	prompts_refused(t, s, ACP_ERR_INTERNAL, why);
}

static void
act_on_silence(struct tool *t, struct budget_session *s)
{
	static const char *const what[] = {"", ": cancelled", ": answered in its place"};
	SCOPED struct buf why = {0};

	if (tool_check(t, buf_printf(&why, "no message from the agent for %.3gs", (double)t->options->max_silence * ++s->silence.acted / 1e6)
			|| !buf_string(&why)))
		return;
	session_report(t, s, "%s%s", why.p, what[s->silence.acted - 1]);
	if (s->silence.acted > 1)
		frame_fail(t->frame, EXIT_NEGATIVE);
	if (s->silence.acted == 2)
		session_cancel(t, s);
	if (s->silence.acted == 3)
		end_all(t, s, why.p);
}

/* Acts if the agent was silent for too long. Returns when to check again; 0: not before a message comes. */
static uint64_t
check_silence(struct tool *t, struct budget_session *s, uint64_t now)
{
	uint64_t silence = t->options->max_silence, from = s->silence.last > t->last ? s->silence.last : t->last;

	while (silence && s->silence.acted < 3 && session_runs(s) && !agent_waits(t, s)) {
		if (now < from + (s->silence.acted + 1) * silence)
			return from + (s->silence.acted + 1) * silence;
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
	struct budget *b;

	t->alarm = 0;
	LL_FOREACH(t->budgets, b)
		if (expire_deadline(t, &b->deadline, now) && b->state != BUDGET_OVER)
			budget_end(t, b, buf_string(&b->why));
	for (struct budget_session *s = session_next(t, NULL); s; s = session_next(t, s)) {
		/* The turn of a text was cancelled and does not end: the prompts that waited for it do not wait for another text. */
		if (expire_deadline(t, &s->at.deadline, now) && s->at.runs) {
			s->at.tried = UINT_MAX;
			at_ended(t, s);
		}
		when = check_silence(t, s, now);
		if (when)
			tool_alarm(t, when);
	}
	budgets_free(t, false);
}
