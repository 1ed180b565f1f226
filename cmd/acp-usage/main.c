/* acp-usage: turns what agents say about usage into a log, tables, a meter and metrics. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-usage/tool.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-usage [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-usage [OPTION]... FILE...                 read recordings (-: stdin)\n"
	"\n"
	"Output\n"
	"  -o, --output FILE     write to FILE; strftime formats and %p (process id) are\n"
	"                        expanded\n"
	"  -a, --append          append to the file of -o\n"
	"  -f, --format log|tsv|csv|json|prom  format of the output (log)\n"
	"      --summary         write a table at the end\n"
	"      --wide            write all columns of the table\n"
	"      --by session|model|day|week|month|project|agent\n"
	"                        write one row of the table for each (session)\n"
	"      --all             also write updates that repeat the last values\n"
	"      --meter[=tty]     show one live line on stderr, or on /dev/tty\n"
	"  -v, --verbose         also report assumptions, such as the basis\n"
	"      --color auto|always|never  when to use colours (auto)\n"
	"\n"
	"What is counted\n"
	"      --since WHEN      count only usage since then: 2026-11-22, 7d\n"
	"      --before WHEN     count only usage before then\n"
	"      --session ID      only this session, with its sub-agents\n"
	"      --basis auto|turn|call|session  what the counts of a response cover (auto)\n"
	"      --prices FILE     estimate costs from this price list (LiteLLM format)\n"
	"      --cache-hour      use the price of a cache that is kept for an hour\n"
	"      --merge           add up the output of --summary -f json\n"
	"  -F, --follow          keep reading as the recording grows\n"
	"\n"
	"Limits\n"
	"      --warn Y,O,R      levels of the context in percent (75,90,95)\n"
	"      --warn-cost LIST  report costs as they are reached: 1USD,5EUR\n"
	"      --exec CMD        run CMD at each level or cost that is reached\n"
	"      --fail-at yellow|orange|red  exit with 1 if a session reaches this level\n"
	"      --max-cost LIST   exit with 1 if a session costs this much: 5USD\n"
	"      --max-tokens N    exit with 1 if a session is billed N tokens\n"
	"\n"
	"Streams\n"
	"      --fill            add usage that is missing in the messages\n"
	"      --size [MODEL=]N  size of the context window in tokens, for --fill\n"
	"      --pass            forward stdin to stdout; write to stderr or to -o\n"
	FRAME_HELP_WATCH
	"      --max-line SIZE   do not read lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

enum {
	OPT_SUMMARY = 256, OPT_BY, OPT_BASIS, OPT_PRICES, OPT_CACHE_HOUR, OPT_FILL, OPT_SIZE, OPT_MERGE, OPT_SINCE, OPT_BEFORE, OPT_WIDE, OPT_METER,
	OPT_WARN, OPT_WARN_COST, OPT_EXEC, OPT_FAIL_AT, OPT_MAX_COST, OPT_MAX_TOKENS, OPT_SESSION, OPT_ALL, OPT_PASS, OPT_COLOR,
};

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"by", required_argument, NULL, OPT_BY},
	{"basis", required_argument, NULL, OPT_BASIS},
	{"prices", required_argument, NULL, OPT_PRICES},
	{"cache-hour", no_argument, NULL, OPT_CACHE_HOUR},
	{"fill", no_argument, NULL, OPT_FILL},
	{"size", required_argument, NULL, OPT_SIZE},
	{"merge", no_argument, NULL, OPT_MERGE},
	{"since", required_argument, NULL, OPT_SINCE},
	{"before", required_argument, NULL, OPT_BEFORE},
	{"wide", no_argument, NULL, OPT_WIDE},
	{"verbose", no_argument, NULL, 'v'},
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
	FRAME_LONG_OPTIONS_WATCH,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+o:f:aFvhV", options};

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
			cli_bad(&cli, OPT_WARN, argument, "expected three percentages in rising order, such as 75,90,95");
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

/* A date, a date and a time, both local, or so long ago: 2026-11-22, 2026-11-22T15:56, 7d. */
static void
take_time(double *when, int option, const char *argument)
{
	static const struct { char name; double seconds; } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	struct tm tm;
	char *end;
	double n = strtod(argument, &end);
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (end > argument && n >= 0 && *end == units[i].name && end[1] == '\0') {
			*when = (double)time(NULL) - n * units[i].seconds;
			return;
		}
	}
	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		tm = (struct tm){.tm_isdst = -1};
		end = strptime(argument, forms[i], &tm);
		if (end && *end == '\0') {
			*when = (double)mktime(&tm);
			return;
		}
	}
	cli_bad(&cli, option, argument, "expected a date, such as 2026-11-22 or 2026-11-22T15:56, or how long ago: 7d");
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

	switch (option) {
	case 'f':
		o->format = (enum format)cli_word(&cli, option, argument, formats);
		break;
	case OPT_BY:
		o->by = (enum by)cli_word(&cli, option, argument, by_names);
		o->summary = true;
		break;
	case OPT_BASIS:
		o->basis = (enum usage_basis)cli_word(&cli, option, argument, bases);
		break;
	case OPT_COLOR:
		o->color = (enum cli_color)cli_word(&cli, option, argument, cli_colors);
		break;
	case OPT_METER:
		if (argument && strcmp(argument, "tty") != 0)
			cli_bad(&cli, option, argument, "expected tty");
		o->meter = argument ? argument : "";
		break;
	}
}

static void
take_option(void *arg, int option, const char *argument)
{
	/* Options that are taken as they are, and where. */
	static const struct plain { int option; size_t at; } flags[] = {{'F', offsetof(struct options, follow)},
		{'v', offsetof(struct options, verbose)}, {OPT_SUMMARY, offsetof(struct options, summary)},
		{OPT_MERGE, offsetof(struct options, merge)}, {OPT_WIDE, offsetof(struct options, wide)},
		{OPT_FILL, offsetof(struct options, fill)}, {OPT_ALL, offsetof(struct options, all)},
		{OPT_PASS, offsetof(struct options, pass)}, {OPT_CACHE_HOUR, offsetof(struct options, cache_hour)}};
	static const struct plain texts[] = {{OPT_PRICES, offsetof(struct options, prices)}, {OPT_EXEC, offsetof(struct options, exec)},
		{OPT_SESSION, offsetof(struct options, session)}};
	struct options *o = arg;
	size_t i;

	switch (option) {
	case OPT_SINCE:
	case OPT_BEFORE:
		take_time(option == OPT_SINCE ? &o->since : &o->before, option, argument);
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
	}
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].option == option)
			*(bool *)((char *)o + flags[i].at) = true;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].option == option)
			*(const char **)(void *)((char *)o + texts[i].at) = argument;
}

/* All that is read: none of it may be the output. */
static void
list_inputs(struct options *o)
{
	size_t n = 0;
	char **file;

	for (file = o->frame.files; file && *file; file++)
		n++;
	o->inputs = calloc(n + 2, sizeof(*o->inputs));
	if (!o->inputs)
		no_memory();
	if (n)
		memcpy(o->inputs, o->frame.files, n * sizeof(*o->inputs));
	o->inputs[n] = (char *)(size_t)o->prices;
}

static const struct cli_rule rules[] = {
	{"--append", "--output", NULL},
	{"--cache-hour", "--prices", NULL},
	{"--format prom", "--output|recordings", "--summary|--append"},
	{"--summary|--by", NULL, "--format csv|--format tsv"},
	{"--fill", NULL, "recordings"},
	{"--pass", NULL, "recordings|a command|--attach"},
	{"--follow", "one recording", NULL},
	{"--merge", NULL, "a command|--attach|--warn|--warn-cost|--exec|--fail-at|--max-cost|--max-tokens|--since|--before|--by a date"},
	{NULL, NULL, NULL},
};

static void
check(const struct options *o, struct cli_given *given)
{
	cli_fact(given, o->frame.files && !o->frame.files[1], "one recording");
	cli_fact(given, o->format == FORMAT_PROM, "--format prom");
	cli_fact(given, o->format == FORMAT_CSV, "--format csv");
	cli_fact(given, o->format == FORMAT_TSV, "--format tsv");
	cli_fact(given, o->by >= BY_DAY && o->by <= BY_MONTH, "--by a date");
	cli_check(&cli, given, rules);
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
	free(o->inputs);
}

int
main(int argc, char **argv)
{
	static char dash[] = "-";
	static char *standard_input[] = {dash, NULL};
	struct options o = {.warn = {75, 90, 95}, .frame = {.reads = true}};
	int status;
	struct cli_given given = {0};

	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	check(&o, &given);
	if (!o.frame.files && (o.merge || (!o.frame.command && !o.frame.attach && !o.frame.transport && !o.pass && !o.fill &&
		!frame_is_wired())))
		o.frame.files = standard_input;
	list_inputs(&o);
	status = o.merge ? merge_run(&o) : o.frame.files ? files_run(&o) : stream_run(&o);
	forget(&o);
	return status;
}
