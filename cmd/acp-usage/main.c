/* acp-usage: turns what agents say about usage into a log, tables, a meter and metrics. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-usage/tool.h"
#include "lib/frame_options.h"

const char tool_name[] = "acp-usage";

/* A screen at most. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-usage [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-usage [OPTION]... FILE...                 read recordings (-: stdin)\n"
	"  -o, --output FILE, -a, --append   write to FILE, or append to it\n"
	"  -f, --format log|tsv|csv|json|prom   what to write (log)\n"
	"      --summary, --by session|model   a table at the end, and of what\n"
	"      --basis auto|turn|call|session   what the counts of an answer cover\n"
	"      --prices FILE     estimate costs by this list\n"
	"      --fill, --size [MODEL=]N   write what the agent left out into the stream\n"
	"      --merge, --unordered   add up what --summary -f json wrote; in no order\n"
	"      --meter[=tty]     a live line on the terminal\n"
	"      --warn Y,O,R      percent: yellow from, orange from, red above (75,90,95)\n"
	"      --warn-cost LIST  say when a cost is reached: 1USD,5USD\n"
	"      --exec CMD        run it at each crossing\n"
	"      --fail-at yellow|orange|red   exit with 1 where that is reached\n"
	"      --max-cost LIST, --max-tokens N   exit with 1 where a session has that\n"
	"      --session ID, --all   only this session; repeats of the same values, too\n"
	"      --pass            pass standard input on; write to stderr or -o\n"
	"  -F, --follow          go on as the file grows\n"
	"      --color auto|always|never   when to use colours\n"
	"      --attach SOCKET|auto   watch a chain that runs (acp-conduct --control)\n"
	"      --hop N|NAME      of that chain, or of a recording that holds several\n"
	"      --clean, --max-line SIZE, --way pipe|link|proxy, --grace TIME  as acp-tap\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

enum {
	OPT_SUMMARY = 256, OPT_BY, OPT_BASIS, OPT_PRICES, OPT_FILL, OPT_SIZE, OPT_MERGE, OPT_UNORDERED, OPT_METER, OPT_WARN,
	OPT_WARN_COST, OPT_EXEC, OPT_FAIL_AT, OPT_MAX_COST, OPT_MAX_TOKENS, OPT_SESSION, OPT_ALL, OPT_PASS, OPT_COLOR,
};

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"append", no_argument, NULL, 'a'},
	{"format", required_argument, NULL, 'f'},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"by", required_argument, NULL, OPT_BY},
	{"basis", required_argument, NULL, OPT_BASIS},
	{"prices", required_argument, NULL, OPT_PRICES},
	{"fill", no_argument, NULL, OPT_FILL},
	{"size", required_argument, NULL, OPT_SIZE},
	{"merge", no_argument, NULL, OPT_MERGE},
	{"unordered", no_argument, NULL, OPT_UNORDERED},
	{"meter", optional_argument, NULL, OPT_METER},
	{"warn", required_argument, NULL, OPT_WARN},
	{"warn-cost", required_argument, NULL, OPT_WARN_COST},
	{"exec", required_argument, NULL, OPT_EXEC},
	{"fail-at", required_argument, NULL, OPT_FAIL_AT},
	{"max-cost", required_argument, NULL, OPT_MAX_COST},
	{"max-tokens", required_argument, NULL, OPT_MAX_TOKENS},
	{"session", required_argument, NULL, OPT_SESSION},
	{"all", no_argument, NULL, OPT_ALL},
	{"pass", no_argument, NULL, OPT_PASS},
	{"follow", no_argument, NULL, 'F'},
	{"color", required_argument, NULL, OPT_COLOR},
	FRAME_LONG_OPTIONS_ATTACH,
	FRAME_LONG_OPTION_CLEAN,
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+o:f:aFhV", options};

_Noreturn static void
no_memory(void)
{
	cli_die(EXIT_FAILED, tool_name, "out of memory");
}

static void *
grow(void *array, size_t n, size_t size)
{
	void *more = realloc(array, (n + 1) * size);

	if (!more)
		no_memory();
	return more;
}

/* "75,90,95" */
static void
take_warn(struct options *o, const char *argument)
{
	const char *p = argument;
	unsigned long v;
	char *end;
	int i;

	for (i = 0; i < LEVELS; i++) {
		v = strtoul(p, &end, 10);
		if (end == p || *p < '0' || *p > '9' || v > 1000 || (i && v < o->warn[i - 1]) || *end != (i < LEVELS - 1 ? ',' : '\0'))
			cli_bad(&cli, OPT_WARN, argument, "expected three numbers of percent that do not fall, such as 75,90,95");
		o->warn[i] = (unsigned)v;
		p = end + 1;
	}
}

static void
take_size(struct options *o, const char *argument)
{
	const char *equals = strrchr(argument, '=');
	struct size s = {0};

	if (cli_count(equals ? equals + 1 : argument, &s.size) < 0 || s.size == 0)
		cli_bad(&cli, OPT_SIZE, argument, "expected a number of tokens, such as 200k or MODEL=200k");
	if (equals && !(s.model = strndup(argument, (size_t)(equals - argument))))
		no_memory();
	o->sizes = grow(o->sizes, o->nsizes, sizeof(*o->sizes));
	o->sizes[o->nsizes++] = s;
}

static void
take_limit(struct options *o, int option, const char *argument)
{
	static const char *const levels[] = {"yellow", "orange", "red", NULL};
	const char *why;

	switch (option) {
	case OPT_WARN:
		take_warn(o, argument);
		o->warned = true;
		break;
	case OPT_WARN_COST:
	case OPT_MAX_COST:
		if (money_read(option == OPT_MAX_COST ? &o->max_cost : &o->warn_cost, argument, &why) < 0)
			cli_bad(&cli, option, argument, why);
		break;
	case OPT_MAX_TOKENS:
		if (cli_count(argument, &o->max_tokens) < 0)
			cli_bad(&cli, option, argument, "expected a number of tokens, such as 500k");
		o->has_max_tokens = true;
		break;
	case OPT_FAIL_AT:
		o->fail_at = (enum level)(LEVEL_YELLOW + cli_word(&cli, option, argument, levels));
		break;
	}
}

static void
take_words_of(struct options *o, int option, const char *argument)
{
	static const char *const formats[] = {"log", "tsv", "csv", "json", "prom", NULL};
	static const char *const bases[] = {"auto", "turn", "call", "session", NULL};
	static const char *const by[] = {"session", "model", NULL};

	switch (option) {
	case 'f':
		o->format = (enum format)cli_word(&cli, option, argument, formats);
		break;
	case OPT_BY:
		o->by_model = cli_word(&cli, option, argument, by) == 1;
		o->summary = true;
		break;
	case OPT_BASIS:
		o->basis = (enum usage_basis)cli_word(&cli, option, argument, bases);
		break;
	case OPT_COLOR:
		if (cli_color(argument, &o->color) < 0)
			cli_bad(&cli, option, argument, cli_want_color);
		break;
	case OPT_METER:
		if (argument && strcmp(argument, "tty") != 0)
			cli_bad(&cli, option, argument, "expected tty");
		o->meter = argument ? argument : "";
		break;
	}
}

static void
take_flag(struct options *o, int option)
{
	switch (option) {
	case 'a':
		o->append = true;
		break;
	case 'F':
		o->follow = true;
		break;
	case OPT_SUMMARY:
		o->summary = true;
		break;
	case OPT_MERGE:
		o->merge = true;
		break;
	case OPT_UNORDERED:
		o->unordered = true;
		break;
	case OPT_FILL:
		o->fill = true;
		break;
	case OPT_ALL:
		o->all = true;
		break;
	case OPT_PASS:
		o->pass = true;
		break;
	}
}

static void
take_option(struct options *o, int option, const char *argument)
{
	const char *why = NULL;

	switch (option) {
	case 'o':
		o->output = argument;
		break;
	case OPT_PRICES:
		o->prices = argument;
		break;
	case OPT_EXEC:
		o->exec = argument;
		break;
	case OPT_SESSION:
		o->session = argument;
		break;
	case OPT_SIZE:
		take_size(o, argument);
		break;
	case OPT_WARN: case OPT_WARN_COST: case OPT_MAX_COST: case OPT_MAX_TOKENS: case OPT_FAIL_AT:
		take_limit(o, option, argument);
		break;
	case 'f': case OPT_BY: case OPT_BASIS: case OPT_COLOR: case OPT_METER:
		take_words_of(o, option, argument);
		break;
	default:
		take_flag(o, option);
		if (frame_option(&o->frame, option, argument, &why) < 0)
			cli_bad(&cli, option, argument, why);
	}
}

static void
check(const struct options *o)
{
	if (o->append && !o->output)
		cli_die(EXIT_USAGE, tool_name, "--append is for the file of --output");
	if (o->format == FORMAT_PROM && !o->output && !o->files)
		cli_die(EXIT_USAGE, tool_name, "--format prom is for the file of --output");
	if (o->format == FORMAT_PROM && (o->summary || o->append))
		cli_die(EXIT_USAGE, tool_name, "--format prom writes a file of its own: no --summary, no --append");
	if (o->summary && (o->format == FORMAT_CSV || o->format == FORMAT_TSV))
		cli_die(EXIT_USAGE, tool_name, "--summary is a table, or with --format json, objects");
	if (o->fill && o->files)
		cli_die(EXIT_USAGE, tool_name, "--fill is for a stream, not for recordings");
	if (o->pass && (o->files || o->frame.command || o->frame.attach))
		cli_die(EXIT_USAGE, tool_name, "--pass is for standard input");
	if (o->follow && (!o->files || o->files[1]))
		cli_die(EXIT_USAGE, tool_name, "--follow is for one file");
	if (o->merge && (o->frame.command || o->frame.attach))
		cli_die(EXIT_USAGE, tool_name, "--merge reads files or standard input");
}

static void
forget(struct options *o)
{
	size_t i;

	for (i = 0; i < o->nsizes; i++)
		free(o->sizes[i].model);
	money_free(&o->warn_cost);
	money_free(&o->max_cost);
	free(o->sizes);
}

int
main(int argc, char **argv)
{
	static char dash[] = "-";
	static char *standard_input[] = {dash, NULL};
	struct options o = {.warn = {75, 90, 95}, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	char *why;
	int option, status;
	bool dashes;

	setlocale(LC_CTYPE, "");
	while ((option = cli_next(&cli, argc, argv, &dashes)) != -1)
		take_option(&o, option, optarg);
	if (frame_words(&o.frame, argv + optind, dashes, &o.files, &why) < 0)
		cli_refuse(&cli, why);
	check(&o);
	if (!o.files && (o.merge || (!o.frame.command && !o.frame.attach && o.frame.way == FRAME_AUTO && !o.pass && !o.fill &&
		!stream_is_wired())))
		o.files = standard_input;
	status = o.merge ? merge_run(&o) : o.files ? files_run(&o) : stream_run(&o);
	forget(&o);
	return status;
}
