/* acp-tap: writes down what passes in a stream of ACP messages, and changes nothing. */
#include <getopt.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-tap/tap.h"

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
	"      --hop N|NAME      of a recording that holds several\n"
	"      --clean           noise goes to stderr, not on\n"
	"      --max-line SIZE   longer lines pass unread (64M)\n"
	"      --way pipe|link|proxy   how to meet the stream\n"
	"      --grace TIME      how long the agent has to end after the client (5s)\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

enum {
	OPT_FROM = 256,
	OPT_SESSION,
	OPT_FOLD,
	OPT_NO_FOLD,
	OPT_REDACT,
	OPT_COLOR,
	OPT_HOP,
	OPT_CLEAN,
	OPT_MAX_LINE,
	OPT_WAY,
	OPT_GRACE,
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"append", no_argument, NULL, 'a'},
	{"format", required_argument, NULL, 'f'},
	{"match", required_argument, NULL, 'm'},
	{"where", required_argument, NULL, 'w'},
	{"from", required_argument, NULL, OPT_FROM},
	{"session", required_argument, NULL, OPT_SESSION},
	{"count", required_argument, NULL, 'c'},
	{"fold", no_argument, NULL, OPT_FOLD},
	{"no-fold", no_argument, NULL, OPT_NO_FOLD},
	{"redact", no_argument, NULL, OPT_REDACT},
	{"color", required_argument, NULL, OPT_COLOR},
	{"hop", required_argument, NULL, OPT_HOP},
	{"clean", no_argument, NULL, OPT_CLEAN},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"way", required_argument, NULL, OPT_WAY},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* What was given that only a stream, or only recordings, have a use for. */
struct given {
	const char *stream, *files;
};

_Noreturn static void
bad(const char *option, const char *argument, const char *why)
{
	cli_die(EXIT_USAGE, tap_name, "%s %s: %s", option, argument, why ? why : "out of memory");
}

static const struct format *
format_named(const char *name)
{
	static const struct format *const formats[] = {&format_record, &format_pretty, &format_raw, &format_trace};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	bad("--format", name, "expected record, pretty, raw or trace");
}

static enum frame_way
way_named(const char *name)
{
	static const struct {
		const char *name;
		enum frame_way way;
	} ways[] = {{"pipe", FRAME_PIPE}, {"link", FRAME_LINK}, {"proxy", FRAME_PROXY}};
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].name, name) == 0)
			return ways[i].way;
	bad("--way", name, "expected pipe, link or proxy");
}

/* The options of selection. */
static void
select_by(struct options *o, int option, const char *argument)
{
	static const struct {
		int option;
		const char *name;
		int (*take)(struct select *, const char *, char **why);
	} by[] = {{'m', "--match", select_glob}, {'w', "--where", select_where}, {OPT_FROM, "--from", select_from},
		{OPT_SESSION, "--session", select_session}};
	char *why = NULL;
	size_t i;

	for (i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		if (by[i].option == option && by[i].take(o->select, argument, &why) < 0)
			bad(by[i].name, argument, why);
}

static void
take_number(struct options *o, int option, const char *argument)
{
	if (option == 'c' && (cli_count(argument, &o->count) < 0 || o->count == UINT64_MAX))
		bad("--count", argument, "expected a number");
	if (option == OPT_MAX_LINE && cli_bytes(argument, &o->frame.limit) < 0)
		bad("--max-line", argument, "expected a number of bytes, such as 64M");
	if (option == OPT_GRACE && cli_duration(argument, &o->frame.grace) < 0)
		bad("--grace", argument, "expected a time, such as 5s");
}

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
	case OPT_CLEAN:
		o->frame.clean = true;
		break;
	case 'h':
		cli_print(tap_name, help);
	case 'V':
		cli_print(tap_name, "acp-tap " VERSION "\n");
	default:
		cli_die(EXIT_USAGE, tap_name, "try acp-tap --help");
	}
}

static void
take_option(struct options *o, struct given *given, int option, const char *argument)
{
	switch (option) {
	case 'o':
		o->output = argument;
		break;
	case 'f':
		o->format = format_named(argument);
		break;
	case 'm':
	case 'w':
	case OPT_FROM:
	case OPT_SESSION:
		select_by(o, option, argument);
		break;
	case 'c':
	case OPT_MAX_LINE:
	case OPT_GRACE:
		take_number(o, option, argument);
		break;
	case OPT_COLOR:
		if (cli_color(argument, &o->color) < 0)
			bad("--color", argument, "expected auto, always or never");
		break;
	case OPT_WAY:
		o->frame.way = way_named(argument);
		break;
	case OPT_HOP:
		o->hop = argument;
		break;
	default:
		take_flag(o, option);
	}
	if (option == OPT_CLEAN || option == OPT_WAY || option == OPT_GRACE)
		given->stream = option == OPT_CLEAN ? "--clean" : option == OPT_WAY ? "--way" : "--grace";
	if (option == OPT_HOP)
		given->files = "--hop";
}

/* Words before -- are files, those behind it a command. */
static void
take_words(struct options *o, char **words, bool ended)
{
	int r = cli_words(words, ended, &o->files, &o->frame.command);

	if (r == -1)
		cli_die(EXIT_USAGE, tap_name, "no command after --");
	if (r < 0)
		cli_die(EXIT_USAGE, tap_name, "%s: either recordings or a command", words[0]);
}

static void
check(const struct options *o, const struct given *given)
{
	const char *lost = o->files ? given->stream : given->files;

	if (lost)
		cli_die(EXIT_USAGE, tap_name, "%s is for %s", lost, o->files ? "a stream, not for recordings" : "recordings");
	if (o->output && strcmp(o->output, "-") == 0)
		cli_die(EXIT_USAGE, tap_name, "--output -: a file is wanted%s",
			o->files ? "; without it recordings are printed on standard output" : ", for standard output carries the stream");
	if (o->append && !o->output)
		cli_die(EXIT_USAGE, tap_name, "--append is for the file of --output");
	if (o->fold >= 0 && (o->format ? o->format != &format_pretty : o->output && !o->files))
		cli_die(EXIT_USAGE, tap_name, "%s is for --format pretty", o->fold ? "--fold" : "--no-fold");
	if (o->frame.command && o->frame.way != FRAME_AUTO)
		cli_die(EXIT_USAGE, tap_name, "--way is for a stream without a command");
}

int
main(int argc, char **argv)
{
	struct options o = {.count = UINT64_MAX, .fold = -1, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	struct given given = {NULL, NULL};
	int option, before, status;

	setlocale(LC_CTYPE, "");
	o.select = select_new();
	if (!o.select)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	do {
		before = optind;
		option = getopt_long(argc, argv, "+o:f:m:w:c:ahV", long_options, NULL);
		if (option != -1)
			take_option(&o, &given, option, optarg);
	} while (option != -1);
	/* Only a -- that ends the options is stepped over without being one. */
	take_words(&o, argv + optind, optind > before);
	check(&o, &given);
	status = o.files ? files_run(&o) : stream_run(&o);
	select_free(o.select);
	return status;
}
