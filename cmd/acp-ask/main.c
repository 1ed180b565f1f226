/* acp-ask: the client, for the shell. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/run/proc.h"

static const char help[] =
	"usage: acp-ask [OPTION]... [TEXT|@FILE]... -- AGENT [ARG]...   one prompt\n"
	"       acp-ask [OPTION]... -- AGENT [ARG]...   a conversation, at a terminal\n"
	"Starts the agent and sends it one prompt: the texts and files, and standard\n"
	"input where it is no terminal. What the agent writes goes to standard output.\n"
	"\n"
	"      --script FILE     prompts, expectations and requests, a JSON object a line\n"
	"      --probe           print what the agent can do, and try its methods\n"
	"      --no-session      with --probe, open no session\n"
	"      --editor zed|jetbrains|neovim|avante|emacs|vscode|toad  print the\n"
	"                        configuration with which an editor starts the agent\n"
	"      --tools CMD       with --editor, put this tool before the agent; may be\n"
	"                        repeated\n"
	"\n"
	"Output\n"
	"  -f, --format text|json|ndjson  the agent's text; one object at the end; its\n"
	"                        messages as they come (text)\n"
	"  -q, --quiet           report no tool calls, plans and permission requests, and\n"
	"                        drop the agent's standard error\n"
	"  -v, --verbose         report contents of tool calls, and thoughts\n"
	"\n"
	"Permissions and forms\n"
	"      --permit PATTERN=allow_once|allow_always|reject_once|reject_always\n"
	"                        for tool calls of this kind, name or title: select this\n"
	"                        option; the first rule that matches counts\n"
	"      --permit-by CMD   ask this program: it gets the request on standard input\n"
	"                        and prints the id or kind of an option\n"
	"      --permit-timeout TIME  reject what has no response by then (no limit)\n"
	"      --form FILE       values for forms: an object, JSON\n"
	"\n"
	"What the agent may use\n"
	"      --fs none|read|write  let it read, or also write, files below the\n"
	"                        session's directory (none)\n"
	"      --terminal        let it run commands\n"
	"\n"
	"Session\n"
	"      --cwd DIR         the session's directory (.)\n"
	"      --mcp NAME=CMD    give the session this MCP server; may be repeated\n"
	"      --mcp-url NAME=URL  the same over HTTP\n"
	"      --mode MODE       set the mode\n"
	"      --model MODEL     set the model\n"
	"      --config KEY=VALUE  set an option of the agent; may be repeated\n"
	"      --title TEXT      set the title\n"
	"      --resume SESSION|last  go on with this session; last: that of the last run\n"
	"                        in this directory with this agent\n"
	"      --load SESSION|last  the same, with its history\n"
	"      --list            print the sessions of the directory\n"
	"      --meta JSON       send this object as _meta with the session and prompts\n"
	"\n"
	"Connection\n"
	"      --protocol 1|2    version of the protocol (1)\n"
	"      --auth METHOD     authenticate by this method\n"
	"      --timeout TIME    end with status 124 if the prompt, or another request,\n"
	"                        takes longer; the prompt is cancelled (no limit)\n"
	"      --grace TIME      wait at most TIME for the agent to end (5s)\n"
	"      --max-line SIZE   longest line in bytes (64M)\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"Exit status: 0 the turn ended by itself; 1 it ended otherwise, or a permission\n"
	"was rejected; 124 --timeout; else the agent's.\n"
	"\n"
	"Example: acp-ask 'What does this project do?' -- claude-agent-acp\n";

static void
parse_permit(const struct cli_argument *t)
{
	const char *equals = strrchr(t->argument, '=');

	if (!equals || equals == t->argument || !acp_is_option_kind(equals + 1))
		cli_wrong(t, "expected PATTERN= and allow_once, allow_always, reject_once or reject_always");
	cli_add(t, &((struct options *)t->at)->permits);
}

/* Keeps an option for ask.jq: its value; or, if KEY=VALUE is expected, its key and value. The value of --mcp becomes words. */
static void
parse_given(const struct cli_argument *t)
{
	struct buf *given = &((struct options *)t->at)->given;
	const char *value = t->argument, *wrong = t->option->expected, *equals = strchr(value, '=');
	char **words = NULL;

	given->n -= given->n > 0; /* the bracket at its end */
	need(json_format(given, "%s[\"%s\"", given->n ? "," : "[", t->option->name));
	if (wrong) {
		if (!equals || equals == value || (t->option->value && !(words = proc_words(equals + 1))))
			cli_wrong(t, wrong);
		need(json_format(given, ",%j", slice_between(value, equals)));
		value = equals + 1;
	}
	for (char **word = words ? words : (char *[]){(char *)value, NULL}; *word; word++)
		need(json_format(given, ",%j", slice_of(*word)));
	need(json_format(given, "]]"));
	free(words);
}

static void
parse_meta(const struct cli_argument *t)
{
	if (json_scan(slice_of(t->argument), JSON_DEPTH, NULL, 0, NULL, NULL) != JSON_OBJECT || strchr(t->argument, '\n'))
		cli_wrong(t, "expected an object, JSON, in one line");
	*(const char **)t->at = t->argument;
}

static const struct cli_option options[] = {
	{"script", 0, CLI_TEXT(struct options, script)},
	{"format", 'f', CLI_WORD(struct options, format, "text", "json", "ndjson")},
	{"quiet", 'q', CLI_FLAG(struct options, quiet)},
	{"verbose", 'v', CLI_FLAG(struct options, verbose)},
	{"permit", 0, CLI_PARSE(parse_permit)},
	{"permit-by", 0, CLI_TEXT(struct options, permit_by), .expected = "expected a command"},
	{"permit-timeout", 0, CLI_DURATION(struct options, permit_timeout), .least = 1},
	{"form", 0, CLI_TEXT(struct options, form)},
	{"cwd", 0, CLI_TEXT(struct options, cwd)},
	{"fs", 0, CLI_WORD(struct options, fs, "none", "read", "write")},
	{"terminal", 0, CLI_FLAG(struct options, terminal)},
	{"mcp", 0, CLI_PARSE(parse_given), .value = true, .expected = "expected NAME=CMD"},
	{"mcp-url", 0, CLI_PARSE(parse_given), .expected = "expected NAME=URL"},
	{"mode", 0, CLI_PARSE(parse_given)},
	{"model", 0, CLI_PARSE(parse_given)},
	{"config", 0, CLI_PARSE(parse_given), .expected = "expected KEY=VALUE"},
	{"title", 0, CLI_PARSE(parse_given)},
	{"resume", 0, CLI_TEXT(struct options, resume)},
	{"load", 0, CLI_TEXT(struct options, load)},
	{"list", 0, CLI_FLAG(struct options, list)},
	{"probe", 0, CLI_FLAG(struct options, probe)},
	{"no-session", 0, CLI_FLAG(struct options, no_session)},
	{"editor", 0, CLI_WORD_OF(struct options, editor, editor_names), .value = 1},
	{"tools", 0, CLI_TEXTS(struct options, tools)},
	{"meta", 0, CLI_PARSE_AT(parse_meta, const char *, struct options, meta)},
	{"protocol", 0, CLI_WORD(struct options, protocol, "1", "2"), .value = 1},
	{"auth", 0, CLI_TEXT(struct options, auth)},
	{"timeout", 0, CLI_DURATION(struct options, timeout), .least = 1},
	{"grace", 0, CLI_DURATION(struct options, grace)},
	{"max-line", 0, CLI_BYTES(struct options, line_limit)},
	{0},
};

/* Options of a session, and of an agent that is started. */
#define SESSION "--mode|--model|--config|--title|--mcp|--mcp-url|--meta"
#define AGENT \
	SESSION "|--resume|--load|--cwd|--fs|--terminal|--permit|--permit-by|--permit-timeout|--form|--format|--quiet|--verbose|" \
	"--protocol|--auth|--timeout|--grace|--max-line"

static const struct cli_rule rules[] = {
	{"--quiet", NULL, "--verbose"},
	{"--fs read|--fs write|--terminal", NULL, "--protocol 2"},
	{"--resume", NULL, "--load"},
	{"--probe", NULL, "--script|--list|--resume|--load|--format ndjson"},
	{"--no-session", "--probe", NULL},
	{"--tools", "--editor", NULL},
	{"--editor", NULL, "--probe|--script|--list|" AGENT},
	{"--list", NULL, "--script|--resume|--load"},
	{"--list|--no-session", NULL, SESSION},
	{NULL, NULL, NULL},
};

/* Divides TEXT... -- AGENT... into the prompt and the agent's command. */
static void
read_operands(struct options *o, const struct cli_line *line)
{
	static char *none[] = {NULL};
	char **word = line->words;

	o->prompt = line->dashes ? none : word;
	while (!line->dashes && *word && strcmp(*word, "--") != 0) {
		if (**word == '-')
			cli_die(EXIT_USAGE, tool_name, "%s: options come before the prompt", *word);
		word++;
	}
	if (!line->dashes && *word)
		*word++ = NULL;
	if (!*word)
		cli_die(EXIT_USAGE, tool_name, "missing agent after --; try acp-ask --help");
	o->command = word;
}

enum { FORM_DEPTH = 256 }; /* libjq reads no deeper */

static void
read_form(struct ask *a)
{
	const char *path = a->options->form;
	struct json_error error;
	enum json_type type;

	if (!path)
		return;
	read_named("--form ", path, a->options->line_limit, &a->form);
	type = json_scan(buf_slice(&a->form), FORM_DEPTH, NULL, 0, NULL, &error);
	if (type == JSON_NONE)
		cli_die(EXIT_USAGE, tool_name, "--form %s: not JSON at byte %zu: %s", path, error.at, error.what);
	if (type != JSON_OBJECT)
		cli_die(EXIT_USAGE, tool_name, "--form %s: expected an object", path);
}

/* Reads the script or the prompt; without either, at a terminal, there will be a conversation. */
static void
read_input(struct ask *a)
{
	const struct options *o = a->options;
	bool prompts = !o->list && !o->probe && !o->script;

	if (*o->prompt && !prompts)
		cli_die(EXIT_USAGE, tool_name, "%s does not go with a prompt", o->list ? "--list" : o->probe ? "--probe" : "--script");
	a->talks = prompts && !*o->prompt && isatty(STDIN_FILENO);
	if (a->talks && o->format != FORMAT_TEXT)
		cli_die(EXIT_USAGE, tool_name, "--format requires a prompt");
	if (o->script) {
		read_named("--script ", o->script, o->line_limit, &a->input);
		script_run(a, true);
	} else if (prompts && !a->talks) {
		prompt_load(a);
	}
}

static void
run(struct ask *a)
{
	if (!session_connect(a))
		return;
	if (a->options->list || a->options->probe) {
		(a->options->list ? session_list : session_probe)(a);
		return;
	}
	if ((a->files && !ask_jq(a, "prompt", buf_slice(&a->input), &a->input)) || !session_open(a))
		return;
	if (a->options->script) {
		script_run(a, false);
	} else if (a->talks) {
		talk_run(a);
	} else {
		prompt_run(a, buf_slice(&a->input), 0);
	}
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	/* These are static because what they own lasts until the exit. */
	static struct options o = {.protocol = 1, .grace = 5 * 1000 * 1000, .line_limit = 64 * 1024 * 1024};
	static struct ask a = {.options = &o};
	SCOPED struct buf result = {0};
	struct cli_line line;
	struct stat st;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &o, &line);
	cli_check(&line, rules);
	read_operands(&o, &line);
	a.cwd = realpath(o.cwd ? o.cwd : ".", NULL);
	if (!a.cwd || stat(a.cwd, &st) < 0 || !S_ISDIR(st.st_mode))
		cli_die(EXIT_USAGE, tool_name, "--cwd %s: %s", o.cwd ? o.cwd : ".", strerror(a.cwd ? ENOTDIR : errno));
	if (o.editor)
		return editor_print(&a);
	read_form(&a);
	read_input(&a);
	if (agent_start(&a)) {
		run(&a);
		agent_end(&a);
		if (a.rejected && !a.talks && !o.script)
			ask_report(&a, "rejected permission requests: %" PRIu64, a.rejected);
		if (o.format == FORMAT_JSON && a.turn.over && !o.script)
			show_result(&a, &result);
		show_close(&a);
	}
	person_close(&a);
	sessions_free(a.sessions);
	ask_jq_close(&a);
	return a.status;
}
