/* Checks what the order of messages says about turns, tool calls, permission requests and updates. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/match/digest.h"

/* Marks, to which `data` points: of a turn or question that the client has cancelled; of a tool call that a message has named. */
static char cancelled, named;

/* --- figures: the context, the cost, and the usage of turns --- */

/* Returns a hash that is never 0. */
static uint64_t
hash(struct slice text)
{
	return digest_bytes(text) | 1;
}

static void
check_cost(struct check *c, struct check_session *s, struct slice cost)
{
	struct slice amount = json_get(cost, "amount"), currency = json_get(cost, "currency");
	SCOPED struct buf room = {0};
	char text[64];
	uint64_t unit;
	double value;

	if (json_type(amount) != JSON_NUMBER || json_type(currency) != JSON_STRING || amount.n >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)amount.n, amount.p);
	value = strtod(text, NULL);
	unit = hash(json_text(currency, &room));
	/* A cost of 0 is no finding: the agent may have restarted. */
	if (s->currency == unit && value < s->cost && value > 0) {
		snprintf(text, sizeof(text), "at least %.17g", s->cost);
		check_report(c, RULE_COST_FALLS, "params.update.cost.amount", text, amount);
	}
	s->currency = unit;
	s->cost = value;
}

static void
check_usage_update(struct check *c, struct check_session *s, struct slice update)
{
	struct slice used = json_get(update, "used"), size = json_get(update, "size"), cost = json_get(update, "cost");
	char text[48];
	uint64_t n, most;

	if (json_type(used) == JSON_NUMBER && json_type(size) == JSON_NUMBER && json_u64(used, &n) && json_u64(size, &most) && n > most) {
		snprintf(text, sizeof(text), "at most the size, %llu", (unsigned long long)most);
		check_report(c, RULE_USED_ABOVE_SIZE, "params.update.used", text, used);
	}
	s->counted = true;
	if (json_type(cost) == JSON_OBJECT)
		check_cost(c, s, cost);
	else if (json_type(cost) == JSON_NULL && c->conn.version == 2)
		s->currency = 0;
}

static void
check_usage(struct check *c, struct check_session *s, struct slice usage, bool at_end, const char *path)
{
	uint64_t now = json_type(usage) == JSON_OBJECT ? hash(usage) : 0, total;
	bool stale = at_end && !c->conn.partial && now == s->usage && !s->worked && json_u64(json_get(usage, "totalTokens"), &total) && total > 0;

	if (now && s->usage && (stale || (!at_end && now != s->usage)))
		check_report(c, RULE_USAGE_TURN, path, at_end ? "the usage of this turn" : "the usage of the turn that has ended", usage);
	s->counted |= now != 0;
	if (at_end) {
		s->usage = now;
		s->worked = false;
	}
}

/* --- turns; in version 2 agents report when work begins and ends, and the messages of the user --- */

/* Marks the open turn and questions as cancelled; not if prompts are queued in v1: session/cancel does not say which it means. */
static void
cancel(struct session *s, bool v2)
{
	struct session_request *r;

	if (s->turn && s->turn->next && !v2)
		return;
	if (s->turn)
		s->turn->data = &cancelled;
	for (r = s->requests; r; r = r->after)
		if (r->question)
			r->question->data = &cancelled;
}

/* Does the agent say that it queues prompts? The schema has no member for that yet; agents say it in _meta, or a part of it. */
static bool
queues_prompts(const struct check *c)
{
	struct json_iter it = {.in = json_path(buf_slice(&c->conn.capabilities[ACP_AGENT]), "_meta")};
	struct slice key, value;

	if (json_type(it.in) != JSON_OBJECT)
		return false;
	while (json_next(&it, &key, &value))
		if (json_type(json_string_is(key, "promptQueueing") ? value : json_get(value, "promptQueueing")) == JSON_TRUE)
			return true;
	return false;
}

/* Begins a turn. Usage may be reported after the end of its turn, so the next turn reports that it is missing. */
static void
begin_turn(struct check *c, const struct session_turn *turn)
{
	struct check_session *data = turn->session->data;

	if (!data || !turn->prompted)
		return;
	data->prompt = (struct check_prompt){0};
	if (data->ended && data->counted_before && !data->counted && !c->conn.partial)
		check_report(c, RULE_USAGE_MISSING, "", "usage of the turn before", slice(NULL, 0));
	data->counted_before |= data->counted;
	data->counted = data->ended = false;
	if (data->replay == CHECK_LOADED)
		data->replay = CHECK_NO_REPLAY;
}

static void
end_turn(struct check *c, const struct session_turn *turn, const struct session_message *seen)
{
	bool v2 = c->conn.version == 2, is_cancelled = turn->stop.p && json_string_is(turn->stop, acp_cancelled);
	const struct msg *m = seen ? &seen->message.msg : NULL;
	struct check_session *data = turn->session->data;

	if (data)
		data->ended = !turn->unfinished && !turn->failed && !is_cancelled;
	if (turn->unfinished || turn->joined || !m || (v2 && m->kind == MSG_RESPONSE))
		return;
	if (turn->data && !is_cancelled && (turn->stop.p || !v2))
		check_report(c, RULE_CANCELLED_TURN, v2 ? "params.update.stopReason" : m->error.p ? "error" : "result.stopReason",
			"\"cancelled\"", m->error.p ? m->error : turn->stop);
	if (data)
		data->counted |= json_path(m->result, "_meta.quota").p || json_path(m->params, "update._meta.quota").p;
	if (!v2 && data)
		check_usage(c, data, json_get(m->result, "usage"), true, "result.usage");
}

/* Checks the responses to session/load, session/resume, session/close and session/prompt (v2). */
static void
see_response(struct check *c, const struct session_event *e)
{
	struct check_session *data = e->session && !e->unanswered ? e->session->data : NULL;
	struct slice result = data ? e->message->message.msg.result : slice(NULL, 0), id;
	enum acp_method what = e->request->request->what;
	bool counts = c->conn.version == 2 && data && !e->message->copy;

	if (!result.p)
		return;
	if (counts && (what == ACP_SESSION_LOAD || what == ACP_SESSION_RESUME) && !data->stated && check_is_complete(c))
		check_report(c, RULE_RESUME_STATE, "result", "a state_update before it", slice(NULL, 0));
	/* The agent must report an idle state, which ends the work, before its response to session/close. */
	if (counts && what == ACP_SESSION_CLOSE && data->running)
		check_report(c, RULE_CANCELLED_TURN, "result", "an idle state before it", slice(NULL, 0));
	data->running &= what != ACP_SESSION_CLOSE;
	if (!counts || what != ACP_SESSION_PROMPT || !session_accepts(result, true))
		return;
	id = json_get_string(result, "messageId");
	data->prompt.accepted = true;
	data->prompt.accepted_id = id.p ? hash(json_text(id, &c->text)) : 0;
	data->prompt.echoed |= data->prompt.several_reported || data->prompt.reported_id == data->prompt.accepted_id;
}

/* Checks an idle state. It ends work, or only repeats one, if since then the agent reported no work and sent no message. */
static void
see_idle(struct check *c, struct check_session *data, const struct session_event *e)
{
	bool own = json_string_is(e->message->kind, acp_state_update), known = check_is_complete(c) && !c->conn.forgot_session;
	struct slice state = json_get(e->state, acp_state);

	if (data->running && own && json_type(json_get(e->state, acp_stop_reason)) != JSON_STRING)
		check_report(c, RULE_STOP_REASON, "params.update.stopReason", "why the work ends", slice(NULL, 0));
	if (data->prompt.accepted && (data->running || data->prompt.spoke)) {
		if (!data->running && known)
			check_report(c, RULE_STATE_RUNNING, "params.update.state", "\"running\" before it", state);
		if (data->prompt.accepted_id && !data->prompt.echoed && !data->queues && known)
			check_report(c, RULE_USER_MESSAGE, "params.update.state",
				"a user message with the id of the prompt's response before it", state);
		data->prompt.accepted = data->prompt.spoke = false;
	}
	check_usage(c, data, json_get(e->state, "usage"), data->running, own ? "params.update.usage" : "params.update.state.usage");
	data->running = false;
}

/* Checks the state of a session (v2). */
static void
see_state(struct check *c, const struct session_event *e)
{
	struct check_session *data = e->session->data;
	struct slice state = json_get(e->state, acp_state);

	if (!data || c->conn.version != 2)
		return;
	data->stated = true;
	if (json_string_is(state, acp_idle))
		see_idle(c, data, e);
	else
		data->running |= json_type(state) == JSON_STRING;
}

static void
see_user_message(struct check *c, struct check_session *data, struct slice update)
{
	struct slice id = json_get_string(update, "messageId");
	uint64_t said = id.p ? hash(json_text(id, &c->text)) : 0;

	if (!said)
		return;
	data->prompt.echoed |= said == data->prompt.accepted_id;
	data->prompt.several_reported |= !data->prompt.accepted_id && data->prompt.reported_id && data->prompt.reported_id != said;
	data->prompt.reported_id = said;
}

/* --- tool calls --- */

static bool
follows_calls(const struct check *c)
{
	return check_is_complete(c) && !c->conn.forgot_session && !c->conn.forgot_call;
}

static void
begin_call(struct check *c, struct session_call *call, const struct session_message *seen)
{
	struct slice params = c->message.msg.params, asked = json_path(params, "toolCall.toolCallId");
	bool v2 = c->conn.version == 2;

	call->data = &named;
	if (!follows_calls(c))
		return;
	if (c->message.msg.what == ACP_REQUEST_PERMISSION)
		check_report(c, RULE_PERMISSION_CALL, v2 ? "params.subject.toolCall.toolCallId" : "params.toolCall.toolCallId",
			"the id of a call that was announced", asked.p ? asked : json_path(params, "subject.toolCall.toolCallId"));
	else if (!v2 && json_string_is(seen->kind, "tool_call_update"))
		check_report(c, RULE_TOOL_CALL_UNKNOWN, "params.update.toolCallId", "the id of a call that tool_call has begun",
			json_get(seen->update, "toolCallId"));
}

static void
change_call(struct check *c, const struct session_event *e)
{
	struct slice status = json_get(e->message->update, "status");

	if (e->again && follows_calls(c))
		check_report(c, RULE_TOOL_CALL_TWICE, "params.update.toolCallId", "an id that no other call of the session has",
			json_get(e->message->update, "toolCallId"));
	else if (e->call->ended && !e->call->unfinished && json_type(status) == JSON_STRING && !session_status_is_final(status))
		check_report(c, RULE_TOOL_CALL_FINISHED, "params.update.status", "no other status after the final one", status);
}

/* Checks that no tool call is open at the end of a turn, unless the turn failed or was cancelled (v1). */
static void
end_call(struct check *c, const struct session_call *call)
{
	const struct session_turn *turn = call->turn;

	if (!call->unfinished || !turn || turn->unfinished || turn->data || turn->failed || c->conn.version == 2 || !follows_calls(c) ||
		(turn->stop.p && json_string_is(turn->stop, acp_cancelled)))
		return;
	check_report(c, RULE_TOOL_CALL_OPEN, "result", "the end of each tool call before that of the turn", slice(call->id, call->n));
}

/* --- permissions --- */

static bool
is_offered(struct slice options, struct slice id)
{
	struct json_iter it = {.in = options};
	struct slice option;

	while (json_item(&it, &option))
		if (json_string_eq(json_get(option, acp_option_id), id))
			return true;
	return false;
}

static void
check_permission(struct check *c, const struct session_event *e)
{
	const struct check_request *request = e->request->data;
	/* In version 2 not the client, but the agent cancels its permission requests after session/cancel. */
	bool cancels = e->question->data && c->conn.version != 2;
	struct slice outcome, id;

	/* Without a response, c->message is another message. */
	if (e->question->unfinished || !request || e->request->request->what != ACP_REQUEST_PERMISSION)
		return;
	outcome = json_path(c->message.msg.result, "outcome.outcome");
	id = json_path(c->message.msg.result, "outcome.optionId");
	if (cancels && c->message.msg.error.p)
		check_report(c, RULE_CANCELLED_PERMISSION, "error", "the outcome \"cancelled\"", c->message.msg.error);
	if (json_type(outcome) != JSON_STRING)
		return;
	if (cancels && !json_string_is(outcome, acp_cancelled))
		check_report(c, RULE_CANCELLED_PERMISSION, "result.outcome.outcome", "\"cancelled\"", outcome);
	if (json_string_is(outcome, "selected") && json_type(id) == JSON_STRING && json_type(request->options) == JSON_ARRAY &&
		!is_offered(request->options, id))
		check_report(c, RULE_PERMISSION_OPTION, "result.outcome.optionId", "an option that was offered", id);
}

/* --- all events and updates --- */

void
check_turn_event(struct check *c, const struct session_event *e)
{
	struct check_session *data = e->session ? e->session->data : NULL;

	switch (e->kind) {
	case SESSION_RESPONDED:
		see_response(c, e);
		break;
	case SESSION_CANCEL:
		cancel(e->session, c->conn.version == 2);
		break;
	case SESSION_STATE:
		see_state(c, e);
		break;
	case SESSION_CLOSED:
		/* session/close cancels the open turn; what becomes of queued prompts, the protocol does not say. */
		if (c->conn.version != 2 && e->session->turn && !e->session->turn->next &&
			e->message->message.request->what == ACP_SESSION_CLOSE)
			e->session->turn->data = &cancelled;
		break;
	case SESSION_TURN_QUEUED:
		if (data) {
			data->prompt = (struct check_prompt){0};
			data->queues = true;
		}
		if (c->conn.version != 2 && e->session->turn->prompted && check_is_complete(c) && !queues_prompts(c))
			check_report(c, RULE_PROMPT_OVERLAP, "method", "the end of the turn before", slice(NULL, 0));
		break;
	case SESSION_TURN_BEGAN:
		begin_turn(c, e->turn);
		break;
	case SESSION_TURN_ENDED:
		end_turn(c, e->turn, e->message);
		break;
	case SESSION_CALL_BEGAN:
		if (e->again)
			change_call(c, e);
		begin_call(c, e->call, e->message);
		break;
	case SESSION_CALL_CHANGED:
		change_call(c, e);
		break;
	case SESSION_CALL_ENDED:
		end_call(c, e->call);
		break;
	case SESSION_CALL_FORGOTTEN:
		c->conn.forgets_call |= e->limit;
		break;
	case SESSION_ANSWERED:
		check_permission(c, e);
		break;
	default:
		break;
	}
}

void
check_update(struct check *c, const struct session_message *seen, struct slice update)
{
	static const char *const in_turn[] = {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", NULL};
	static const char *const of_history[] = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call",
		"tool_call_update", "user_message", "agent_message", "agent_thought", NULL};
	static const char *const of_user[] = {"user_message", "user_message_chunk", NULL};
	struct session *s = seen->session;
	struct check_session *data = s ? s->data : NULL;
	struct session_call *call;
	struct slice kind = json_text(seen->kind, &c->text);
	bool of_agent = kind.n > 6 && memcmp(kind.p, "agent_", 6) == 0, of_call = kind.n >= 9 && memcmp(kind.p, "tool_call", 9) == 0;

	if (!data || !kind.p)
		return;
	data->worked |= of_agent || of_call;
	data->prompt.spoke |= of_agent;
	if (c->conn.version == 2 && json_string_in(seen->kind, of_user))
		see_user_message(c, data, update.p ? update : seen->members);
	if (c->conn.version != 2 && !s->turn && !s->parent && !session_is_replayed(s) && s->how != SESSION_CHILD && !c->conn.forgot_session &&
		check_is_complete(c) && json_string_in(seen->kind, in_turn))
		check_report(c, RULE_OUTSIDE_TURN, "params.update.sessionUpdate", "an open prompt in the session", seen->kind);
	if (data->replay == CHECK_RESUMING && !s->turn && check_is_complete(c) && json_string_in(seen->kind, of_history)) {
		check_report(c, RULE_RESUME_REPLAY, "params.update.sessionUpdate", "no history before the response to session/resume", seen->kind);
		data->replay = CHECK_NO_REPLAY;
	}
	if (data->replay == CHECK_LOADED && !s->turn && !s->history && c->conn.version != 2 && check_is_complete(c) &&
		json_string_is(seen->kind, "user_message_chunk")) {
		check_report(c, RULE_LATE_REPLAY, "params.update.sessionUpdate", "all of the history before the response to session/load", seen->kind);
		data->replay = CHECK_NO_REPLAY;
	}
	if (json_string_is(seen->kind, "usage_update"))
		check_usage_update(c, data, update);
	/* lib/session reports no events of replayed tool calls. */
	if (!session_is_replayed(s) || !of_call || json_type(json_get(update, "toolCallId")) != JSON_STRING)
		return;
	call = session_call_find(c->watch->sessions, s, json_get(update, "toolCallId"));
	if (call && !call->data)
		begin_call(c, call, seen);
}
