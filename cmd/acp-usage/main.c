/* acp-usage: turns what agents say about usage into a log, tables, a meter and metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-usage/tool.h"

/* One option a line, with its unit and default. Completion of the shell reads options and words from this text. */
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
	"      --sort date|cost|tokens|title  order of the rows (date)\n"
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
	"      --merge           add up the output of --summary -f json, and ledgers of\n"
	"                        acp-budget\n"
	FRAME_HELP_FOLLOW
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

/* Reads the levels: "75,90,95". */
static void
parse_warn(const struct cli_argument *t)
{
	unsigned *warn = t->at;
	char after;

	if (t->argument[strspn(t->argument, "0123456789,")] || sscanf(t->argument, "%4u,%4u,%4u%c", &warn[0], &warn[1], &warn[2], &after) != 3
		|| warn[0] > warn[1] || warn[1] > warn[2] || warn[2] > 1000)
		cli_wrong(t, "expected three percentages in rising order, such as 75,90,95");
}

static void
parse_size(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *equals = strrchr(t->argument, '=');
	struct size s = {0};

	if (cli_count(equals ? equals + 1 : t->argument, &s.size) < 0 || s.size == 0)
		cli_wrong(t, "expected a number of tokens, such as 200k or MODEL=200k");
	if (equals && !(s.model = strndup(t->argument, (size_t)(equals - t->argument))))
		cli_no_memory(tool_name);
	o->sizes = cli_grow(tool_name, o->sizes, o->nsizes, sizeof(*o->sizes));
	o->sizes[o->nsizes++] = s;
}

/* Reads a local date, with or without a time, or a time before now: 2026-11-22, 2026-11-22T15:56, 7d. */
static void
parse_time(const struct cli_argument *t)
{
	static const struct { char name; double seconds; } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	struct tm tm, day;
	char *end;
	double n = strtod(t->argument, &end), *when = t->at;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (end > t->argument && n >= 0 && *end == units[i].name && end[1] == '\0') {
			*when = (double)time(NULL) - n * units[i].seconds;
			return;
		}
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		tm = (struct tm){.tm_isdst = -1};
		end = strptime(t->argument, forms[i], &tm);
		/* timegm changes a day that its month does not have. */
		day = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday};
		timegm(&day);
		if (end && *end == '\0' && day.tm_mday == tm.tm_mday) {
			*when = (double)mktime(&tm);
			return;
		}
	}
	cli_wrong(t, "expected a date, such as 2026-11-22 or 2026-11-22T15:56, or how long ago: 7d");
}

static void
parse_money(const struct cli_argument *t)
{
	const char *why;

	if (money_read(t->at, t->argument, false, &why) < 0)
		cli_wrong(t, why);
}

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct options, format, "log", "tsv", "csv", "json", "prom")},
	{"summary", 0, CLI_FLAG(struct options, summary)},
	{"wide", 0, CLI_FLAG(struct options, wide)},
	{"by", 0, CLI_WORD_OF(struct options, by, by_names)},
	{"sort", 0, CLI_WORD(struct options, sort, "date", "cost", "tokens", "title")},
	{"all", 0, CLI_FLAG(struct options, all)},
	{"meter", 0, CLI_OPTIONAL_WORD(struct options, meter, "tty")},
	{"verbose", 'v', CLI_FLAG(struct options, verbose)},
	{"color", 0, CLI_WORD(struct options, color, "auto", "always", "never")},
	{"since", 0, CLI_PARSE_AT(parse_time, double, struct options, since)},
	{"before", 0, CLI_PARSE_AT(parse_time, double, struct options, before)},
	{"session", 0, CLI_TEXT(struct options, session)},
	{"basis", 0, CLI_WORD_OF(struct options, basis, usage_bases)},
	{"prices", 0, CLI_TEXT(struct options, prices)},
	{"cache-hour", 0, CLI_FLAG(struct options, cache_hour)},
	{"merge", 0, CLI_FLAG(struct options, merge)},
	{"warn", 0, CLI_PARSE_AT(parse_warn, unsigned, struct options, warn[0])},
	{"warn-cost", 0, CLI_PARSE_AT(parse_money, struct money_list, struct options, warn_cost)},
	{"exec", 0, CLI_TEXT(struct options, exec)},
	{"fail-at", 0, CLI_WORD(struct options, fail_at, "yellow", "orange", "red"), .value = LEVEL_YELLOW},
	{"max-cost", 0, CLI_PARSE_AT(parse_money, struct money_list, struct options, max_cost)},
	{"max-tokens", 0, CLI_TOKENS(struct options, max_tokens)},
	{"fill", 0, CLI_FLAG(struct options, fill)},
	{"size", 0, CLI_PARSE(parse_size)},
	{"pass", 0, CLI_FLAG(struct options, pass)},
	{CLI_ROWS(struct options, frame, watch_options)},
	{0},
};

/* Lists all files that are read, for none of them may be the output. */
static void
list_inputs(struct options *o)
{
	size_t n = 0;

	for (char **file = o->frame.files; file && *file; file++)
		n++;
	o->inputs = calloc(n + 2, sizeof(*o->inputs));
	if (!o->inputs)
		cli_no_memory(tool_name);
	if (n)
		memcpy(o->inputs, o->frame.files, n * sizeof(*o->inputs));
	o->inputs[n] = (char *)(size_t)o->prices;
}

static const struct cli_rule rules[] = {
	{"--cache-hour", "--prices", NULL},
	{"--all", NULL, "--summary|--by|--merge|--format prom"},
	{"--format prom", "--output|recordings", "--summary|--by|--merge|--append"},
	{"--summary|--by|--merge", NULL, "--format csv|--format tsv"},
	{"--sort", "--summary|--by|--merge", NULL},
	{"--fill", NULL, "recordings"},
	{"--size", "--fill", NULL},
	{"--pass", NULL, "recordings|a command|--attach"},
	{"--follow", "one recording", NULL},
	{"--merge", NULL, "--follow|a command|--attach|--warn|--warn-cost|--exec|--fail-at|--max-cost|--max-tokens|--basis|--meter|--hop"
		"|--fill|--pass"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.warn = {75, 90, 95}, .frame = {.reads = true}};
	struct cli_line line;
	int status;

	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	cli_check(&line, rules);
	o.summary |= cli_has(&line, "--by");
	o.warned = cli_has(&line, "--warn");
	o.has_max_tokens = cli_has(&line, "--max-tokens");
	if (o.merge || (!o.pass && !o.fill))
		frame_read_stdin(&o.frame, o.merge);
	list_inputs(&o);
	o.summary |= o.merge;
	status = tool_run(&o);
	for (size_t i = 0; i < o.nsizes; i++)
		free(o.sizes[i].model);
	money_free(&o.warn_cost);
	money_free(&o.max_cost);
	free(o.sizes);
	free(o.inputs);
	return status;
}
