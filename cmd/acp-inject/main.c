/* acp-inject: edits the messages of a stream, responds to requests, adds context, and sends messages of its own. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-inject/inject.h"
#include "lib/recording/home.h"
#include "lib/run/proc.h"

/* One option a line, with its unit and default. Completion of the shell reads options and words from this text. */
static const char help[] =
	"usage: acp-inject [OPTION]... [-- COMMAND [ARG]...]\n"
	"Edits messages, answers requests, and sends messages of its own. JQ is a jq\n"
	"program; METHOD may be a pattern. COMMAND is the agent.\n"
	"\n"
	"Editing\n"
	"  -e, --edit JQ         replace the message by the output of JQ; no output: drop\n"
	"                        it\n"
	"  -E, --edit-file FILE  the same with the program in FILE\n"
	"  -m, --match GLOB      edit only this method or kind of update; !GLOB excludes\n"
	"  -w, --where JQ        edit only messages for which JQ is true\n"
	"      --from client|agent  edit only messages of this side\n"
	"      --kind request|response|notification  edit only these messages\n"
	"      --silent          send no error for a request that is dropped\n"
	"\n"
	"Context\n"
	"      --prepend TEXT|@FILE  put a text before the first prompt of each session\n"
	"      --append TEXT|@FILE  put a text after the first prompt of each session\n"
	"      --every           put these texts into every prompt\n"
	"      --mcp-server JSON|@FILE  add this MCP server to new sessions\n"
	"      --wrap-mcp CMD|auto  start MCP servers by CMD, in which %n is their name;\n"
	"                        auto: by acp-tap, which records them\n"
	"\n"
	"Answering and sending\n"
	"      --answer METHOD=JQ  answer the request with the output of JQ\n"
	"      --permit allow_once|allow_always|reject_once|reject_always\n"
	"                        answer permission requests with this kind of option\n"
	"      --permit-by CMD   ask this program: it gets the request on standard input\n"
	"                        and prints the id or kind of an option; without one, the\n"
	"                        next rule applies\n"
	"      --permit-timeout TIME  go on to the next rule after this long (no limit)\n"
	"      --deny METHOD[=[CODE,]MESSAGE]  answer with an error (code -32603)\n"
	"      --send down|up:before|after|answer:METHOD=JQ\n"
	"                        when METHOD passes, send the outputs of JQ, once for\n"
	"                        each session\n"
	"      --send-every      send them each time\n"
	"      --attach SOCKET|auto  send into a running stream, or permit; see acp-share\n"
	"      --hop NAME        with --attach, which hop\n"
	"      --leave           with --attach, end when everything has been sent\n"
	"\n"
	"For all rules\n"
	"      --session ID      change only messages of this session\n"
	"      --arg NAME VALUE  set $NAME in programs to a string\n"
	"      --argjson NAME JSON  set $NAME in programs to a JSON value\n"
	"      --strict          end at the first failure, with exit status 125\n"
	"  -v, --verbose         report requests that are answered here, and responses to\n"
	"                        requests that are sent\n"
	"      --max-line SIZE   refuse lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

struct arguments {
	struct options options;
	char **words;             /* argv */
	/* Programs are compiled when all options have been read, because --arg may come after them. */
	const char *edit, *edit_file;
	struct buf program;       /* the content of edit_file */
	const char **wheres;      /* --where, NULL-terminated or NULL */
	struct jqprog_var *args;  /* --arg and --argjson */
	size_t nargs;
};

/* Keeps a text, to be freed with the options, and returns it. NULL ends the process: out of memory. */
static const char *
keep(struct options *o, char *text)
{
	if (!text)
		cli_no_memory(tool_name);
	o->texts = cli_grow(tool_name, o->texts, o->ntexts, sizeof(*o->texts));
	return o->texts[o->ntexts++] = text;
}

/* Returns the name of a rule in diagnostics: the option with its argument up to `end`. */
static const char *
rule_name(struct options *o, const struct cli_argument *t, const char *end)
{
	return keep(o, bytes_printf("--%s %.*s", t->option->name, (int)(end - t->argument), t->argument));
}

/* Returns a selection of the messages whose method matches the pattern in [name, end). */
static struct select *
by_method(struct options *o, const struct cli_argument *t, const char *name, const char *end)
{
	struct select *s = select_new();
	char *why;

	if (!s)
		cli_no_memory(tool_name);
	if (select_glob(s, keep(o, strndup(name, (size_t)(end - name))), &why) < 0)
		cli_wrong(t, why ? "expected a method" : NULL);
	return s;
}

/* --- programs and variables --- */

static void
parse_program(const struct cli_argument *t)
{
	struct arguments *a = t->at;

	if (a->edit || a->edit_file)
		cli_die(EXIT_USAGE, tool_name, "only one program is allowed: join its parts with |");
	*(t->option->letter == 'e' ? &a->edit : &a->edit_file) = t->argument;
}

enum { ARG_TEXT, ARG_JSON };

/* Reads the name, which is the option's argument, and the value, which is the next word. */
static void
parse_arg(const struct cli_argument *t)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	struct arguments *a = t->at;
	const char *name = t->argument, *value = a->words[optind++];
	struct select_vars ours;
	struct json_error error;
	struct buf text = {0};
	char why[128];

	if (!value)
		cli_wrong(t, "expected a name and a value");
	if (!*name || byte_is_digit(*name) || name[strspn(name, letters)])
		cli_wrong(t, "expected the name of a variable");
	select_vars(&ours, NULL);
	for (size_t i = 0; i < SELECT_VARS; i++)
		if (strcmp(ours.at[i].name, name) == 0)
			cli_wrong(t, "this variable has a value already");
	if ((t->option->value == ARG_JSON ? buf_add_string(&text, value) : json_quote(slice_of(value), &text)) < 0)
		cli_no_memory(tool_name);
	keep(&a->options, buf_string(&text));
	if (json_scan(buf_slice(&text), JSON_DEPTH, NULL, 0, NULL, &error) == JSON_NONE) {
		snprintf(why, sizeof(why), "not JSON at byte %zu: %s", error.at, error.what);
		cli_wrong(t, why);
	}
	a->args = cli_grow(tool_name, a->args, a->nargs, sizeof(*a->args));
	a->args[a->nargs++] = (struct jqprog_var){name, buf_slice(&text)};
}

/* --- rules --- */

static void
parse_context(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *argument = t->argument, *why;
	struct context c = {.append = t->option->value};
	SCOPED struct buf text = {0};

	if (argument[0] != '@') {
		c.text = argument;
		if (!json_utf8(slice_of(argument)))
			cli_wrong(t, "not UTF-8");
	} else {
		c.path = argument + 1;
		why = context_file(c.path, &text);
		if (why)
			cli_wrong(t, why);
	}
	o->contexts = cli_grow(tool_name, o->contexts, o->ncontexts, sizeof(c));
	o->contexts[o->ncontexts++] = c;
}

static void
parse_server(const struct cli_argument *t)
{
	struct options *o = t->at;
	SCOPED struct buf json = {0};
	const char *why = context_server(t->argument, &json);

	if (why)
		cli_wrong(t, why);
	o->servers = cli_grow(tool_name, o->servers, o->nservers, sizeof(*o->servers));
	o->servers[o->nservers++] = t->argument;
}

static void
add_answer(struct options *o, struct answer a)
{
	o->answers = cli_grow(tool_name, o->answers, o->nanswers, sizeof(a));
	o->answers[o->nanswers++] = a;
}

static void
parse_answer(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *argument = t->argument, *equals = strchr(argument, '=');

	if (!equals || equals == argument)
		cli_wrong(t, "expected METHOD=JQ");
	add_answer(o, (struct answer){.kind = ANSWER_WITH, .rule = rule_name(o, t, equals),
		.select = by_method(o, t, argument, equals), .text = equals + 1});
}

static void
parse_permit(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *argument = t->argument, *method = acp_name(ACP_REQUEST_PERMISSION, ACP_PLAIN);
	enum answer_kind kind = (enum answer_kind)t->option->value;

	if (kind == ANSWER_PERMIT && !acp_is_option_kind(argument))
		cli_wrong(t, "expected allow_once, allow_always, reject_once or reject_always");
	if (!*argument)
		cli_wrong(t, "expected a command");
	add_answer(o, (struct answer){.kind = kind, .rule = rule_name(o, t, argument + strlen(argument)),
		.select = by_method(o, t, method, method + strlen(method)), .text = argument});
}

/* Reads "CODE," before an error's message, and returns the message. Without a code, leaves *code. */
static const char *
error_code(const struct cli_argument *t, const char *message, int *code)
{
	char *end;
	long n;

	if (!(*message == '-' || (*message >= '0' && *message <= '9')))
		return message;
	errno = 0;
	n = strtol(message, &end, 10);
	if (end[-1] == '-' || *end != ',')
		return message;
	if (errno || n < INT_MIN || n > INT_MAX)
		cli_wrong(t, "expected an error code of at most 32 bits");
	*code = (int)n;
	return end + 1;
}

static void
parse_deny(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *argument = t->argument, *end = argument + strcspn(argument, "="), *message;
	struct answer a = {.kind = ANSWER_DENY, .code = ACP_ERR_INTERNAL};

	if (end == argument)
		cli_wrong(t, "expected METHOD, METHOD=MESSAGE or METHOD=CODE,MESSAGE");
	message = *end ? error_code(t, end + 1, &a.code) : "";
	a.rule = rule_name(o, t, end);
	a.select = by_method(o, t, argument, end);
	a.text = keep(o, *message ? strdup(message) : bytes_printf("%s: denied", tool_name));
	add_answer(o, a);
}

/* Moves *at past the one of the words that it begins with, and returns the index of that word; -1: it begins with none. */
static int
word(const char **at, const char *const *words)
{
	const char *end = *at + strlen(*at);

	for (int i = 0; words[i]; i++)
		if (bytes_skip(at, end, words[i]))
			return i;
	return -1;
}

static void
parse_send(const struct cli_argument *t)
{
	static const char *const dirs[] = {"down:", "up:", NULL}, *const whens[] = {"before:", "after:", "answer:", NULL};
	static const char expected[] = "expected LANE:WHEN:METHOD=JQ, LANE down or up, WHEN before, after or answer";
	struct options *o = t->at;
	const char *argument = t->argument, *at = argument, *equals;
	int dir = word(&at, dirs), when = dir < 0 ? -1 : word(&at, whens);

	equals = strchr(at, '=');
	if (when < 0 || !equals || equals == at)
		cli_wrong(t, expected);
	if (when == SEND_ANSWER && acp_is_notification(keep(o, strndup(at, (size_t)(equals - at)))))
		cli_wrong(t, "a notification has no response");
	o->sends = cli_grow(tool_name, o->sends, o->nsends, sizeof(*o->sends));
	o->sends[o->nsends++] = (struct send){(enum acp_direction)dir, (enum send_when)when, rule_name(o, t, equals),
		by_method(o, t, at, equals), equals + 1, NULL};
}

/* --- the options --- */

static const struct cli_option rule_options[] = {
	{"prepend", 0, CLI_PARSE(parse_context), .value = false},
	{"append", 0, CLI_PARSE(parse_context), .value = true},
	{"every", 0, CLI_FLAG(struct options, every)},
	{"mcp-server", 0, CLI_PARSE(parse_server)},
	{"wrap-mcp", 0, CLI_TEXT(struct options, wrap_mcp)},
	{"answer", 0, CLI_PARSE(parse_answer)},
	{"permit", 0, CLI_PARSE(parse_permit), .value = ANSWER_PERMIT},
	{"permit-by", 0, CLI_PARSE(parse_permit), .value = ANSWER_PERMIT_BY},
	{"permit-timeout", 0, CLI_DURATION(struct options, permit_timeout), .least = 1},
	{"deny", 0, CLI_PARSE(parse_deny)},
	{"send", 0, CLI_PARSE(parse_send)},
	{"send-every", 0, CLI_FLAG(struct options, send_every)},
	{"leave", 0, CLI_FLAG(struct options, leave)},
	{"silent", 0, CLI_FLAG(struct options, silent)},
	{"strict", 0, CLI_FLAG(struct options, strict)},
	{"verbose", 'v', CLI_FLAG(struct options, verbose)},
	{"attach", 0, CLI_TEXT(struct options, frame.attach)},
	{"hop", 0, CLI_TEXT(struct options, frame.hop)},
	{CLI_ROWS(struct options, frame, frame_options)},
	{0},
};

static const struct cli_option options[] = {
	{"edit", 'e', CLI_PARSE(parse_program)},
	{"edit-file", 'E', CLI_PARSE(parse_program)},
	{"where", 'w', CLI_TEXTS(struct arguments, wheres)},
	{"arg", 0, CLI_PARSE(parse_arg), .value = ARG_TEXT},
	{"argjson", 0, CLI_PARSE(parse_arg), .value = ARG_JSON},
	{CLI_ROWS_BEHIND(struct arguments, options.session, select_session_options)},
	{CLI_ROWS_BEHIND(struct arguments, options.select, select_options)},
	{CLI_ROWS(struct arguments, options, rule_options)},
	{0},
};

/* --- when all options have been read --- */

static struct jqprog *
compile(const struct arguments *a, const char *rule, const char *program)
{
	struct select_vars vars;
	struct jqprog *prog;
	char *why;

	select_vars(&vars, NULL);
	prog = jqprog_new(program, vars.at, SELECT_VARS, a->args, a->nargs, &why);
	if (!prog)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, tool_name, "%s: %s", rule, why ? why : "out of memory");
	return prog;
}

static void
compile_all(struct options *o, struct arguments *a)
{
	const char *why = a->edit_file ? context_file(a->edit_file, &a->program) : NULL;
	char *wrong;

	if (why)
		cli_die(EXIT_USAGE, tool_name, "--edit-file %s: %s", a->edit_file, why);
	for (size_t i = 0; a->wheres && a->wheres[i]; i++)
		if (select_where(o->select, a->wheres[i], a->args, a->nargs, &wrong) < 0)
			cli_die(EXIT_USAGE, tool_name, "--where %s: %s", a->wheres[i], wrong ? wrong : "out of memory");
	o->edit_rule = "--edit";
	if (a->edit_file) {
		o->edit_rule = keep(o, bytes_printf("--edit-file %s", a->edit_file));
		if (!buf_string(&a->program))
			cli_no_memory(tool_name);
	}
	if (a->edit || a->edit_file)
		o->edit = compile(a, o->edit_rule, a->edit ? a->edit : a->program.p);
	for (size_t i = 0; i < o->nanswers; i++)
		if (o->answers[i].kind == ANSWER_WITH)
			o->answers[i].program = compile(a, o->answers[i].rule, o->answers[i].text);
	for (size_t i = 0; i < o->nsends; i++)
		o->sends[i].program = compile(a, o->sends[i].rule, o->sends[i].text);
}

static const struct cli_rule combinations[] = {
	{"--match|--where|--from|--kind|--silent", "--edit|--edit-file", NULL},
	{"--every", "--prepend|--append", NULL},
	{"--leave|--hop", "--attach", NULL},
	{"--wrap-mcp", NULL, "--attach"},
	{"--leave|--send-every", "--send", NULL},
	{"--permit-timeout", "--permit-by", NULL},
	{NULL, NULL, NULL},
};

/* Returns where acp-tap records a server: in mcp, beside the recordings of sessions, so that it is not taken for one of them. */
static char *
wrap_output(const struct options *o)
{
	char *home = home_output(tool_name, o->frame.command), *base = strrchr(home, '/') + 1, *output;
	SCOPED struct buf text = {0};
	int r = 0;

	/* acp-tap expands each % of home. Here % is doubled, because put_word makes one % of two. */
	for (const char *p = home; r == 0 && *p; p++) {
		if (p == base)
			r = buf_add_string(&text, "mcp/%n-");
		r = r || (*p == '%' && buf_add(&text, p, 1)) || buf_add(&text, p, 1) ? -1 : 0;
	}
	free(home);
	output = r == 0 && buf_string(&text) ? strdup(text.p) : NULL;
	if (!output)
		cli_no_memory(tool_name);
	return output;
}

static void
read_wrap(struct options *o)
{
	bool by_tap = strcmp(o->wrap_mcp, "auto") == 0;
	SCOPED struct buf command = {0};
	size_t n = 0;
	char *path;

	/* The first word shows whether proc_words takes a shell, which would not give the server's arguments to the command. */
	if (buf_printf(&command, "- %s", by_tap ? "acp-tap -o auto --" : o->wrap_mcp) < 0 || !buf_string(&command) ||
		!(o->wrap = proc_words(command.p)))
		cli_no_memory(tool_name);
	if (!json_utf8(buf_slice(&command)))
		cli_die(EXIT_USAGE, tool_name, "--wrap-mcp: not UTF-8");
	if (strcmp(o->wrap[0], "-") != 0)
		cli_die(EXIT_USAGE, tool_name, "--wrap-mcp %s: expected words: quote the characters that a shell would expand", o->wrap_mcp);
	for (char **word = o->wrap; *word; word++, n++)
		*word = word[1];
	if (n == 1)
		cli_die(EXIT_USAGE, tool_name, "--wrap-mcp: expected a command");
	if (by_tap)
		o->wrap[2] = (char *)(size_t)keep(o, wrap_output(o));
	if (strncmp(o->wrap[0], "acp-", 4) != 0 || strchr(o->wrap[0], '/'))
		return;
	if (strcmp(o->wrap[n - 2], "--") != 0)
		cli_die(EXIT_USAGE, tool_name, "--wrap-mcp %s: expected -- at its end, after which the server's command goes", o->wrap_mcp);
	/* Agents may have a short PATH, so the program is looked for beside acp-inject. */
	path = proc_beside(o->wrap[0]);
	if (path && access(path, X_OK) == 0)
		o->wrap[0] = (char *)(size_t)keep(o, path);
	else
		free(path);
}

static void
free_arguments(struct options *o, struct arguments *a)
{
	for (size_t i = 0; i < o->nanswers; i++) {
		jqprog_free(o->answers[i].program);
		select_free(o->answers[i].select);
	}
	for (size_t i = 0; i < o->nsends; i++) {
		jqprog_free(o->sends[i].program);
		select_free(o->sends[i].select);
	}
	for (size_t i = 0; i < o->ntexts; i++)
		free(o->texts[i]);
	jqprog_free(o->edit);
	select_free(o->select);
	select_free(o->session);
	buf_free(&a->program);
	free(a->args);
	free(a->wheres);
	free(o->answers);
	free(o->sends);
	free(o->contexts);
	free(o->servers);
	free(o->wrap);
	free(o->texts);
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct arguments a = {.words = argv};
	struct options *o = &a.options;
	struct cli_line line;
	int status;

	o->select = select_new();
	o->session = select_new();
	if (!o->select || !o->session)
		cli_no_memory(tool_name);
	frame_read(&o->frame, &tool, argc, argv, &a, &line);
	compile_all(o, &a);
	cli_check(&line, combinations);
	if (o->wrap_mcp)
		read_wrap(o);
	if (!o->edit && !o->ncontexts && !o->nservers && !o->wrap && !o->nanswers && !o->nsends)
		cli_die(EXIT_USAGE, tool_name, "nothing to do: try acp-inject --help");
	status = stream_run(o);
	free_arguments(o, &a);
	return status;
}
