/* --script: prompts, expectations and requests, a line each. */
#include <fnmatch.h>

#include "cmd/acp-ask/ask.h"

struct script {
	struct ask *ask;
	uint64_t line;
	struct buf result;      /* what the last prompt or request brought: an object, JSON */
};

static const char *const members[] = {"prompt", "cancel_after", "expect", "request"};
enum { PROMPT, CANCEL_AFTER, EXPECT, REQUEST, MEMBERS };

/* --- expectations --- */

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
		while (same && next_item(&it, &value))
			same = next_item(&other, &item) && matches(item, value);
		return same && !next_item(&other, &item);
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

/* --- requests --- */

static void
request(struct script *s, struct slice object)
{
	SCOPED struct buf call = {0}, response = {0};
	struct slice params = json_get(object, "params");
	const char *member;

	put(&call, "[");
	put_slice(&call, json_get(object, "method"));
	put(&call, ",");
	put_slice(&call, params.p ? params : slice_of("{}"));
	put(&call, "]");
	member = ask_call(s->ask, buf_slice(&call), &response);
	s->result.n = 0;
	put_object(&s->result, {member ? member : "result", json_in(&response)});
	show_line(s->ask, buf_slice(&s->result));
}

/* --- prompts --- */

static void
prompt(struct script *s, struct slice content, uint64_t cancel_after)
{
	prompt_run(s->ask, content, cancel_after);
	show_result(s->ask, &s->result);
}

/* --- the file --- */

/* Reads a line. False: it is none of a script, and the program ends. */
static bool
read_step(const struct script *s, struct slice line, struct slice values[MEMBERS], uint64_t *after)
{
	SCOPED struct buf text = {0};
	const char *wrong = NULL;

	if (slice_is_blank(line))
		return false;
	if (json_scan(line, JSON_DEPTH, members, MEMBERS, values, NULL) != JSON_OBJECT)
		wrong = "expected an object, JSON";
	else if (!values[PROMPT].p && !values[CANCEL_AFTER].p && !values[EXPECT].p && !values[REQUEST].p)
		wrong = "expected prompt, cancel_after, expect or request";
	else if (values[PROMPT].p && json_type(values[PROMPT]) != JSON_STRING && json_type(values[PROMPT]) != JSON_ARRAY)
		wrong = "prompt: expected a text, or a list of content";
	else if (values[EXPECT].p && json_type(values[EXPECT]) != JSON_OBJECT)
		wrong = "expect: expected an object";
	else if (values[REQUEST].p && !json_get_string(values[REQUEST], "method").p)
		wrong = "request: expected an object with a method";
	else if (values[CANCEL_AFTER].p && (cli_duration(plain_of(values[CANCEL_AFTER], &text), after) < 0 || *after == 0))
		wrong = "cancel_after: expected a duration, such as \"2s\"";
	if (wrong)
		cli_die(EXIT_USAGE, tool_name, "%s:%" PRIu64 ": %s", s->ask->options->script, s->line, wrong);
	return true;
}

void
script_run(struct ask *a, bool checks)
{
	struct script script = {.ask = a}, *s = &script;
	const char *at = a->input.p, *end = at + a->input.n, *newline;
	struct slice values[MEMBERS], waiting = {0};
	uint64_t after;

	for (s->line = 1; !a->over && at < end; at = newline + (newline < end), s->line++) {
		newline = memchr(at, '\n', (size_t)(end - at));
		newline = newline ? newline : end;
		after = 0;
		if (!read_step(s, slice_between(at, newline), values, &after) || checks)
			continue;
		/* A prompt waits for the next line, which may say when it is cancelled. */
		if (waiting.p)
			prompt(s, waiting, values[PROMPT].p ? 0 : after);
		waiting = values[PROMPT];
		if (waiting.p && (after || values[EXPECT].p || values[REQUEST].p)) {
			prompt(s, waiting, after);
			waiting.p = NULL;
		}
		if (values[REQUEST].p && !a->over)
			request(s, values[REQUEST]);
		if (values[EXPECT].p && !a->over)
			expect(s, values[EXPECT]);
	}
	if (waiting.p && !a->over)
		prompt(s, waiting, 0);
	buf_free(&s->result);
}
