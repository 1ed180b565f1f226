/* acp-fault: delays, drops, doubles, reorders and damages messages in a stream of ACP messages. */
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/fault.h"
#include "lib/cli.h"

/* A screen at most. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-fault [OPTION]... [-- COMMAND [ARG]...]   P: 0.1 or 10%, TIME: 20ms\n"
	"  -m, --match GLOB      only this method or kind of update; !GLOB: not this\n"
	"  -w, --where JQ        only messages for which the jq program is true\n"
	"      --from client|agent   only what this side sent\n"
	"      --session ID      only this session\n"
	"      --delay TIME[,JITTER]   each is late, by JITTER more or less; order stays\n"
	"      --drop P          a message gets lost\n"
	"      --duplicate P     comes twice\n"
	"      --reorder P[,TIME]   comes behind the next, or after TIME (1s)\n"
	"      --corrupt P       one byte is another\n"
	"      --truncate P      the line is cut short\n"
	"      --stall TIME      its direction stands still before each\n"
	"      --noise P         a line that is no message comes before it\n"
	"      --exit-after N    dies behind the Nth message\n"
	"      --seed N          the same faults again\n"
	"      --report FILE     what was done to which message (JSON)\n"
	"      --clean           noise goes to stderr, not on\n"
	"      --max-line SIZE   longer lines are dropped (64M)\n"
	"      --way pipe|link|proxy   how to meet the stream\n"
	"      --grace TIME      how long the agent has to end after the client (5s)\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

/* Each fault has an option of its name. */
enum {
	OPT_FAULT = 256, /* and FAULTS behind it */
	OPT_FROM = OPT_FAULT + FAULTS,
	OPT_SESSION,
	OPT_SEED,
	OPT_REPORT,
	OPT_CLEAN,
	OPT_MAX_LINE,
	OPT_WAY,
	OPT_GRACE,
};

static const struct option long_options[] = {
	{"match", required_argument, NULL, 'm'},
	{"where", required_argument, NULL, 'w'},
	{"from", required_argument, NULL, OPT_FROM},
	{"session", required_argument, NULL, OPT_SESSION},
	{"delay", required_argument, NULL, OPT_FAULT + FAULT_DELAY},
	{"drop", required_argument, NULL, OPT_FAULT + FAULT_DROP},
	{"duplicate", required_argument, NULL, OPT_FAULT + FAULT_DUPLICATE},
	{"reorder", required_argument, NULL, OPT_FAULT + FAULT_REORDER},
	{"corrupt", required_argument, NULL, OPT_FAULT + FAULT_CORRUPT},
	{"truncate", required_argument, NULL, OPT_FAULT + FAULT_TRUNCATE},
	{"stall", required_argument, NULL, OPT_FAULT + FAULT_STALL},
	{"noise", required_argument, NULL, OPT_FAULT + FAULT_NOISE},
	{"exit-after", required_argument, NULL, OPT_FAULT + FAULT_EXIT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"report", required_argument, NULL, OPT_REPORT},
	{"clean", no_argument, NULL, OPT_CLEAN},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"way", required_argument, NULL, OPT_WAY},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

_Noreturn static void
bad(const char *option, const char *argument, const char *why)
{
	cli_die(EXIT_USAGE, fault_name, "--%s %s: %s", option, argument, why ? why : "out of memory");
}

static const char *
option_name(int option)
{
	const struct option *o = long_options;

	while (o->val != option)
		o++;
	return o->name;
}

/* --- the faults --- */

static const char want_time[] = "expected a time, such as 20ms";

/* What stands behind the comma, cut off; NULL where there is none. Never returns out of memory. */
static char *
split(char *argument)
{
	char *comma = strchr(argument, ',');

	if (comma)
		*comma++ = '\0';
	return comma;
}

static void
take_delay(struct options *o, const char *argument, char *first)
{
	const char *second = split(first);

	if (cli_duration(first, &o->delay) < 0 || (second && cli_duration(second, &o->jitter) < 0))
		bad("delay", argument, "expected a time, or two with a comma between, such as 100ms,20ms");
	if (o->jitter > o->delay)
		bad("delay", argument, "more jitter than delay");
}

static void
take_reorder(struct options *o, const char *argument, char *first)
{
	const char *second = split(first);

	if (cli_probability(first, &o->probability[FAULT_REORDER]) < 0 || (second && cli_duration(second, &o->late) < 0))
		bad("reorder", argument, "expected a probability, and a time behind a comma, such as 10%,500ms");
}

static void
take_fault(struct options *o, enum fault fault, const char *argument)
{
	char *copy = strdup(argument);

	if (!copy)
		cli_die(EXIT_FAILED, fault_name, "out of memory");
	switch (fault) {
	case FAULT_DELAY:
		take_delay(o, argument, copy);
		break;
	case FAULT_REORDER:
		take_reorder(o, argument, copy);
		break;
	case FAULT_STALL:
		if (cli_duration(argument, &o->stall) < 0)
			bad("stall", argument, want_time);
		break;
	case FAULT_EXIT:
		if (cli_count(argument, &o->exit_after) < 0 || o->exit_after == 0)
			bad("exit-after", argument, "expected a number, 1 at least");
		break;
	default:
		if (cli_probability(argument, &o->probability[fault]) < 0)
			bad(option_name(OPT_FAULT + (int)fault), argument, "expected a probability, such as 0.1 or 10%");
	}
	free(copy);
}

/* --- the rest --- */

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
	bad("way", name, "expected pipe, link or proxy");
}

/* The options of selection. */
static void
select_by(struct options *o, int option, const char *argument)
{
	static const struct {
		int option;
		int (*take)(struct select *, const char *, char **why);
	} by[] = {{'m', select_glob}, {'w', select_where}, {OPT_FROM, select_from}, {OPT_SESSION, select_session}};
	char *why = NULL;
	size_t i;

	for (i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		if (by[i].option == option && by[i].take(o->select, argument, &why) < 0)
			bad(option_name(option), argument, why);
}

static void
take_option(struct options *o, bool *seeded, int option, const char *argument)
{
	switch (option) {
	case 'm':
	case 'w':
	case OPT_FROM:
	case OPT_SESSION:
		select_by(o, option, argument);
		break;
	case OPT_SEED:
		if (cli_count(argument, &o->seed) < 0)
			bad("seed", argument, "expected a whole number");
		*seeded = true;
		break;
	case OPT_REPORT:
		o->report = argument;
		break;
	case OPT_CLEAN:
		o->frame.clean = true;
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(argument, &o->frame.limit) < 0)
			bad("max-line", argument, "expected a number of bytes, such as 64M");
		break;
	case OPT_WAY:
		o->frame.way = way_named(argument);
		break;
	case OPT_GRACE:
		if (cli_duration(argument, &o->frame.grace) < 0)
			bad("grace", argument, want_time);
		break;
	case 'h':
		cli_print(fault_name, help);
	case 'V':
		cli_print(fault_name, "acp-fault " VERSION "\n");
	default:
		if (option < OPT_FAULT || option >= OPT_FROM)
			cli_die(EXIT_USAGE, fault_name, "try acp-fault --help");
		take_fault(o, (enum fault)(option - OPT_FAULT), argument);
	}
}

/* Does anything depend on the seed? */
static bool
plays_dice(const struct options *o)
{
	const double *p = o->probability;
	enum fault f;

	for (f = 0; f < FAULTS; f++)
		if (p[f] > 0 && p[f] < 1)
			return true;
	return p[FAULT_CORRUPT] > 0 || p[FAULT_TRUNCATE] > 0 || p[FAULT_NOISE] > 0 || o->jitter > 0;
}

static void
choose_seed(struct options *o)
{
	o->seed = chance_seed();
	if (plays_dice(o))
		cli_warn(fault_name, "--seed %" PRIu64 " does the same again", o->seed);
}

/* Only a -- that ends the options is stepped over without being one. */
static void
take_command(struct options *o, char **words, bool command)
{
	if (command && !*words)
		cli_die(EXIT_USAGE, fault_name, "no command after --");
	if (!command && *words)
		cli_die(EXIT_USAGE, fault_name, "%s: a command goes behind --", *words);
	if (command)
		o->frame.command = words;
	if (command && o->frame.way != FRAME_AUTO)
		cli_die(EXIT_USAGE, fault_name, "--way is for a stream without a command");
	if (o->report && strcmp(o->report, "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--report -: a file is wanted, for standard output carries the stream");
}

int
main(int argc, char **argv)
{
	struct options o = {.late = 1000 * 1000, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	bool seeded = false;
	int option, before, status;

	setlocale(LC_CTYPE, "");
	o.select = select_new();
	if (!o.select)
		cli_die(EXIT_FAILED, fault_name, "out of memory");
	do {
		before = optind;
		option = getopt_long(argc, argv, "+m:w:hV", long_options, NULL);
		if (option != -1)
			take_option(&o, &seeded, option, optarg);
	} while (option != -1);
	take_command(&o, argv + optind, optind > before);
	if (!seeded)
		choose_seed(&o);
	status = fault_run(&o);
	select_free(o.select);
	return status;
}
