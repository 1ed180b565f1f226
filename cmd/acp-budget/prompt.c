/* Prompts of the client, and their cancellation. */
#include <stdlib.h>

#include "cmd/acp-budget/budget.h"

/* A text that is inserted into a prompt before it is forwarded. */
struct insertion {
	const char *at; /* NULL: nothing */
	struct buf with;
};

/* The explanation, after the user's own blocks. */
static int
explain(struct session *s, struct slice blocks, struct insertion *in)
{
	const char *p = blocks.p + 1, *end = blocks.p + blocks.n - 1;

	while (p < end && strchr(" \t\r\n", *p))
		p++;
	if ((p < end && buf_add(&in->with, ",", 1)) || buf_add_string(&in->with, "{\"type\":\"text\",\"text\":")
		|| json_quote(slice_of(explanation), &in->with) || buf_add(&in->with, "}", 1))
		return -1;
	in->at = end;
	s->explained = true;
	return 0;
}

static int
open_budget(struct tool *t, struct session *s, const struct msg *m, struct insertion *in)
{
	struct slice blocks = json_get(m->params, acp_prompt);
	uint64_t target = t->options->target;

	if (!blocks.p || json_type(blocks) != JSON_ARRAY || commands_prompt(t->commands, m))
		return 0;
	if (t->options->from_prompt)
		target = target_in_prompt(blocks);
	if (target == 0 || !budget_check(t, s))
		return 0;
	s->budget = budget_new(t, s, target, m->id);
	if (!s->budget)
		return -1;
	return s->explained ? 0 : explain(s, blocks, in);
}

static int
note_open(struct session *s, struct slice id)
{
	struct open **at = &s->opened, *o = calloc(1, sizeof(*o));

	if (!o || buf_add_slice(&o->id, id) < 0 || msg_id_key(id, &o->key) < 0) {
		open_free(o);
		return -1;
	}
	while (*at)
		at = &(*at)->next;
	*at = o;
	s->open++;
	return 0;
}

/* A prompt is forwarded: it replaces the budget of the last one. */
static void
note_forwarded(struct tool *t, struct session *s, const struct msg *m, struct insertion *in)
{
	struct budget *b = s->budget;

	if (b && b->holds_idle)
		budget_end(t, b, "a new prompt replaces it");
	else if (b)
		budget_drop(t, b, "a new prompt replaces it");
	s->budget = NULL;
	s->prompts++;
	s->nudge.text.n = 0;
	session_prompted(t, s);
	if (note_open(s, m->id) < 0 || open_budget(t, s, m, in) < 0)
		tool_no_memory(t);
}

/* Refuses the prompt if a limit is reached; returns whether. held: the prompt, if it has waited; or NULL. */
static bool
refuse_at_limit(struct tool *t, struct session *s, struct held *held)
{
	struct buf text = {0}, message = {0};
	bool yes;

	limits_check(t, s);
	yes = limits_reached(t, s, true, &text);
	if (yes && (!buf_string(&text) || buf_printf(&message, "%s: %s", tool_name, text.p) || !buf_string(&message)
			|| frame_reply_error(t->frame, held, ACP_ERR_INTERNAL, message.p, slice(NULL, 0))))
		tool_no_memory(t);
	buf_free(&text);
	buf_free(&message);
	return yes;
}

/* --- prompts that wait for a text of --at --- */

static enum verdict
wait_for_it(struct tool *t, struct session *s, const struct message *message)
{
	struct waiting *w = calloc(1, sizeof(*w)), **at = &s->waiting;

	if (!w || msg_id_key(message->msg.id, &w->id) < 0 || !(w->held = frame_hold(t->frame))) {
		tool_no_memory(t);
		if (w)
			buf_free(&w->id);
		free(w);
		return VERDICT_PASS;
	}
	while (*at)
		at = &(*at)->next;
	*at = w;
	return VERDICT_HOLD;
}

static void
waiting_free(struct waiting *w)
{
	buf_free(&w->id);
	free(w);
}

static void
release_prompt(struct tool *t, struct session *s, struct held *held)
{
	struct slice line = frame_held_text(held);
	struct insertion in = {0};
	struct splice splice;
	struct buf text = {0};
	struct json_error error;
	struct msg m;

	if (msg_scan(line, &m, &error) == MSG_REQUEST)
		note_forwarded(t, s, &m, &in);
	splice = (struct splice){in.at, in.at, buf_slice(&in.with)};
	if (in.at && splice_write(line, &splice, 1, &text) < 0)
		tool_no_memory(t);
	frame_release(t->frame, held, VERDICT_PASS, in.at && text.n ? buf_slice(&text) : slice(NULL, 0));
	buf_free(&text);
	buf_free(&in.with);
}

void
prompts_release(struct tool *t, struct session *s)
{
	struct waiting *w;

	while ((w = s->waiting)) {
		s->waiting = w->next;
		if (refuse_at_limit(t, s, w->held))
			frame_release(t->frame, w->held, VERDICT_DROP, slice(NULL, 0));
		else
			release_prompt(t, s, w->held);
		waiting_free(w);
	}
}

/* A prompt that waits gets an error response here: it was never forwarded. */
static void
refuse(struct tool *t, struct waiting *w, int code, const char *why)
{
	struct buf message = {0};

	if (buf_printf(&message, "%s: %s", tool_name, why) < 0 || !buf_string(&message)
		|| frame_reply_error(t->frame, w->held, code, message.p, slice(NULL, 0)) < 0)
		tool_no_memory(t);
	frame_release(t->frame, w->held, VERDICT_DROP, slice(NULL, 0));
	waiting_free(w);
	buf_free(&message);
}

void
prompts_refused(struct tool *t, struct session *s, int code, const char *why)
{
	struct waiting *w;

	while ((w = s->waiting)) {
		s->waiting = w->next;
		refuse(t, w, code, why);
	}
}

static void
prompts_cancelled(struct tool *t, struct session *s)
{
	struct buf result = {0};
	struct waiting *w;

	/* In v2 a result says that the prompt was accepted. */
	if (t->v2 || buf_printf(&result, "{\"%s\":\"cancelled\"}", acp_stop_reason) < 0)
		prompts_refused(t, s, ACP_ERR_CANCELLED, "cancelled");
	while ((w = s->waiting)) {
		s->waiting = w->next;
		if (frame_reply(t->frame, w->held, buf_slice(&result)) < 0)
			tool_no_memory(t);
		frame_release(t->frame, w->held, VERDICT_DROP, slice(NULL, 0));
		waiting_free(w);
	}
	buf_free(&result);
}

enum verdict
prompt_came(struct tool *t, struct session *s, const struct message *message)
{
	struct insertion in = {0};

	if (refuse_at_limit(t, s, NULL)) {
		if (s->budget)
			budget_drop(t, s->budget, "a new prompt was refused");
		return VERDICT_DROP;
	}
	limits_report_unenforced(t, s, s->turns > 0);
	if (s->asked || ahead_ask(t, s))
		return wait_for_it(t, s, message);
	note_forwarded(t, s, &message->msg, &in);
	if (in.at && frame_replace(t->frame, slice(in.at, 0), buf_slice(&in.with)) < 0)
		tool_no_memory(t);
	buf_free(&in.with);
	return VERDICT_PASS;
}

/* --- cancellation --- */

void
session_cancelled(struct tool *t, struct session *s, bool closed)
{
	struct budget *b, *next;

	prompts_cancelled(t, s);
	if (s->asked && !s->deadline)
		clock_deadline(t, &s->deadline);
	for (b = t->budgets; b; b = next) {
		next = b->next;
		if (b->tag.session == s && !b->over && closed)
			budget_drop(t, b, "the session was closed");
		else if (b->tag.session == s && !b->over)
			budget_cancel(t, b);
	}
}

static struct waiting *
take_waiting(struct session *s, struct slice id)
{
	struct waiting **at = &s->waiting, *w;

	while ((w = *at) && !slice_eq(buf_slice(&w->id), id))
		at = &w->next;
	if (w)
		*at = w->next;
	return w;
}

static bool
withdraw_waiting(struct tool *t, struct slice id)
{
	struct waiting *w = NULL;
	struct session *s;

	for (s = t->sessions; s && !w; s = s->hh.next)
		w = take_waiting(s, id);
	if (!w)
		return false;
	refuse(t, w, ACP_ERR_CANCELLED, "cancelled");
	return true;
}

/* The agent has already responded if the response is held here: what runs is a nudge, which is cancelled by session. */
static bool
withdraw_answered(struct tool *t, struct slice id)
{
	struct budget *b, *next;
	bool running = false;

	for (b = t->budgets; b && !running; b = next) {
		next = b->next;
		if (!slice_eq(buf_slice(&b->id), id) || b->over || b->cancelled)
			continue;
		running = b->held != NULL;
		if (running)
			session_cancel(t, b->tag.session);
		budget_cancel(t, b);
	}
	return running;
}

enum verdict
prompt_withdrawn(struct tool *t, const struct message *message)
{
	struct slice id = json_type(message->msg.params) == JSON_OBJECT ? json_get(message->msg.params, acp_request_id) : slice(NULL, 0);
	struct buf key = {0};
	bool ours = id.p && msg_id_key(id, &key) == 0
		&& (withdraw_waiting(t, buf_slice(&key)) || withdraw_answered(t, buf_slice(&key)));

	buf_free(&key);
	return ours ? VERDICT_DROP : VERDICT_PASS;
}
