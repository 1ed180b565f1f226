/* acp-check: checks messages against the schemas of ACP and the rules of the protocol. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"

/* Each option has a line, with its unit and default. The shell completes options and words from this text. */
static const char help[] =
	"usage: acp-check [OPTION]... FILE...                 check recordings (-: stdin)\n"
	"       acp-check [OPTION]... [-- COMMAND [ARG]...]   check a stream, unchanged\n"
	"  -f, --format text|json|junit|github|sarif  format of the findings (text)\n"
	"  -l, --level violation|tolerated|note  lowest level to report (tolerated)\n"
	"  -i, --ignore RULE     do not report this rule; may be repeated\n"
	"      --baseline FILE   do not report the findings that FILE has\n"
	"      --strict-baseline  status 1 if one of them is not found any more\n"
	"      --write-baseline FILE  write the findings to FILE, for --baseline\n"
	"      --coverage        report what was used of the methods, updates, options\n"
	"                        and stop reasons that the sides offer\n"
	"      --mcp             report what became of each MCP server that sessions\n"
	"                        declare: FILEs are recordings of both, or directories\n"
	"      --rules           print the table of all rules, and what is not checked\n"
	"      --explain RULE    print what RULE says and where it is written; all: list\n"
	"                        all rules\n"
	"      --protocol auto|1|2  version of the protocol (auto: from initialize)\n"
	"      --unstable        check against the unstable schemas\n"
	"  -o, --output FILE     write to FILE, not to stderr or stdout; strftime formats\n"
	"                        and %p (process id) are expanded\n"
	"  -a, --append          append to the file of -o\n"
	"      --color auto|always|never  when to use colours (auto); always: and group\n"
	"                        findings by rule, as at a terminal\n"
	"      --from client|agent  report only messages of this side\n"
	"      --kind request|response|notification  report only these messages\n"
	"  -m, --match GLOB      report only this method or kind of update; !GLOB\n"
	"                        excludes\n"
	"  -w, --where JQ        report only messages for which JQ is true\n"
	"      --session ID      report only this session\n"
	FRAME_HELP_WATCH
	FRAME_HELP_FOLLOW
	"      --max-line SIZE   report lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

/* --- rules --- */

static enum rule_id
find_rule(const struct cli_argument *t)
{
	enum rule_id rule = 0;

	while (rule < RULES && strcmp(rules[rule].name, t->argument) != 0)
		rule++;
	if (rule == RULES)
		cli_wrong(t, "expected the name of a rule (--explain all lists them)");
	return rule;
}

static void
explain(const struct cli_argument *t)
{
	bool all = strcmp(t->argument, "all") == 0;
	enum rule_id one = all ? RULES : find_rule(t);
	struct buf text = {0};
	char source[512];
	int r = 0;

	for (unsigned i = 0; i < RULES; i++) {
		if (!all && i != one)
			continue;
		snprintf(source, sizeof(source), "(%s)", rules[i].source);
		r |= buf_printf(&text, "%s: %s\n", rules[i].name, level_names[rules[i].level]);
		r |= -(report_wrapped(&text, rules[i].what, "    ") || report_wrapped(&text, source, "    "));
	}
	if (all)
		r |= buf_printf(&text, "\nThe schemas are those of %s.\n", schema_source);
	if (r < 0 || !buf_string(&text))
		cli_no_memory(check_name);
	cli_print(check_name, text.p);
}

/* Returns the address of a rule's source ("": none); NULL: the source begins with the name of a page of the protocol. */
static const char *
base_of(const char *source)
{
	static const char *const bases[][2] = {{"JSON-RPC 2.0", "https://www.jsonrpc.org/specification"},
		{"RFC 8259", "https://www.rfc-editor.org/rfc/rfc8259"}, {"the limit", ""},
		{"the JSON schema", "https://agentclientprotocol.com/protocol/schema"}};

	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (strncmp(source, bases[i][0], strlen(bases[i][0])) == 0)
			return bases[i][1];
	return NULL;
}

/* Prints a line for each rule, and for each demand of the protocol that no rule checks. */
static void
print_rules(const struct cli_argument *t)
{
	struct buf text = {0};
	int r = 0;

	(void)t;
	for (unsigned i = 0; i < RULES; i++) {
		const char *source = rules[i].source, *base = base_of(source);

		r |= buf_printf(&text, "%s\t%s\t%s\t%s\t", rules[i].name, level_names[rules[i].level], rules[i].what, source);
		r |= base ? buf_printf(&text, "%s\n", base) :
			buf_printf(&text, "https://agentclientprotocol.com/protocol/%.*s\n", (int)strcspn(source, ",: ("), source);
	}
	for (const struct unchecked *u = unchecked; u->what; u++)
		r |= buf_printf(&text, "-\tnot checked: %s\t%s\t%s\thttps://agentclientprotocol.com/protocol/%s\n", u->why, u->what, u->page, u->page);
	if (r < 0 || !buf_string(&text))
		cli_no_memory(check_name);
	cli_print(check_name, text.p);
}

/* --- options --- */

static void
ignore(const struct cli_argument *t)
{
	struct options *o = t->at;

	o->ignored[find_rule(t)] = true;
}

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct options, format, "text", "json", "junit", "github", "sarif")},
	{"level", 'l', CLI_WORD_OF(struct options, level, level_names)},
	{"ignore", 'i', CLI_PARSE(ignore)},
	{"baseline", 0, CLI_TEXT(struct options, baseline)},
	{"strict-baseline", 0, CLI_FLAG(struct options, strict)},
	{"write-baseline", 0, CLI_TEXT(struct options, write_baseline)},
	{"coverage", 0, CLI_FLAG(struct options, coverage)},
	{"mcp", 0, CLI_FLAG(struct options, mcp)},
	{"color", 0, CLI_WORD(struct options, color, "auto", "always", "never")},
	{"rules", 0, CLI_CALL(print_rules)},
	{"explain", 0, CLI_PARSE(explain)},
	{"protocol", 0, CLI_WORD(struct options, protocol, "auto", "1", "2")},
	{"unstable", 0, CLI_FLAG(struct options, unstable)},
	{CLI_ROWS_BEHIND(struct options, select, select_options)},
	{CLI_ROWS(struct options, frame, watch_options)},
	{0},
};

static const struct cli_rule combinations[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--follow", "one recording", NULL},
	{"--append", NULL, "--format junit|--format sarif"},
	{"--strict-baseline", "--baseline", NULL},
	{"--color", NULL, "--format json|--format junit|--format github|--format sarif|--coverage|--mcp"},
	{"--coverage", NULL, "--level|--ignore|--baseline|--write-baseline|--format junit|--format github|--format sarif"},
	{"--mcp", "recordings", "--coverage|--level|--ignore|--baseline|--write-baseline|--unstable|--protocol|--follow|--hop|--format junit|"
		"--format github|--format sarif|--from|--kind|--match|--where|--session"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {check_name, help, options};
	struct options o = {.level = LEVEL_TOLERATED, .select = select_new(), .frame = {.reads = true}};
	struct cli_line line;
	int status;

	if (!o.select)
		cli_no_memory(check_name);
	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	cli_check(&line, combinations);
	o.where = cli_has(&line, "--where");
	if (o.frame.output && strcmp(o.frame.output, "-") == 0)
		cli_die(EXIT_USAGE, check_name, "--output -: a file is required");
	status = o.mcp ? mcp_run(&o) : check_run(&o);
	select_free(o.select);
	return status;
}
