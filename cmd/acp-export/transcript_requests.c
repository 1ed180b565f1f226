/* Requests and their responses, and what each adds to a transcript. */
#include <stdlib.h>

#include "cmd/acp-export/transcript_parts.h"

/* A request whose response matters: what it is about. It is the request's owner, and is freed with the recording's others. */
struct pending {
	struct pending *next;
	struct session *session;
	struct turn *turn;
	struct item *item;
	struct buf *output;
	struct buf cwd; /* plain: of the session that is opened */
};

static struct pending *
expect(struct transcript *t, const struct message *message)
{
	struct pending *p = transcript_allocate(t, sizeof(*p));

	if (!p)
		return NULL;
	p->next = t->pending;
	t->pending = p;
	message->opened->owner = p;
	return p;
}

void
transcript_forget(struct transcript *t)
{
	struct pending *p;

	while ((p = t->pending)) {
		t->pending = p->next;
		buf_free(&p->cwd);
		free(p);
	}
}

static void
take_prompt(struct transcript *t, const struct message *message, struct session *s)
{
	struct pending *p = expect(t, message);
	struct turn *turn, *open;

	/* What began without a prompt ends with the next one. */
	if (s->open && !s->open->prompted)
		transcript_end_turn(s, s->open, s->open->end);
	turn = p ? transcript_new_turn(t, s, message->t) : NULL;
	if (!turn)
		return;
	p->session = s;
	p->turn = turn;
	turn->prompted = true;
	/* It may wait for the turn before, but what it says is its own. */
	open = s->open;
	s->open = turn;
	transcript_content(t, s, message->t, ITEM_USER, transcript_get(message->msg.params, acp_prompt, JSON_ARRAY), slice(NULL, 0));
	s->open = open;
}

static void
take_ask(struct transcript *t, const struct message *message, struct session *s, bool permission)
{
	struct slice params = message->msg.params, call = transcript_get(params, "toolCall", JSON_OBJECT);
	struct item *tool = call.p ? transcript_tool(t, s, message->t, call) : NULL;
	struct item *item = transcript_item(t, s, message->t, ITEM_ASK);
	struct pending *p = item ? expect(t, message) : NULL;

	if (!p)
		return;
	p->session = s;
	p->item = item;
	t->failed |= buf_add_string(&item->field[FIELD_KIND], permission ? "permission" : "elicitation") < 0;
	if (permission && tool)
		t->failed |= buf_add_slice(&item->field[FIELD_TITLE], buf_slice(&tool->field[FIELD_TITLE])) < 0;
	else
		transcript_set(t, &item->field[FIELD_TITLE], transcript_get(params, "message", JSON_STRING));
	transcript_set(t, &item->field[FIELD_CONTENT], transcript_get(params, permission ? "options" : "requestedSchema",
		permission ? JSON_ARRAY : JSON_OBJECT));
}

/* s: the session that is loaded, or NULL: a new one. */
static void
take_opening(struct transcript *t, const struct message *message, struct session *s)
{
	struct pending *p = expect(t, message);
	struct turn *turn;

	if (!p)
		return;
	transcript_set_plain(t, &p->cwd, transcript_get(message->msg.params, "cwd", JSON_STRING));
	p->session = s;
	if (!s)
		return;
	s->skipping = s->turns;
	s->loading = true;
	if (!s->skipping && (turn = transcript_new_turn(t, s, message->t)))
		turn->history = true;
}

static void
take_terminal(struct transcript *t, const struct message *message, struct session *s)
{
	struct buf *output = transcript_terminal(t, s, transcript_get(message->msg.params, "terminalId", JSON_STRING));
	struct pending *p = output ? expect(t, message) : NULL;

	if (p)
		p->output = output;
}

void
transcript_request(struct transcript *t, const struct message *message)
{
	enum acp_method what = message->msg.what;
	bool loads = what == ACP_SESSION_LOAD || what == ACP_SESSION_RESUME;
	/* A fork names the session that it is made from. */
	struct session *s = what == ACP_SESSION_FORK ? NULL : transcript_session(t, msg_session(&message->msg));

	if (acp_opens_session(what))
		take_opening(t, message, loads ? s : NULL);
	else if (!s)
		return;
	else if (what == ACP_SESSION_PROMPT)
		take_prompt(t, message, s);
	else if (what == ACP_REQUEST_PERMISSION)
		take_ask(t, message, s, true);
	else if (json_string_is(message->msg.method, "elicitation/create"))
		take_ask(t, message, s, false);
	else if (json_string_is(message->msg.method, "terminal/output"))
		take_terminal(t, message, s);
}

/* Version 2 only says that the prompt was taken; the turn ends when the session is idle. */
static void
end_prompt(struct transcript *t, const struct message *message, struct session *s, struct turn *turn)
{
	const struct msg *m = &message->msg;
	struct slice stop = transcript_get(m->result, acp_stop_reason, JSON_STRING);

	if (!m->error.p && !stop.p && transcript_get(m->result, "messageId", JSON_STRING).p)
		return;
	transcript_set_plain(t, &turn->stop, stop);
	transcript_set(t, &turn->error, m->error);
	transcript_end_turn(s, turn, message->t);
}

/* A session that is new says its id now; of one that was loaded the history is over. */
static void
end_opening(struct transcript *t, const struct message *message, struct pending *p)
{
	struct session *s = p->session ? p->session : transcript_session(t, msg_session(&message->msg));

	if (!s)
		return;
	if (p->cwd.n) {
		buf_free(&s->cwd);
		s->cwd = p->cwd;
		p->cwd = (struct buf){0};
	}
	if (s->loading && s->open && s->open->history)
		transcript_end_turn(s, s->open, message->t);
	s->loading = s->skipping = false;
}

static void
take_answer(struct transcript *t, const struct message *message)
{
	struct pending *p = message->request->owner;

	if (!p)
		return;
	if (p->turn) {
		end_prompt(t, message, p->session, p->turn);
	} else if (p->item) {
		p->item->ended = true;
		p->item->end = message->t;
		transcript_set(t, &p->item->field[FIELD_OUTPUT], message->msg.error.p ? message->msg.error : message->msg.result);
	} else if (p->output) {
		transcript_set_plain(t, p->output, transcript_get(message->msg.result, "output", JSON_STRING));
	} else {
		end_opening(t, message, p);
	}
}

void
transcript_response(struct transcript *t, const struct message *message)
{
	struct slice info = transcript_get(message->msg.result, "agentInfo", JSON_OBJECT);

	if (!message->request)
		return;
	if (message->request->what == ACP_INITIALIZE) {
		info = info.p ? info : transcript_get(message->msg.result, "info", JSON_OBJECT);
		t->agent.n = t->version.n = 0;
		transcript_set_plain(t, &t->agent, transcript_get(info, "name", JSON_STRING));
		transcript_set_plain(t, &t->agent, transcript_get(info, "title", JSON_STRING));
		transcript_set_plain(t, &t->version, transcript_get(info, "version", JSON_STRING));
	}
	take_answer(t, message);
}
