/* Makes the parts of a transcript from the events of lib/session: sessions, turns, and questions to the user. */
#include "cmd/acp-export/transcript_parts.h"

/* --- turns --- */

/* Adds a turn, which is queued or begins; or begins a turn that was queued. */
static void
begin_turn(struct transcript *t, const struct session_event *e)
{
	struct export_session *x = e->session->data;
	struct export_turn *turn = e->turn->data;

	if (turn) {
		turn->t = turn->end = t->now;
		return;
	}
	if (!e->session->history)
		x->loose = NULL;
	turn = e->turn->data = transcript_new_turn(t, x, e->turn->prompted ? TURN_PROMPTED : TURN_WORK);
	if (!e->turn->prompted)
		return;
	transcript_add_plain(&turn->prompt, acp_prompt_text(t->params));
	transcript_content(t, e->session, turn, ITEM_USER, transcript_get(e->message->message.msg.params, acp_prompt, JSON_ARRAY),
		slice(NULL, 0));
}

/* Version 2: the agent accepts a prompt during a turn. The prompt begins now, may join this turn, and ends the turn's last text. */
static void
accept(const struct transcript *t, const struct session_event *e)
{
	struct export_turn *front = e->session->turn ? e->session->turn->data : NULL, *turn = e->turn ? e->turn->data : NULL;

	if (e->unanswered || !turn || !front || turn == front || !session_accepts(e->message->message.msg.result, sessions_v2(t->sessions)))
		return;
	turn->t = e->t;
	if (front->last)
		front->last->whole = true;
}

/* Moves the items of a prompt into the turn that the prompt has joined, before the items that came later. */
static void
join(struct export_turn *to, struct export_turn *turn)
{
	struct item **at = &to->items;

	while (*at && (*at)->t <= turn->t)
		at = &(*at)->next;
	if (turn->items) {
		turn->last->next = *at;
		to->last = *at ? to->last : turn->last;
		*at = turn->items;
	}
	turn->items = turn->last = NULL;
	turn->kind = TURN_JOINED;
}

static void
end_turn(const struct session_event *e)
{
	struct export_turn *turn = e->turn->data, *front = e->session->turn->data;

	if (e->turn->joined) {
		join(front, turn);
		return;
	}
	turn->ended = !e->turn->unfinished;
	turn->end = turn->ended ? e->t : turn->end;
	transcript_set_plain(&turn->stop, e->turn->stop);
	transcript_set(&turn->error, e->turn->error);
}

/* --- sessions --- */

static bool
is_skipped(const struct session *s)
{
	while (s && !(s->history && ((struct export_session *)s->data)->skipping))
		s = s->parent;
	return s;
}

static void
show_child(struct transcript *t, struct session *child)
{
	if (is_skipped(child->parent))
		return;
	transcript_item(t, transcript_turn(t, child->parent), ITEM_CHILD)->child = child;
	((struct export_session *)child->data)->nested = true;
}

/* Ends the task of a sub-agent that reports the state idle. */
static void
end_task(const struct session_event *e)
{
	struct export_session *x = e->session->data;

	if (!e->session->parent || e->turn || !x->loose || !json_string_is(json_get(e->state, acp_state), acp_idle))
		return;
	transcript_set_plain(&x->loose->stop, json_get(e->state, acp_stop_reason));
	x->loose->kind = TURN_TASK;
	x->loose->end = e->t;
	x->loose->ended = true;
	x->loose = NULL;
}

/* --- questions --- */

static void
ask(struct transcript *t, const struct session_event *e)
{
	bool permission = e->request->request->what == ACP_REQUEST_PERMISSION;
	struct slice params = e->message->message.msg.params, call = transcript_get(params, "toolCall", JSON_OBJECT);
	struct slice subject = transcript_get(params, "subject", JSON_OBJECT), title = json_get_string(params, permission ? "title" : "message");
	struct slice more = json_get_string(params, "description");
	struct item *tool, *item;

	call = call.p ? call : transcript_get(subject, "toolCall", JSON_OBJECT);
	tool = call.p ? transcript_tool(t, e->session, call) : NULL;
	e->question->data = item = transcript_work(t, e->session, ITEM_ASK, e->turn);
	export_must(buf_add_string(&item->field[FIELD_KIND], permission ? "permission" : "elicitation"));
	transcript_set(&item->field[FIELD_TITLE], title);
	/* Version 1 has no title, but that of the tool call. */
	if (tool && title.p)
		transcript_add_plain(&item->text, buf_slice(&tool->field[FIELD_TITLE]));
	else if (tool)
		export_must(buf_add_slice(&item->field[FIELD_TITLE], buf_slice(&tool->field[FIELD_TITLE])));
	else if (permission)
		transcript_set(&item->field[FIELD_INPUT], subject);
	if (permission && more.p) {
		export_must(buf_add_string(&item->text, item->text.n ? "\n" : ""));
		transcript_add_plain(&item->text, more);
	}
	transcript_set(&item->field[FIELD_CONTENT], transcript_get(params, permission ? "options" : "requestedSchema",
		permission ? JSON_ARRAY : JSON_OBJECT));
}

static void
end_question(const struct session_event *e)
{
	struct item *item = e->question->data;
	const struct msg *m;

	if (e->question->unfinished)
		return;
	m = &e->message->message.msg;
	item->ended = true;
	item->end = e->t;
	transcript_set(&item->field[FIELD_OUTPUT], m->error.p ? m->error : m->result);
}

void
transcript_event(void *arg, const struct session_event *e)
{
	struct transcript *t = arg;
	struct session *s = NULL;
	struct export_session *x;

	t->now = e->t;
	usage_happened(t->usage, e);
	/* A connection that ends, ends the collections of items outside of turns. */
	if (e->kind == SESSION_DISCONNECTED)
		for (t->agent.n = t->version.n = 0; (s = sessions_next(t->sessions, s));)
			((struct export_session *)s->data)->loose = NULL;
	else if (e->kind == SESSION_BEGAN)
		e->session->data = transcript_new(sizeof(*x));
	if (!e->session)
		return;
	x = e->session->data;
	switch (e->kind) {
	case SESSION_BEGAN:
		export_must(buf_add_slice(&x->agent, buf_slice(&t->agent)));
		export_must(buf_add_slice(&x->version, buf_slice(&t->version)));
		if (e->session->parent)
			show_child(t, e->session);
		break;
	case SESSION_ADOPTED:
		show_child(t, e->session);
		break;
	case SESSION_HISTORY_BEGAN:
		x->skipping = x->turns;
		x->loose = x->skipping ? NULL : transcript_new_turn(t, x, TURN_HISTORY);
		break;
	case SESSION_HISTORY_ENDED:
		if (x->loose && x->loose->kind == TURN_HISTORY)
			x->loose->end = e->t;
		x->loose = NULL;
		break;
	case SESSION_RESPONDED:
		accept(t, e);
		break;
	case SESSION_TURN_QUEUED:
	case SESSION_TURN_BEGAN:
		begin_turn(t, e);
		break;
	case SESSION_TURN_ENDED:
		end_turn(e);
		break;
	case SESSION_STATE:
		end_task(e);
		break;
	case SESSION_CANCEL:
		if (e->session->turn)
			transcript_note(t, e->session, slice_of("info"), slice_of("The user cancelled the turn."));
		break;
	case SESSION_ASKED:
		ask(t, e);
		break;
	case SESSION_ANSWERED:
		end_question(e);
		break;
	default:
		break;
	}
}

/* --- messages that lib/session makes no event of --- */

static void
show_response(struct transcript *t, const struct session_message *m)
{
	struct slice result = m->message.msg.result, info = transcript_get(result, "agentInfo", JSON_OBJECT);
	const struct request *r = m->request->request;
	struct export_session *x = m->session ? m->session->data : NULL;

	if (r->what == ACP_INITIALIZE) {
		info = info.p ? info : transcript_get(result, "info", JSON_OBJECT);
		t->agent.n = t->version.n = 0;
		transcript_set_plain(&t->agent, json_get(info, "name"));
		transcript_set_plain(&t->agent, json_get(info, "title"));
		transcript_set_plain(&t->version, json_get(info, "version"));
	} else if (acp_opens_session(r->what) && result.p && x) {
		transcript_set_plain(&x->cwd, r->cwd);
	} else if (m->request->data) {
		transcript_set_plain(m->request->data, json_get(result, "output"));
	}
}

void
transcript_show(struct transcript *t, const struct session_message *m)
{
	const struct msg *msg = &m->message.msg;

	if (msg->kind == MSG_RESPONSE && m->request)
		show_response(t, m);
	else if (msg->kind == MSG_REQUEST && m->session && json_string_is(msg->method, "terminal/output"))
		m->request->data = transcript_terminal(t, m->session, json_get(msg->params, "terminalId"));
	else if (m->kind.p && m->session && !is_skipped(m->session))
		transcript_update(t, m->session, m->kind, transcript_get(msg->params, acp_update, JSON_OBJECT));
}
