/* acp-check: checks messages against the schemas of ACP and the rules of the protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-check [OPTION]... FILE...                 check recordings (-: stdin)\n"
	"       acp-check [OPTION]... [-- COMMAND [ARG]...]   check a stream, unchanged\n"
	"  -f, --format text|json|junit  format of the findings (text)\n"
	"  -l, --level violation|tolerated|note  lowest level to report (tolerated)\n"
	"  -i, --ignore RULE     do not report this rule; may be repeated\n"
	"      --explain RULE    print what RULE says and where it is written; all: list\n"
	"                        all rules\n"
	"      --protocol auto|1|2  version of the protocol (auto: from initialize)\n"
	"      --unstable        check against the unstable schemas\n"
	"  -o, --output FILE     write to FILE, not to stderr or stdout; strftime formats\n"
	"                        and %p (process id) are expanded\n"
	"  -a, --append          append to the file of -o\n"
	"      --from client|agent  report only messages of this side\n"
	"      --kind request|response|notification  report only these messages\n"
	"  -m, --match GLOB      report only this method or kind of update; !GLOB\n"
	"                        excludes\n"
	"  -w, --where JQ        report only messages for which JQ is true\n"
	"      --session ID      report only this session\n"
	FRAME_HELP_WATCH
	"      --max-line SIZE   report lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

enum {
	OPT_EXPLAIN = 256,
	OPT_PROTOCOL,
	OPT_UNSTABLE,
};

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"level", required_argument, NULL, 'l'},
	{"ignore", required_argument, NULL, 'i'},
	{"explain", required_argument, NULL, OPT_EXPLAIN},
	{"protocol", required_argument, NULL, OPT_PROTOCOL},
	{"unstable", no_argument, NULL, OPT_UNSTABLE},
	SELECT_LONG_OPTIONS,
	FRAME_LONG_OPTIONS_WATCH,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {check_name, help, "+o:f:m:w:l:i:ahV", options};

/* --- rules --- */

/* A text of several words a line, broken at blanks. */
static int
put_wrapped(struct buf *to, const char *text, const char *indent)
{
	enum { WIDTH = 76 };
	size_t column = strlen(indent), n;
	int r = buf_add_string(to, indent);

	for (; *text && r == 0; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		if (column + n + 1 > WIDTH) {
			r = buf_printf(to, "\n%s", indent);
			column = strlen(indent);
		}
		r |= buf_printf(to, "%s%.*s", column > strlen(indent) ? " " : "", (int)n, text);
		column += n + (column > strlen(indent));
	}
	return r | buf_add_string(to, "\n");
}

static int
put_rule(struct buf *to, const struct rule *rule)
{
	char source[512];

	snprintf(source, sizeof(source), "(%s)", rule->source);
	return -(buf_printf(to, "%s: %s\n", rule->name, level_names[rule->level]) || put_wrapped(to, rule->what, "    ") ||
		put_wrapped(to, source, "    "));
}

static enum rule_id
take_rule(int option, const char *name)
{
	enum rule_id rule = rule_find(name);

	if (rule == RULES)
		cli_bad(&cli, option, name, "expected the name of a rule (--explain all lists them)");
	return rule;
}

static _Noreturn void
explain(const char *name)
{
	bool all = strcmp(name, "all") == 0;
	enum rule_id one = all ? RULES : take_rule(OPT_EXPLAIN, name);
	struct buf text = {0};
	unsigned i;
	int r = 0;

	for (i = 0; i < RULES; i++)
		if (all || i == one)
			r |= put_rule(&text, &rules[i]);
	if (all)
		r |= buf_printf(&text, "\nThe schemas are those of %s.\n", schema_source());
	if (r < 0 || !buf_string(&text))
		cli_die(EXIT_FAILED, check_name, "out of memory");
	cli_print(check_name, text.p);
}

/* --- options --- */

static void
take_option(void *arg, int option, const char *argument)
{
	struct options *o = arg;
	static const char *const formats[] = {"text", "json", "junit", NULL};
	static const char *const protocols[] = {"auto", "1", "2", NULL};

	switch (option) {
	case 'f':
		o->format = (enum check_format)cli_word(&cli, option, argument, formats);
		break;
	case 'l':
		o->level = (enum level)cli_word(&cli, option, argument, level_names);
		break;
	case 'i':
		o->ignored[take_rule(option, argument)] = true;
		break;
	case OPT_EXPLAIN:
		explain(argument);
	case OPT_PROTOCOL:
		o->protocol = (unsigned)cli_word(&cli, option, argument, protocols);
		break;
	case OPT_UNSTABLE:
		o->unstable = true;
		break;
	default:
		o->where |= option == 'w';
		select_read(o->select, &cli, option, argument);
	}
}

static const struct cli_rule combinations[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--append", "--output", "--format junit"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	struct options o = {.level = LEVEL_TOLERATED, .select = select_new(), .frame = {.reads = true}};
	struct cli_given given = {0};
	int status;

	if (!o.select)
		cli_refuse(&cli, NULL);
	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	cli_fact(&given, o.format == CHECK_JUNIT, "--format junit");
	cli_check(&cli, &given, combinations);
	if (o.frame.output && strcmp(o.frame.output, "-") == 0)
		cli_die(EXIT_USAGE, check_name, "--output -: a file is required");
	status = o.frame.files ? files_run(&o) : stream_run(&o);
	select_free(o.select);
	return status;
}
