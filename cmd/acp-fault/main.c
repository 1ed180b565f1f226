/* acp-fault: delays, drops, doubles, reorders and damages messages in a stream of ACP messages. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/fault.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-fault [OPTION]... [-- COMMAND [ARG]...]\n"
	"Applies faults to selected messages. P is a probability, 0.1 or 10%; TIME is\n"
	"20ms, 5s or 2m; N is a number; METHOD may be a pattern.\n"
	"\n"
	"Faults\n"
	"      --noise P         write a line that is not a message before the message\n"
	"      --error METHOD=CODE[,MESSAGE]  answer the request with this error\n"
	"      --hang METHOD     discard the request, so that it gets no response\n"
	"      --drop P          discard the message\n"
	"      --stale-session P  replace the session id by an unknown one\n"
	"      --wrong-id P      replace the id of a response by an unknown one\n"
	"      --id-type P       change the type of the id of a response\n"
	"      --corrupt P       change one byte\n"
	"      --truncate P      cut the line short\n"
	"      --duplicate P     send the message twice\n"
	"      --reorder P[,TIME]  send the message after the next, or after TIME (1s)\n"
	"      --overtake P[,TIME]\n"
	"                        send a notification after the next response, or after\n"
	"                        TIME (1s)\n"
	"      --delay TIME[,JITTER]\n"
	"                        delay the message by TIME, plus or minus a random part\n"
	"                        of JITTER\n"
	"      --stall TIME      stop the direction of the message for TIME\n"
	"      --split N[,TIME]  write N bytes at a time, with pauses of TIME (1ms)\n"
	"      --bandwidth RATE  write RATE bytes a second\n"
	"      --close-after N   close the direction after the Nth message\n"
	"      --exit-after N    exit after the Nth message\n"
	"      --torn            with --exit-after, cut the last message\n"
	"      --exit-status N   with --exit-after, exit with this status (1)\n"
	"      --exit-signal NAME  with --exit-after, die by this signal\n"
	"      --linger TIME     delay the end of a direction\n"
	"\n"
	"Which messages, and when\n"
	"  -m, --match GLOB      only this method or kind of update; !GLOB excludes\n"
	"  -w, --where JQ        only messages for which JQ is true\n"
	"      --from client|agent  only messages of this side\n"
	"      --kind request|response|notification  only these messages\n"
	"      --session ID      only this session\n"
	"      --from-match N    apply each fault from its Nth match on\n"
	"      --every N         apply each fault to every Nth match\n"
	"      --once            apply each fault once\n"
	"      --at TIME         apply each fault once, TIME after the start; in a plan,\n"
	"                        +TIME counts from the line before\n"
	"\n"
	"Other options\n"
	"      --plan FILE       read more faults: each line has options as above\n"
	"      --seed N          seed of all random decisions (chosen for each run)\n"
	"      --report FILE     write which faults were applied, one JSON object a line\n"
	"      --clean           write lines that are not messages to stderr instead of\n"
	"                        forwarding them\n"
	"      --max-line SIZE   drop lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

enum {
	OPT_FAULT = 256, /* and FAULTS after it: each fault has one */
	OPT_FROM_MATCH = OPT_FAULT + FAULTS,
	OPT_EVERY,
	OPT_ONCE,
	OPT_AT,
	OPT_TORN,
	OPT_EXIT_STATUS,
	OPT_EXIT_SIGNAL,
	OPT_SEED,
	OPT_REPORT,
	OPT_PLAN,
};

/* What a rule has beside its faults, on the command line and in a plan; and the command line alone. */
static const struct option rule_options[] = {
	SELECT_LONG_OPTIONS,
	{"from-match", required_argument, NULL, OPT_FROM_MATCH},
	{"every", required_argument, NULL, OPT_EVERY},
	{"once", no_argument, NULL, OPT_ONCE},
	{"at", required_argument, NULL, OPT_AT},
	{"torn", no_argument, NULL, OPT_TORN},
	{"exit-status", required_argument, NULL, OPT_EXIT_STATUS},
	{"exit-signal", required_argument, NULL, OPT_EXIT_SIGNAL},
};
static const struct option stream_options[] = {
	{"seed", required_argument, NULL, OPT_SEED},
	{"report", required_argument, NULL, OPT_REPORT},
	{"plan", required_argument, NULL, OPT_PLAN},
	FRAME_LONG_OPTION_CLEAN,
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};
enum { RULE = sizeof(rule_options) / sizeof(rule_options[0]), STREAM = sizeof(stream_options) / sizeof(stream_options[0]) };
/* All of a plan, and of the command line, with one for each kind of fault: set by list_options. */
static struct option plan_options[RULE + FAULTS + 1], options[RULE + FAULTS + STREAM];

static void
list_options(void)
{
	const struct fault_kind *k;

	memcpy(plan_options, rule_options, sizeof(rule_options));
	for (k = fault_kinds; k < fault_kinds + FAULTS; k++)
		plan_options[RULE + (k - fault_kinds)] = (struct option){k->option, required_argument, NULL, OPT_FAULT + (int)k->fault};
	memcpy(options, plan_options, sizeof(plan_options));
	memcpy(options + RULE + FAULTS, stream_options, sizeof(stream_options));
}

static const struct cli cli = {fault_name, help, "+m:w:hV", options};

static const struct cli_rule combinations[] = {
	{"--match|--where|--from|--kind|--session|--from-match|--every|--once|--at", "a fault", NULL},
	{"--torn|--exit-status|--exit-signal", "--exit-after", NULL},
	{"--exit-status", NULL, "--exit-signal"},
	{"--exit-after|--close-after", NULL, "--once"},
	{"--linger", NULL, "--match|--where|--kind|--session|--from-match|--every|--once|--at"},
	{NULL, NULL, NULL},
};

/* --- a rule --- */

static void
no_memory(void)
{
	cli_refuse(&cli, NULL);
}

static void
take_fault(const struct cli *c, struct rule *r, int option, const char *argument)
{
	struct argument *a = &r->of[option - OPT_FAULT];
	char *words = strdup(argument);
	const char *want;

	if (!words)
		no_memory();
	want = fault_kind((enum fault)(option - OPT_FAULT))->take(a, words);
	if (want)
		cli_bad(c, option, argument, want);
	a->set = true;
	free(a->words);
	a->words = words;
}

static void
take_at(const struct cli *c, struct rule *r, const char *argument)
{
	r->timed = true;
	r->relative = *argument == '+';
	if (r->relative && (r->line == 0 || r[-1].line == 0))
		cli_bad(c, OPT_AT, argument, "+ counts from the line before, in a plan");
	if (cli_duration(argument + r->relative, &r->at) < 0)
		cli_bad(c, OPT_AT, argument, cli_want_duration);
}

/* What ends a process, in words: TERM, SIGTERM. */
static void
take_signal(const struct cli *c, struct rule *r, const char *argument)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
	const char *name = strncmp(argument, "SIG", 3) == 0 ? argument + 3 : argument;
	size_t i;
	int s;

	for (s = 1; s < NSIG; s++)
		if (proc_signal_name(s) && strcmp(proc_signal_name(s), name) == 0)
			r->exit_signal = s;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (r->exit_signal == others[i])
			r->exit_signal = 0;
	if (!r->exit_signal)
		cli_bad(c, OPT_EXIT_SIGNAL, argument, "expected a signal that ends a process, such as KILL or SEGV");
}

static uint64_t
take_number(const struct cli *c, int option, const char *argument)
{
	uint64_t n;

	if (cli_count(argument, &n) < 0 || n == 0)
		cli_bad(c, option, argument, "expected a number, at least 1");
	return n;
}

static void
take_rule_option(const struct cli *c, struct rule *r, int option, const char *argument)
{
	uint64_t n;

	switch (option) {
	case OPT_FROM_MATCH:
		r->from_match = take_number(c, option, argument);
		break;
	case OPT_EVERY:
		r->every = take_number(c, option, argument);
		break;
	case OPT_ONCE:
		r->once = true;
		break;
	case OPT_AT:
		take_at(c, r, argument);
		break;
	case OPT_TORN:
		r->torn = true;
		break;
	case OPT_EXIT_STATUS:
		if (cli_count(argument, &n) < 0 || n > 255)
			cli_bad(c, option, argument, "expected a number from 0 to 255");
		r->exit_status = (int)n;
		break;
	case OPT_EXIT_SIGNAL:
		take_signal(c, r, argument);
		break;
	default:
		if (option >= OPT_FAULT && option < OPT_FAULT + FAULTS)
			take_fault(c, r, option, argument);
		else
			select_read(r->select, c, option, argument);
	}
}

/* Checks a rule whose options have all been read. */
static void
check_rule(const struct cli *c, struct rule *r, struct cli_given *given)
{
	cli_fact(given, rule_has_faults(r), "a fault");
	cli_check(c, given, combinations);
	r->by_time = r->timed && (select_match_other(r->select, ACP_CLIENT) || select_match_other(r->select, ACP_AGENT));
}

static struct rule *
add_rule(struct options *o, unsigned line)
{
	struct rule *all = realloc(o->rules, (o->nrules + 1) * sizeof(*all));

	if (!all || rule_init(&all[o->nrules]) < 0)
		no_memory();
	o->rules = all;
	all[o->nrules].line = line;
	return &all[o->nrules++];
}

/* --- a plan --- */

/* text: the line, as a shell would read it; where it is in words. */
static void
take_line(struct options *o, const char *text, unsigned line, const char *where)
{
	const struct cli c = {where, help, "+m:w:", plan_options};
	struct rule *r = add_rule(o, line);
	struct cli_given given = {0};
	int n = 0, option;
	struct buf command = {0};

	/* getopt wants a word before the options. */
	if (buf_printf(&command, "- %s", text) < 0 || !buf_string(&command) || !(r->words = proc_words(command.p)))
		no_memory();
	buf_free(&command);
	if (strcmp(r->words[0], "-") != 0)
		cli_refuse(&c, "quote the characters that a shell would expand");
	while (r->words[n])
		n++;
	cli_again();
	while ((option = cli_next(&c, n, r->words, &given)) != -1)
		take_rule_option(&c, r, option, optarg);
	if (r->words[optind])
		cli_die(EXIT_USAGE, where, "%s: expected options", r->words[optind]);
	if (!rule_has_faults(r))
		cli_refuse(&c, "no fault");
	check_rule(&c, r, &given);
}

static void
read_plan(struct options *o, const char *name)
{
	FILE *file = fopen(name, "re");
	struct buf where = {0};
	char *text = NULL;
	size_t cap = 0, at;
	unsigned line = 0;

	while (file && getline(&text, &cap, file) >= 0) {
		line++;
		text[strcspn(text, "\n")] = '\0';
		at = strspn(text, " \t\r");
		if (text[at] == '\0' || text[at] == '#')
			continue;
		where.n = 0;
		if (buf_printf(&where, "%s: %s: line %u", fault_name, name, line) < 0 || !buf_string(&where))
			no_memory();
		take_line(o, text, line, where.p);
	}
	if (!file || ferror(file))
		cli_die(EXIT_USAGE, fault_name, "--plan %s: %s", name, strerror(errno));
	if (o->nrules == 1)
		cli_die(EXIT_USAGE, fault_name, "--plan %s: no fault in it", name);
	fclose(file);
	free(text);
	buf_free(&where);
}

/* --- the rest --- */

struct command_line {
	struct options options;
	bool seeded;
	const char *plan; /* or NULL */
};

static void
take_option(void *arg, int option, const char *argument)
{
	struct command_line *l = arg;
	struct options *o = &l->options;

	if (option == OPT_SEED && cli_count(argument, &o->seed) < 0)
		cli_bad(&cli, option, argument, "expected a whole number");
	if (option == OPT_SEED)
		l->seeded = true;
	if (option == OPT_REPORT)
		o->report = argument;
	if (option == OPT_PLAN && l->plan)
		cli_bad(&cli, option, argument, "given twice: all faults go into one plan");
	if (option == OPT_PLAN)
		l->plan = o->inputs[0] = (char *)(size_t)argument;
	take_rule_option(&cli, &o->rules[0], option, argument);
}

static void
choose_seed(struct options *o)
{
	bool needed = false;
	size_t i;

	o->seed = chance_seed();
	for (i = 0; i < o->nrules; i++)
		needed |= rule_needs_seed(&o->rules[i]);
	if (needed)
		cli_warn(fault_name, "--seed %" PRIu64 " repeats this run", o->seed);
}

int
main(int argc, char **argv)
{
	struct command_line l = {0};
	struct options *o = &l.options;
	struct cli_given given = {0};
	int status;
	size_t i;

	list_options();
	add_rule(o, 0);
	frame_read(&o->frame, &cli, argc, argv, &given, take_option, &l);
	check_rule(&cli, &o->rules[0], &given);
	if (o->report && strcmp(o->report, "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--report -: a file is required, because standard output carries the stream");
	if (l.plan && strcmp(l.plan, "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--plan -: a file is required, because standard input carries the stream");
	if (l.plan)
		read_plan(o, l.plan);
	if (!l.seeded)
		choose_seed(o);
	status = fault_run(o);
	for (i = 0; i < o->nrules; i++)
		rule_free(&o->rules[i]);
	free(o->rules);
	return status;
}
