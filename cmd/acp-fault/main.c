/* acp-fault: delays, drops, doubles, reorders and damages messages in a stream of ACP messages. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/fault.h"
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
	"      --pad SIZE        put a text of SIZE bytes into _meta of the message\n"
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
parse_fault(const struct cli_argument *t)
{
	struct rule *r = t->at;
	enum fault fault = (enum fault)t->option->value;
	struct argument *a = &r->of[fault];
	char *words = strdup(t->argument);
	const char *want;

	if (!words)
		cli_no_memory(fault_name);
	want = fault_kind(fault)->read(a, words);
	if (want)
		cli_wrong(t, want);
	a->set = true;
	free(a->words);
	a->words = words;
}

static void
parse_at(const struct cli_argument *t)
{
	struct rule *r = t->at;

	r->timed = true;
	r->relative = *t->argument == '+';
	if (r->relative && (r->line == 0 || r[-1].line == 0))
		cli_wrong(t, "+ counts from the line before, in a plan");
	if (cli_duration(t->argument + r->relative, &r->at) < 0)
		cli_wrong(t, cli_want_duration);
}

/* Reads the name of a signal that ends a process: TERM or SIGTERM. */
static void
parse_signal(const struct cli_argument *t)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
	const char *name = strncmp(t->argument, "SIG", 3) == 0 ? t->argument + 3 : t->argument;
	int s, *exit_signal = t->at;

	for (s = 1; s < NSIG; s++)
		if (proc_signal_name(s) && strcmp(proc_signal_name(s), name) == 0)
			*exit_signal = s;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (*exit_signal == others[i])
			*exit_signal = 0;
	if (!*exit_signal)
		cli_wrong(t, "expected a signal that ends a process, such as KILL or SEGV");
}

/* An option for each kind of fault, and the end of the table. */
static struct cli_option fault_options[FAULTS + 1];

/* The options of a rule, on the command line and in a plan; and those of the command line only. */
static const struct cli_option rule_options[] = {
	{CLI_HERE(fault_options)},
	{CLI_ROWS_BEHIND(struct rule, select, select_options)},
	{"from-match", 0, CLI_COUNT(struct rule, from_match), .least = 1},
	{"every", 0, CLI_COUNT(struct rule, every), .least = 1},
	{"once", 0, CLI_FLAG(struct rule, once)},
	{"at", 0, CLI_PARSE(parse_at)},
	{"torn", 0, CLI_FLAG(struct rule, torn)},
	{"exit-status", 0, CLI_COUNT(struct rule, exit_status), .most = 255},
	{"exit-signal", 0, CLI_PARSE_AT(parse_signal, int, struct rule, exit_signal)},
	{0},
};

/* Checks a rule whose options have all been read. */
static void
check_rule(struct rule *r, struct cli_line *line)
{
	cli_note(line, rule_has_faults(r), "a fault");
	cli_check(line, combinations);
	r->by_time = r->timed && r->from_match == 1 && r->every == 1
		&& (select_match_other(r->select, ACP_CLIENT) || select_match_other(r->select, ACP_AGENT));
}

static struct rule *
add_rule(struct options *o, unsigned line)
{
	struct rule *r;

	o->rules = cli_grow(fault_name, o->rules, o->nrules, sizeof(*r));
	r = &o->rules[o->nrules++];
	*r = (struct rule){.line = line, .exit_status = 1, .from_match = 1, .every = 1, .first_hit = UINT64_MAX, .select = select_new()};
	if (!r->select)
		cli_no_memory(fault_name);
	for (enum fault f = 0; f < FAULTS; f++)
		r->of[f].p = 1;
	return r;
}

/* --- a plan --- */

/* Reads a line of a plan, by the shell's rules for words. where: the place of the line, for errors. */
static void
parse_line(struct options *o, const char *text, unsigned number, const char *where)
{
	const struct cli_tool of_line = {where, NULL, rule_options};
	struct rule *r = add_rule(o, number);
	SCOPED struct buf command = {0};
	struct cli_line line;
	int n = 0;

	/* getopt expects the name of a program before the options. */
	if (buf_printf(&command, "- %s", text) < 0 || !buf_string(&command) || !(r->words = proc_words(command.p)))
		cli_no_memory(fault_name);
	if (strcmp(r->words[0], "-") != 0)
		cli_die(EXIT_USAGE, where, "quote the characters that a shell would expand");
	while (r->words[n])
		n++;
	cli_read(&of_line, n, r->words, r, &line);
	if (line.words[0])
		cli_die(EXIT_USAGE, where, "%s: expected options", line.words[0]);
	if (!rule_has_faults(r))
		cli_die(EXIT_USAGE, where, "no fault");
	check_rule(r, &line);
}

static void
read_plan(struct options *o, const char *name)
{
	FILE *file = fopen(name, "re");
	SCOPED struct buf where = {0};
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
			cli_no_memory(fault_name);
		parse_line(o, text, line, where.p);
	}
	if (!file || ferror(file))
		cli_die(EXIT_USAGE, fault_name, "--plan %s: %s", name, strerror(errno));
	if (o->nrules == 1)
		cli_die(EXIT_USAGE, fault_name, "--plan %s: no fault in it", name);
	fclose(file);
	free(text);
}

/* --- the command line --- */

static void
parse_plan(const struct cli_argument *t)
{
	char **plan = t->at;

	if (*plan)
		cli_wrong(t, "given twice: all faults go into one plan");
	*plan = (char *)(size_t)t->argument;
}

static const struct cli_option options[] = {
	{CLI_ROWS_BEHIND(struct options, rules, rule_options)},
	{"plan", 0, CLI_PARSE_AT(parse_plan, char *, struct options, inputs[0])},
	{"seed", 0, CLI_COUNT(struct options, seed)},
	{"report", 0, CLI_TEXT(struct options, report)},
	{"clean", 0, CLI_FLAG(struct options, frame.clean)},
	{CLI_ROWS(struct options, frame, frame_options)},
	{0},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {fault_name, help, options};
	struct options o = {0};
	struct cli_line line;
	struct rule *r;
	int status;

	for (const struct fault_kind *k = fault_kinds; k < fault_kinds + FAULTS; k++)
		fault_options[k - fault_kinds] = (struct cli_option){k->option, 0, CLI_PARSE(parse_fault), .value = (int)k->fault};
	add_rule(&o, 0);
	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	check_rule(&o.rules[0], &line);
	if (o.report && strcmp(o.report, "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--report -: a file is required, because standard output carries the stream");
	if (o.inputs[0] && strcmp(o.inputs[0], "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--plan -: a file is required, because standard input carries the stream");
	if (o.inputs[0])
		read_plan(&o, o.inputs[0]);
	if (!cli_has(&line, "--seed")) {
		o.seed = chance_seed();
		for (r = o.rules; r < o.rules + o.nrules && !rule_needs_seed(r); r++)
			;
		if (r < o.rules + o.nrules)
			cli_warn(fault_name, "--seed %" PRIu64 " repeats this run", o.seed);
	}
	status = fault_run(&o);
	for (r = o.rules; r < o.rules + o.nrules; r++) {
		select_free(r->select);
		for (enum fault f = 0; f < FAULTS; f++) {
			select_free(r->of[f].method);
			free(r->of[f].words);
		}
		free(r->words);
	}
	free(o.rules);
	return status;
}
