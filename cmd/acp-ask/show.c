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
	put(&plain, "\n");
	show_clear(a);
	cli_write_now(STDERR_FILENO, buf_slice(&plain));
	talk_redraw();
}

void
show_prompt(struct ask *a, struct slice text)
{
	SCOPED struct buf plain = {0};

	need(text_plain(&plain, text));
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
	s->out = (struct endpoint){.event = on_out, .arg = a};
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
write_out(struct ask *a, struct slice bytes)
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
		write_out(a, slice("\n", 1));
		a->show.open = false;
	}
	a->show.gap = false;
	if (text.n == 0)
		return;
	write_out(a, text);
	a->show.open = text.p[text.n - 1] != '\n';
}

void
show_message(struct ask *a, const struct line *line)
{
	write_out(a, line->text);
	write_out(a, slice("\n", 1));
}

/* --- the agent's text --- */

/* Is what a turn brings kept, for an object at its end? */
static bool
keeps_result(const struct ask *a)
{
	return a->options->format == FORMAT_JSON || a->options->script;
}

/* A block of content, less the bytes of text to be skipped. */
static void
show_block(struct ask *a, struct slice block, size_t *skip)
{
	SCOPED struct buf room = {0};
	struct slice type = json_get(block, "type"), text;
	struct buf *all = &a->turn.text;

	if (!json_string_is(type, "text")) {
		if (type.p && !*skip && !a->options->quiet)
			show_note(a, "content: %s", plain_of(type, &room));
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
	if (keeps_result(a)) {
		if (a->show.gap && all->n && all->p[all->n - 1] != '\n')
			put(all, "\n");
		put_slice(all, text);
	}
	if (a->options->format == FORMAT_TEXT)
		show_text(a, text);
	a->show.gap = false;
}

/* A chunk, or (version 2) a whole message, of which some may have been shown. */
static void
show_agent_text(struct ask *a, struct slice update, bool whole)
{
	struct slice content = json_get(update, acp_content), id = json_get_string(update, "messageId"), block;
	struct json_iter it = {.in = content};
	struct buf *last = &a->show.message;
	size_t skip;

	/* Where it belongs to another message than the text before, it begins a line. */
	if (!last->n || !json_string_eq(buf_slice(last), id)) {
		a->show.gap |= last->n || id.p;
		a->show.shown = 0;
		last->n = 0;
		put_slice(last, id);
	}
	skip = whole ? a->show.shown : 0;
	if (json_type(content) == JSON_OBJECT)
		show_block(a, content, &skip);
	while (next_item(&it, &block))
		show_block(a, block, &skip);
}

static void
show_plan(struct ask *a, struct slice entries)
{
	struct json_iter it = {.in = entries};
	SCOPED struct buf room = {0};
	struct slice entry, status;
	unsigned done = 0, n = 0;

	plain_of(slice(NULL, 0), &room);
	for (; next_item(&it, &entry); n++) {
		status = json_get(entry, "status");
		done += json_string_is(status, "completed");
		if (json_string_is(status, "in_progress") && !room.n)
			plain_of(json_get(entry, acp_content), &room);
	}
	if (n)
		show_note(a, "plan: %u of %u done%s%s", done, n, room.n ? ": " : "", room.p);
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
		put(&a->turn.cost, "{");
		put_member(&a->turn.cost, "amount", r.amount);
		put_member(&a->turn.cost, "currency", r.currency.p ? r.currency : slice_of("null"));
		put(&a->turn.cost, "}");
	}
}

void
show_update(struct ask *a, const struct session_message *seen)
{
	struct slice update = json_get(seen->message.msg.params, acp_update), kind = seen->kind;
	struct slice commands = json_get(update, acp_commands);
	bool quiet = a->options->quiet || a->options->format == FORMAT_NDJSON;
	SCOPED struct buf room = {0};

	note_usage(a, seen);
	if (json_string_is(kind, "available_commands_update") && json_type(commands) == JSON_ARRAY) {
		a->commands.n = 0;
		put_slice(&a->commands, commands);
	}
	if (!kind.p || !seen->session || seen->session != a->session || session_is_replayed(seen->session))
		return;
	if (json_string_is(kind, "agent_message_chunk") || json_string_is(kind, "agent_message")) {
		show_agent_text(a, update, json_string_is(kind, "agent_message"));
	} else if (!quiet && (json_string_is(kind, "plan") || json_string_is(kind, "plan_update"))) {
		show_plan(a, json_string_is(kind, "plan") ? json_get(update, "entries") : json_path(update, "plan.entries"));
	} else if (a->options->verbose && json_string_is(kind, "agent_thought_chunk")) {
		if (*plain_of(json_path(update, "content.text"), &room))
			show_note(a, "thought: %s", room.p);
	}
}

/* --- tool calls --- */

/* The tool call that an update, or a permission request, is about; p NULL: none. */
static struct slice
call_object(const struct msg *m)
{
	struct slice object = json_get(m->params, acp_update);

	if (!object.p)
		object = json_get(m->params, "toolCall");
	return object.p ? object : json_path(m->params, "subject.toolCall");
}

const char *
show_known(const struct ask *a, const struct msg *m, const char *member, struct buf *room)
{
	struct slice object = call_object(m), id = json_get_string(object, "toolCallId"), value = json_get_string(object, member);
	struct session_call *call = a->session && id.p ? session_call_find(a->sessions, a->session, id) : NULL;
	const struct shown_call *c = call ? call->data : NULL;
	bool title = strcmp(member, "title") == 0;

	if (title && json_get_string(m->params, member).p)
		value = json_get_string(m->params, member);
	plain_of(value, room);
	if (c && !value.p && (title || strcmp(member, "kind") == 0))
		put_slice(room, buf_slice(title ? &c->title : &c->kind));
	need(buf_string(room) ? 0 : -1);
	return room->p;
}

static void
show_content(struct ask *a, struct slice content)
{
	struct json_iter it = {.in = content};
	SCOPED struct buf room = {0};
	struct slice item, text;

	while (next_item(&it, &item)) {
		text = json_path(item, "content.text");
		text = slice_cut(json_text(text.p ? text : json_get(item, "path"), &room), TEXT_KEPT);
		if (text.n)
			show_note(a, "  %.*s", (int)text.n, text.p);
	}
}

static void
put_string_or_null(struct buf *to, const char *name, const struct buf *text)
{
	if (text->n)
		put_text(to, name, buf_slice(text));
	else
		put_member(to, name, slice_of("null"));
}

/* Keeps the call for --format json. */
static void
keep_call(struct ask *a, const struct session_call *call, const struct shown_call *c)
{
	struct buf *to = &a->turn.calls;

	put(to, to->n ? ",{" : "{");
	put_text(to, "id", slice(call->id, call->n));
	put_text(to, "title", buf_slice(&c->title));
	put_string_or_null(to, "kind", &c->kind);
	put_string_or_null(to, "status", call->unfinished ? &(struct buf){0} : &c->status);
	put(to, "}");
}

void
show_call(struct ask *a, const struct session_event *e)
{
	struct shown_call *c = e->call->data;
	bool quiet = a->options->quiet || a->options->format == FORMAT_NDJSON || e->call->replayed;
	struct slice object, content;

	if (e->kind == SESSION_CALL_FORGOTTEN) {
		if (c) {
			buf_free(&c->title);
			buf_free(&c->kind);
			buf_free(&c->status);
			buf_free(&c->content);
		}
		free(c);
		e->call->data = NULL;
		return;
	}
	if (!c)
		c = e->call->data = calloc(1, sizeof(*c));
	need(c ? 0 : -1);
	object = e->message ? call_object(&e->message->message.msg) : slice(NULL, 0);
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
			put_slice(&c->content, content);
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

	put(to, "{");
	put_text(to, "text", buf_slice(&t->text));
	put_string_or_null(to, "stop_reason", &t->stop);
	put_member(to, "error", t->error.n ? buf_slice(&t->error) : slice(NULL, 0));
	if (t->usage.has || t->calls_usage.has) {
		put(to, ",\"usage\":");
		need(usage_sums_put(t->usage.has ? &t->usage : &t->calls_usage, to));
	}
	put_member(to, "cost", t->cost.n ? buf_slice(&t->cost) : slice(NULL, 0));
	put_member(to, "session_id", a->session_id.n ? buf_slice(&a->session_id) : slice(NULL, 0));
	put(to, ",\"tool_calls\":[");
	put_slice(to, buf_slice(&t->calls));
	put(to, "]}");
}
