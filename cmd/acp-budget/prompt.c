/* Prompts of the client, the texts of --at that are sent before them, and their cancellation. */
#include <limits.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* Adds the explanation, after the user's own blocks. */
static int
explain(struct tool *t, struct session *s, struct slice blocks)
{
	struct buf block = {0};
	int r = (!json_is_empty(blocks) && buf_add(&block, ",", 1)) || acp_put_text_block(&block, slice_of(explanation))
		|| frame_replace(t->frame, slice(blocks.p + blocks.n - 1, 0), buf_slice(&block)) ? -1 : 0;

	buf_free(&block);
	s->explained |= r == 0;
	return r;
}

static int
open_budget(struct tool *t, struct session *s, const struct msg *m)
{
	struct slice blocks = json_get(m->params, acp_prompt);
	uint64_t target = t->options->target;

	if (json_type(blocks) != JSON_ARRAY || commands_prompt(t->commands, m))
		return 0;
	if (t->options->from_prompt)
		target = target_in_prompt(blocks);
	if (target == 0 || !budget_check(t, s))
		return 0;
	s->budget = budget_new(t, s, target, m->id);
	if (!s->budget)
		return -1;
	return s->explained ? 0 : explain(t, s, blocks);
}

static int
note_open(struct session *s, struct slice id)
{
	struct open *o = calloc(1, sizeof(*o));

	if (!o || buf_add_slice(&o->id, id) < 0) {
		free(o);
		return -1;
	}
	LL_APPEND(s->opened, o);
	s->open++;
	return 0;
}

/* A prompt is forwarded: it replaces the budget of the last one. */
static void
note_forwarded(struct tool *t, struct session *s, const struct msg *m)
{
	struct budget *b = s->budget;

	if (b && b->holds_idle)
		budget_end(t, b, "a new prompt replaces it");
	else if (b)
		budget_drop(t, b, "a new prompt replaces it");
	s->budget = NULL;
	s->prompts++;
	s->tried = 0;
	s->nudge.text.n = 0;
	session_prompted(t, s);
	tool_check(t, note_open(s, m->id) || open_budget(t, s, m));
}

/* Refuses the prompt that is being handled if a limit is reached; returns whether. */
static bool
refuse_at_limit(struct tool *t, struct session *s)
{
	SCOPED struct buf text = {0};
	bool yes;

	limits_check(t, s);
	yes = limits_reached(t, s, true, &text);
	if (yes && !tool_check(t, !buf_string(&text)))
		tool_reply_error(t, NULL, ACP_ERR_INTERNAL, text.p);
	buf_free(&text);
	return yes;
}

/* --- prompts that wait for a text of --at --- */

/* The first prompt of the session that waits; NULL: none does. */
static struct held *
waiting(const struct tool *t, const struct session *s)
{
	return frame_held_next(t->frame, s, NULL);
}

/* All prompts that wait come again, in the order they came. Where another text is due, they go on waiting, after these. */
static void
prompts_release(struct tool *t, struct session *s)
{
	size_t n = 0;

	for (struct held *h = waiting(t, s); h; h = frame_held_next(t->frame, s, h))
		n++;
	while (n-- > 0)
		frame_show_again(t->frame, waiting(t, s));
}

/* A prompt that waits gets an error response here: it was never forwarded. */
static void
refuse(struct tool *t, struct held *prompt, int code, const char *why)
{
	tool_reply_error(t, prompt, code, why);
	frame_release(t->frame, prompt, VERDICT_DROP, slice(NULL, 0));
}

void
prompts_refused(struct tool *t, struct session *s, int code, const char *why)
{
	struct held *h;

	while ((h = waiting(t, s)))
		refuse(t, h, code, why);
}

static void
prompts_cancelled(struct tool *t, struct session *s)
{
	SCOPED struct buf result = {0};
	struct held *h;

	/* In v2 a result says that the prompt was accepted. */
	if (t->v2 || buf_printf(&result, "{\"%s\":\"cancelled\"}", acp_stop_reason) < 0)
		prompts_refused(t, s, ACP_ERR_CANCELLED, "cancelled");
	while ((h = waiting(t, s))) {
		tool_check(t, frame_reply(t->frame, h, buf_slice(&result)));
		frame_release(t->frame, h, VERDICT_DROP, slice(NULL, 0));
	}
}

/* --- --at: when the context has reached a level, a text is sent before the next prompt --- */

static bool
is_at(const struct session *s, unsigned level)
{
	const struct usage_session *u = s->usage;

	return u && u->has_used && u->has_size && usage_reaches(u->used, u->size, level, true);
}

static void
warn(struct tool *t, struct session *s, size_t i)
{
	const struct at *at = &t->options->at[i];

	if (at->text[0] != '/' || (s->warned & 1u << i) || commands_has(t->commands, s->id, at->text))
		return;
	s->warned |= 1u << i;
	session_report(t, s, "--at %u%%: the agent does not list %.*s among its commands", at->level,
		(int)strcspn(at->text, " \t\r\n"), at->text);
}

/* A compaction that runs is not requested once more. */
static bool
is_busy_with(const struct session *s, const struct at *at)
{
	static const char compact[] = "/compact";

	return s->compacting && strncmp(at->text, compact, strlen(compact)) == 0 && strchr(" \t\n", at->text[strlen(compact)]);
}

/* Sends the next text that is due. Returns whether there was one. */
static bool
ahead_ask(struct tool *t, struct session *s)
{
	const struct options *o = t->options;
	size_t i;

	/* A text may bring the context below its level and above again: once for a prompt is enough. */
	for (i = 0; i < o->nat && (((s->fired | s->tried) & 1u << i) || !is_at(s, o->at[i].level) || is_busy_with(s, &o->at[i])); i++)
		;
	if (i == o->nat || session_runs(s) || limits_reached(t, s, false, NULL))
		return false;
	s->fired |= 1u << i;
	s->tried |= 1u << i;
	warn(t, s, i);
	s->asked = true;
	s->accepted = false;
	if (session_ask(t, s, slice_of(o->at[i].text), &s->at_tag) == 0)
		return true;
	s->asked = false;
	return false;
}

void
ahead_give_up(struct tool *t, struct session *s)
{
	s->asked = false;
	s->tried = UINT_MAX;
	prompts_release(t, s);
}

void
ahead_answered(struct tool *t, struct session *s)
{
	/* ahead_give_up may have been called. */
	if (!s->asked)
		return;
	s->asked = s->accepted = false;
	s->deadline = 0;
	prompts_release(t, s);
}

void
ahead_rearm(const struct tool *t, struct session *s)
{
	for (size_t i = 0; i < t->options->nat; i++)
		if (!is_at(s, t->options->at[i].level))
			s->fired &= ~(1u << i);
}

enum verdict
prompt_came(struct tool *t, struct session *s, const struct message *message)
{
	if (refuse_at_limit(t, s)) {
		if (s->budget)
			budget_drop(t, s->budget, "a new prompt was refused");
		return VERDICT_DROP;
	}
	limits_report_unenforced(t, s, s->turns > 0);
	if (s->asked || ahead_ask(t, s))
		return tool_check(t, !frame_hold(t->frame, s)) ? VERDICT_PASS : VERDICT_HOLD;
	note_forwarded(t, s, &message->msg);
	return VERDICT_PASS;
}

/* --- cancellation --- */

void
session_cancelled(struct tool *t, struct session *s, bool closed)
{
	struct budget *b, *next;

	prompts_cancelled(t, s);
	if (s->asked && !s->deadline)
		tool_deadline(t, &s->deadline);
	LL_FOREACH_SAFE(t->budgets, b, next) {
		if (b->tag.session == s && !b->over && closed)
			budget_drop(t, b, "the session was closed");
		else if (b->tag.session == s && !b->over)
			budget_cancel(t, b);
	}
}

static bool
withdraw_waiting(struct tool *t, struct slice id)
{
	for (struct session *s = t->sessions; s; s = s->hh.next) {
		for (struct held *h = waiting(t, s); h; h = frame_held_next(t->frame, s, h)) {
			if (!frame_held_is(h, id))
				continue;
			refuse(t, h, ACP_ERR_CANCELLED, "cancelled");
			return true;
		}
	}
	return false;
}

/* The agent has already responded if the response is held here: what runs is a nudge, which is cancelled by session. */
static bool
withdraw_answered(struct tool *t, struct slice id)
{
	struct budget *next;
	bool running = false;

	for (struct budget *b = t->budgets; b && !running; b = next) {
		next = b->next;
		if (!msg_same_id(buf_slice(&b->id), id) || b->over || b->cancelled)
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
	struct slice id = json_get(message->msg.params, acp_request_id);

	return withdraw_waiting(t, id) || withdraw_answered(t, id) ? VERDICT_DROP : VERDICT_PASS;
}
