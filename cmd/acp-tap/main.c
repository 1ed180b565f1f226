/* acp-tap: writes down what passes in a stream of ACP messages, and changes nothing. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-tap/tap.h"
#include "lib/cli.h"
#include "lib/frame_options.h"

/* A screen at most. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-tap [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-tap [OPTION]... FILE...                 print recordings (-: stdin)\n"
	"  -o, --output FILE     write to FILE, not stderr (strftime, and %p: the pid)\n"
	"  -f, --format record|pretty|raw|trace   what to write (with -o: record)\n"
	"  -m, --match GLOB      only this method or kind of update; !GLOB: not this\n"
	"  -w, --where JQ        only messages for which the jq program is true\n"
	"      --from client|agent   only what this side sent\n"
	"      --session ID      only this session\n"
	"  -c, --count N         write N records, then no more\n"
	"  -a, --append          append to FILE\n"
	"      --fold            pretty: runs of chunks as one line (of a FILE they are)\n"
	"      --no-fold         pretty: a line for each chunk\n"
	"      --redact          leave secrets out of what is written\n"
	"      --color auto|always|never   when to use colours\n"
	"      --attach SOCKET|auto   watch a chain that runs (acp-conduct --control)\n"
	"      --hop N|NAME      of that chain, or of a recording that holds several\n"
	"      --clean           noise goes to stderr, not on\n"
	"      --max-line SIZE   longer lines pass unread (64M)\n"
	"      --way pipe|link|proxy   how to meet the stream\n"
	"      --grace TIME      how long the agent has to end after the client (5s)\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

enum {
	OPT_FOLD = 256,
	OPT_NO_FOLD,
	OPT_REDACT,
	OPT_COLOR,
};

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"append", no_argument, NULL, 'a'},
	{"format", required_argument, NULL, 'f'},
	SELECT_LONG_OPTIONS,
	{"count", required_argument, NULL, 'c'},
	{"fold", no_argument, NULL, OPT_FOLD},
	{"no-fold", no_argument, NULL, OPT_NO_FOLD},
	{"redact", no_argument, NULL, OPT_REDACT},
	{"color", required_argument, NULL, OPT_COLOR},
	FRAME_LONG_OPTIONS_ATTACH,
	FRAME_LONG_OPTION_CLEAN,
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tap_name, help, "+o:f:m:w:c:ahV", options};

/* What stands alone. */
static void
take_flag(struct options *o, int option)
{
	switch (option) {
	case 'a':
		o->append = true;
		break;
	case OPT_FOLD:
	case OPT_NO_FOLD:
		o->fold = option == OPT_FOLD;
		break;
	case OPT_REDACT:
		o->redact = true;
		break;
	}
}

/* The options that tools share. */
static void
take_shared(struct options *o, int option, const char *argument)
{
	const char *wrong = NULL;
	char *why = NULL;

	if (select_option(o->select, option, argument, &why) < 0)
		cli_bad(&cli, option, argument, why);
	if (frame_option(&o->frame, option, argument, &wrong) < 0)
		cli_bad(&cli, option, argument, wrong);
}

static void
take_option(struct options *o, int option, const char *argument)
{
	static const char *const names[] = {"record", "pretty", "raw", "trace", NULL};
	static const struct format *const formats[] = {&format_record, &format_pretty, &format_raw, &format_trace};

	switch (option) {
	case 'o':
		o->output = argument;
		break;
	case 'f':
		o->format = formats[cli_word(&cli, option, argument, names)];
		break;
	case 'c':
		if (cli_count(argument, &o->count) < 0 || o->count == UINT64_MAX)
			cli_bad(&cli, option, argument, "expected a number");
		break;
	case OPT_COLOR:
		if (cli_color(argument, &o->color) < 0)
			cli_bad(&cli, option, argument, cli_want_color);
		break;
	default:
		take_flag(o, option);
		take_shared(o, option, argument);
	}
}

static void
check(const struct options *o)
{
	if (o->frame.hop && !o->files && !o->frame.attach)
		cli_die(EXIT_USAGE, tap_name, "--hop is for recordings, and for --attach");
	if (o->output && strcmp(o->output, "-") == 0)
		cli_die(EXIT_USAGE, tap_name, "--output -: a file is wanted%s",
			o->files ? "; without it recordings are printed on standard output" :
			o->frame.attach ? ", such as /dev/stdout" : ", for standard output carries the stream");
	if (o->append && !o->output)
		cli_die(EXIT_USAGE, tap_name, "--append is for the file of --output");
	if (o->fold >= 0 && (o->format ? o->format != &format_pretty : o->output && !o->files))
		cli_die(EXIT_USAGE, tap_name, "%s is for --format pretty", o->fold ? "--fold" : "--no-fold");
}

int
main(int argc, char **argv)
{
	struct options o = {.count = UINT64_MAX, .fold = -1, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	char *why;
	int option, status;
	bool dashes;

	setlocale(LC_CTYPE, "");
	o.select = select_new();
	if (!o.select)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	while ((option = cli_next(&cli, argc, argv, &dashes)) != -1)
		take_option(&o, option, optarg);
	if (frame_words(&o.frame, argv + optind, dashes, &o.files, &why) < 0)
		cli_refuse(&cli, why);
	check(&o);
	status = o.files ? files_run(&o) : stream_run(&o);
	select_free(o.select);
	return status;
}
