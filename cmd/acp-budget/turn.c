/* How turns end: with a response, or (v2) with an idle state. */
#include "cmd/acp-budget/budget.h"

static void
note_end(struct tool *t, struct budget_session *s, const struct session_turn *turn)
{
	struct tag *tag = turn->data;
	struct budget *b = budget_of(tag);
	struct turn_end *e = t->seeing ? &t->seeing->end : NULL;

	if (b)
		b->refs--;
	/* The turn did not end with a message of the agent: the function of acp-budget that has ended it does the rest. */
	if (!e)
		return;
	/* The end of the turn will not come. Prompts that wait for it cannot be sent from here, but when the timer expires. */
	if (turn->unfinished) {
		if (b)
			budget_end(t, b, "its turn was lost");
		else if (tag && s->at.runs)
			tool_alarm(t, s->at.deadline = frame_now(t->frame));
		return;
	}
	/* Of several turns that end with one message, the one that ran ends last: the prompts of the others came while it ran. */
	e->session = s;
	e->failed = turn->failed;
	e->error = turn->error;
	e->stop = turn->stop;
	e->of_client |= b ? b->continuations == 0 : !tag;
	if (b ? b->state != BUDGET_OVER : tag && s->at.runs)
		e->tag = tag;
}

void
turn_happened(void *tool, const struct session_event *e)
{
	struct tool *t = tool;
	struct budget_session *s = e->session ? e->session->data : NULL;

	if (e->kind == SESSION_COMPACTION && t->options->nat > 0)
		s = session_data(t, e->session);
	switch (s ? e->kind : SESSION_CONNECTED) {
	case SESSION_COMPACTION:
		s->compacting = json_string_is(json_get(e->message->update, "status"), "in_progress");
		break;
	case SESSION_STATE:
		s->silence.waits = json_string_is(json_get(e->state, acp_state), "requires_action");
		break;
	case SESSION_CLOSED:
		/* The response to a nudge may never come. */
		budgets_end(t, s, "the session was closed");
		break;
	case SESSION_ADOPTED:
		session_joined(t, s);
		break;
	case SESSION_TURN_ENDED:
		note_end(t, s, e->turn);
		break;
	case SESSION_FORGOTTEN:
		session_free(s);
		break;
	default:
		break;
	}
	/* lib/usage comes last, because it may report at once what the turn has used. */
	usage_happened(t->usage, e);
}

void
turn_used(void *tool, const struct usage_event *e)
{
	struct tool *t = tool;
	struct turn_end *end = t->seeing ? &t->seeing->end : NULL;

	if (e->kind != USAGE_EVENT_TURN || !end || !end->session || end->session->usage != e->session)
		return;
	/* own_lower: the agent reports only the last call, a part of the turn. */
	end->counted = (e->billed.has & 1u << USAGE_OUTPUT) && !e->own_lower;
	end->output = end->counted ? usage_clip(e->billed.n[USAGE_OUTPUT]) : 0;
}

void
turn_late(struct tool *t, const struct message *m)
{
	struct budget_session *s = session_of(t, m->request->session, false);
	struct session_message late = {.message = *m};
	struct session_turn turn = {.session = s ? s->session : NULL};

	/* In version 2 the idle state, not the response, says what was used. */
	if (s && !sessions_v2(t->sessions))
		usage_happened(t->usage, &(struct session_event){.kind = SESSION_TURN_ENDED, .t = m->t, .message = &late, .session = s->session,
			.turn = &turn});
}

enum verdict
turn_ended(struct tool *t, const struct turn_end *e)
{
	struct budget *b = budget_of(e->tag);

	/* What repeats this end does not repeat an earlier one. */
	e->session->idle.received.n = e->session->idle.forwarded.n = 0;
	if (b)
		return budget_turn(t, b, e);
	if (e->tag)
		at_ended(t, e->session);
	else if (e->of_client)
		turn_over(t, e->session);
	return VERDICT_PASS;
}

void
turn_responded(void *tool, struct frame *f, void *tag, const struct message *m)
{
	struct tool *t = tool;
	struct budget *b = budget_of(tag);
	struct seen seen;

	(void)f;
	tool_see(t, m, &seen);
	limits_spend(t, seen.about, seen.end.session);
	if (seen.end.session)
		turn_ended(t, &seen.end);
	if (b)
		b->refs--;
	budgets_free(t, false);
}

/* An idle state during a nudge is dropped: the agent has not read the nudge yet. Later repeats get the sum of all turns. */
enum verdict
turn_repeated(struct tool *t, struct budget_session *s, struct slice update)
{
	if (s->budget && s->budget->held)
		return VERDICT_DROP;
	if (!s->session->turn && s->idle.forwarded.n && slice_eq(buf_slice(&s->idle.received), update))
		tool_check(t, frame_replace(t->frame, update, buf_slice(&s->idle.forwarded)));
	return VERDICT_PASS;
}
