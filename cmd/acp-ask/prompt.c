/* Prompts: what they are made of, and their turns. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/base64.h"

/* Appends a file as an object for ask.jq. */
static void
put_file(struct ask *a, const char *path, struct buf *to)
{
	SCOPED struct buf content = {0}, base64 = {0}, shown = {0}, whole = {0}, value = {0};
	char *real;
	bool text;

	read_named("@", path, a->options->line_limit / 2, &content);
	text = json_utf8(buf_slice(&content));
	need(text ? 0 : base64_encode(buf_slice(&content), &base64));
	real = realpath(path, NULL);
	need(real ? 0 : -1);
	put_object(to, {"path", string_in(&shown, slice_of(path))}, {"real", string_in(&whole, slice_of(real))},
		{text ? "text" : "data", string_in(&value, buf_slice(text ? &content : &base64))});
	free(real);
}

void
prompt_load(struct ask *a)
{
	SCOPED struct buf input = {0}, room = {0};

	for (char **word = a->options->prompt; *word; word++) {
		if (!**word)
			continue;
		put(&a->input, a->input.n ? "," : "[");
		if (word[0][0] == '@' && word[0][1])
			put_file(a, *word + 1, &a->input);
		else
			put_quoted(&a->input, slice_of(*word));
	}
	if (!isatty(STDIN_FILENO) && buf_read_all(&input, STDIN_FILENO, a->options->line_limit / 2) < 0)
		cli_die(EXIT_USAGE, tool_name, "standard input: %s", strerror(errno));
	if (input.n) {
		put(&a->input, a->input.n ? "," : "[");
		put_object(&a->input, {"input", string_in(&room, buf_slice(&input))});
	}
	if (!a->input.n)
		cli_die(EXIT_USAGE, tool_name, "there is no prompt: no text, no file, and nothing on standard input");
	put(&a->input, "]");
}

static void
on_cancel_time(void *arg)
{
	ask_cancel(arg);
}

void
prompt_run(struct ask *a, struct slice content, uint64_t cancel_after)
{
	struct loop_timer timer = {.expired = on_cancel_time, .arg = a};
	SCOPED struct buf params = {0}, room = {0}, block = {0};
	struct turn *t = &a->turn;
	struct session_request *request;
	bool ended;

	if (!a->over)
		show_turn(a, true);
	t->running = !a->over;
	a->signals = 0;
	t->over = t->failed = false;
	t->stop.n = t->error.n = t->text.n = t->calls.n = 0;
	t->usage = t->calls_usage = (struct usage_sums){0};
	if (json_type(content) == JSON_STRING) {
		put(&block, "[{\"type\":\"text\",\"text\":%.*s}]", (int)content.n, content.p);
		content = buf_slice(&block);
	}
	put_object(&params, {acp_session_id, slice_of("null")}, {acp_prompt, content},
		{"_meta", slice(a->options->meta ? "null" : NULL, 4)});
	request = ask_request(a, acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), buf_slice(&params));
	if (request && request->turn)
		request->turn->data = t;
	if (cancel_after)
		loop_add_timer(a->loop, &timer, cancel_after);
	ask_wait(a, &t->over);
	loop_remove_timer(a->loop, &timer);
	show_turn(a, false);
	if (!t->over)
		return;
	ended = json_string_is(json_in(&t->stop), "end_turn");
	if (t->failed && !a->stopping && !a->over)
		show_note(a, "acp-ask: session/prompt: %s",
			t->error.n ? plain_of(json_get(buf_slice(&t->error), "message"), &room) : "no response");
	else if (!t->failed && !ended && !a->stopping && !a->options->script)
		show_note(a, "acp-ask: the turn ended: %s", t->stop.n ? plain_of(buf_slice(&t->stop), &room) : "without a stop reason");
	if (!ended && !a->talks && !a->options->script)
		ask_fail(a, EXIT_NEGATIVE);
	if (a->stopping)
		ask_over(a, 0);
}
