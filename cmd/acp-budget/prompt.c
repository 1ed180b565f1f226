/* Prompts of the client, the texts of --at that are sent before them, and their cancellation. */
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

static int
open_budget(struct tool *t, struct budget_session *s, const struct msg *m)
{
	struct slice blocks = json_get(m->params, acp_prompt);
	uint64_t target = t->options->target;
	SCOPED struct buf block = {0};

	if (json_type(blocks) != JSON_ARRAY || commands_prompt(t->commands, m))
		return 0;
	if (t->options->from_prompt)
		target = target_in_prompt(blocks);
	if (target == 0 || !budget_check(t, s))
		return 0;
	s->budget = budget_new(t, s, target, m->id);
	if (!s->budget)
		return -1;
	if (s->explained)
		return 0;
	/* The explanation comes after the user's own blocks. */
	s->explained = !((!json_is_empty(blocks) && buf_add(&block, ",", 1)) || acp_put_text_block(&block, slice_of(explanation))
		|| frame_replace(t->frame, slice(blocks.p + blocks.n - 1, 0), buf_slice(&block)));
	return s->explained ? 0 : -1;
}

/* Prepares a prompt to be forwarded. The prompt ends the budget of the last prompt, and may open a new one. */
static void
forward(struct tool *t, struct budget_session *s, const struct message *message, struct session_request *r)
{
	struct budget *b = s->budget;

	if (b && b->holds_idle)
		budget_end(t, b, "a new prompt replaces it");
	else if (b)
		budget_drop(t, b, "a new prompt replaces it");
	s->budget = NULL;
	s->prompts++;
	s->at.tried = 0;
	s->nudge.n = s->echoed.nudge = 0;
	session_heard(t, s);
	r->data = t->again ? &s->at.waited : NULL;
	tool_check(t, open_budget(t, s, &message->msg));
	tool_tag(r, s->budget ? &s->budget->tag : NULL);
}

/* Responds with the error "acp-budget: WHY" to a held prompt, or (NULL) to the prompt that is being handled. */
static void
reply_error(struct tool *t, struct held *held, int code, const char *why)
{
	SCOPED struct buf message = {0};

	tool_check(t, buf_printf(&message, "%s: %s", tool_name, why) || !buf_string(&message)
		|| frame_reply_error(t->frame, held, code, message.p));
}

/* --- prompts that wait for a text of --at --- */

/* Returns the first prompt of the session that waits; NULL: none waits. */
static struct held *
waiting(const struct tool *t, const struct budget_session *s)
{
	return frame_held_next(t->frame, s, NULL);
}

/* Handles all prompts that wait again, in the order in which they came. If another text is due, they wait again, in that order. */
static void
prompts_release(struct tool *t, struct budget_session *s)
{
	size_t n = 0;

	for (struct held *h = waiting(t, s); h; h = frame_held_next(t->frame, s, h))
		n++;
	t->again = true;
	while (n-- > 0)
		frame_show_again(t->frame, waiting(t, s));
	t->again = false;
}

/* Responds with an error to a prompt that waits, and drops the prompt, which was never forwarded. */
static void
refuse(struct tool *t, struct held *prompt, int code, const char *why)
{
	reply_error(t, prompt, code, why);
	frame_release(t->frame, prompt, VERDICT_DROP, slice(NULL, 0));
}

void
prompts_refused(struct tool *t, struct budget_session *s, int code, const char *why)
{
	struct held *h;

	while ((h = waiting(t, s)))
		refuse(t, h, code, why);
}

bool
prompt_was_answered(struct tool *t, const struct message *response)
{
	struct request *r = requests_find(t->answered, ACP_CLIENT, response->request->id);

	if (!r)
		return false;
	requests_remove(t->answered, r);
	requests_done(r);
	return true;
}

/* Returns the first prompt that was forwarded (waited: that had to wait) and has no response; NULL: none. */
static struct session_request *
open_prompt(struct budget_session *s, bool waited)
{
	struct session_request *r;

	DL_FOREACH2(s->session->requests, r, after)
		if (r->request->what == ACP_SESSION_PROMPT && (!waited || r->data == &s->at.waited))
			break;
	return r;
}

void
prompts_failed(struct tool *t, struct budget_session *s, const char *why, bool waited)
{
	SCOPED struct buf text = {0}, message = {0};
	struct msg prompt = {.kind = MSG_REQUEST, .what = ACP_SESSION_PROMPT};
	struct session_request *r;
	bool of_client;

	if (tool_check(t, buf_printf(&message, "%s: %s", tool_name, why) || !buf_string(&message)))
		return;
	while ((r = open_prompt(s, waited))) {
		of_client = !r->data || r->data == &s->at.waited;
		text.n = 0;
		prompt.id = r->request->id;
		prompt.method = r->request->method;
		if (tool_check(t, msg_make_error(&text, prompt.id, ACP_ERR_INTERNAL, message.p, slice(NULL, 0)) || (of_client
				&& (!requests_open(t->answered, ACP_CLIENT, 0, &prompt) || frame_send(t->frame, ACP_UP, buf_slice(&text))))))
			return;
		tool_see_own(t, buf_slice(&text));
	}
}

static void
prompts_cancelled(struct tool *t, struct budget_session *s)
{
	struct held *h;

	/* In v2 a result would say that the prompt was accepted. */
	if (sessions_v2(t->sessions))
		prompts_refused(t, s, ACP_ERR_CANCELLED, "cancelled");
	while ((h = waiting(t, s))) {
		tool_check(t, frame_reply(t->frame, h, slice_of("{\"stopReason\":\"cancelled\"}")));
		frame_release(t->frame, h, VERDICT_DROP, slice(NULL, 0));
	}
}

/* --- --at: when the context has reached a level, a text is sent before the next prompt --- */

/* Sends the next text that is due. Returns whether a text was sent. */
static bool
at_send(struct tool *t, struct budget_session *s)
{
	static const char compact[] = "/compact";
	const struct options *o = t->options;
	const char *text;
	size_t i;

	for (i = 0; i < o->nat; i++) {
		text = o->at[i].text;
		/* A text may bring the context below its level and above again: it is sent only once before a prompt. */
		if (((s->at.fired | s->at.tried) & 1u << i) || !session_is_at(s, o->at[i].level))
			continue;
		/* While a compaction runs, no other compaction is requested. */
		if (!(s->compacting && strncmp(text, compact, strlen(compact)) == 0 && strchr(" \t\n", text[strlen(compact)])))
			break;
	}
	if (i == o->nat || session_runs(s) || limits_reached(t, s, false, NULL))
		return false;
	s->at.fired |= 1u << i;
	s->at.tried |= 1u << i;
	text = o->at[i].text;
	if (text[0] == '/' && !(s->at.warned & 1u << i) && !commands_has(t->commands, buf_slice(&s->id), text)) {
		s->at.warned |= 1u << i;
		session_report(t, s, "--at %u%%: the agent does not list %.*s among its commands", o->at[i].level,
			(int)strcspn(text, " \t\r\n"), text);
	}
	s->at.runs = session_prompt(t, s, slice_of(text), &s->at.tag) == 0;
	return s->at.runs;
}

void
at_ended(struct tool *t, struct budget_session *s)
{
	/* clock_rings or end_all may have given the text up before. */
	if (!s->at.runs)
		return;
	s->at.runs = false;
	s->at.deadline = 0;
	prompts_release(t, s);
}

enum verdict
prompt_came(struct tool *t, const struct message *message)
{
	struct budget_session *s = session_of(t, msg_session(&message->msg), true);
	/* A session that is not known yet has used nothing. */
	static const struct budget_session unknown;
	const char *trouble = t->options->strict ? ledger_trouble(t) : NULL;
	SCOPED struct buf limit = {0};
	struct seen seen;

	if (s)
		limits_check(t, s, true);
	if (trouble || limits_reached(t, s ? s : &unknown, true, &limit)) {
		frame_fail(t->frame, EXIT_NEGATIVE);
		if (!tool_check(t, !buf_string(&limit)))
			reply_error(t, NULL, ACP_ERR_INTERNAL, trouble ? trouble : limit.p);
		if (s && s->budget)
			budget_drop(t, s->budget, "a new prompt was refused");
		return VERDICT_DROP;
	}
	if (s)
		limits_report_unenforced(t, s, s->turns > 0);
	if (s && (s->at.runs || at_send(t, s)))
		return tool_check(t, !frame_hold(t->frame, s)) ? VERDICT_PASS : VERDICT_HOLD;
	tool_see(t, message, &seen);
	if (seen.about && (s = session_data(t, seen.about)))
		forward(t, s, message, seen.request);
	return VERDICT_PASS;
}

/* --- cancellation --- */

void
session_cancelled(struct tool *t, struct budget_session *s, bool closed)
{
	struct budget *b, *next;

	prompts_cancelled(t, s);
	if (s->at.runs && !s->at.deadline)
		tool_deadline(t, &s->at.deadline);
	LL_FOREACH_SAFE(t->budgets, b, next) {
		if (b->tag.session == s && b->state != BUDGET_OVER && closed)
			budget_drop(t, b, "the session was closed");
		else if (b->tag.session == s && b->state != BUDGET_OVER)
			budget_cancel(t, b);
	}
}

enum verdict
prompt_withdrawn(struct tool *t, const struct message *message)
{
	struct slice id = json_get(message->msg.params, acp_request_id);
	struct budget *next;
	bool running = false;

	for (struct budget_session *s = session_next(t, NULL); s; s = session_next(t, s)) {
		for (struct held *h = waiting(t, s); h; h = frame_held_next(t->frame, s, h)) {
			if (!frame_held_is(h, id))
				continue;
			refuse(t, h, ACP_ERR_CANCELLED, "cancelled");
			return VERDICT_DROP;
		}
	}
	/* If the response is held, the agent has already responded: a nudge runs, which session/cancel cancels. */
	for (struct budget *b = t->budgets; b && !running; b = next) {
		next = b->next;
		if (!msg_same_id(buf_slice(&b->id), id) || b->state != BUDGET_RUNS)
			continue;
		running = b->held != NULL;
		if (running)
			session_cancel(t, b->tag.session);
		budget_cancel(t, b);
	}
	return running ? VERDICT_DROP : VERDICT_PASS;
}
