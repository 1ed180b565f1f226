/* Permission requests and elicitations, on which a person decides, or a rule or a program; and the conversation with a person. */
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-ask/ask.h"

/* A request that waits for a person or a program. */
struct question {
	struct question *prev, *next;
	struct ask *ask;
	struct buf line;        /* the request */
	struct msg request;     /* line, scanned */
	bool is_form;           /* an elicitation, not a permission request */
	struct buf form;        /* of an elicitation: the form or the result, from ask.jq */
	struct loop_timer timer;
	struct permit *program; /* of --permit-by: the program that decides; or NULL */
};

/* --- the lines that are typed --- */

/* Asks for no line any more, and shows the text that was held back. */
static void
leave_line(struct ask *a)
{
	if (line_leave(a) && a->show.held.n)
		show_clear(a);
}

static void
ask_line(struct ask *a, struct slice prompt)
{
	show_clear(a);
	a->show.prompts = true;
	line_ask(a, prompt);
}

static void answer_typed(struct ask *, struct slice typed, bool ended);

/* Goes on with the conversation: asks for a prompt, or for the rest of a prompt. */
static void
go_on(struct ask *a)
{
	if (a->talk.done)
		return;
	ask_line(a, slice_of(a->talk.text.n ? ">> " : "> "));
	line_take_kept(a);
}

static void
got_line(struct ask *a, struct slice line, bool ended)
{
	struct talk *t = &a->talk;
	bool more = line.n > 0 && line.p[line.n - 1] == '\\';

	a->show.prompts = ended;
	leave_line(a);
	if (a->asked) {
		answer_typed(a, line, ended);
		return;
	}
	put_slice(&t->text, slice(line.p, line.n - more));
	put_slice(&t->text, slice("\n", more));
	t->ended = ended;
	t->done = !more || ended;
	if (t->done)
		loop_stop(a->loop);
	go_on(a);
}

void
person_open(struct ask *a)
{
	a->talk.done = true;
	line_open(a, got_line);
}

bool
person_is_there(const struct ask *a)
{
	/* A person who does not see a question cannot answer it. */
	return a->line.fd.fd >= 0 && a->show.animated;
}

/* --- responses --- */

static void
free_question(struct question *q)
{
	struct ask *a = q->ask;

	if (a->asked == q) {
		a->asked = NULL;
		leave_line(a);
	}
	DL_DELETE(a->questions, q);
	loop_remove_timer(a->loop, &q->timer);
	if (q->program)
		permit_withdraw(q->program);
	buf_free(&q->form);
	buf_free(&q->line);
	free(q);
}

static void ask_person(struct ask *);

/* Responds, and frees the question. p NULL: the response is the result of the form, if there is one, else "cancelled". */
static void
respond(struct question *q, struct slice result)
{
	const char *cancelled = q->is_form ? "{\"action\":\"cancel\"}" : "{\"outcome\":{\"outcome\":\"cancelled\"}}";

	result = result.p ? result : json_get(buf_slice(&q->form), "result");
	ask_reply(q->ask, q->request.id, result.p ? result : slice_of(cancelled));
	free_question(q);
}

/* Responds to a question by respond, and shows the next question. */
static void
settle(struct question *q, struct slice result)
{
	struct ask *a = q->ask;

	respond(q, result);
	ask_person(a);
}

/* Returns the title of a permission request: in version 2 its own, else that of the tool call; plain text, in room. */
static const char *
title_of(const struct question *q, struct buf *room)
{
	struct slice own = json_get_string(q->request.params, "title");

	return own.p ? plain_of(own, room) : show_known(q->ask, &q->request, "title", room);
}

/* Responds with this option, or (p NULL) an option that rejects; reports the decision, and counts rejections. */
static void
decide(struct question *q, struct slice option, const char *by)
{
	SCOPED struct buf room = {0}, title = {0}, result = {0};
	const char *kind = "cancelled";

	if (!option.p)
		option = acp_find_option(q->request.params, acp_option_kind, "reject_once");
	if (!option.p)
		option = acp_find_option(q->request.params, acp_option_kind, "reject_always");
	if (option.p) {
		kind = plain_of(json_get(option, acp_option_kind), &room);
		need(acp_put_selected(&result, json_get(option, acp_option_id)));
	}
	if (!option.p || strncmp(kind, "reject", 6) == 0)
		q->ask->rejected++;
	if (!q->ask->options->quiet)
		show_note(q->ask, "permission: %s: %s%s", title_of(q, &title), kind, by);
	settle(q, buf_slice(&result));
}

static void
on_program(void *arg, struct slice option, enum permit_outcome outcome)
{
	struct question *q = arg;

	q->program = NULL;
	decide(q, option, option.p ? " (--permit-by)" : outcome == PERMIT_LATE ? " (--permit-timeout)" : " (--permit-by failed)");
}

/* --- a person --- */

static void
show_question(struct question *q)
{
	SCOPED struct buf room = {0};
	struct slice option;
	unsigned n = 0;

	if (q->is_form) {
		show_notes(q->ask, json_get(buf_slice(&q->form), "lines"));
		ask_line(q->ask, json_text(json_get(buf_slice(&q->form), "prompt"), &room));
		return;
	}
	show_note(q->ask, "permission: %s", title_of(q, &room));
	for (struct json_iter it = {.in = json_get(q->request.params, acp_options)}; json_item(&it, &option);)
		show_note(q->ask, "  %u) %s", ++n, plain_of(json_get(option, "name"), &room));
	ask_line(q->ask, slice_of("number: "));
}

static void
on_question_timer(void *arg)
{
	struct question *q = arg;

	if (q->is_form)
		settle(q, slice(NULL, 0));
	else
		decide(q, slice(NULL, 0), " (--permit-timeout)");
}

/* Shows the next question, if none is shown; without one, a conversation goes on. */
static void
ask_person(struct ask *a)
{
	struct question *q;

	if (a->asked || !person_is_there(a))
		return;
	for (q = a->questions; q && q->program; q = q->next)
		;
	if (!q) {
		go_on(a);
		return;
	}
	line_keep(a);
	leave_line(a);
	a->asked = q;
	if (a->options->permit_timeout)
		loop_add_timer(a->loop, &q->timer, a->options->permit_timeout);
	show_question(q);
}

static void
answer_typed(struct ask *a, struct slice typed, bool ended)
{
	struct question *q = a->asked;
	struct json_iter it = {.in = json_get(q->request.params, acp_options)};
	const char *p = typed.p, *end = p + typed.n;
	SCOPED struct buf in = {0};
	struct slice one, option = {0};
	uint64_t n = 0;

	if (q->is_form && ended) {
		settle(q, slice_of("{\"action\":\"decline\"}"));
		return;
	}
	if (q->is_form) {
		need(json_format(&in, "{\"form\":%b,\"text\":%j}", buf_slice(&q->form), typed));
		if (ask_jq(a, "typed", buf_slice(&in), &q->form) && json_get(buf_slice(&q->form), "prompt").p)
			show_question(q);
		else
			settle(q, slice(NULL, 0));
		return;
	}
	if (!ended && (!bytes_number(&p, end, 9, &n) || p != end))
		n = 0;
	while (n && json_item(&it, &one))
		if (--n == 0 && json_get_string(one, acp_option_id).p)
			option = one;
	if (option.p || ended)
		decide(q, option, "");
	else
		ask_line(q->ask, slice_of("number: "));
}

void
person_close(struct ask *a)
{
	while (a->questions)
		free_question(a->questions);
	leave_line(a);
	line_close(a);
}

/* --- requests --- */

/* Returns the kind of option of the first rule that matches the kind, the name or a title of the tool call or the request; or NULL. */
static const char *
rule_for(const struct question *q)
{
	static const char *const members[] = {"kind", "name", "title"};
	SCOPED struct buf room = {0}, pattern = {0};
	const char *equals;

	for (const char **rule = q->ask->options->permits; rule && *rule; rule++) {
		equals = strrchr(*rule, '=');
		pattern.n = 0;
		put_slice(&pattern, slice_between(*rule, equals));
		need(buf_string(&pattern) ? 0 : -1);
		for (size_t i = 0; i < 3; i++)
			if (fnmatch(pattern.p, show_known(q->ask, &q->request, members[i], &room), 0) == 0)
				return equals + 1;
		if (fnmatch(pattern.p, title_of(q, &room), 0) == 0)
			return equals + 1;
	}
	return NULL;
}

static void
begin_permission(struct question *q)
{
	struct ask *a = q->ask;
	const char *rule = rule_for(q);
	struct slice option = rule ? acp_find_option(q->request.params, acp_option_kind, rule) : slice(NULL, 0);

	if (rule) {
		decide(q, option, option.p ? " (--permit)" : " (--permit: no such option)");
	} else if (a->options->permit_by) {
		if (!a->permits.loop)
			a->permits = (struct permits){.loop = a->loop, .timeout = a->options->permit_timeout, .decided = on_program};
		q->program = permit_ask(&a->permits, a->options->permit_by, q->request.text, q);
		need(q->program ? 0 : -1);
	} else if (person_is_there(a)) {
		ask_person(a);
	} else {
		decide(q, option, " (there is no terminal)");
	}
}

void
answer_begin(struct ask *a, const struct msg *m)
{
	bool cancelled = a->stopping || a->turn.cancelled;
	struct question *q;

	if (a->agent.leaving)
		return;
	q = calloc(1, sizeof(*q));
	need(q ? 0 : -1);
	*q = (struct question){.ask = a, .is_form = m->what == ACP_ELICITATION_CREATE};
	q->timer = (struct loop_timer){.expired = on_question_timer, .arg = q};
	put_slice(&q->line, m->text);
	msg_scan(buf_slice(&q->line), &q->request, NULL);
	DL_APPEND(a->questions, q);
	if (!q->is_form && !cancelled)
		begin_permission(q);
	else if (!cancelled && ask_jq(a, "form", q->request.params, &q->form) && json_get(buf_slice(&q->form), "prompt").p)
		ask_person(a);
	else
		settle(q, slice(NULL, 0));
}

void
answer_cancel(struct ask *a, struct slice id)
{
	struct question *q, *next;

	DL_FOREACH_SAFE(a->questions, q, next) {
		if (id.p && !msg_same_id(q->request.id, id))
			continue;
		if (id.p) {
			ask_refuse(a, q->request.id, ACP_ERR_CANCELLED, "cancelled");
			free_question(q);
		} else {
			respond(q, slice(NULL, 0));
		}
	}
	ask_person(a);
}

/* --- a conversation --- */

void
talk_interrupt(struct ask *a)
{
	if (!line_has_text(a)) {
		ask_over(a, !a->talk.done ? 0 : 128 + SIGINT);
		return;
	}
	leave_line(a);
	if (a->asked)
		show_question(a->asked);
	else
		go_on(a);
}

void
talk_run(struct ask *a)
{
	struct talk *t = &a->talk;
	SCOPED struct buf text = {0};

	while (!a->over) {
		t->text.n = 0;
		t->done = false;
		if (!a->asked)
			go_on(a);
		if (!ask_wait(a, &t->done) || t->ended)
			break;
		if (!slice_is_blank(buf_slice(&t->text)))
			prompt_run(a, string_in(&text, buf_slice(&t->text)), 0);
	}
	t->done = true;
	leave_line(a);
}
