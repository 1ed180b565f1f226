/* acp-stat: where the time goes, from streams and recordings. */

#include "cmd/acp-stat/stat.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-stat [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-stat [OPTION]... FILE...                 read recordings (-: stdin)\n"
	"Reports how long requests, turns, tools and the user took, at the end and at\n"
	"SIGUSR1. Percentiles are off by less than 1 %.\n"
	"  -o, --output FILE     write to FILE; strftime formats and %p (process id) are\n"
	"                        expanded\n"
	"  -a, --append          append to the file of -o\n"
	"  -f, --format text|tsv|json|prom|junit|github  format of the report (text)\n"
	"      --by method|session|turn|tool|agent\n"
	"                        write one row for each (methods, all turns, tools)\n"
	"      --max WHAT=VALUE  exit with 1 if this is more: turn.p95=30s, open=0,\n"
	"                        tool.execute.max=2m; may be repeated\n"
	"      --session ID      only this session, with its sub-agents\n"
	"      --open            report who waits for whom, and since when: requests\n"
	"                        without a response, and tool calls that run\n"
	"      --merge           add up the output of -f json\n"
	"      --pass            forward stdin to stdout; report on stderr or to -o\n"
	"      --color auto|always|never  when to use colours (auto)\n"
	FRAME_HELP_WATCH
	FRAME_HELP_FOLLOW
	"      --max-line SIZE   do not read lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct options, format, "text", "tsv", "json", "prom", "junit", "github")},
	{"by", 0, CLI_WORD(struct options, by, "method", "session", "turn", "tool", "agent"), .value = BY_METHOD},
	{"max", 0, CLI_PARSE_AT(limits_parse, struct limits, struct options, limits)},
	{"session", 0, CLI_TEXT(struct options, session)},
	{"open", 0, CLI_FLAG(struct options, open)},
	{"merge", 0, CLI_FLAG(struct options, merge)},
	{"pass", 0, CLI_FLAG(struct options, pass)},
	{"color", 0, CLI_WORD(struct options, color, "auto", "always", "never")},
	{CLI_ROWS(struct options, frame, watch_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--follow", "one recording", NULL},
	{"--format prom", NULL, "--append|--by turn"},
	{"--format junit", NULL, "--append"},
	{"--format junit|--format github", "--max", NULL},
	{"--max", NULL, "--by"},
	{"--open", NULL, "--by|--merge|--max|--format prom"},
	{"--pass", NULL, "recordings|a command|--attach"},
	{"--session", NULL, "--merge"},
	{"--merge", NULL, "a command|--attach|--by|--pass|--hop|--follow"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.frame = {.reads = true}};
	struct cli_line line;
	int status;

	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	cli_check(&line, rules);
	if (!o.pass)
		frame_read_stdin(&o.frame, o.merge);
	status = tool_run(&o);
	limits_free(&o.limits);
	return status;
}
