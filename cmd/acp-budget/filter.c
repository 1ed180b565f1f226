/* The filter: which message concerns what. */
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

static void
see_text(struct session *s, struct slice kind, struct slice update)
{
	static const char *const of_agent[] = {"agent_message_chunk", "agent_thought_chunk", "agent_message", "agent_thought", NULL};
	SCOPED struct buf text = {0};

	if (json_string_in(kind, of_agent))
		s->streamed += content_text(update, &text);
}

/* The session of the client's whose child this report is about, or NULL. */
static struct session *
parent_of(struct tool *t, const struct usage_report *r)
{
	const struct usage_session *u = NULL;
	struct session *s = NULL;
	SCOPED struct buf plain = {0};

	if (r->session.p && json_unescape(r->session, &plain) == 0 && plain.p)
		u = usage_find_session(t->usage, buf_slice(&plain));
	while (u && u->parent)
		u = u->parent;
	if (u)
		HASH_FIND(hh, t->sessions, u->id, u->id_length, s);
	return s;
}

static enum verdict
see_update(struct tool *t, const struct message *message)
{
	const struct options *o = t->options;
	struct slice kind = msg_update_kind(&message->msg), update;
	bool user = json_string_is(kind, "user_message_chunk") || json_string_is(kind, "user_message");
	bool compaction = o->nat > 0 && json_string_is(kind, "compaction_update");
	struct session *s = session_of(t, msg_session(&message->msg), user || compaction);
	struct usage_report r;

	if (usage_may_matter(&t->words, message->msg.text) && usage_read(message, &r)) {
		if (r.what == USAGE_STATE && s)
			return turn_state(t, s, message, &r);
		tool_check(t, usage_take(t->usage, message->t, &r));
		if (s)
			ahead_rearm(t, s);
		if (s || (s = parent_of(t, &r)))
			limits_check(t, s);
		s = session_of(t, msg_session(&message->msg), false);
	}
	if (!s || !kind.p)
		return VERDICT_PASS;
	update = json_get(message->msg.params, acp_update);
	if (compaction)
		s->compacting = json_string_is(json_get(update, "status"), "in_progress");
	if (o->estimate)
		see_text(s, kind, update);
	return user ? echo_see(t, s, update) : VERDICT_PASS;
}

static void
see_usage(struct tool *t, const struct message *message)
{
	struct usage_report r;

	if (!usage_read(message, &r))
		return;
	if (r.what == USAGE_HELLO)
		t->v2 = r.v2;
	tool_check(t, usage_take(t->usage, message->t, &r));
}

/* Is it a repeat of the response that is held? The client must not take it for the end. */
static bool
is_held_again(const struct tool *t, const struct message *message)
{
	const struct budget *b;

	LL_FOREACH(t->budgets, b)
		if (b->held && !b->holds_idle && msg_same_id(buf_slice(&b->id), message->msg.id))
			return true;
	return false;
}

/* A response to the client. */
static enum verdict
see_answer(struct tool *t, const struct message *message)
{
	const struct request *asked = message->request;
	struct session *s = asked ? session_of(t, asked->session, false) : NULL;

	if (!asked && is_held_again(t, message))
		return VERDICT_DROP;
	if (!asked || asked->from != ACP_CLIENT)
		return VERDICT_PASS;
	switch (asked->what) {
	case ACP_SESSION_PROMPT:
		return s ? turn_answered(t, s, message) : VERDICT_PASS;
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
		/* The session has ended; the response to a nudge may never come. */
		if (s && s->budget && message->msg.result.p)
			budget_end(t, s->budget, "the session was closed");
		return VERDICT_PASS;
	case ACP_INITIALIZE:
	case ACP_PROXY_INITIALIZE:
	case ACP_SESSION_NEW:
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
	case ACP_SESSION_FORK:
		see_usage(t, message);
		return VERDICT_PASS;
	default:
		return VERDICT_PASS;
	}
}

static bool
shows_notices(struct slice params)
{
	return json_type(json_path(params, "clientCapabilities.session.notices")) == JSON_OBJECT
		|| json_type(json_path(params, "capabilities.session.notices")) == JSON_OBJECT;
}

static enum verdict
see_request(struct tool *t, const struct message *message)
{
	bool prompt = message->msg.what == ACP_SESSION_PROMPT;
	struct session *s = session_of(t, msg_session(&message->msg), prompt && message->msg.kind == MSG_REQUEST);

	if (message->msg.what == ACP_CANCEL_REQUEST)
		return message->msg.kind == MSG_NOTIFICATION ? prompt_withdrawn(t, message) : VERDICT_PASS;
	if (prompt && s && message->msg.kind == MSG_REQUEST)
		return prompt_came(t, s, message);
	if (!s)
		return VERDICT_PASS;
	if (message->msg.what == ACP_SESSION_CANCEL)
		session_cancelled(t, s, false);
	if (message->msg.what == ACP_SESSION_CLOSE || message->msg.what == ACP_SESSION_DELETE)
		session_cancelled(t, s, true);
	return VERDICT_PASS;
}

/* --- the filter --- */

static int
start(void *state, struct frame *f)
{
	struct tool *t = state;

	t->frame = f;
	return 0;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *message)
{
	struct tool *t = state;

	(void)f;
	tool_check(t, commands_see(&t->commands, &message->msg));
	clock_see(t, dir, message);
	if (message->msg.kind == MSG_RESPONSE)
		return dir == ACP_UP ? see_answer(t, message) : VERDICT_PASS;
	if (dir == ACP_UP)
		return message->msg.what == ACP_SESSION_UPDATE ? see_update(t, message) : VERDICT_PASS;
	if (message->msg.what == ACP_INITIALIZE || message->msg.what == ACP_PROXY_INITIALIZE)
		t->notices = shows_notices(message->msg.params);
	if (message->msg.what == ACP_SESSION_LOAD || message->msg.what == ACP_SESSION_RESUME)
		see_usage(t, message);
	return see_request(t, message);
}

static void
answer(void *state, struct frame *f, void *tag, const struct message *message)
{
	(void)f;
	turn_request_answered(state, tag, message);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct tool *t = state;

	(void)f;
	if (e->kind == FRAME_TIMER)
		clock_rings(t);
	/* The side that ends first; the frame then ends the other side, too. */
	if (e->kind == FRAME_EOF && !t->end_reason) {
		t->client_left = e->from == ACP_CLIENT;
		t->end_reason = t->client_left ? "the client has left" : e->from == ACP_AGENT ? "the agent has ended" : "the stream has ended";
	}
}

/* Held responses are forwarded; prompts that wait get an error. */
static int
end(void *state, struct frame *f)
{
	struct tool *t = state;
	const char *why = t->end_reason ? t->end_reason : "the stream has ended";
	struct budget *b, *next;

	(void)f;
	LL_FOREACH_SAFE(t->budgets, b, next) {
		b->nudging = false;
		budget_end(t, b, b->why.n && buf_string(&b->why) ? b->why.p : why);
	}
	for (struct session *s = t->sessions; s; s = s->hh.next) {
		limits_report_unenforced(t, s, s->turns > 0);
		prompts_refused(t, s, ACP_ERR_INTERNAL, why);
	}
	return 0;
}

/* A turn has been judged: what it used. */
static void
judged(void *arg, const struct usage_event *e)
{
	struct tool *t = arg;

	if (e->kind != USAGE_EVENT_TURN)
		return;
	t->judged = true;
	/* The last call's is a part of the turn's. */
	t->has_output = (e->billed.has & 1u << USAGE_OUTPUT) && !e->own_lower;
	t->output = usage_clip(e->billed.n[USAGE_OUTPUT]);
}

int
filter_run(const struct options *o)
{
	struct tool t = {.options = o};
	struct usage_spec spec = {.basis = o->basis, .whole = true, .event = judged, .arg = &t};
	struct filter filter = {.name = tool_name, .needs = FILTER_EDITS | FILTER_SENDS, .state = &t,
		.start = start, .message = message, .response = answer, .event = event, .end = end};
	int status = EXIT_FAILED;

	usage_words(&t.words);
	t.usage = usage_new(&spec);
	if (!t.usage)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	if (status_open(&t) == 0)
		status = frame_run(&filter, &o->frame);
	if (t.tty >= 0)
		close(t.tty);
	sessions_free(&t);
	commands_free(t.commands);
	usage_free(t.usage);
	return status;
}
