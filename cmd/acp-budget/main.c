/* acp-budget: holds sessions to token targets, and to limits of cost, tokens, turns and context. */
#include <stdlib.h>

#include "cmd/acp-budget/budget.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
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
	"      --max-cost LIST   cost, such as 5USD or 5USD,5EUR\n"
	"      --max-tokens N    billed tokens of all kinds\n"
	"      --max-turns N     prompts\n"
	"      --max-context P   percent of the context window that is in use\n"
	"      --hard            at a limit, also cancel the running turn\n"
	"      --max-silence TIME\n"
	"                        report a turn in which the agent is silent for TIME;\n"
	"                        cancel it after twice TIME\n"
	"      --at P=TEXT       when the context is P percent full, send TEXT before the\n"
	"                        next prompt: 80%=/compact\n"
	"\n"
	"Other options\n"
	"      --status stderr|tty|thought|notice|none  where to show progress (stderr)\n"
	"      --max-line SIZE   refuse lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

/* 1 to 100, with its sign or without; then `end`. Returns what is after that, or NULL. */
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
take_percent(const struct cli_taken *t)
{
	if (!percent(t->argument, '\0', t->at))
		cli_wrong(t, "expected a whole number of percent from 1% to 100%");
}

static void
take_money(const struct cli_taken *t)
{
	struct money_list *list = t->at;
	const char *why;

	if (money_read(list, t->argument, &why) < 0)
		cli_wrong(t, why);
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].amount.units == 0)
			cli_wrong(t, "expected an amount above 0");
}

static void
take_at(const struct cli_taken *t)
{
	struct options *o = t->at;
	struct at *at = &o->at[o->nat];

	if (o->nat == AT_MOST)
		cli_wrong(t, "too many");
	at->text = percent(t->argument, '=', &at->level);
	if (!at->text || !*at->text)
		cli_wrong(t, "expected a level and a text, such as 90%=/compact");
	o->nat++;
}

static const struct cli_option options[] = {
	{"target", 0, CLI_TOKENS(struct options, target), .least = 1},
	{"from-prompt", 0, CLI_FLAG(struct options, from_prompt)},
	{"threshold", 0, CLI_TAKE_AT(take_percent, unsigned, struct options, threshold)},
	{"min-gain", 0, CLI_TOKENS(struct options, min_gain)},
	{"max-continuations", 0, CLI_COUNT(struct options, max_continuations)},
	{"nudge", 0, CLI_TEXT(struct options, nudge), .expected = "expected a text"},
	{"estimate", 0, CLI_FLAG(struct options, estimate)},
	{"basis", 0, CLI_WORD(struct options, basis, "auto", "turn", "call", "session")},
	{"max-cost", 0, CLI_TAKE_AT(take_money, struct money_list, struct options, max_cost)},
	{"max-tokens", 0, CLI_TOKENS(struct options, max_tokens), .least = 1},
	{"max-turns", 0, CLI_COUNT(struct options, max_turns), .least = 1},
	{"max-context", 0, CLI_TAKE_AT(take_percent, unsigned, struct options, max_context)},
	{"max-silence", 0, CLI_DURATION(struct options, max_silence), .least = 1},
	{"at", 0, CLI_TAKE(take_at)},
	{"hard", 0, CLI_FLAG(struct options, hard)},
	{"status", 0, CLI_WORD(struct options, status, "stderr", "tty", "thought", "notice", "none")},
	{CLI_ROWS(struct options, frame, frame_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--target", NULL, "--from-prompt"},
	{"--threshold|--min-gain|--max-continuations|--nudge", "--target|--from-prompt", NULL},
	{"--hard", "--max-cost|--max-tokens|--max-turns|--max-context", NULL},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.threshold = 90, .min_gain = 500, .max_continuations = UINT64_MAX, .nudge = default_nudge,
		.max_tokens = UINT64_MAX, .max_turns = UINT64_MAX};
	struct cli_line line;
	int status;

	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	cli_check(&line, rules);
	if (!o.target && !o.from_prompt && o.nat == 0 && o.max_cost.n == 0 && o.max_tokens == UINT64_MAX && o.max_turns == UINT64_MAX
		&& !o.max_context && !o.max_silence)
		cli_die(EXIT_USAGE, tool_name, "nothing to enforce: give --target, --from-prompt, a limit or --at");
	status = filter_run(&o);
	money_free(&o.max_cost);
	return status;
}
