/* The filter: finds out what a message, an event or the end of the stream means, and calls what handles that. */
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* Returns whether the agent repeats a held response. The client would take the repeat for the end of the turn. */
static bool
is_held_again(const struct tool *t, const struct message *message)
{
	const struct budget *b;

	LL_FOREACH(t->budgets, b)
		if (b->held && !b->holds_idle && msg_same_id(buf_slice(&b->id), message->msg.id))
			return true;
	return false;
}

static enum verdict
see_update(struct tool *t, struct session *session, struct slice kind, struct slice update)
{
	static const char *const of_user[] = {"user_message_chunk", "user_message", NULL},
		*const of_agent[] = {"agent_message_chunk", "agent_thought_chunk", "agent_message", "agent_thought", NULL};
	bool user = json_string_in(kind, of_user);
	struct budget_session *s = user ? session_data(t, session) : session->data;
	SCOPED struct buf text = {0};

	/* A history, and work between turns, belong to no prompt. */
	if (s && t->options->estimate && session->turn && !session_is_replayed(session) && json_string_in(kind, of_agent))
		s->streamed += content_text(update, &text);
	if (s && json_string_is(kind, acp_state_update) && json_string_is(json_get(update, acp_state), acp_idle))
		return turn_repeated(t, s, update);
	return s && user ? echo_see(t, s, update) : VERDICT_PASS;
}

static enum verdict
from_agent(struct tool *t, const struct message *message)
{
	struct budget_session *s;
	enum verdict verdict;
	struct seen seen;

	if (message->msg.kind == MSG_RESPONSE && !message->request)
		return is_held_again(t, message) ? VERDICT_DROP : VERDICT_PASS;
	tool_see(t, message, &seen);
	s = session_family(seen.about);
	if (seen.used)
		limits_spend(t, seen.about, s);
	/* A session without a prompt of its own may be a sub-agent of any session that runs. */
	session_heard(t, s && session_runs(s) ? s : NULL);
	if (seen.end.session) {
		verdict = turn_ended(t, &seen.end);
		budgets_free(t, false);
		return verdict;
	}
	if (message->msg.kind == MSG_RESPONSE && prompt_was_answered(t, message)) {
		turn_late(t, message);
		limits_spend(t, seen.about, s);
		return VERDICT_DROP;
	}
	return seen.about && seen.kind.p ? see_update(t, seen.about, seen.kind, json_get(message->msg.params, acp_update)) : VERDICT_PASS;
}

static enum verdict
from_client(struct tool *t, const struct message *message)
{
	enum acp_method what = message->msg.what;
	struct budget_session *s;
	struct seen seen;

	if (what == ACP_SESSION_PROMPT && message->msg.kind == MSG_REQUEST)
		return prompt_came(t, message);
	if (what == ACP_CANCEL_REQUEST && message->msg.kind == MSG_NOTIFICATION && prompt_withdrawn(t, message) == VERDICT_DROP)
		return VERDICT_DROP;
	if (what == ACP_INITIALIZE || what == ACP_PROXY_INITIALIZE)
		t->notices = json_type(json_path(message->msg.params, "clientCapabilities.session.notices")) == JSON_OBJECT
			|| json_type(json_path(message->msg.params, "capabilities.session.notices")) == JSON_OBJECT;
	tool_see(t, message, &seen);
	if (message->msg.kind == MSG_RESPONSE)
		session_heard(t, seen.about && (s = session_family(seen.about)) && session_runs(s) ? s : NULL);
	s = seen.about && message->msg.kind != MSG_RESPONSE ? seen.about->data : NULL;
	if (s && (what == ACP_SESSION_CANCEL || what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE))
		session_cancelled(t, s, what != ACP_SESSION_CANCEL);
	return VERDICT_PASS;
}

/* --- the filter --- */

static int
start(void *state, struct frame *f)
{
	struct tool *t = state;

	t->frame = f;
	if (t->ledger)
		ledger_trouble(t);
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	struct tool *t = state;

	(void)f;
	tool_check(t, commands_see(&t->commands, &message->msg));
	return dir == ACP_UP ? from_agent(t, message) : from_client(t, message);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct tool *t = state;

	(void)f;
	if (e->kind == FRAME_TIMER)
		clock_rings(t);
	/* Only the side that ends first is the reason: the frame then ends the other side, too. */
	if (e->kind == FRAME_EOF && !t->end_reason)
		t->end_reason = e->from == ACP_CLIENT ? "the client has left" : e->from == ACP_AGENT ? "the agent has ended"
			: "the stream has ended";
}

/* Forwards held responses, and responds with an error to prompts that wait. */
static int
end(void *state, struct frame *f)
{
	struct tool *t = state;
	const char *why = t->end_reason ? t->end_reason : "the stream has ended";

	(void)f;
	budgets_end(t, NULL, why);
	for (struct budget_session *s = session_next(t, NULL); s; s = session_next(t, s)) {
		limits_report_unenforced(t, s, s->turns > 0);
		prompts_refused(t, s, ACP_ERR_INTERNAL, why);
		/* The agent may have ended before it read these prompts, because they had to wait. */
		prompts_failed(t, s, why, true);
		session_spend(t, s->session);
	}
	if (t->ledger)
		ledger_end(t);
	limits_show(t);
	return 0;
}

int
filter_run(const struct options *o)
{
	struct tool t = {.options = o};
	struct usage_spec spec = {.basis = o->basis, .whole = true, .event = turn_used, .arg = &t};
	/* No limits: sessions must not be forgotten, since what they have used counts. */
	struct session_limits limits = {.sessions = SIZE_MAX, .bytes = SIZE_MAX, .keep = true};
	struct filter filter = {.name = tool_name, .needs = FILTER_EDITS | FILTER_SENDS, .state = &t,
		.start = start, .message = message, .response = turn_responded, .event = event, .end = end};
	int status = EXIT_FAILED;

	usage_words(&t.words);
	t.usage = usage_new(&spec);
	t.sessions = sessions_new(turn_happened, &t, &limits);
	t.answered = requests_new();
	t.ledger = o->ledger ? ledger_new(o) : NULL;
	if (!t.usage || !t.sessions || !t.answered || (o->ledger && !t.ledger))
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	if (status_open(&t) == 0)
		status = frame_run(&filter, &o->frame);
	if (t.tty >= 0)
		close(t.tty);
	sessions_free(t.sessions);
	budgets_free(&t, true);
	requests_free(t.answered);
	commands_free(t.commands);
	ledger_free(t.ledger);
	usage_free(t.usage);
	return status;
}
