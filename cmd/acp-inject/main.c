/* acp-inject: edits a stream of ACP messages, adds to it, answers in the client's place. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-inject/inject.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
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
	"\n"
	"Answering and sending\n"
	"      --answer METHOD=JQ  answer the request with the output of JQ\n"
	"      --permit allow_once|allow_always|reject_once|reject_always\n"
	"                        answer permission requests with this kind of option\n"
	"      --deny METHOD[=[CODE,]MESSAGE]  answer with an error (code -32603)\n"
	"      --send down|up:before|after|answer:METHOD=JQ\n"
	"                        when METHOD passes, send the outputs of JQ, once for\n"
	"                        each session\n"
	"      --send-every      send them each time\n"
	"      --attach SOCKET|auto  send into a running stream; see acp-share\n"
	"      --hop N|NAME      with --attach, which hop\n"
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

enum {
	OPT_ARG = 256, OPT_ARGJSON, OPT_STRICT, OPT_SILENT, OPT_PREPEND, OPT_APPEND, OPT_EVERY, OPT_MCP_SERVER, OPT_ANSWER,
	OPT_PERMIT, OPT_DENY, OPT_SEND, OPT_SEND_EVERY, OPT_LEAVE,
};

static const struct option options[] = {
	{"edit", required_argument, NULL, 'e'},
	{"edit-file", required_argument, NULL, 'E'},
	SELECT_LONG_OPTIONS,
	{"arg", required_argument, NULL, OPT_ARG},
	{"argjson", required_argument, NULL, OPT_ARGJSON},
	{"strict", no_argument, NULL, OPT_STRICT},
	{"silent", no_argument, NULL, OPT_SILENT},
	{"prepend", required_argument, NULL, OPT_PREPEND},
	{"append", required_argument, NULL, OPT_APPEND},
	{"every", no_argument, NULL, OPT_EVERY},
	{"mcp-server", required_argument, NULL, OPT_MCP_SERVER},
	{"answer", required_argument, NULL, OPT_ANSWER},
	{"permit", required_argument, NULL, OPT_PERMIT},
	{"deny", required_argument, NULL, OPT_DENY},
	{"send", required_argument, NULL, OPT_SEND},
	{"send-every", no_argument, NULL, OPT_SEND_EVERY},
	FRAME_LONG_OPTIONS_ATTACH,
	{"leave", no_argument, NULL, OPT_LEAVE},
	FRAME_LONG_OPTIONS,
	{"verbose", no_argument, NULL, 'v'},
	CLI_LONG_OPTIONS,
};

struct arguments {
	struct options options;
	char **words;             /* all of the command line */
	/* What is only known when all options have been read. */
	const char *edit, *edit_file;
	struct buf program;       /* the file's */
	const char **wheres;      /* --where: compiled when all variables are known */
	size_t nwheres;
	struct jqprog_var *args;  /* --arg and --argjson */
	size_t nargs;
};

_Noreturn static void
no_memory(void)
{
	cli_die(EXIT_FAILED, tool_name, "out of memory");
}

static const struct cli cli = {tool_name, help, "+e:E:m:w:vhV", options};

static void *
grow(void *array, size_t n, size_t size)
{
	void *more = reallocarray(array, n + 1, size);

	if (!more)
		no_memory();
	return more;
}

/* Stores a text that is freed with the options. NULL: dies, out of memory. */
static const char *
keep(struct options *o, char *text)
{
	if (!text)
		no_memory();
	o->texts = grow(o->texts, o->ntexts, sizeof(*o->texts));
	return o->texts[o->ntexts++] = text;
}

/* Two texts, the second up to `end`, with a separator between them. */
static const char *
join(struct options *o, const char *a, const char *separator, const char *b, const char *end)
{
	char *text;

	if (asprintf(&text, "%s%s%.*s", a, separator, (int)(end - b), b) < 0)
		no_memory();
	return keep(o, text);
}

/* Those messages whose method is [name, end). */
static struct select *
by_method(struct options *o, int option, const char *argument, const char *name, const char *end)
{
	struct select *s = select_new();
	char *why;

	if (!s)
		no_memory();
	if (select_glob(s, keep(o, strndup(name, (size_t)(end - name))), &why) < 0)
		cli_bad(&cli, option, argument, why ? "expected a method" : NULL);
	return s;
}

/* --- selection and variables --- */

static bool
is_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *s && !(*s >= '0' && *s <= '9') && s[strspn(s, letters)] == '\0';
}

static void
take_arg(struct options *o, struct arguments *a, int option, const char *name, const char *value)
{
	struct select_vars ours;
	struct json_error error;
	struct buf text = {0};
	char why[128];
	size_t i;

	if (!value)
		cli_bad(&cli, option, name, "expected a name and a value");
	if (!is_name(name))
		cli_bad(&cli, option, name, "expected the name of a variable");
	select_vars(&ours, NULL);
	for (i = 0; i < SELECT_VARS; i++)
		if (strcmp(ours.at[i].name, name) == 0)
			cli_bad(&cli, option, name, "this variable has a value already");
	if ((option == OPT_ARGJSON ? buf_add_string(&text, value) : json_quote(slice_of(value), &text)) < 0)
		no_memory();
	keep(o, buf_string(&text));
	if (json_scan(buf_slice(&text), JSON_DEPTH, NULL, 0, NULL, &error) == JSON_NONE) {
		snprintf(why, sizeof(why), "not JSON at byte %zu: %s", error.at, error.what);
		cli_bad(&cli, option, name, why);
	}
	a->args = grow(a->args, a->nargs, sizeof(*a->args));
	a->args[a->nargs++] = (struct jqprog_var){name, buf_slice(&text)};
}

/* --- rules --- */

static void
take_context(struct options *o, int option, const char *argument)
{
	const char *why;
	struct context c = {.append = option == OPT_APPEND};
	struct buf text = {0};

	if (argument[0] != '@') {
		c.text = argument;
		if (!json_utf8(slice_of(argument)))
			cli_bad(&cli, option, argument, "not UTF-8");
	} else {
		c.path = argument + 1;
		why = context_file(c.path, &text);
		if (why)
			cli_bad(&cli, option, argument, why);
		buf_free(&text);
	}
	o->contexts = grow(o->contexts, o->ncontexts, sizeof(c));
	o->contexts[o->ncontexts++] = c;
}

static void
take_server(struct options *o, const char *argument)
{
	struct buf json = {0};
	const char *why = context_server(argument, &json);

	if (why)
		cli_bad(&cli, OPT_MCP_SERVER, argument, why);
	buf_free(&json);
	o->servers = grow(o->servers, o->nservers, sizeof(*o->servers));
	o->servers[o->nservers++] = argument;
}

static void
add_answer(struct options *o, struct answer a)
{
	o->answers = grow(o->answers, o->nanswers, sizeof(a));
	o->answers[o->nanswers++] = a;
}

static void
take_answer(struct options *o, const char *argument)
{
	const char *equals = strchr(argument, '=');

	if (!equals || equals == argument)
		cli_bad(&cli, OPT_ANSWER, argument, "expected METHOD=JQ");
	add_answer(o, (struct answer){.kind = ANSWER_WITH, .rule = join(o, "--answer", " ", argument, equals),
		.select = by_method(o, OPT_ANSWER, argument, argument, equals), .text = equals + 1});
}

static void
take_permit(struct options *o, const char *argument)
{
	const char *method = acp_name(ACP_REQUEST_PERMISSION, ACP_PLAIN);

	if (!acp_is_option_kind(argument))
		cli_bad(&cli, OPT_PERMIT, argument, "expected allow_once, allow_always, reject_once or reject_always");
	add_answer(o, (struct answer){.kind = ANSWER_PERMIT,
		.rule = join(o, "--permit", " ", argument, argument + strlen(argument)),
		.select = by_method(o, OPT_PERMIT, argument, method, method + strlen(method)), .text = argument});
}

/* "CODE," in front of an error's message: returns what follows it. Without one the message is all. */
static const char *
error_code(const char *argument, const char *message, int *code)
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
		cli_bad(&cli, OPT_DENY, argument, "expected an error code of at most 32 bits");
	*code = (int)n;
	return end + 1;
}

static void
take_deny(struct options *o, const char *argument)
{
	const char *end = argument + strcspn(argument, "="), *message;
	struct answer a = {.kind = ANSWER_DENY, .code = ACP_ERR_INTERNAL};

	if (end == argument)
		cli_bad(&cli, OPT_DENY, argument, "expected METHOD, METHOD=MESSAGE or METHOD=CODE,MESSAGE");
	message = *end ? error_code(argument, end + 1, &a.code) : "";
	if (!*message)
		message = "denied";
	a.rule = join(o, "--deny", " ", argument, end);
	a.select = by_method(o, OPT_DENY, argument, argument, end);
	a.text = join(o, tool_name, ": ", message, message + strlen(message));
	add_answer(o, a);
}

/* The number of the word up to the next colon, behind which *at then is; -1 where it is none of them. */
static int
word(const char **at, const char *const *words)
{
	size_t n = strcspn(*at, ":");
	int i;

	for (i = 0; words[i]; i++) {
		if (strlen(words[i]) == n && memcmp(words[i], *at, n) == 0 && (*at)[n] == ':') {
			*at += n + 1;
			return i;
		}
	}
	return -1;
}

static void
take_send(struct options *o, const char *argument)
{
	static const char *const dirs[] = {"down", "up", NULL}, *const whens[] = {"before", "after", "answer", NULL};
	static const char expected[] = "expected LANE:WHEN:METHOD=JQ, LANE down or up, WHEN before, after or answer";
	const char *at = argument, *equals;
	int dir = word(&at, dirs), when = dir < 0 ? -1 : word(&at, whens);

	equals = strchr(at, '=');
	if (when < 0 || !equals || equals == at)
		cli_bad(&cli, OPT_SEND, argument, expected);
	if (when == SEND_ANSWER && acp_is_notification(keep(o, strndup(at, (size_t)(equals - at)))))
		cli_bad(&cli, OPT_SEND, argument, "a notification has no response");
	o->sends = grow(o->sends, o->nsends, sizeof(*o->sends));
	o->sends[o->nsends++] = (struct send){(enum acp_direction)dir, (enum send_when)when, join(o, "--send", " ", argument, equals),
		by_method(o, OPT_SEND, argument, at, equals), equals + 1, NULL};
}

/* --- reading the options --- */

static void
take_flag(struct options *o, int option)
{
	switch (option) {
	case OPT_STRICT:
		o->strict = true;
		break;
	case OPT_SILENT:
		o->silent = true;
		break;
	case OPT_EVERY:
		o->every = true;
		break;
	case OPT_SEND_EVERY:
		o->send_every = true;
		break;
	case OPT_LEAVE:
		o->leave = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	}
}

static void
take_option(void *arg, int option, const char *argument)
{
	struct arguments *a = arg;
	struct options *o = &a->options;

	switch (option) {
	case 'e':
	case 'E':
		if (a->edit || a->edit_file)
			cli_die(EXIT_USAGE, tool_name, "only one program is allowed: join its parts with |");
		*(option == 'e' ? &a->edit : &a->edit_file) = argument;
		break;
	case OPT_ARG:
	case OPT_ARGJSON:
		take_arg(o, a, option, argument, a->words[optind++]);
		break;
	case OPT_PREPEND:
	case OPT_APPEND:
		take_context(o, option, argument);
		break;
	case OPT_MCP_SERVER:
		take_server(o, argument);
		break;
	case OPT_ANSWER:
		take_answer(o, argument);
		break;
	case OPT_PERMIT:
		take_permit(o, argument);
		break;
	case OPT_DENY:
		take_deny(o, argument);
		break;
	case OPT_SEND:
		take_send(o, argument);
		break;
	case 'w':
		a->wheres = grow(a->wheres, a->nwheres, sizeof(*a->wheres));
		a->wheres[a->nwheres++] = argument;
		break;
	default:
		take_flag(o, option);
		select_read(option == SELECT_OPTION_SESSION ? o->session : o->select, &cli, option, argument);
	}
}

/* --- when all are read --- */

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
	size_t i;

	if (why)
		cli_bad(&cli, 'E', a->edit_file, why);
	for (i = 0; i < a->nwheres; i++)
		if (select_where_with(o->select, a->wheres[i], a->args, a->nargs, &wrong) < 0)
			cli_bad(&cli, 'w', a->wheres[i], wrong);
	o->edit_rule = "--edit";
	if (a->edit_file) {
		o->edit_rule = join(o, "--edit-file", " ", a->edit_file, a->edit_file + strlen(a->edit_file));
		if (!buf_string(&a->program))
			no_memory();
	}
	if (a->edit || a->edit_file)
		o->edit = compile(a, o->edit_rule, a->edit ? a->edit : a->program.p);
	for (i = 0; i < o->nanswers; i++)
		if (o->answers[i].kind == ANSWER_WITH)
			o->answers[i].program = compile(a, o->answers[i].rule, o->answers[i].text);
	for (i = 0; i < o->nsends; i++)
		o->sends[i].program = compile(a, o->sends[i].rule, o->sends[i].text);
}

static const struct cli_rule combinations[] = {
	{"--match|--where|--from|--kind|--silent", "--edit|--edit-file", NULL},
	{"--every", "--prepend|--append", NULL},
	{"--leave", "--attach", NULL},
	{"--send-every", "--send", NULL},
	{NULL, NULL, NULL},
};

static void
check(const struct options *o, const struct cli_given *given)
{
	cli_check(&cli, given, combinations);
	if (!o->edit && !o->ncontexts && !o->nservers && !o->nanswers && !o->nsends)
		cli_die(EXIT_USAGE, tool_name, "nothing to do: try acp-inject --help");
}

static void
free_arguments(struct options *o, struct arguments *a)
{
	size_t i;

	for (i = 0; i < o->nanswers; i++) {
		jqprog_free(o->answers[i].program);
		select_free(o->answers[i].select);
	}
	for (i = 0; i < o->nsends; i++) {
		jqprog_free(o->sends[i].program);
		select_free(o->sends[i].select);
	}
	for (i = 0; i < o->ntexts; i++)
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
	free(o->texts);
}

int
main(int argc, char **argv)
{
	struct arguments a = {.words = argv};
	struct options *o = &a.options;
	struct cli_given given = {0};
	int status;

	o->select = select_new();
	o->session = select_new();
	if (!o->select || !o->session)
		no_memory();
	frame_read(&o->frame, &cli, argc, argv, &given, take_option, &a);
	compile_all(o, &a);
	check(o, &given);
	status = stream_run(o);
	free_arguments(o, &a);
	return status;
}
