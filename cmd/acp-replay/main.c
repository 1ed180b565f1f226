/* acp-replay: plays one side of a recording. */
#include <getopt.h>
#include <stdlib.h>

#include "cmd/acp-replay/peer.h"
#include "lib/cli.h"
#include "lib/proc.h"

static const char name[] = "acp-replay";

static const char help[] =
	"usage: acp-replay [options] FILE                            plays the agent\n"
	"       acp-replay --as client [options] FILE [-- COMMAND...]  plays the client\n"
	"Plays one side of a recording to a live other side.\n"
	"\n"
	"      --as agent|client  which side to play (agent)\n"
	"      --hop N|NAME       which hop of a recording that holds several (0)\n"
	"      --max-line SIZE    the longest line, in bytes (64M)\n"
	"      --grace T          how long the agent may take to end (5s)\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"FILE is a recording of acp-tap, messages one a line, or a .jsons trace.\n"
	"Exit status: 0 all was played; 1 something was missed; 2 FILE cannot be read.\n";

enum { MAX_LINE = 64 * 1024 * 1024, GRACE = 5 * 1000 * 1000 };
enum { OPT_AS = 256, OPT_HOP, OPT_MAX_LINE, OPT_GRACE };

static const struct option longs[] = {
	{"as", required_argument, NULL, OPT_AS},
	{"hop", required_argument, NULL, OPT_HOP},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static enum acp_side
side(const char *text)
{
	if (strcmp(text, acp_side_name(ACP_CLIENT)) == 0)
		return ACP_CLIENT;
	if (strcmp(text, acp_side_name(ACP_AGENT)) == 0)
		return ACP_AGENT;
	cli_die(EXIT_USAGE, name, "--as %s: expected agent or client", text);
}

static void
read_option(int option, struct peer_options *o)
{
	switch (option) {
	case OPT_AS:
		o->us = side(optarg);
		break;
	case OPT_HOP:
		o->hop = optarg;
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(optarg, &o->limit) < 0)
			cli_die(EXIT_USAGE, name, "--max-line %s: expected a size, as 64M", optarg);
		break;
	case OPT_GRACE:
		if (cli_duration(optarg, &o->grace) < 0)
			cli_die(EXIT_USAGE, name, "--grace %s: expected a duration, as 5s", optarg);
		break;
	case 'h':
		cli_print(name, help);
	case 'V':
		cli_print(name, "acp-replay " VERSION "\n");
	default:
		cli_die(EXIT_USAGE, name, "try acp-replay --help"); /* getopt_long has said why */
	}
}

/* FILE, or FILE -- COMMAND... */
static void
read_operands(char **words, struct peer_options *o)
{
	if (!words[0])
		cli_die(EXIT_USAGE, name, "which recording? try acp-replay --help");
	o->path = words[0];
	if (words[1] && strcmp(words[1], "--") != 0)
		cli_die(EXIT_USAGE, name, "%s: one recording at a time; a command goes behind --", words[1]);
	if (words[1] && !words[2])
		cli_die(EXIT_USAGE, name, "no command behind --");
	if (words[1])
		o->command = words + 2;
	if (o->command && o->us == ACP_AGENT)
		cli_die(EXIT_USAGE, name, "a command is for --as client: it is the agent that is started");
	if (strcmp(o->path, "-") == 0 && !o->command)
		cli_die(EXIT_USAGE, name, "-: the recording cannot come from standard input, which is the %s's",
			acp_side_name(acp_other_side(o->us)));
}

int
main(int argc, char **argv)
{
	struct peer_options o = {.us = ACP_AGENT, .limit = MAX_LINE, .grace = GRACE};
	int option;

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	while ((option = getopt_long(argc, argv, "+hV", longs, NULL)) >= 0)
		read_option(option, &o);
	read_operands(argv + optind, &o);
	return peer_run(&o);
}
