/* acp-fault: delays, drops, doubles, reorders and damages messages in a stream of ACP messages. */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-fault/fault.h"
#include "lib/cli.h"
#include "lib/frame_options.h"

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
	OPT_SEED = OPT_FAULT + FAULTS,
	OPT_REPORT,
};

static const struct option options[] = {
	SELECT_LONG_OPTIONS,
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
	FRAME_LONG_OPTION_CLEAN,
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {fault_name, help, "+m:w:hV", options};

/* --- the faults --- */

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
		cli_bad(&cli, OPT_FAULT + FAULT_DELAY, argument, "expected a duration, or two with a comma between, such as 100ms,20ms");
	if (o->jitter > o->delay)
		cli_bad(&cli, OPT_FAULT + FAULT_DELAY, argument, "more jitter than delay");
}

static void
take_reorder(struct options *o, const char *argument, char *first)
{
	const char *second = split(first);

	if (cli_probability(first, &o->probability[FAULT_REORDER]) < 0 || (second && cli_duration(second, &o->late) < 0))
		cli_bad(&cli, OPT_FAULT + FAULT_REORDER, argument, "expected a probability, and a duration behind a comma, such as 10%,500ms");
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
			cli_bad(&cli, OPT_FAULT + FAULT_STALL, argument, cli_want_duration);
		break;
	case FAULT_EXIT:
		if (cli_count(argument, &o->exit_after) < 0 || o->exit_after == 0)
			cli_bad(&cli, OPT_FAULT + FAULT_EXIT, argument, "expected a number, 1 at least");
		break;
	default:
		if (cli_probability(argument, &o->probability[fault]) < 0)
			cli_bad(&cli, OPT_FAULT + (int)fault, argument, "expected a probability, such as 0.1 or 10%");
	}
	free(copy);
}

/* --- the rest --- */

static void
take_option(struct options *o, bool *seeded, int option, const char *argument)
{
	const char *wrong = NULL;
	char *why = NULL;

	if (option >= OPT_FAULT && option < OPT_FAULT + FAULTS)
		take_fault(o, (enum fault)(option - OPT_FAULT), argument);
	if (option == OPT_SEED && cli_count(argument, &o->seed) < 0)
		cli_bad(&cli, option, argument, "expected a whole number");
	if (option == OPT_SEED)
		*seeded = true;
	if (option == OPT_REPORT)
		o->report = argument;
	if (select_option(o->select, option, argument, &why) < 0)
		cli_bad(&cli, option, argument, why);
	if (frame_option(&o->frame, option, argument, &wrong) < 0)
		cli_bad(&cli, option, argument, wrong);
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

int
main(int argc, char **argv)
{
	struct options o = {.late = 1000 * 1000, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	bool seeded = false;
	char *why;
	int option, status;
	bool dashes;

	setlocale(LC_CTYPE, "");
	o.select = select_new();
	if (!o.select)
		cli_die(EXIT_FAILED, fault_name, "out of memory");
	while ((option = cli_next(&cli, argc, argv, &dashes)) != -1)
		take_option(&o, &seeded, option, optarg);
	if (frame_words(&o.frame, argv + optind, dashes, NULL, &why) < 0)
		cli_refuse(&cli, why);
	if (o.report && strcmp(o.report, "-") == 0)
		cli_die(EXIT_USAGE, fault_name, "--report -: a file is wanted, for standard output carries the stream");
	if (!seeded)
		choose_seed(&o);
	status = fault_run(&o);
	select_free(o.select);
	return status;
}
