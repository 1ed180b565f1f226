/* Makes and reads texts; ends the program when memory is out. And runs the functions of ask.jq. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/filter/jqprog.h"

static const char ask_jq_text[] = {
#include "cmd/acp-ask/ask.jq.inc"
	'\0'};

void
need(int r)
{
	if (r < 0)
		cli_no_memory(tool_name);
}

void
put_slice(struct buf *to, struct slice text)
{
	need(buf_add_slice(to, text));
}

struct slice
string_in(struct buf *room, struct slice text)
{
	room->n = 0;
	need(json_quote(text, room));
	return buf_slice(room);
}

struct slice
json_in(const struct buf *written)
{
	return written->n ? buf_slice(written) : slice(NULL, 0);
}

struct slice
json_if(bool yes, const char *text)
{
	return yes ? slice_of(text) : slice(NULL, 0);
}

char *
plain_of(struct slice string, struct buf *room)
{
	SCOPED struct buf text = {0};
	const char *p, *nul;

	room->n = 0;
	if (json_type(string) == JSON_STRING)
		need(json_unescape(string, &text));
	need(buf_string(&text) ? 0 : -1);
	for (p = text.p; (nul = p + strlen(p)) < text.p + text.n; p = nul + 1) {
		put_slice(room, slice_between(p, nul));
		put_slice(room, slice_of("\uFFFD"));
	}
	put_slice(room, slice_between(p, nul));
	need(buf_string(room) ? 0 : -1);
	return room->p;
}

char **
words_new(char *const *first, struct slice array)
{
	struct json_iter it = {.in = array};
	SCOPED struct buf text = {0}, value = {0};
	char **list = NULL, *word;
	struct slice item;
	size_t n = 0;

	for (;;) {
		list = cli_grow(tool_name, list, n, sizeof(*list));
		list[n] = NULL;
		if (first && *first)
			word = strdup(*first++);
		else if (!json_item(&it, &item))
			return list;
		else if (json_type(item) == JSON_OBJECT)
			word = bytes_printf("%s=%s", plain_of(json_get(item, "name"), &text), plain_of(json_get(item, "value"), &value));
		else
			word = strdup(plain_of(item, &text));
		need(word ? 0 : -1);
		list[n++] = word;
	}
}

void
words_free(char **list)
{
	for (char **word = list; *word; word++)
		free(*word);
	free(list);
}

void
read_named(const char *option, const char *path, size_t most, struct buf *to)
{
	int fd = cli_open(tool_name, path, &(const char *){NULL});

	if (fd < 0 || buf_read_all(to, fd, most) < 0)
		cli_die(EXIT_USAGE, tool_name, "%s%s: %s", option, path, strerror(errno));
	close(fd);
}

/* --- ask.jq --- */

/* The beginning of each program in ask.jq. */
static const char part_begins[] = "\n#:";

/* Compiles a program of ask.jq, with the text that is part of all programs before it. The options are constants. */
static struct jqprog *
compile(struct ask *a, struct slice part)
{
	static const char *const formats[] = {"\"text\"", "\"json\"", "\"ndjson\""};
	static const struct jqprog_var variables[] = {{.name = "do"}, {.name = "agent"}};
	const struct options *o = a->options;
	SCOPED struct buf program = {0}, cwd = {0}, auth = {0}, form = {0};
	const struct jqprog_var constants[] = {
		{"protocol", slice_of(o->protocol == 2 ? "2" : "1")},
		{"format", slice_of(formats[o->format])},
		{"person", slice_of(person_is_there(a) ? "true" : "false")},
		{"cwd", string_in(&cwd, slice_of(a->cwd))},
		{"auth", o->auth ? string_in(&auth, slice_of(o->auth)) : slice(NULL, 0)},
		{"form_file", o->form ? string_in(&form, slice_of(o->form)) : slice(NULL, 0)},
		{"values", json_in(&a->form)},
		{"given", json_in(&o->given)},
	};
	char *why = NULL;
	struct jqprog *jq;

	put_slice(&program, slice_between(ask_jq_text, strstr(ask_jq_text, part_begins)));
	put_slice(&program, part);
	need(buf_string(&program) ? 0 : -1);
	jq = jqprog_new(program.p, variables, 2, constants, sizeof(constants) / sizeof(constants[0]), &why);
	if (!jq)
		cli_die(EXIT_FAILED, tool_name, "ask.jq: %s", why ? why : "out of memory");
	return jq;
}

/* Returns the program that has this function. */
static struct jqprog *
program_with(struct ask *a, const char *function)
{
	const char *begin = strstr(ask_jq_text, part_begins), *end;
	char *definition = bytes_printf("\ndef %s:", function);
	struct jqprog **jq = a->jq;

	need(definition ? 0 : -1);
	for (; (end = strstr(begin + 1, part_begins)) && end < strstr(begin, definition); begin = end)
		jq++;
	free(definition);
	if (!*jq)
		*jq = compile(a, end ? slice_between(begin, end) : slice_of(begin));
	return *jq;
}

static bool
keep_output(void *to, struct slice output)
{
	((struct buf *)to)->n = 0;
	put_slice(to, output);
	return false;
}

bool
ask_jq(struct ask *a, const char *function, struct slice input, struct buf *output)
{
	SCOPED struct buf name = {0}, result = {0};
	struct jqprog_var variables[] = {{"do", string_in(&name, slice_of(function))}, {"agent", buf_slice(&a->initialized)}};
	char *why = NULL;

	if (jqprog_run(program_with(a, function), input, variables, 2, keep_output, &result, &why) == 0 && result.n) {
		output->n = 0;
		put_slice(output, buf_slice(&result));
		return true;
	}
	ask_report(a, "%s", why ? why : "what the agent sent is nested too deep");
	free(why);
	return false;
}

void
ask_jq_close(struct ask *a)
{
	for (size_t i = 0; i < ASK_JQS; i++)
		jqprog_free(a->jq[i]);
}
