/* acp-conduct: starts a chain of components around an agent, and joins them. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "supervise.h"

static const char name[] = "acp-conduct";

static const char usage[] =
	"usage: acp-conduct [-f FILTER | -u FILTER | -d FILTER]... [--grace T] [-v]\n"
	"                   [--] AGENT [ARG...]\n"
	"Starts filters and an agent, joins them by pipes, and stays out of the data's\n"
	"way. The client is on stdin and stdout; the filters stand between it and the\n"
	"agent, from left to right.\n"
	"\n"
	"  -f, --filter CMD  a filter for both lanes: its descriptors 0 and 1 face the\n"
	"                    client, 6 and 7 the agent\n"
	"  -d, --down CMD    a filter from 0 to 1, in the lane from client to agent only\n"
	"  -u, --up CMD      the same in the lane from agent to client\n"
	"      --grace T     what does not end by itself gets this long (default 5s)\n"
	"  -v, --verbose     a line for each component when it starts and when it ends\n"
	"  -h, --help\n"
	"  -V, --version\n"
	"\n"
	"A CMD is split into words; one that needs a shell is run by /bin/sh.\n"
	"\n"
	"  acp-conduct -f 'acp-tap -o session.rec' -- my-agent --acp\n";

enum { OPTION_GRACE = 256 };

static const struct option options[] = {
	{"filter", required_argument, NULL, 'f'},
	{"down", required_argument, NULL, 'd'},
	{"up", required_argument, NULL, 'u'},
	{"grace", required_argument, NULL, OPTION_GRACE},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static void
add_filter(struct chain *ch, enum kind kind, const char *command)
{
	if (chain_add_command(ch, kind, command) == 0)
		return;
	if (errno == EINVAL)
		cli_die(EXIT_USAGE, name, "an empty command for a filter");
	cli_die(EXIT_FAILED, name, "%s", strerror(errno));
}

static void
read_options(struct chain *ch, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+f:d:u:vhV", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			add_filter(ch, KIND_FILTER, optarg);
			break;
		case 'd':
			add_filter(ch, KIND_DOWN, optarg);
			break;
		case 'u':
			add_filter(ch, KIND_UP, optarg);
			break;
		case OPTION_GRACE:
			if (cli_duration(optarg, &ch->grace) < 0)
				cli_die(EXIT_USAGE, name, "--grace %s: not a duration (500ms, 5s, 2m)", optarg);
			break;
		case 'v':
			ch->verbose = true;
			break;
		case 'h':
			cli_print(name, usage);
		case 'V':
			cli_print(name, "acp-conduct " VERSION "\n");
		default:
			cli_die(EXIT_USAGE, name, "try acp-conduct --help");
		}
	}
	if (optind == argc)
		cli_die(EXIT_USAGE, name, "no agent is given; try acp-conduct --help");
	if (chain_add_argv(ch, KIND_AGENT, argv + optind) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
}

static int
run(struct chain *ch)
{
	int status = chain_start(ch);

	if (status)
		supervise_failed_start(ch, status);
	else
		status = supervise(ch);
	terminal_close(&ch->terminal);
	proc_guardian_stop(&ch->guardian);
	return status;
}

/* Those that end a chain; SIGHUP only where nohup has not seen to it that it is ignored. */
static const int *
ending_signals(void)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, 0}, but_hup[] = {SIGINT, SIGTERM, 0};
	struct sigaction hup;

	return sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN ? but_hup : all;
}

int
main(int argc, char **argv)
{
	struct chain chain = {.grace = 5 * 1000000};
	int status;

	argv[0] = (char *)name; /* what getopt_long puts before its messages */
	if (proc_stdio() < 0)
		return EXIT_FAILED;
	read_options(&chain, argc, argv);
	chain.loop = loop_new(ending_signals(), supervise_signal, &chain);
	if (!chain.loop || report_open(&chain.report, chain.loop) < 0 ||
		proc_guardian_start(&chain.guardian) < 0 || chain_join(&chain) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	status = run(&chain);
	report_close(&chain.report, chain.grace);
	loop_free(chain.loop);
	chain_free(&chain);
	return status;
}
