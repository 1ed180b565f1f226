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

enum {
	OPT_TARGET = 256, OPT_FROM_PROMPT, OPT_THRESHOLD, OPT_MIN_GAIN, OPT_MAX_CONTINUATIONS, OPT_NUDGE, OPT_ESTIMATE, OPT_BASIS,
	OPT_MAX_COST, OPT_MAX_TOKENS, OPT_MAX_TURNS, OPT_MAX_CONTEXT, OPT_MAX_SILENCE, OPT_AT, OPT_HARD, OPT_STATUS,
};

static const struct option options[] = {
	{"target", required_argument, NULL, OPT_TARGET},
	{"from-prompt", no_argument, NULL, OPT_FROM_PROMPT},
	{"threshold", required_argument, NULL, OPT_THRESHOLD},
	{"min-gain", required_argument, NULL, OPT_MIN_GAIN},
	{"max-continuations", required_argument, NULL, OPT_MAX_CONTINUATIONS},
	{"nudge", required_argument, NULL, OPT_NUDGE},
	{"estimate", no_argument, NULL, OPT_ESTIMATE},
	{"basis", required_argument, NULL, OPT_BASIS},
	{"max-cost", required_argument, NULL, OPT_MAX_COST},
	{"max-tokens", required_argument, NULL, OPT_MAX_TOKENS},
	{"max-turns", required_argument, NULL, OPT_MAX_TURNS},
	{"max-context", required_argument, NULL, OPT_MAX_CONTEXT},
	{"max-silence", required_argument, NULL, OPT_MAX_SILENCE},
	{"at", required_argument, NULL, OPT_AT},
	{"hard", no_argument, NULL, OPT_HARD},
	{"status", required_argument, NULL, OPT_STATUS},
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+hV", options};

static uint64_t
number(int option, const char *argument, uint64_t least, const char *expected)
{
	uint64_t n;

	if (cli_count(argument, &n) < 0 || n < least || n == UINT64_MAX)
		cli_bad(&cli, option, argument, expected);
	return n;
}

/* 1 to 100, with its sign or without; then `end`. Returns what is behind that, or NULL. */
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
take_money(struct options *o, const char *argument)
{
	const char *why;
	size_t i;

	if (money_read(&o->max_cost, argument, &why) < 0)
		cli_bad(&cli, OPT_MAX_COST, argument, why);
	for (i = 0; i < o->max_cost.n; i++)
		if (o->max_cost.at[i].amount.units == 0)
			cli_bad(&cli, OPT_MAX_COST, argument, "expected an amount above 0");
}

static void
take_at(struct options *o, const char *argument)
{
	struct at *at = &o->at[o->nat];

	if (o->nat == AT_MOST)
		cli_bad(&cli, OPT_AT, argument, "too many");
	at->text = percent(argument, '=', &at->level);
	if (!at->text || !*at->text)
		cli_bad(&cli, OPT_AT, argument, "expected a level and a text, such as 90%=/compact");
	o->nat++;
}

static void
take_target(struct options *o, int option, const char *argument)
{
	switch (option) {
	case OPT_TARGET:
		o->target = number(option, argument, 1, "expected a number of tokens, such as 500k");
		break;
	case OPT_FROM_PROMPT:
		o->from_prompt = true;
		break;
	case OPT_THRESHOLD:
		if (!percent(argument, '\0', &o->threshold))
			cli_bad(&cli, OPT_THRESHOLD, argument, "expected a whole number of percent from 1% to 100%");
		break;
	case OPT_MIN_GAIN:
		o->min_gain = number(option, argument, 0, "expected a number of tokens, such as 500");
		break;
	case OPT_MAX_CONTINUATIONS:
		o->max_continuations = number(option, argument, 0, "expected a number");
		break;
	case OPT_NUDGE:
		if (!*argument)
			cli_bad(&cli, OPT_NUDGE, "''", "expected a text");
		o->nudge = argument;
		break;
	case OPT_ESTIMATE:
		o->estimate = true;
		break;
	}
}

static void
take_limit(struct options *o, int option, const char *argument)
{
	switch (option) {
	case OPT_MAX_COST:
		take_money(o, argument);
		break;
	case OPT_MAX_TOKENS:
		o->max_tokens = number(option, argument, 1, "expected a number of tokens, such as 500k");
		break;
	case OPT_MAX_TURNS:
		o->max_turns = number(option, argument, 1, "expected a number from 1 on");
		break;
	case OPT_MAX_CONTEXT:
		if (!percent(argument, '\0', &o->max_context))
			cli_bad(&cli, OPT_MAX_CONTEXT, argument, "expected a whole number of percent from 1% to 100%");
		break;
	case OPT_MAX_SILENCE:
		if (cli_duration(argument, &o->max_silence) < 0 || o->max_silence == 0)
			cli_bad(&cli, option, argument, cli_want_duration);
		break;
	case OPT_AT:
		take_at(o, argument);
		break;
	case OPT_HARD:
		o->hard = true;
		break;
	}
}

static void
take_option(void *arg, int option, const char *argument)
{
	static const char *const bases[] = {"auto", "turn", "call", "session", NULL};
	static const char *const where[] = {"stderr", "tty", "thought", "notice", "none", NULL};
	struct options *o = arg;

	switch (option) {
	case OPT_BASIS:
		o->basis = (enum usage_basis)cli_word(&cli, option, argument, bases);
		break;
	case OPT_STATUS:
		o->status = (enum status)cli_word(&cli, option, argument, where);
		break;
	default:
		take_target(o, option, argument);
		take_limit(o, option, argument);
	}
}

static bool
has_limit(const struct options *o)
{
	return o->max_cost.n > 0 || o->max_tokens != UINT64_MAX || o->max_turns != UINT64_MAX || o->max_context > 0;
}

static const struct cli_rule rules[] = {
	{"--target", NULL, "--from-prompt"},
	{"--threshold|--min-gain|--max-continuations|--nudge", "--target|--from-prompt", NULL},
	{"--hard", "--max-cost|--max-tokens|--max-turns|--max-context", NULL},
	{NULL, NULL, NULL},
};

static void
check(const struct options *o, const struct cli_given *given)
{
	cli_check(&cli, given, rules);
	if (!o->target && !o->from_prompt && o->nat == 0 && !has_limit(o) && !o->max_silence)
		cli_die(EXIT_USAGE, tool_name, "nothing to enforce: give --target, --from-prompt, a limit or --at");
}

int
main(int argc, char **argv)
{
	struct options o = {.threshold = 90, .min_gain = 500, .max_continuations = UINT64_MAX, .nudge = default_nudge,
		.max_tokens = UINT64_MAX, .max_turns = UINT64_MAX};
	int status;
	struct cli_given given = {0};

	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	check(&o, &given);
	status = filter_run(&o);
	money_free(&o.max_cost);
	return status;
}
