/* acp-budget: holds sessions to token targets, and to limits of cost, tokens, turns and context. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-budget/budget.h"
#include "lib/run/proc.h"

/* One option a line, with its unit and default. The completion of the shell gets options and words from this text. */
static const char help[] =
	"usage: acp-budget [OPTION]... [-- COMMAND [ARG]...]\n"
	"Enforces token targets and limits for each session. COMMAND is the agent.\n"
	"\n"
	"Targets: continue a turn until it has used enough output tokens\n"
	"      --target N        output tokens for each prompt, such as 500k\n"
	"      --from-prompt     take the target from the prompt: \"+500k ...\", \"use 2m\n"
	"                        tokens\"\n"
	"      --threshold P     stop at P percent of the target (90%)\n"
	"      --min-gain N      after 3 continuations, stop when two in a row bring\n"
	"                        fewer than N tokens each (500)\n"
	"      --max-continuations N  continue at most N times (no limit)\n"
	"      --nudge TEXT      text that continues a turn; {percent}, {tokens},\n"
	"                        {target} and {counts} are replaced\n"
	"      --estimate        if the agent reports no usage, count its text, 4 bytes a\n"
	"                        token\n"
	"      --basis auto|turn|call|session  what the counts of a response cover (auto)\n"
	"\n"
	"Limits: refuse further prompts of a session (no limit by default)\n"
	"      --max-cost LIST   cost, such as 5USD or 5USD,20USD/day,50EUR/month\n"
	"      --max-tokens LIST  billed tokens of all kinds, such as 2m or 2m,10m/week\n"
	"      --max-turns N     prompts\n"
	"      --max-context P   percent of the context window that is in use\n"
	"      --hard            at a limit, also cancel the running turn\n"
	"      --max-silence TIME\n"
	"                        report a turn in which the agent is silent for TIME;\n"
	"                        cancel it after twice TIME\n"
	"      --at P=TEXT       when the context is P percent full, send TEXT before the\n"
	"                        next prompt: 80%=/compact\n"
	"\n"
	"Budgets over sessions, processes and days\n"
	"      --ledger FILE|auto  add what is used to this file, and count it from there\n"
	"      --scope user|project|agent|KEY  what of it counts (user)\n"
	"      --strict          refuse prompts if the ledger cannot be read and written\n"
	"      --report          print what the ledger has, and end\n"
	"      --by session|model|day|week|month|project|agent\n"
	"                        for --report: write one row for each (day)\n"
	"\n"
	"Other options\n"
	"      --status stderr|tty|thought|notice|none  where to show progress (stderr)\n"
	"      --max-line SIZE   refuse lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

/* Reads a number from 1 to 100, with or without a percent sign, and then `end`. Returns what is after `end`, or NULL. */
static const char *
percent(const char *text, char end, unsigned *level)
{
	char *p;
	unsigned long n = strtoul(text, &p, 10);

	if (text[0] < '0' || text[0] > '9' || n < 1 || n > 100)
		return NULL;
	if (*p == '%')
		p++;
	*level = (unsigned)n;
	if (*p != end)
		return NULL;
	return end ? p + 1 : p;
}

static void
parse_percent(const struct cli_argument *t)
{
	if (!percent(t->argument, '\0', t->at))
		cli_wrong(t, "expected a whole number of percent from 1% to 100%");
}

static void
parse_money(const struct cli_argument *t)
{
	struct money_list *list = t->at;
	const char *why;

	if (money_read(list, t->argument, true, &why) < 0)
		cli_wrong(t, why);
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].amount.units == 0)
			cli_wrong(t, "expected an amount above 0");
}

/* Reads limits without a currency: 500k,2m/day. */
static void
parse_tokens(const struct cli_argument *t)
{
	struct money_list *list = t->at;
	struct money *m;
	uint64_t n;

	for (const char *p = t->argument, *slash, *end; p; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, ",");
		slash = p + strcspn(p, "/,");
		SCOPED struct buf count = {0};
		if (list->n == MONEY_MOST)
			cli_wrong(t, "too many amounts");
		m = &list->at[list->n];
		if (buf_add_slice(&count, slice_between(p, slash)) || !buf_string(&count) || !(m->currency = strdup("")))
			cli_no_memory(tool_name);
		list->n++;
		if (cli_count(count.p, &n) < 0 || n == 0 || !money_period(slice_between(slash, end), &m->period))
			cli_wrong(t, "expected a number of tokens, such as 500k or 2m/day");
		m->amount.units = (decimal_units)n;
	}
}

static void
parse_scope(const struct cli_argument *t)
{
	static const char *const words[] = {"user", "project", "agent", NULL};
	struct options *o = t->at;

	for (o->scope = SCOPE_USER; words[o->scope] && strcmp(words[o->scope], t->argument) != 0; ++o->scope)
		;
	o->key = t->argument;
	if (!*o->key)
		cli_wrong(t, "expected user, project, agent or a key");
}

static void
parse_at(const struct cli_argument *t)
{
	struct options *o = t->at;
	struct at *at = &o->at[o->nat];

	if (o->nat == ATS_MAX)
		cli_wrong(t, "too many");
	at->text = percent(t->argument, '=', &at->level);
	if (!at->text || !*at->text)
		cli_wrong(t, "expected a level and a text, such as 90%=/compact");
	o->nat++;
}

/* The words of --by, which acp-usage has, too. */
enum { BY_DAY = 2 };
static const char *const by_names[] = {"session", "model", "day", "week", "month", "project", "agent", NULL};

static const struct cli_option options[] = {
	{"target", 0, CLI_TOKENS(struct options, target), .least = 1},
	{"from-prompt", 0, CLI_FLAG(struct options, from_prompt)},
	{"threshold", 0, CLI_PARSE_AT(parse_percent, unsigned, struct options, threshold)},
	{"min-gain", 0, CLI_TOKENS(struct options, min_gain)},
	{"max-continuations", 0, CLI_COUNT(struct options, max_continuations)},
	{"nudge", 0, CLI_TEXT(struct options, nudge), .expected = "expected a text"},
	{"estimate", 0, CLI_FLAG(struct options, estimate)},
	{"basis", 0, CLI_WORD_OF(struct options, basis, usage_bases)},
	{"max-cost", 0, CLI_PARSE_AT(parse_money, struct money_list, struct options, limits)},
	{"max-tokens", 0, CLI_PARSE_AT(parse_tokens, struct money_list, struct options, limits)},
	{"max-turns", 0, CLI_COUNT(struct options, max_turns), .least = 1},
	{"max-context", 0, CLI_PARSE_AT(parse_percent, unsigned, struct options, max_context)},
	{"max-silence", 0, CLI_DURATION(struct options, max_silence), .least = 1},
	{"at", 0, CLI_PARSE(parse_at)},
	{"hard", 0, CLI_FLAG(struct options, hard)},
	{"ledger", 0, CLI_TEXT(struct options, ledger), .expected = "expected a file, or auto"},
	{"scope", 0, CLI_PARSE(parse_scope)},
	{"strict", 0, CLI_FLAG(struct options, strict)},
	{"report", 0, CLI_FLAG(struct options, report)},
	{"by", 0, CLI_WORD_OF(struct options, by, by_names)},
	{"status", 0, CLI_WORD(struct options, status, "stderr", "tty", "thought", "notice", "none")},
	{CLI_ROWS(struct options, frame, frame_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--target", NULL, "--from-prompt"},
	{"--threshold|--min-gain|--max-continuations|--nudge", "--target|--from-prompt", NULL},
	{"--hard", "--max-cost|--max-tokens|--max-turns|--max-context", NULL},
	{"--scope|--strict", "a ledger", NULL},
	{"--by", "--report", NULL},
	{"--report", NULL, "a command|--target|--from-prompt|--max-cost|--max-tokens|--max-turns|--max-context|"
		"--max-silence|--at|--scope|--strict"},
	{NULL, NULL, NULL},
};

/* Becomes acp-usage, which prints the report. */
_Noreturn static void
report(const struct options *o)
{
	static const char name[] = "acp-usage";
	char *path = ledger_path(o->ledger), *program = proc_beside(name);
	const char *const argv[] = {name, "--merge", "--by", by_names[o->by], path, NULL};

	if (!path)
		cli_no_memory(tool_name);
	/* acp-usage would report an unreadable ledger under its own name. */
	if (access(path, R_OK) < 0)
		cli_die(EXIT_USAGE, tool_name, "%s: %s", path, strerror(errno));
	/* The manual of exec promises that the arguments are not changed. */
	execvp(program ? program : name, (char **)(size_t)argv);
	exit(cli_not_started(tool_name, name, true, errno));
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.threshold = 90, .min_gain = 500, .max_continuations = UINT64_MAX, .nudge = default_nudge,
		.max_turns = UINT64_MAX, .by = BY_DAY};
	struct cli_line line;
	bool periods = false;
	int status;

	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	/* A limit over a period needs a ledger, since a period is longer than a process. */
	for (size_t i = 0; i < o.limits.n; i++)
		periods |= o.limits.at[i].period != CALENDAR_ALWAYS;
	if (!o.ledger && (periods || o.report))
		o.ledger = "auto";
	cli_note(&line, o.ledger, "a ledger");
	cli_check(&line, rules);
	if (o.report)
		report(&o);
	if (!o.target && !o.from_prompt && o.nat == 0 && o.limits.n == 0 && o.max_turns == UINT64_MAX && !o.max_context && !o.max_silence
		&& !o.ledger)
		cli_die(EXIT_USAGE, tool_name, "nothing to enforce: give --target, --from-prompt, a limit, --ledger or --at");
	status = filter_run(&o);
	money_free(&o.limits);
	return status;
}
