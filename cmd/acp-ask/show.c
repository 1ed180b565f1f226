/* What acp-ask prints: the agent's text on standard output, all else as lines on standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/text.h"
#include "lib/run/proc.h"

enum { SPIN = 125 * 1000, TEXT_KEPT = 1024 };

/* What was shown of a tool call: its data. */
struct shown_call {
	struct buf title, kind, status; /* plain */
	struct buf content;             /* JSON; with -v */
};

/* --- lines --- */

void
show_clear(struct ask *a)
{
	if (a->show.spins)
		cli_write_now(STDERR_FILENO, slice_of("\r\033[K"));
	a->show.spins = false;
	if (a->show.prompts)
		cli_write_now(STDERR_FILENO, slice("\n", 1));
	a->show.prompts = false;
	if (a->show.terminal)
		endpoint_write_rest(&a->show.out, 100, 1000);
	if (a->show.terminal && a->show.open)
		cli_write_now(STDERR_FILENO, slice("\n", 1));
	if (a->show.terminal)
		a->show.open = false;
}

void
show_note(struct ask *a, const char *format, ...)
{
	SCOPED struct buf text = {0}, plain = {0};
	va_list args;

	va_start(args, format);
	need(buf_vprintf(&text, format, args));
	va_end(args);
	need(text_plain(&plain, buf_slice(&text)));
	need(buf_add(&plain, "\n", 1));
	show_clear(a);
	cli_write_now(STDERR_FILENO, buf_slice(&plain));
	talk_redraw();
}

void
show_prompt(struct ask *a, const char *text)
{
	SCOPED struct buf plain = {0};

	need(text_plain(&plain, slice_of(text)));
	show_clear(a);
	cli_write_now(STDERR_FILENO, buf_slice(&plain));
	a->show.prompts = true;
}

static void
on_spin(void *arg)
{
	static const char phases[] = "|/-\\";
	struct ask *a = arg;
	char line[16];

	loop_add_timer(a->loop, &a->show.timer, SPIN);
	if (a->person.asked || (a->show.terminal && a->show.open))
		return;
	snprintf(line, sizeof(line), "\r%c ", phases[a->show.phase++ % 4]);
	cli_write_now(STDERR_FILENO, slice_of(line));
	a->show.spins = true;
}

void
show_turn(struct ask *a, bool begins)
{
	loop_remove_timer(a->loop, &a->show.timer);
	if (begins && a->show.animated && !a->options->quiet)
		loop_add_timer(a->loop, &a->show.timer, SPIN);
	if (begins || !a->show.open || a->options->format != FORMAT_TEXT)
		return;
	a->show.gap = true;
	show_text(a, slice(NULL, 0));
}

/* --- standard output --- */

static bool
on_no_line(void *arg, enum input_got got, const struct line *line)
{
	(void)arg;
	(void)got;
	(void)line;
	return true;
}

static void
on_out(void *arg, enum endpoint_event event)
{
	struct ask *a = arg;

	if (event == ENDPOINT_CLOSED && a->show.out.out.error) {
		show_note(a, "acp-ask: standard output: %s", strerror(a->show.out.out.error));
		ask_stop(a, EXIT_FAILED);
	}
	endpoint_pause(&a->agent.live, a->show.out.out.full);
	if (event == ENDPOINT_CLOSED)
		loop_stop(a->loop);
}

void
show_open(struct ask *a)
{
	struct show *s = &a->show;

	s->terminal = isatty(STDOUT_FILENO);
	s->animated = isatty(STDERR_FILENO);
	s->timer = (struct loop_timer){.expired = on_spin, .arg = a};
	s->out = (struct endpoint){.line = on_no_line, .event = on_out, .arg = a};
	if (endpoint_open(&s->out, a->loop, -1, proc_claim(STDOUT_FILENO), 0) < 0)
		cli_no_memory(tool_name);
}

void
show_close(struct ask *a)
{
	show_turn(a, false);
	show_clear(a);
	endpoint_finish(&a->show.out);
	while (endpoint_can_write(&a->show.out) && a->signals < 2 && loop_run(a->loop) == 0)
		;
	endpoint_close(&a->show.out);
}

/* Escape sequences must not reach a terminal. */
static void
put(struct ask *a, struct slice bytes)
{
	SCOPED struct buf safe = {0};

	if (a->show.terminal) {
		need(text_lines(&safe, bytes));
		bytes = buf_slice(&safe);
	}
	need(endpoint_put(&a->show.out, NULL, bytes));
	endpoint_pause(&a->agent.live, a->show.out.out.full);
}

void
show_text(struct ask *a, struct slice text)
{
	if (a->show.spins)
		show_clear(a);
	if (a->show.gap && a->show.open) {
		put(a, slice("\n", 1));
		a->show.open = false;
	}
	a->show.gap = false;
	if (text.n == 0)
		return;
	put(a, text);
	a->show.open = text.p[text.n - 1] != '\n';
}

void
show_message(struct ask *a, const struct line *line)
{
	if (a->show.terminal) {
		put(a, line->text);
		put(a, slice("\n", 1));
	} else {
		need(endpoint_put_line(&a->show.out, line->block, line->text, false));
		endpoint_pause(&a->agent.live, a->show.out.out.full);
	}
}

/* --- the agent's text --- */

/* Is what a turn brings kept, for an object at its end? */
static bool
keeps_result(const struct ask *a)
{
	return a->options->format == FORMAT_JSON || a->options->script;
}

/* A piece of the text of a message: plain text. */
static void
add_text(struct ask *a, struct slice text)
{
	struct buf *all = &a->turn.text;

	if (keeps_result(a)) {
		if (a->show.gap && all->n && all->p[all->n - 1] != '\n')
			need(buf_add(all, "\n", 1));
		need(buf_add_slice(all, text));
	}
	if (a->options->format == FORMAT_TEXT)
		show_text(a, text);
	a->show.gap = false;
}

/* Does this belong to the message of which text was shown last? Otherwise that is now this one. */
static void
begin_message(struct ask *a, struct slice id)
{
	struct buf *last = &a->show.message;

	if (last->n && json_string_eq(buf_slice(last), id))
		return;
	a->show.gap |= last->n || id.p;
	a->show.shown = 0;
	last->n = 0;
	if (id.p)
		need(buf_add_slice(last, id));
}

static void
show_block(struct ask *a, struct slice block, size_t *skip)
{
	SCOPED struct buf room = {0};
	struct slice type = json_get(block, "type"), text;

	if (!json_string_is(type, "text")) {
		text = json_text(type, &room);
		if (text.p && !*skip && !a->options->quiet)
			show_note(a, "content: %.*s", (int)text.n, text.p);
		return;
	}
	text = json_text(json_get(block, "text"), &room);
	if (text.n <= *skip) {
		*skip -= text.n;
		return;
	}
	text = slice(text.p + *skip, text.n - *skip);
	*skip = 0;
	a->show.shown += text.n;
	add_text(a, text);
}

/* A chunk, or (version 2) a whole message, of which some may have been shown. */
static void
show_agent_text(struct ask *a, struct slice update, bool whole)
{
	struct json_iter it = {.in = json_get(update, acp_content)};
	struct slice key, block;
	size_t skip = 0;

	begin_message(a, json_get_string(update, "messageId"));
	if (whole)
		skip = a->show.shown;
	if (json_type(it.in) == JSON_OBJECT)
		show_block(a, it.in, &skip);
	while (json_type(it.in) == JSON_ARRAY && json_next(&it, &key, &block))
		show_block(a, block, &skip);
}

static void
show_plan(struct ask *a, struct slice entries)
{
	struct json_iter it = {.in = entries};
	SCOPED struct buf room = {0};
	struct slice key, entry, text = {0}, status;
	unsigned done = 0, n = 0;

	for (; json_type(entries) == JSON_ARRAY && json_next(&it, &key, &entry); n++) {
		status = json_get(entry, "status");
		done += json_string_is(status, "completed");
		if (json_string_is(status, "in_progress") && !text.p)
			text = json_text(json_get(entry, acp_content), &room);
	}
	if (n)
		show_note(a, "plan: %u of %u done%s%.*s", done, n, text.n ? ": " : "", (int)text.n, text.p ? text.p : "");
}

/* What was reported of usage. */
static void
note_usage(struct ask *a, const struct session_message *seen)
{
	struct usage_report r;
	struct slice model;
	struct usage_counts row;
	const char *wrong;

	if (!usage_read(&seen->message, &r) || (r.session.p && !json_string_eq(r.session, buf_slice(&a->session_id))))
		return;
	if ((r.what == USAGE_RESPONSE || r.what == USAGE_STATE) && (r.counts.has || r.rows.p)) {
		a->turn.usage = (struct usage_sums){0};
		usage_sums_count(&a->turn.usage, &r.counts);
		for (struct json_iter it = {.in = r.rows}; !r.counts.has && usage_row(&it, &model, &row, &wrong);)
			usage_sums_count(&a->turn.usage, &row);
	}
	if (r.call.has && !r.sub_agent)
		usage_sums_count(&a->turn.calls_usage, &r.call);
	if (r.amount.p) {
		a->turn.cost.n = 0;
		need(buf_printf(&a->turn.cost, "{\"amount\":%.*s,\"currency\":%.*s}", (int)r.amount.n, r.amount.p,
			r.currency.p ? (int)r.currency.n : 4, r.currency.p ? r.currency.p : "null"));
	}
}

static void
keep_commands(struct ask *a, struct slice list)
{
	a->commands.n = 0;
	if (json_type(list) == JSON_ARRAY)
		need(buf_add_slice(&a->commands, list));
}

void
show_update(struct ask *a, const struct session_message *seen)
{
	struct slice update = json_get(seen->message.msg.params, acp_update), kind = seen->kind;
	bool quiet = a->options->quiet || a->options->format == FORMAT_NDJSON;
	SCOPED struct buf room = {0};
	struct slice text;

	note_usage(a, seen);
	if (kind.p && json_string_is(kind, "available_commands_update"))
		keep_commands(a, json_get(update, acp_commands));
	if (!kind.p || !seen->session || seen->session != a->session || session_is_replayed(seen->session))
		return;
	if (json_string_is(kind, "agent_message_chunk") || json_string_is(kind, "agent_message")) {
		show_agent_text(a, update, json_string_is(kind, "agent_message"));
	} else if (!quiet && (json_string_is(kind, "plan") || json_string_is(kind, "plan_update"))) {
		show_plan(a, json_string_is(kind, "plan") ? json_get(update, "entries") : json_path(update, "plan.entries"));
	} else if (a->options->verbose && json_string_is(kind, "agent_thought_chunk")) {
		text = json_text(json_path(update, "content.text"), &room);
		if (text.n)
			show_note(a, "thought: %.*s", (int)text.n, text.p);
	}
}

/* --- tool calls --- */

struct slice
show_call_object(const struct msg *m)
{
	struct slice object = json_get(m->params, acp_update);

	if (!object.p)
		object = json_get(m->params, "toolCall");
	return object.p ? object : json_path(m->params, "subject.toolCall");
}

void
show_subject(const struct ask *a, const struct msg *m, struct subject *s)
{
	struct slice object = show_call_object(m), id = json_get_string(object, "toolCallId");
	struct session_call *call = a->session && id.p ? session_call_find(a->sessions, a->session, id) : NULL;
	const struct shown_call *c = call ? call->data : NULL;

	if (c) {
		need(buf_add_slice(&s->title, buf_slice(&c->title)));
		need(buf_add_slice(&s->kind, buf_slice(&c->kind)));
	}
	keep_string(&s->name, json_get(object, "name"));
	keep_string(&s->title, json_get(object, "title"));
	keep_string(&s->title, json_get(m->params, "title"));
	keep_string(&s->kind, json_get(object, "kind"));
	need(buf_string(&s->name) && buf_string(&s->title) && buf_string(&s->kind) ? 0 : -1);
}

void
subject_free(struct subject *s)
{
	buf_free(&s->title);
	buf_free(&s->name);
	buf_free(&s->kind);
}

static void
show_content(struct ask *a, struct slice content)
{
	struct json_iter it = {.in = content};
	SCOPED struct buf room = {0};
	struct slice key, item, text;

	while (json_type(content) == JSON_ARRAY && json_next(&it, &key, &item)) {
		text = json_text(json_path(item, "content.text"), &room);
		if (!text.p)
			text = json_text(json_get(item, "path"), &room);
		text = slice_cut(text, TEXT_KEPT);
		if (text.n)
			show_note(a, "  %.*s", (int)text.n, text.p);
	}
}

/* Keeps the call for --format json. */
static void
keep_call(struct ask *a, const struct session_call *call, const struct shown_call *c)
{
	struct buf *to = &a->turn.calls;

	need(buf_add_string(to, to->n ? ",{\"id\":" : "{\"id\":"));
	need(json_quote(slice(call->id, call->n), to));
	need(buf_add_string(to, ",\"title\":"));
	need(json_quote(buf_slice(&c->title), to));
	need(buf_add_string(to, ",\"kind\":"));
	need(c->kind.n ? json_quote(buf_slice(&c->kind), to) : buf_add_string(to, "null"));
	need(buf_add_string(to, ",\"status\":"));
	need(call->unfinished || !c->status.n ? buf_add_string(to, "null") : json_quote(buf_slice(&c->status), to));
	need(buf_add(to, "}", 1));
}

static void
forget_call(struct session_call *call)
{
	struct shown_call *c = call->data;

	if (!c)
		return;
	buf_free(&c->title);
	buf_free(&c->kind);
	buf_free(&c->status);
	buf_free(&c->content);
	free(c);
	call->data = NULL;
}

void
show_call(struct ask *a, const struct session_event *e)
{
	struct shown_call *c = e->call->data;
	bool quiet = a->options->quiet || a->options->format == FORMAT_NDJSON || e->call->replayed;
	struct slice object, content;

	if (e->kind == SESSION_CALL_FORGOTTEN) {
		forget_call(e->call);
		return;
	}
	if (!c)
		c = e->call->data = calloc(1, sizeof(*c));
	need(c ? 0 : -1);
	object = e->message ? show_call_object(&e->message->message.msg) : slice(NULL, 0);
	if (e->kind != SESSION_CALL_ENDED) {
		bool unnamed = !c->title.n;

		keep_string(&c->title, json_get(object, "title"));
		if (!c->title.n)
			keep_string(&c->title, json_get(object, "name"));
		keep_string(&c->kind, json_get(object, "kind"));
		keep_string(&c->status, json_get(object, "status"));
		content = json_get(object, acp_content);
		if (a->options->verbose && json_type(content) == JSON_ARRAY) {
			c->content.n = 0;
			need(buf_add_slice(&c->content, content));
		}
		if (unnamed && c->title.n && !quiet)
			show_note(a, "tool: %.*s", (int)c->title.n, c->title.p);
		a->show.gap = true;
		return;
	}
	if (!quiet && json_string_is(json_get(object, "status"), "failed"))
		show_note(a, "tool: %.*s: failed", (int)c->title.n, c->title.p ? c->title.p : "");
	if (!quiet)
		show_content(a, buf_slice(&c->content));
	c->content.n = 0;
	if (keeps_result(a) && !e->call->replayed)
		keep_call(a, e->call, c);
}

/* --- the result of a turn --- */

void
show_put_result(const struct ask *a, struct buf *to)
{
	const struct turn *t = &a->turn;

	need(buf_add_string(to, "{\"text\":"));
	need(json_quote(buf_slice(&t->text), to));
	need(buf_add_string(to, ",\"stop_reason\":"));
	need(t->stop.n ? json_quote(buf_slice(&t->stop), to) : buf_add_string(to, "null"));
	if (t->error.n)
		need(json_add_member(to, "error", buf_slice(&t->error)));
	if (t->usage.has || t->calls_usage.has) {
		need(buf_add_string(to, ",\"usage\":"));
		need(usage_sums_put(t->usage.has ? &t->usage : &t->calls_usage, to));
	}
	if (t->cost.n)
		need(json_add_member(to, "cost", buf_slice(&t->cost)));
	if (a->session_id.n)
		need(json_add_member(to, "session_id", buf_slice(&a->session_id)));
	need(buf_printf(to, ",\"tool_calls\":[%.*s]}", (int)t->calls.n, t->calls.p ? t->calls.p : ""));
}
