/* acp-replay: plays one side of a recording. */
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-replay/diff_files.h"
#include "cmd/acp-replay/peer.h"
#include "lib/cli.h"
#include "lib/proc.h"

static const char name[] = "acp-replay";

static const char help[] =
	"usage: acp-replay [options] FILE                            plays the agent\n"
	"       acp-replay --as client [options] FILE [-- COMMAND...]  plays the client\n"
	"       acp-replay --diff FORMAT [options] FILE FILE2    compares the two\n"
	"Plays one side of a recording to a live other side.\n"
	"\n"
	"      --as agent|client  which side to play (agent)\n"
	"      --diff FORMAT      say what differs as text, json or junit\n"
	"      --match LEVEL      exact, params, shape or method: what has to be the same\n"
	"      --normalize JQ     a program that both sides go through first\n"
	"      --keep-paths       paths below a session's folder are as they are written\n"
	"      --color WHEN       auto, always or never: of --diff text (auto)\n"
	"      --hop N|NAME       which hop of a recording that holds several (0)\n"
	"      --max-line SIZE    the longest line, in bytes (64M)\n"
	"      --grace T          how long the agent may take to end (5s)\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"FILE is a recording of acp-tap, messages one a line, or a .jsons trace.\n"
	"Exit status: 0 all was played; 1 something was missed; 2 FILE cannot be read.\n";

enum { MAX_LINE = 64 * 1024 * 1024, GRACE = 5 * 1000 * 1000 };
enum { OPT_AS = 256, OPT_HOP, OPT_MAX_LINE, OPT_GRACE, OPT_DIFF, OPT_MATCH, OPT_NORMALIZE,
	OPT_KEEP_PATHS, OPT_COLOR };

static const struct option longs[] = {
	{"as", required_argument, NULL, OPT_AS},
	{"hop", required_argument, NULL, OPT_HOP},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"diff", required_argument, NULL, OPT_DIFF},
	{"match", required_argument, NULL, OPT_MATCH},
	{"normalize", required_argument, NULL, OPT_NORMALIZE},
	{"keep-paths", no_argument, NULL, OPT_KEEP_PATHS},
	{"color", required_argument, NULL, OPT_COLOR},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* What is asked for. */
struct asked {
	struct peer_options peer;
	struct diff_files_options diff;
	bool compare;           /* --diff */
	enum cli_color color;
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
read_option(int option, struct asked *asked)
{
	struct peer_options *o = &asked->peer;

	switch (option) {
	case OPT_DIFF:
		asked->compare = true;
		if (report_read_format(optarg, &asked->diff.format) < 0)
			cli_die(EXIT_USAGE, name, "--diff %s: expected text, json or junit", optarg);
		break;
	case OPT_MATCH:
		if (match_read(optarg, &asked->diff.match) < 0)
			cli_die(EXIT_USAGE, name, "--match %s: expected exact, params, shape or method", optarg);
		break;
	case OPT_NORMALIZE:
		asked->diff.normalize = optarg;
		break;
	case OPT_KEEP_PATHS:
		asked->diff.keep_paths = true;
		break;
	case OPT_COLOR:
		if (cli_color(optarg, &asked->color) < 0)
			cli_die(EXIT_USAGE, name, "--color %s: expected auto, always or never", optarg);
		break;
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

/* FILE FILE2 */
static int
compare(char **words, struct asked *asked)
{
	struct diff_files_options *o = &asked->diff;

	if (!words[0] || !words[1] || words[2] || strcmp(words[1], "--") == 0)
		cli_die(EXIT_USAGE, name, "--diff compares two recordings; try acp-replay --help");
	o->path[DIFF_RECORDED] = words[0];
	o->path[DIFF_LIVE] = words[1];
	o->hop = asked->peer.hop;
	o->limit = asked->peer.limit;
	o->color = cli_wants_color(asked->color, STDOUT_FILENO);
	return diff_files(o);
}

int
main(int argc, char **argv)
{
	struct asked asked = {
		.peer = {.us = ACP_AGENT, .limit = MAX_LINE, .grace = GRACE},
		.diff = {.match = MATCH_SHAPE},
	};
	int option;

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	while ((option = getopt_long(argc, argv, "+hV", longs, NULL)) >= 0)
		read_option(option, &asked);
	if (asked.compare)
		return compare(argv + optind, &asked);
	read_operands(argv + optind, &asked.peer);
	return peer_run(&asked.peer);
}
