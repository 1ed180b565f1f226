/* Prompts: what they are made of, and their turns; and --script: prompts, expectations and requests, a line each. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/base64.h"

/* Appends a file as an object for ask.jq. */
static void
put_file(struct ask *a, const char *path, struct buf *to)
{
	SCOPED struct buf content = {0}, base64 = {0};
	char *real;
	bool text;

	read_named("@", path, a->options->line_limit / 2, &content);
	text = json_utf8(buf_slice(&content));
	need(text ? 0 : base64_encode(buf_slice(&content), &base64));
	real = realpath(path, NULL); /* a pipe without a name has no real path */
	need(json_format(to, "{\"path\":%j,\"real\":%j,\"%s\":%j}", slice_of(path), slice_of(real ? real : path),
		text ? "text" : "data", buf_slice(text ? &content : &base64)));
	free(real);
}

/* Appends a block with the text, if there is any, and empties the text. Ends the program if it is not UTF-8. */
static void
put_text(const char *what, struct buf *text, struct buf *to)
{
	if (!text->n)
		return;
	if (!json_utf8(buf_slice(text)))
		cli_die(EXIT_USAGE, tool_name, "%s: not UTF-8; @FILE attaches any file", what);
	need(json_format(to, to->n ? "," : "["));
	need(acp_put_text_block(to, buf_slice(text)));
	text->n = 0;
}

void
prompt_load(struct ask *a)
{
	SCOPED struct buf text = {0}; /* successive texts become one block */

	for (char **word = a->options->prompt; *word; word++) {
		if (word[0][0] == '@' && word[0][1]) {
			put_text("the prompt", &text, &a->input);
			need(json_format(&a->input, a->input.n ? "," : "["));
			put_file(a, *word + 1, &a->input);
			a->files = true;
		} else if (**word) {
			need(json_format(&text, "%s%s", text.n ? " " : "", *word));
		}
	}
	put_text("the prompt", &text, &a->input);
	if (!isatty(STDIN_FILENO) && buf_read_all(&text, STDIN_FILENO, a->options->line_limit / 2) < 0)
		cli_die(EXIT_USAGE, tool_name, "standard input: %s", strerror(errno));
	put_text("standard input", &text, &a->input);
	if (!a->input.n)
		cli_die(EXIT_USAGE, tool_name, "there is no prompt: no text, no file, and nothing on standard input");
	need(json_format(&a->input, "]"));
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
		need(json_format(&block, "[{\"type\":\"text\",\"text\":%b}]", content));
		content = buf_slice(&block);
	}
	put_object(&params, {acp_session_id, slice_of("null")}, {acp_prompt, content},
		{"_meta", json_if(a->options->meta, "null")});
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
	if (t->failed && t->error.n && !a->stopping && !a->over)
		session_failed(a, slice_of("[\"session/prompt\"]"), buf_slice(&t->error));
	else if (t->failed && !a->stopping && !a->over)
		show_note(a, "acp-ask: session/prompt: no response");
	else if (!t->failed && !ended && !a->stopping && !a->options->script)
		show_note(a, "acp-ask: the turn ended: %s", t->stop.n ? plain_of(buf_slice(&t->stop), &room) : "without a stop reason");
	if (!ended && !a->talks && !a->options->script)
		ask_fail(a, EXIT_NEGATIVE);
	if (a->stopping)
		ask_over(a, 0);
}

/* --- scripts --- */

struct script {
	struct ask *ask;
	uint64_t line;
	struct buf result;      /* the result of the last prompt or request: an object, JSON */
};

static const char *const members[] = {"prompt", "cancel_after", "expect", "request", NULL};
enum { PROMPT, CANCEL_AFTER, EXPECT, REQUEST, MEMBERS };

/* A line that is not blank. */
struct step {
	uint64_t line;          /* 0: there is none */
	struct slice values[MEMBERS];
	uint64_t after;         /* us: cancel_after; 0: it is not given */
};

/* A string matches as a pattern of sh; an object, if its members match; all else, if it is equal. */
static bool
matches(struct slice is, struct slice wanted)
{
	SCOPED struct buf a = {0}, b = {0};
	struct json_iter it = {.in = wanted}, other = {.in = is};
	struct slice key, value, item;
	bool same = json_type(is) == json_type(wanted), integer;

	switch (same ? json_type(wanted) : JSON_NONE) {
	case JSON_STRING:
		return fnmatch(plain_of(wanted, &a), plain_of(is, &b), 0) == 0;
	case JSON_NUMBER:
		need(json_number_key(is, &a, &integer));
		need(json_number_key(wanted, &b, &integer));
		return slice_eq(buf_slice(&a), buf_slice(&b));
	case JSON_OBJECT:
		while (same && json_next(&it, &key, &value))
			same = matches(json_get(is, plain_of(key, &a)), value);
		return same;
	case JSON_ARRAY:
		while (same && json_item(&it, &value))
			same = json_item(&other, &item) && matches(item, value);
		return same && !json_item(&other, &item);
	default:
		return same;
	}
}

static void
expect(struct script *s, struct slice wanted)
{
	struct json_iter it = {.in = wanted};
	SCOPED struct buf name = {0};
	struct slice key, value, is;

	while (json_next(&it, &key, &value)) {
		is = json_get(buf_slice(&s->result), plain_of(key, &name));
		if (matches(is, value))
			continue;
		is = is.p ? is : slice_of("nothing");
		ask_report(s->ask, "%s:%" PRIu64 ": %s is %.*s, expected %.*s", s->ask->options->script, s->line, name.p,
			(int)is.n, is.p, (int)value.n, value.p);
	}
}

static void
request(struct script *s, struct slice object)
{
	SCOPED struct buf call = {0}, response = {0};
	struct slice method = json_get(object, "method"), params = json_get(object, "params");
	const char *member;

	need(json_format(&call, "[%b,%b]", method, params.p ? params : slice_of("{}")));
	member = ask_call(s->ask, buf_slice(&call), &response);
	s->result.n = 0;
	put_object(&s->result, {member ? member : "result", json_in(&response)});
	show_line(s->ask, buf_slice(&s->result));
}

/* Runs a line. after: when to cancel its prompt, if the line does not say so itself; us; 0: never. */
static void
run_step(struct script *s, const struct step *step, uint64_t after)
{
	const struct slice *values = step->values;

	s->line = step->line;
	if (values[PROMPT].p && !s->ask->over) {
		prompt_run(s->ask, values[PROMPT], step->after ? step->after : after);
		show_result(s->ask, &s->result);
	}
	if (values[REQUEST].p && !s->ask->over)
		request(s, values[REQUEST]);
	if (values[EXPECT].p && !s->ask->over)
		expect(s, values[EXPECT]);
}

/* Reads a line. False: the line is blank. Ends the program if the line is wrong. */
static bool
read_step(const struct ask *a, struct slice line, const struct step *before, struct step *step)
{
	static const char *const expected = "expected prompt, cancel_after, expect or request";
	struct json_iter it = {.in = line};
	struct slice *values = step->values, key, value;
	SCOPED struct buf text = {0};
	const char *wrong = NULL;

	if (slice_is_blank(line))
		return false;
	if (json_scan(line, JSON_DEPTH, members, MEMBERS, values, NULL) != JSON_OBJECT)
		wrong = "expected an object, JSON";
	else if (!values[PROMPT].p && !values[CANCEL_AFTER].p && !values[EXPECT].p && !values[REQUEST].p)
		wrong = expected;
	else if (values[PROMPT].p && json_type(values[PROMPT]) != JSON_STRING && json_type(values[PROMPT]) != JSON_ARRAY)
		wrong = "prompt: expected a text, or a list of content";
	else if (values[EXPECT].p && json_type(values[EXPECT]) != JSON_OBJECT)
		wrong = "expect: expected an object";
	else if (values[REQUEST].p && !json_get_string(values[REQUEST], "method").p)
		wrong = "request: expected an object with a method";
	else if (values[CANCEL_AFTER].p && (cli_duration(plain_of(values[CANCEL_AFTER], &text), &step->after) < 0 || step->after == 0))
		wrong = "cancel_after: expected a duration, such as \"2s\"";
	else if (values[CANCEL_AFTER].p && !values[PROMPT].p && (!before->values[PROMPT].p || before->after))
		wrong = "cancel_after: expected a prompt in this line or the line before";
	if (wrong)
		cli_die(EXIT_USAGE, tool_name, "%s:%" PRIu64 ": %s", a->options->script, step->line, wrong);
	while (json_next(&it, &key, &value))
		if (!json_string_in(key, members))
			cli_die(EXIT_USAGE, tool_name, "%s:%" PRIu64 ": %.*s: %s", a->options->script, step->line, (int)key.n, key.p, expected);
	return true;
}

void
script_run(struct ask *a, bool checks)
{
	struct slice left = buf_slice(&a->input), line;
	struct step before = {0}, step;
	struct script s = {.ask = a};

	/* A line is run when the next one is read, which may say when to cancel its prompt. */
	for (uint64_t n = 1; !a->over && line_next(&left, &line); n++) {
		step = (struct step){.line = n};
		if (!read_step(a, line, &before, &step))
			continue;
		if (!checks)
			run_step(&s, &before, step.values[PROMPT].p ? 0 : step.after);
		before = step;
	}
	/* A check does not pass for want of input. */
	if (!before.line && checks)
		cli_die(EXIT_USAGE, tool_name, "%s: there is nothing to do in it", a->options->script);
	if (!checks)
		run_step(&s, &before, 0);
	buf_free(&s.result);
}
