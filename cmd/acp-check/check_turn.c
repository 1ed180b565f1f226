/* What follows from the order of messages: sessions, turns, tool calls, permissions. */
#include "cmd/acp-check/check.h"

#define KIND(name) "\"" name "\""

/* Is the JSON string one of these? They have their quotes. */
static bool
is_one_of(struct slice string, const char *const *names, size_t n)
{
	while (n > 0 && !slice_is(string, names[n - 1]))
		n--;
	return n > 0;
}

/* --- sessions --- */

static bool
opens(enum acp_method what)
{
	return what == ACP_SESSION_NEW || what == ACP_SESSION_FORK;
}

/* Methods that name a session which need not be open. */
static bool
is_about_any(const struct message *s)
{
	static const char *const names[] = {KIND("session/delete"), KIND("session/close"), KIND("session/archive"),
		KIND("session/unarchive"), KIND("session/set_title"), KIND("session/status"), KIND("session/fork")};

	return is_one_of(s->msg.method, names, sizeof(names) / sizeof(*names));
}

/* Does the session of an agent's message that is not known have to be announced as a sub-agent's? */
static bool
has_subagents(const struct check *c)
{
	return c->c.version == 2 || json_path(buf_slice(&c->c.capabilities[ACP_CLIENT]), "subagents").p;
}

/* The session that params name; reported once where it is not known. NULL: none. */
static struct session *
session_of(struct check *c, const struct message *s)
{
	struct slice id = json_get(s->msg.params, acp_session_id);
	struct session *session;
	bool child;

	if (json_type(id) != JSON_STRING || is_about_any(s))
		return NULL;
	session = session_find(&c->c, id);
	if (session)
		return session;
	child = s->from == ACP_AGENT && has_subagents(c);
	if (connection_knows(&c->c) && !c->c.forgot_session && !(s->from == ACP_AGENT && c->c.opening))
		check_find(c, child ? RULE_SUBAGENT_UNANNOUNCED : RULE_UNKNOWN_SESSION, "params.sessionId",
			child ? "a session that was opened, or announced as a sub-agent's" : "a session that was opened", id);
	session = session_add(&c->c, id);
	c->failed |= !session;
	return session;
}

/* --- tool calls --- */

static bool
is_final(struct slice status)
{
	return json_type(status) == JSON_STRING && !slice_is(status, KIND("pending")) && !slice_is(status, KIND("in_progress")) &&
		!slice_is(status, KIND("paused"));
}

static bool
follows_calls(const struct check *c)
{
	return connection_knows(&c->c) && !c->c.forgot_session && !c->c.forgot_call;
}

static void
see_call(struct check *c, struct session *s, struct slice update, bool begins)
{
	struct slice id = json_get(update, "toolCallId"), status = json_get(update, "status");
	struct call *call;

	if (json_type(id) != JSON_STRING)
		return;
	call = call_find(&c->c, s, id);
	if (begins && call && follows_calls(c))
		check_find(c, RULE_TOOL_CALL_TWICE, "params.update.toolCallId", "an id that no other call of the session has", id);
	if (!begins && !call && c->c.version != 2 && follows_calls(c))
		check_find(c, RULE_TOOL_CALL_UNKNOWN, "params.update.toolCallId", "the id of a call that tool_call has begun", id);
	if (call && call->finished && !begins && json_type(status) == JSON_STRING && !is_final(status))
		check_find(c, RULE_TOOL_CALL_FINISHED, "params.update.status", "no other status after the final one", status);
	if (!call)
		call = call_add(&c->c, s, id);
	if (!call)
		c->failed = true;
	else if (is_final(status))
		call_finish(s, call);
}

/* A turn has ended: nothing is left open, unless it was cancelled. */
static void
end_calls(struct check *c, struct session *s, bool cancelled, const char *path)
{
	for (struct call *call = s->calls; call && s->open_calls; call = call->hh.next) {
		if (!call->finished && !cancelled && follows_calls(c))
			check_find(c, RULE_TOOL_CALL_OPEN, path, "the end of each tool call before that of the turn", slice(call->key, call->keylen));
		call_finish(s, call);
	}
}

/* --- updates --- */

static void
check_in_turn(struct check *c, const struct session *s, struct slice kind)
{
	static const char *const in_turn[] = {KIND("agent_message_chunk"), KIND("agent_thought_chunk"), KIND("tool_call"),
		KIND("tool_call_update"), KIND("plan")};

	if (c->c.version == 2 || s->prompts || s->loading || s->child || c->c.forgot_session || !connection_knows(&c->c))
		return;
	if (is_one_of(kind, in_turn, sizeof(in_turn) / sizeof(*in_turn)))
		check_find(c, RULE_OUTSIDE_TURN, "params.update.sessionUpdate", "an open prompt in the session", kind);
}

/* The state of a session (v2): idle ends what it worked on. */
static void
see_state(struct check *c, struct session *s, struct slice update)
{
	struct slice state = json_get(update, acp_state), stop = json_get(update, acp_stop_reason);

	if (!json_string_is(state, acp_idle)) {
		s->running |= json_string_is(state, "running");
		return;
	}
	if (s->cancelling && json_type(stop) == JSON_STRING && !json_string_is(stop, acp_cancelled))
		check_find(c, RULE_CANCELLED_TURN, "params.update.stopReason", "\"cancelled\"", stop);
	if (s->running && !json_get(update, "background").p)
		end_calls(c, s, s->cancelling, "params.update.state");
	check_usage(c, s, json_get(update, "usage"), s->running, "params.update.usage");
	s->running = s->cancelling = false;
}

static void
see_update(struct check *c, struct session *s, struct slice update)
{
	struct slice kind = json_get(update, acp_update_kind), child;
	struct session *other;

	if (json_type(kind) != JSON_STRING)
		return;
	check_in_turn(c, s, kind);
	s->worked |= strncmp(kind.p, "\"agent_", 7) == 0 || strncmp(kind.p, "\"tool_call", 10) == 0;
	if (slice_is(kind, KIND("tool_call")) || slice_is(kind, KIND("tool_call_update"))) {
		see_call(c, s, update, slice_is(kind, KIND("tool_call")));
	} else if (slice_is(kind, KIND("usage_update"))) {
		check_usage_update(c, s, update);
	} else if (slice_is(kind, KIND("state_update"))) {
		see_state(c, s, update);
	} else if (slice_is(kind, KIND("subagent_update"))) {
		child = json_get(update, acp_session_id);
		other = json_type(child) == JSON_STRING ? session_add(&c->c, child) : NULL;
		if (other)
			other->child = true;
	}
}

/* --- permissions --- */

static void
ask_permission(struct check *c, const struct message *s, struct session *session)
{
	struct slice call = json_get(s->msg.params, "toolCall"), id;

	if (!call.p)
		call = json_path(s->msg.params, "subject.toolCall");
	id = json_get(call, "toolCallId");
	if (json_type(id) != JSON_STRING || !session || call_find(&c->c, session, id))
		return;
	if (follows_calls(c))
		check_find(c, RULE_PERMISSION_CALL, c->c.version == 2 ? "params.subject.toolCall.toolCallId" : "params.toolCall.toolCallId",
			"the id of a call that was announced", id);
	c->failed |= !call_add(&c->c, session, id);
}

static bool
is_offered(struct slice options, struct slice id)
{
	struct json_iter it = {.in = options};
	struct slice key, option;

	while (json_next(&it, &key, &option)) {
		struct slice offered = json_get(option, acp_option_id);

		if (json_type(offered) == JSON_STRING && json_string_eq(offered, id))
			return true;
	}
	return false;
}

static void
answer_permission(struct check *c, const struct message *s, const struct request_state *request, const struct session *session)
{
	struct slice outcome = json_path(s->msg.result, "outcome.outcome"), id = json_path(s->msg.result, "outcome.optionId");

	if (json_type(outcome) != JSON_STRING)
		return;
	if (c->c.version != 2 && session && session->cancels != request->cancels && !json_string_is(outcome, acp_cancelled))
		check_find(c, RULE_CANCELLED_PERMISSION, "result.outcome.outcome", "\"cancelled\"", outcome);
	if (json_string_is(outcome, "selected") && json_type(id) == JSON_STRING && json_type(request->options) == JSON_ARRAY &&
		!is_offered(request->options, id))
		check_find(c, RULE_PERMISSION_OPTION, "result.outcome.optionId", "an option that was offered", id);
}

/* --- turns --- */

/* Does the agent say that prompts queue? There is no member for it yet: _meta of any agent. */
static bool
queues_prompts(const struct check *c)
{
	struct json_iter it = {.in = json_path(buf_slice(&c->c.capabilities[ACP_AGENT]), "_meta")};
	struct slice key, value;

	if (json_type(it.in) != JSON_OBJECT)
		return false;
	while (json_next(&it, &key, &value))
		if (json_type(json_string_is(key, "promptQueueing") ? value : json_get(value, "promptQueueing")) == JSON_TRUE)
			return true;
	return false;
}

static void
begin_turn(struct check *c, struct session *s)
{
	if (c->c.version == 2)
		return;
	if (s->prompts++ > 0 && connection_knows(&c->c) && !queues_prompts(c))
		check_find(c, RULE_PROMPT_OVERLAP, "method", "the end of the turn before", slice(NULL, 0));
}

static void
end_turn(struct check *c, const struct message *s, const struct request_state *request, struct session *session)
{
	struct slice stop = json_get(s->msg.result, acp_stop_reason);
	bool cancelled = session->cancels != request->cancels, stopped;

	if (c->c.version == 2)
		return;
	stopped = json_type(stop) == JSON_STRING && json_string_is(stop, acp_cancelled);
	session->prompts -= session->prompts > 0;
	if (cancelled && !stopped)
		check_find(c, RULE_CANCELLED_TURN, s->msg.error.p ? "error" : "result.stopReason", "\"cancelled\"",
			s->msg.error.p ? s->msg.error : stop);
	if (session->prompts == 0)
		end_calls(c, session, cancelled || stopped || s->msg.error.p, "result");
	check_usage(c, session, json_get(s->msg.result, "usage"), true, "result.usage");
}

/* --- what comes in --- */

void
check_request(struct check *c, const struct message *s, struct request_state *request)
{
	struct slice id = json_get(s->msg.params, acp_session_id);
	struct session *session = NULL;

	c->c.opening += opens(s->msg.what);
	if (s->msg.what == ACP_SESSION_LOAD || s->msg.what == ACP_SESSION_RESUME) {
		session = json_type(id) == JSON_STRING ? session_add(&c->c, id) : NULL;
		if (session)
			session->loading = true;
	} else {
		session = session_of(c, s);
	}
	if (session)
		request->cancels = session->cancels;
	if (s->msg.what == ACP_SESSION_PROMPT && session)
		begin_turn(c, session);
	else if (s->msg.what == ACP_REQUEST_PERMISSION)
		ask_permission(c, s, session);
}

void
check_notification(struct check *c, const struct message *s)
{
	struct session *session = session_of(c, s);

	if (!session)
		return;
	if (s->msg.what == ACP_SESSION_CANCEL) {
		/* Of several prompts in a queue it is not said which one is cancelled. */
		session->cancels += session->prompts <= 1;
		session->cancelling = session->running;
	} else if (json_type(c->update) == JSON_OBJECT) {
		see_update(c, session, c->update);
	}
}

void
check_response(struct check *c, const struct message *s, const struct request *r)
{
	struct slice id = json_get(s->msg.result, acp_session_id);
	struct session *session = r->session.p ? session_find(&c->c, r->session) : NULL;

	if (opens(r->what)) {
		c->c.opening -= c->c.opening > 0;
		if (json_type(id) == JSON_STRING)
			c->failed |= !session_add(&c->c, id);
	}
	if (!session || !r->owner)
		return;
	switch (r->what) {
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
		session->loading = false;
		end_calls(c, session, true, "result");
		break;
	case ACP_SESSION_PROMPT:
		end_turn(c, s, r->owner, session);
		break;
	case ACP_REQUEST_PERMISSION:
		answer_permission(c, s, r->owner, session);
		break;
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
		if (s->msg.result.p)
			session_drop(&c->c, session);
		break;
	default:
		break;
	}
}
