/* acp-tap: writes down what passes in a stream of ACP messages, and changes nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-tap/tap.h"
#include "lib/base/cli.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-tap [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-tap [OPTION]... FILE...                 print recordings (-: stdin)\n"
	"  -o, --output FILE     write to FILE, not to stderr or stdout; strftime formats\n"
	"                        and %p (process id) are expanded\n"
	"  -a, --append          append to the file of -o\n"
	"  -f, --format record|pretty|full|raw|trace\n"
	"                        what to write (with -o record, else pretty)\n"
	"      --fold            pretty: successive chunks as one line\n"
	"      --no-fold         pretty: each chunk as a line\n"
	"  -n, --number          print the number of each record of a recording\n"
	"      --redact[=text]   replace secrets in the output; =text: also all texts\n"
	"      --color auto|always|never  when to use colours (auto)\n"
	"  -m, --match GLOB      only this method or kind of update; !GLOB excludes\n"
	"  -w, --where JQ        only messages for which the jq program is true\n"
	"      --from client|agent  only messages of this side\n"
	"      --kind request|response|notification  only these messages\n"
	"      --session ID      only this session\n"
	"  -c, --count N         stop writing after N records\n"
	"      --start N         skip the records of a recording before number N\n"
	"      --until N         skip the records of a recording after number N\n"
	FRAME_HELP_WATCH
	"      --max-line SIZE   forward lines of more than SIZE bytes unread (64M)\n"
	FRAME_HELP;

enum {
	OPT_START = 256,
	OPT_UNTIL,
	OPT_FOLD,
	OPT_NO_FOLD,
	OPT_REDACT,
	OPT_COLOR,
};

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	SELECT_LONG_OPTIONS,
	{"count", required_argument, NULL, 'c'},
	{"number", no_argument, NULL, 'n'},
	{"start", required_argument, NULL, OPT_START},
	{"until", required_argument, NULL, OPT_UNTIL},
	{"fold", no_argument, NULL, OPT_FOLD},
	{"no-fold", no_argument, NULL, OPT_NO_FOLD},
	{"redact", optional_argument, NULL, OPT_REDACT},
	{"color", required_argument, NULL, OPT_COLOR},
	FRAME_LONG_OPTIONS_WATCH,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tap_name, help, "+o:f:m:w:c:nahV", options};

/* What stands alone. */
static void
take_flag(struct options *o, int option)
{
	switch (option) {
	case 'n':
		o->number = true;
		break;
	case OPT_FOLD:
	case OPT_NO_FOLD:
		o->fold = option == OPT_FOLD;
		break;
	}
}

static void
take_option(void *arg, int option, const char *argument)
{
	struct options *o = arg;
	static const char *const names[] = {"record", "pretty", "full", "raw", "trace", NULL};
	static const struct format *const formats[] = {&format_record, &format_pretty, &format_full, &format_raw, &format_trace};

	switch (option) {
	case 'f':
		o->format = formats[cli_word(&cli, option, argument, names)];
		break;
	case 'c':
		if (cli_count(argument, &o->count) < 0 || o->count == UINT64_MAX)
			cli_bad(&cli, option, argument, "expected a number");
		break;
	case OPT_REDACT:
		if (argument && strcmp(argument, "text") != 0)
			cli_bad(&cli, option, argument, "expected text");
		o->redact = true;
		o->redact_texts |= argument != NULL;
		break;
	case OPT_START:
	case OPT_UNTIL:
		if (cli_count(argument, option == OPT_START ? &o->start : &o->until) < 0)
			cli_bad(&cli, option, argument, "expected the number of a record, from 1");
		break;
	case OPT_COLOR:
		o->color = (enum cli_color)cli_word(&cli, option, argument, cli_colors);
		break;
	default:
		take_flag(o, option);
		select_read(o->select, &cli, option, argument);
		if (option == 'm')
			o->match = argument;
	}
}

static const struct cli_rule rules[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--number|--start|--until", "recordings", NULL},
	{"--number", "--format pretty|--format full", NULL},
	{"--fold|--no-fold", "--format pretty", NULL},
	{"--append", "--output", NULL},
	{NULL, NULL, NULL},
};

static void
check(const struct options *o, struct cli_given *given)
{
	const struct format *format = o->format ? o->format : o->frame.output && !o->frame.files ? &format_record : &format_pretty;

	cli_fact(given, format == &format_pretty, "--format pretty");
	cli_fact(given, format == &format_full, "--format full");
	cli_check(&cli, given, rules);
	if (o->until < o->start)
		cli_die(EXIT_USAGE, tap_name, "--until comes before --start");
	if (o->frame.output && strcmp(o->frame.output, "-") == 0)
		cli_die(EXIT_USAGE, tap_name, "--output -: a file is required%s",
			o->frame.files ? "; without it recordings are printed on standard output" :
			o->frame.attach ? ", such as /dev/stdout" : ", because standard output carries the stream");
}

int
main(int argc, char **argv)
{
	struct options o = {.count = UINT64_MAX, .until = UINT64_MAX, .fold = -1, .select = select_new(), .frame = {.reads = true}};
	int status;
	struct cli_given given = {0};

	if (!o.select)
		cli_refuse(&cli, NULL);
	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	check(&o, &given);
	if (o.match && !o.frame.files && !o.frame.command && !o.frame.attach && isatty(STDIN_FILENO) && access(o.match, F_OK) == 0)
		cli_warn(tap_name, "%s is a file: is the pattern of --match missing before it?", o.match);
	status = o.frame.files ? files_run(&o) : stream_run(&o);
	select_free(o.select);
	return status;
}
