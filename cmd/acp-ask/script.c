/* --script: prompts, expectations and requests, a line each. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"

struct script {
	struct ask *ask;
	uint64_t line;
	struct buf result;      /* what the last prompt or request brought: an object, JSON */
};

static const char *const members[] = {"prompt", "cancel_after", "expect", "request"};
enum { PROMPT, CANCEL_AFTER, EXPECT, REQUEST, MEMBERS };

static void
fail(struct script *s, const char *what, struct slice is, struct slice wanted)
{
	show_note(s->ask, "acp-ask: %s:%" PRIu64 ": %s is %.*s, expected %.*s", s->ask->options->script, s->line, what,
		is.p ? (int)is.n : 7, is.p ? is.p : "nothing", (int)wanted.n, wanted.p);
	ask_fail(s->ask, EXIT_NEGATIVE);
}

/* --- expectations --- */

/* A string matches as a pattern of sh; an object, if its members match; all else, if it is equal. */
static bool
matches(struct slice is, struct slice wanted)
{
	SCOPED struct buf a = {0}, b = {0};
	struct json_iter it = {.in = wanted}, other = {.in = is};
	struct slice key, value, index, item;
	bool same = json_type(is) == json_type(wanted), integer;

	switch (same ? json_type(wanted) : JSON_NONE) {
	case JSON_STRING:
		keep_string(&a, wanted);
		keep_string(&b, is);
		need(buf_string(&a) && buf_string(&b) ? 0 : -1);
		return fnmatch(a.p, b.p, 0) == 0;
	case JSON_NUMBER:
		need(json_number_key(is, &a, &integer));
		need(json_number_key(wanted, &b, &integer));
		return slice_eq(buf_slice(&a), buf_slice(&b));
	case JSON_OBJECT:
		while (same && json_next(&it, &key, &value)) {
			keep_string(&a, key);
			need(buf_string(&a) ? 0 : -1);
			same = matches(json_get(is, a.p), value);
		}
		return same;
	case JSON_ARRAY:
		while (same && json_next(&it, &key, &value))
			same = json_next(&other, &index, &item) && matches(item, value);
		return same && !json_next(&other, &index, &item);
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
		keep_string(&name, key);
		need(buf_string(&name) ? 0 : -1);
		is = json_get(buf_slice(&s->result), name.p);
		if (!matches(is, value))
			fail(s, name.p, is, value);
	}
}

/* --- requests --- */

/* Appends the params; a member sessionId that is null becomes our session's. */
static void
put_params(const struct ask *a, struct slice params, struct buf *to)
{
	struct slice id = json_get(params, acp_session_id);

	if (json_type(id) != JSON_NULL || !a->session_id.n) {
		need(buf_add_slice(to, params.p ? params : slice_of("{}")));
		return;
	}
	need(buf_add_slice(to, slice_between(params.p, id.p)));
	need(buf_add_slice(to, buf_slice(&a->session_id)));
	need(buf_add_slice(to, slice_between(id.p + id.n, params.p + params.n)));
}

static void
request(struct script *s, struct slice object)
{
	SCOPED struct buf method = {0}, response = {0};
	struct buf params = {0};
	enum got got;

	keep_string(&method, json_get(object, "method"));
	need(buf_string(&method) ? 0 : -1);
	put_params(s->ask, json_get(object, "params"), &params);
	got = ask_call(s->ask, method.p, &params, &response);
	s->result.n = 0;
	need(buf_add(&s->result, "{", 1));
	if (got != GOT_NOTHING)
		need(json_add_member(&s->result, got == GOT_ERROR ? "error" : "result", buf_slice(&response)));
	need(buf_add(&s->result, "}", 1));
	show_text(s->ask, buf_slice(&s->result));
	show_text(s->ask, slice("\n", 1));
}

/* --- prompts --- */

static void
on_cancel_time(void *arg)
{
	ask_cancel(arg);
}

/* Sends a prompt (a string, or an array of content), cancels it when it is time (us; 0: never), and waits for its end. */
static void
prompt(struct script *s, struct slice content, uint64_t cancel_after)
{
	struct loop_timer timer = {.expired = on_cancel_time, .arg = s->ask};
	SCOPED struct buf text = {0};
	struct buf blocks = {0};

	if (json_type(content) == JSON_ARRAY) {
		need(buf_add_slice(&blocks, content));
	} else {
		keep_string(&text, content);
		need(buf_add(&blocks, "[", 1));
		need(acp_put_text_block(&blocks, buf_slice(&text)));
		need(buf_add(&blocks, "]", 1));
	}
	prompt_begin(s->ask, &blocks);
	if (cancel_after)
		loop_add_timer(s->ask->loop, &timer, cancel_after);
	prompt_end(s->ask);
	loop_remove_timer(s->ask->loop, &timer);
	s->result.n = 0;
	show_put_result(s->ask, &s->result);
	if (s->ask->options->format == FORMAT_JSON) {
		show_text(s->ask, buf_slice(&s->result));
		show_text(s->ask, slice("\n", 1));
	}
}

/* --- the file --- */

/* Reads a line. False: it is none of a script, and the program ends. */
static bool
read_step(const struct script *s, struct slice line, struct slice values[MEMBERS], uint64_t *after)
{
	SCOPED struct buf text = {0};
	const char *wrong = NULL;
	enum json_type prompt_type;

	if (slice_is_blank(line))
		return false;
	if (json_scan(line, JSON_DEPTH, members, MEMBERS, values, NULL) != JSON_OBJECT)
		wrong = "expected an object, JSON";
	else if (!values[PROMPT].p && !values[CANCEL_AFTER].p && !values[EXPECT].p && !values[REQUEST].p)
		wrong = "expected prompt, cancel_after, expect or request";
	prompt_type = values[PROMPT].p && !wrong ? json_type(values[PROMPT]) : JSON_STRING;
	if (prompt_type != JSON_STRING && prompt_type != JSON_ARRAY)
		wrong = "prompt: expected a text, or a list of content";
	if (!wrong && values[EXPECT].p && json_type(values[EXPECT]) != JSON_OBJECT)
		wrong = "expect: expected an object";
	if (!wrong && values[REQUEST].p && !json_get_string(values[REQUEST], "method").p)
		wrong = "request: expected an object with a method";
	if (!wrong && values[CANCEL_AFTER].p) {
		keep_string(&text, values[CANCEL_AFTER]);
		need(buf_string(&text) ? 0 : -1);
		if (cli_duration(text.p, after) < 0 || *after == 0)
			wrong = "cancel_after: expected a duration, such as \"2s\"";
	}
	if (wrong)
		cli_die(EXIT_USAGE, tool_name, "%s:%" PRIu64 ": %s", s->ask->options->script, s->line, wrong);
	return true;
}

/* The next line of the script. False: that was the last. */
static bool
next_line(const char **at, const char *end, struct slice *line)
{
	const char *newline = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

	if (*at >= end)
		return false;
	*line = slice_between(*at, newline ? newline : end);
	*at = newline ? newline + 1 : end;
	return true;
}

/* Goes through the script. runs: does what it says, too. */
static void
go_through(struct script *s, bool runs)
{
	struct slice text = buf_slice(&s->ask->input), line, values[MEMBERS], waiting = {0};
	const char *at = text.p, *end = text.p + text.n;
	uint64_t after;

	for (s->line = 1; !s->ask->over && next_line(&at, end, &line); s->line++) {
		after = 0;
		if (!read_step(s, line, values, &after) || !runs)
			continue;
		/* A prompt waits for the next line, which may say when it is cancelled. */
		if (waiting.p)
			prompt(s, waiting, values[PROMPT].p ? 0 : after);
		waiting = values[PROMPT];
		if (waiting.p && (after || values[EXPECT].p || values[REQUEST].p)) {
			prompt(s, waiting, after);
			waiting.p = NULL;
		}
		if (values[REQUEST].p && !s->ask->over)
			request(s, values[REQUEST]);
		if (values[EXPECT].p && !s->ask->over)
			expect(s, values[EXPECT]);
	}
	if (waiting.p && !s->ask->over)
		prompt(s, waiting, 0);
	buf_free(&s->result);
}

void
script_read(struct ask *a)
{
	struct script s = {.ask = a};
	int fd = cli_open(tool_name, a->options->script, &(const char *){NULL});

	if (fd < 0 || prompt_read_all(fd, a->options->line_limit, &a->input) < 0)
		cli_die(EXIT_USAGE, tool_name, "--script %s: %s", a->options->script, strerror(errno));
	close(fd);
	go_through(&s, false);
}

void
script_run(struct ask *a)
{
	go_through(&(struct script){.ask = a}, true);
}
