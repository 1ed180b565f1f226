/* What acp-ask prints: the agent's text on standard output, all else as lines on standard error. */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/text.h"
#include "lib/run/proc.h"

enum { SPIN = 125 * 1000, QUIET = 1000 * 1000, HELD_MOST = 64 * 1024, CLOSE_IDLE_MS = 1000, CLOSE_MS = 10 * 1000 };

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
	if (a->show.held.n) {
		loop_remove_timer(a->loop, &a->show.quiet);
		need(endpoint_put(&a->show.out, NULL, buf_slice(&a->show.held)));
		a->show.held.n = 0;
	}
	if (a->show.terminal)
		endpoint_flush(&a->show.out, 100, 1000);
	if (a->show.terminal && a->show.open)
		cli_write_now(STDERR_FILENO, slice("\n", 1));
	if (a->show.terminal)
		a->show.open = false;
}

/* Shows the line that is being typed again. */
static void
redraw(struct ask *a)
{
	if (!a->line.asks)
		return;
	a->show.prompts = true;
	line_redraw(a);
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
	put_slice(&plain, slice_of("\n"));
	show_clear(a);
	cli_write_now(STDERR_FILENO, buf_slice(&plain));
	redraw(a);
}

void
show_notes(struct ask *a, struct slice notes)
{
	SCOPED struct buf room = {0};
	struct slice note;

	for (struct json_iter it = {.in = notes}; json_item(&it, &note);)
		show_note(a, "%s", plain_of(note, &room));
}

/* Shows the lines that a function of ask.jq makes of what the agent sent. That they cannot be made is a note, and no failure. */
static void
show_made(struct ask *a, const char *function, struct slice input)
{
	SCOPED struct buf lines = {0};
	int status = a->status;

	if (ask_jq(a, function, input, &lines))
		show_notes(a, buf_slice(&lines));
	a->status = status;
}

/* Shows the text that was held back, above the line that is being typed. */
static void
on_quiet(void *arg)
{
	show_clear(arg);
	redraw(arg);
}

static void
on_spin(void *arg)
{
	static const char phases[] = "|/-\\";
	struct ask *a = arg;
	pid_t foreground = tcgetpgrp(STDERR_FILENO);

	loop_add_timer(a->loop, &a->show.timer, SPIN);
	if (a->line.asks || (a->show.terminal && a->show.open) || (foreground >= 0 && foreground != getpgrp()))
		return;
	cli_write_now(STDERR_FILENO, slice((char[]){'\r', phases[a->show.phase++ % 4], ' '}, 3));
	a->show.spins = true;
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
	s->quiet = (struct loop_timer){.expired = on_quiet, .arg = a};
	s->out = (struct endpoint){.event = on_out, .arg = a};
	need(endpoint_open(&s->out, a->loop, -1, proc_move_high(STDOUT_FILENO), 0));
}

void
show_close(struct ask *a)
{
	show_turn(a, false);
	show_clear(a);
	endpoint_finish(&a->show.out);
	/* After a signal, or --timeout, only a reader that reads on is waited for. */
	while (endpoint_can_write(&a->show.out) && !a->signals && a->status != EXIT_TIMEOUT && loop_run(a->loop) == 0)
		;
	endpoint_flush(&a->show.out, a->signals < 2 ? CLOSE_IDLE_MS : 0, CLOSE_MS);
	endpoint_close(&a->show.out);
}

/* Writes bytes to standard output; to a terminal, without escape sequences. */
static void
write_out(struct ask *a, struct slice bytes)
{
	struct show *s = &a->show;
	SCOPED struct buf safe = {0};

	if (s->terminal) {
		need(text_lines(&safe, bytes));
		bytes = buf_slice(&safe);
	}
	if (!s->terminal || !a->line.asks) {
		need(endpoint_put(&s->out, NULL, bytes));
		endpoint_pause(&a->agent.live, s->out.out.full);
		return;
	}
	/* The bytes must not come between the prompt and the text that is typed. */
	loop_remove_timer(a->loop, &s->quiet);
	put_slice(&s->held, bytes);
	if (bytes.p[bytes.n - 1] == '\n' || s->held.n > HELD_MOST)
		on_quiet(a);
	else
		loop_add_timer(a->loop, &s->quiet, QUIET);
}

static void
show_text(struct ask *a, struct slice text)
{
	/* After the end of input the terminal still shows the prompt of a line. */
	if (a->show.spins || (a->show.prompts && !a->line.asks))
		show_clear(a);
	if (a->show.gap && a->show.open) {
		a->show.open = false;
		write_out(a, slice("\n", 1));
	}
	a->show.gap = false;
	if (text.n == 0)
		return;
	a->show.open = text.p[text.n - 1] != '\n';
	write_out(a, text);
}

void
show_line(struct ask *a, struct slice text)
{
	bool gap = a->show.gap;

	a->show.gap = true;
	show_text(a, text);
	show_text(a, slice("\n", 1));
	a->show.gap = gap;
}

void
show_turn(struct ask *a, bool begins)
{
	loop_remove_timer(a->loop, &a->show.timer);
	a->show.gap |= begins;
	if (begins && a->show.animated && !a->options->quiet)
		loop_add_timer(a->loop, &a->show.timer, SPIN);
	if (begins || !a->show.open || a->options->format != FORMAT_TEXT)
		return;
	a->show.gap = true;
	show_text(a, slice(NULL, 0));
}

/* --- the agent's text --- */

/* Returns whether the result of a turn is kept, for an object at the end of the turn. */
static bool
keeps_result(const struct ask *a)
{
	return a->options->format == FORMAT_JSON || a->options->script;
}

/* Returns what was shown of the message with this id. */
static struct shown *
shown_of(struct show *s, uint64_t id)
{
	struct shown *m;

	for (unsigned i = 0; i < MESSAGES; i++) {
		m = &s->messages[(s->newest - i) % MESSAGES];
		if (m->id == id)
			return m;
	}
	m = &s->messages[++s->newest % MESSAGES];
	*m = (struct shown){.id = id};
	return m;
}

static void
add_shown(struct shown *m, struct slice text)
{
	size_t solid = text.n;

	while (solid && byte_is_space(text.p[solid - 1]))
		solid--;
	if (solid) {
		m->solid = m->n + solid;
		m->solid_hash = slice_hash(m->hash, slice(text.p, solid));
	}
	m->hash = slice_hash(m->hash, text);
	m->n += text.n;
}

/* Returns how many bytes of a whole text were shown; it may lack white space at their end. 0, if another text was shown. */
static size_t
bytes_shown(const struct shown *m, struct slice text)
{
	size_t n = m->solid;

	if (n > text.n || (n && slice_hash(0, slice(text.p, n)) != m->solid_hash))
		return 0;
	while (n < m->n && n < text.n && byte_is_space(text.p[n]))
		n++;
	return n;
}

/* Returns the text of a block of content; p NULL: it is not a text. */
static struct slice
block_text(struct slice block, struct buf *room)
{
	return json_string_is(json_get(block, "type"), "text") ? json_text(json_get(block, "text"), room) : slice(NULL, 0);
}

/* Shows a block of content, except the first *skip bytes of text. Subtracts the bytes that it has skipped from *skip. */
static void
show_block(struct ask *a, struct shown *m, struct slice block, size_t *skip)
{
	SCOPED struct buf room = {0};
	struct slice type = json_get(block, "type"), text = block_text(block, &room);
	struct buf *all = &a->turn.text;

	if (!json_string_is(type, "text")) {
		if (type.p && !*skip && !a->options->quiet)
			show_note(a, "content: %s", plain_of(type, &room));
		return;
	}
	if (text.n <= *skip) {
		*skip -= text.n;
		return;
	}
	text = slice(text.p + *skip, text.n - *skip);
	*skip = 0;
	add_shown(m, text);
	if (keeps_result(a)) {
		if (a->show.gap && all->n && all->p[all->n - 1] != '\n')
			need(json_format(all, "\n"));
		put_slice(all, text);
	}
	if (a->options->format == FORMAT_TEXT)
		show_text(a, text);
	a->show.gap = false;
}

/* Shows a chunk; or what was not shown of a whole message, or all on a line of its own, if another text was shown (version 2). */
static void
show_agent_text(struct ask *a, struct slice update, bool whole)
{
	SCOPED struct buf room = {0}, all = {0};
	struct slice content = json_get(update, acp_content), block;
	struct shown *m = shown_of(&a->show, slice_hash(0, json_text(json_get_string(update, "messageId"), &room)));
	size_t skip = 0;

	if (whole) {
		for (struct json_iter it = {.in = content}; json_item(&it, &block);)
			put_slice(&all, block_text(block, &room));
		skip = bytes_shown(m, buf_slice(&all));
		if (all.n && !skip && m->solid) {
			*m = (struct shown){.id = m->id};
			a->show.gap = true;
		}
	}
	/* The text of another message begins a new line. */
	if (!whole || skip < all.n) {
		a->show.gap |= a->show.last != m->id;
		a->show.last = m->id;
	}
	if (json_type(content) == JSON_OBJECT)
		show_block(a, m, content, &skip);
	for (struct json_iter it = {.in = content}; json_item(&it, &block);)
		show_block(a, m, block, &skip);
}

/* Notes the usage that a message of the session reports. */
static void
note_usage(struct ask *a, const struct session_message *seen)
{
	struct usage_report r;
	struct slice model;
	struct usage_counts row;
	const char *wrong;

	if (!usage_read(&seen->message, &r))
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
		put_object(&a->turn.cost, {"amount", r.amount}, {"currency", r.currency.p ? r.currency : slice_of("null")});
	}
}

void
show_update(struct ask *a, const struct session_message *seen)
{
	static const char *const texts[] = {"agent_message_chunk", "agent_message", NULL};
	static const char *const plans[] = {"plan", "plan_update", NULL};
	struct slice update = json_get(seen->message.msg.params, acp_update), kind = seen->kind;
	struct slice commands = json_get(update, acp_commands);
	bool quiet = a->options->quiet || a->options->format == FORMAT_NDJSON;
	SCOPED struct buf room = {0};

	if (json_string_is(kind, "available_commands_update") && json_type(commands) == JSON_ARRAY) {
		a->commands.n = 0;
		put_slice(&a->commands, commands);
	}
	/* A response that nobody waits for is of no session. */
	if (!seen->session || seen->session != a->session)
		return;
	note_usage(a, seen);
	if (!kind.p || session_is_replayed(seen->session))
		return;
	if (json_string_in(kind, texts))
		show_agent_text(a, update, json_string_is(kind, "agent_message"));
	else if (!quiet && json_string_in(kind, plans))
		show_made(a, "plan", update);
	else if (a->options->verbose && json_string_is(kind, "agent_thought_chunk") &&
		*plain_of(json_path(update, "content.text"), &room))
		show_note(a, "thought: %s", room.p);
}

/* --- tool calls --- */

/* Returns the tool call that an update or a permission request is about; p NULL: none. */
static struct slice
call_object(const struct msg *m)
{
	struct slice object = json_get(m->params, acp_update);

	if (!object.p)
		object = json_get(m->params, "toolCall");
	return object.p ? object : json_path(m->params, "subject.toolCall");
}

/* Returns a member of the tool call, if it is a string; else the member that was kept of earlier messages (JSON, or NULL: none). */
static struct slice
known(struct slice object, const char *kept, const char *member)
{
	struct slice value = json_get_string(object, member);

	return value.p || !kept ? value : json_get(slice_of(kept), member);
}

const char *
show_known(const struct ask *a, const struct msg *m, const char *member, struct buf *room)
{
	struct slice object = call_object(m), id = json_get_string(object, "toolCallId");
	struct slice name = json_get_string(m->params, acp_session_id);
	struct session *s = id.p && name.p ? sessions_find(a->sessions, json_text(name, room)) : NULL;
	struct session_call *call = s ? session_call_find(a->sessions, s, id) : NULL;

	return plain_of(known(object, call ? call->data : NULL, member), room);
}

void
show_call(struct ask *a, const struct session_event *e)
{
	static const struct slice null = {"null", 4};
	char *kept = e->call->data;
	bool ended = e->kind == SESSION_CALL_ENDED, unfinished = e->call->unfinished;
	bool notes = !a->options->quiet && a->options->format != FORMAT_NDJSON && !e->call->replayed;
	struct slice object = e->message && !ended ? call_object(&e->message->message.msg) : slice(NULL, 0), title, kind, status, content;
	SCOPED struct buf new = {0}, id = {0}, plain = {0}, quoted = {0};

	if (e->kind == SESSION_CALL_FORGOTTEN) {
		free(kept);
		e->call->data = NULL;
		return;
	}
	title = known(object, kept, "title");
	title = title.p ? title : json_get_string(object, "name");
	kind = known(object, kept, "kind");
	status = known(object, kept, "status");
	content = a->options->verbose ? json_get(object, acp_content) : slice(NULL, 0);
	content = content.p || !kept ? content : json_get(slice_of(kept), acp_content);
	put_object(&new, {"title", title}, {"name", known(object, kept, "name")}, {"kind", kind}, {"status", status},
		{acp_content, content});
	plain_of(title, &plain);
	if (!ended) {
		a->show.gap = true;
		if (notes && title.p && !known(slice(NULL, 0), kept, "title").p)
			show_note(a, "tool: %s", plain.p);
	} else if (notes) {
		if (json_string_is(status, "failed") && !unfinished)
			show_note(a, "tool: %s: failed", plain.p);
		if (content.p)
			show_made(a, "contents", content);
	}
	if (ended && keeps_result(a) && !e->call->replayed) {
		need(json_format(&a->turn.calls, a->turn.calls.n ? "," : ""));
		put_object(&a->turn.calls, {"id", string_in(&id, slice(e->call->id, e->call->n))},
			{"title", string_in(&quoted, buf_slice(&plain))}, {"kind", kind.p ? kind : null},
			{"status", status.p && !unfinished ? status : null});
	}
	free(kept);
	e->call->data = buf_string(&new);
	need(e->call->data ? 0 : -1);
	new = (struct buf){0};
}

/* --- the result of a turn --- */

void
show_result(struct ask *a, struct buf *result)
{
	const struct turn *t = &a->turn;
	SCOPED struct buf text = {0}, usage = {0}, calls = {0};

	if (t->usage.has || t->calls_usage.has)
		need(usage_sums_put(t->usage.has ? &t->usage : &t->calls_usage, &usage));
	need(json_format(&calls, "[%b]", buf_slice(&t->calls)));
	result->n = 0;
	put_object(result, {"text", string_in(&text, buf_slice(&t->text))},
		{"stop_reason", t->stop.n ? buf_slice(&t->stop) : slice_of("null")}, {"error", json_in(&t->error)},
		{"usage", json_in(&usage)}, {"cost", json_in(&t->cost)}, {"session_id", buf_slice(&a->session_id)},
		{"tool_calls", buf_slice(&calls)});
	if (a->options->format == FORMAT_JSON)
		show_line(a, buf_slice(result));
}
