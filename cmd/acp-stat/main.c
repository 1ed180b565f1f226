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
	"  -f, --format text|tsv|json|prom  format of the report (text)\n"
	"      --by method|session|turn|tool|agent\n"
	"                        write one row for each (methods, all turns, tools)\n"
	"      --merge           add up the output of -f json\n"
	"      --pass            forward stdin to stdout; report on stderr or to -o\n"
	FRAME_HELP_WATCH
	"      --max-line SIZE   do not read lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

enum { OPT_BY = 256, OPT_MERGE, OPT_PASS };

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"by", required_argument, NULL, OPT_BY},
	{"merge", no_argument, NULL, OPT_MERGE},
	{"pass", no_argument, NULL, OPT_PASS},
	FRAME_LONG_OPTIONS_WATCH,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+o:f:ahV", options};

static void
take_option(void *arg, int option, const char *argument)
{
	static const char *const formats[] = {"text", "tsv", "json", "prom", NULL};
	static const char *const by[] = {"method", "session", "turn", "tool", "agent", NULL};
	struct options *o = arg;

	switch (option) {
	case 'f':
		o->format = (enum format)cli_word(&cli, option, argument, formats);
		break;
	case OPT_BY:
		o->by = (enum by)(BY_METHOD + cli_word(&cli, option, argument, by));
		break;
	case OPT_MERGE:
		o->merge = true;
		break;
	case OPT_PASS:
		o->pass = true;
		break;
	}
}

static const struct cli_rule rules[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--append", "--output", NULL},
	{"--format prom", NULL, "--append|--by turn"},
	{"--pass", NULL, "recordings|a command|--attach"},
	{"--merge", NULL, "a command|--attach|--by|--pass|--hop"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static char dash[] = "-";
	static char *standard_input[] = {dash, NULL};
	struct options o = {.frame = {.reads = true}};
	struct cli_given given = {0};

	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	cli_fact(&given, o.format == FORMAT_PROM, "--format prom");
	cli_fact(&given, o.by == BY_TURN, "--by turn");
	cli_check(&cli, &given, rules);
	if (!o.frame.files && (o.merge || (!o.frame.command && !o.frame.attach && !o.frame.transport && !o.pass && !frame_is_wired())))
		o.frame.files = standard_input;
	return o.merge ? merge_run(&o) : o.frame.files ? files_run(&o) : stream_run(&o);
}
