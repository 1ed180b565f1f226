/* acp-replay: plays one side of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-replay/peer.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

static const char name[] = "acp-replay";

static const char help[] =
	"usage: acp-replay [OPTION]... FILE                              play the agent\n"
	"       acp-replay --as client [OPTION]... FILE [-- COMMAND...]  play the client\n"
	"      --as agent|client  side to play (agent)\n"
	"      --match exact|params|shape|method\n"
	"                        how similar live messages must be (params; as client:\n"
	"                        shape)\n"
	"      --normalize JQ    run this jq program on both sides before comparing\n"
	"      --keep-paths      do not replace recorded directories by live ones\n"
	"      --on-miss error|wait|next\n"
	"                        how to respond to a request that is not recorded: an\n"
	"                        error, nothing, or the next recorded response (error)\n"
	"      --speed X|recorded|max  X times as fast as recorded; max: no pauses (max)\n"
	"      --max-pause TIME  shorten longer pauses to TIME (no limit)\n"
	"      --start N         begin at record N\n"
	"      --until N|GLOB    end after record N, or after the first message whose\n"
	"                        method or kind of update matches\n"
	"      --loop            after the end, play the recording again\n"
	"      --record FILE     record the live session in FILE\n"
	"      --check           at the end, compare the session with FILE by acp-diff\n"
	"  -f, --format text|json|junit  format of the report of --check (text)\n"
	"      --update          with --check, replace FILE if the check passes\n"
	"      --hop N|NAME      play this hop of a recording that holds several (0)\n"
	"      --env             replace ${NAME} in messages by the environment variable\n"
	"                        NAME\n"
	"      --max-line SIZE   longest line in bytes (64M)\n"
	"      --timeout TIME    wait at most TIME for a message (no limit)\n"
	"      --grace TIME      wait at most TIME for the agent to end (5s)\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"Exit status: 0 everything was played and matched; 1 something was not; 2 FILE\n"
	"cannot be read.\n";

enum { MAX_LINE = 64 * 1024 * 1024, GRACE = 5 * 1000 * 1000 };
enum { OPT_AS = 256, OPT_MATCH, OPT_NORMALIZE, OPT_KEEP_PATHS, OPT_ON_MISS, OPT_SPEED, OPT_MAX_PAUSE, OPT_START,
	OPT_UNTIL, OPT_LOOP, OPT_RECORD, OPT_CHECK, OPT_UPDATE, OPT_HOP, OPT_ENV, OPT_MAX_LINE, OPT_TIMEOUT, OPT_GRACE };

static const struct option longs[] = {
	{"as", required_argument, NULL, OPT_AS},
	{"match", required_argument, NULL, OPT_MATCH},
	{"normalize", required_argument, NULL, OPT_NORMALIZE},
	{"keep-paths", no_argument, NULL, OPT_KEEP_PATHS},
	{"on-miss", required_argument, NULL, OPT_ON_MISS},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"max-pause", required_argument, NULL, OPT_MAX_PAUSE},
	{"start", required_argument, NULL, OPT_START},
	{"until", required_argument, NULL, OPT_UNTIL},
	{"loop", no_argument, NULL, OPT_LOOP},
	{"record", required_argument, NULL, OPT_RECORD},
	{"check", no_argument, NULL, OPT_CHECK},
	{"format", required_argument, NULL, 'f'},
	{"update", no_argument, NULL, OPT_UPDATE},
	{"hop", required_argument, NULL, OPT_HOP},
	{"env", no_argument, NULL, OPT_ENV},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"grace", required_argument, NULL, OPT_GRACE},
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {name, help, "+f:hV", longs};

static const struct cli_rule rules[] = {
	{"--update", "--check", "--record|--hop|--env|--on-miss next"},
	{"--check", NULL, "--start|--until|--loop|--hop"},
	{"--format", "--check", NULL},
	{NULL, NULL, NULL},
};

/* What is asked for. */
struct asked {
	struct peer_options peer;
	int match;              /* --match, or -1 */
};

static double
speed(const char *text)
{
	double x;
	char *end;

	if (strcmp(text, "max") == 0)
		return 0;
	if (strcmp(text, "recorded") == 0)
		return 1;
	x = strtod(text, &end);
	if (end == text || *end || !(x > 0) || x > 1e9)
		cli_bad(&cli, OPT_SPEED, text, "expected recorded, max, or a factor, such as 2");
	return x;
}

/* The number of a record, from 1. False for what is no number. */
static bool
number(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	return *n > 0 && errno == 0 && *end == '\0';
}

static void
read_until(const char *text, struct plan_range *range)
{
	char *why = NULL;

	if (number(text, &range->until))
		return;
	range->until = 0;
	if (!range->glob && !(range->glob = select_new()))
		cli_refuse(&cli, NULL);
	if (select_glob(range->glob, text, &why) < 0)
		cli_bad(&cli, OPT_UNTIL, text, why);
}

/* A duration, of at least `least`. */
static void
read_duration(int option, uint64_t least, uint64_t *us)
{
	if (cli_duration(optarg, us) < 0 || *us < least)
		cli_bad(&cli, option, optarg, cli_want_duration);
}

/* How it is played. */
static void
read_play_option(int option, struct player_options *o)
{
	static const char *const sides[] = {"agent", "client", NULL};
	static const char *const misses[] = {[MISS_ERROR] = "error", [MISS_WAIT] = "wait", [MISS_NEXT] = "next", NULL};

	switch (option) {
	case OPT_AS:
		o->us = cli_word(&cli, option, optarg, sides) ? ACP_CLIENT : ACP_AGENT;
		break;
	case OPT_ON_MISS:
		o->on_miss = (enum on_miss)cli_word(&cli, option, optarg, misses);
		break;
	case OPT_SPEED:
		o->speed = speed(optarg);
		break;
	case OPT_MAX_PAUSE:
		read_duration(option, 0, &o->max_pause);
		break;
	case OPT_START:
		if (!number(optarg, &o->range.start))
			cli_bad(&cli, option, optarg, "expected the number of a record, from 1");
		break;
	case OPT_UNTIL:
		read_until(optarg, &o->range);
		break;
	case OPT_LOOP:
		o->loop = o->range.endless = true;
		break;
	}
}

static void
read_option(int option, struct asked *asked)
{
	static const char *const formats[] = {"text", "json", "junit", NULL};
	struct peer_options *peer = &asked->peer;

	switch (option) {
	case OPT_MATCH:
		asked->match = cli_word(&cli, option, optarg, match_names);
		break;
	case OPT_NORMALIZE:
		peer->recorder.normalize = optarg;
		break;
	case OPT_KEEP_PATHS:
		peer->recorder.keep_paths = peer->player.keep_paths = true;
		break;
	case OPT_RECORD:
		peer->recorder.record = optarg;
		break;
	case OPT_UPDATE:
		peer->recorder.update = true;
		break;
	case OPT_CHECK:
		peer->recorder.check = true;
		break;
	case 'f':
		peer->recorder.format = formats[cli_word(&cli, option, optarg, formats)];
		break;
	case OPT_HOP:
		peer->hop = optarg;
		break;
	case OPT_ENV:
		peer->environment = peer->recorder.environment = true;
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(optarg, &peer->limit) < 0)
			cli_bad(&cli, option, optarg, cli_want_bytes);
		break;
	case OPT_TIMEOUT:
		read_duration(option, 1, &peer->timeout);
		break;
	case OPT_GRACE:
		read_duration(option, 0, &peer->grace);
		break;
	default:
		read_play_option(option, &peer->player);
	}
}

/* FILE, or FILE -- COMMAND... */
static void
read_operands(char **words, struct peer_options *o)
{
	if (!words[0])
		cli_die(EXIT_USAGE, name, "no recording is named; try acp-replay --help");
	o->path = words[0];
	if (words[1] && strcmp(words[1], "--") != 0)
		cli_die(EXIT_USAGE, name, "%s: only one recording can be played; a command follows --", words[1]);
	if (words[1] && !words[2])
		cli_die(EXIT_USAGE, name, "no command after --");
	if (words[1])
		o->command = words + 2;
	if (o->command && o->player.us == ACP_AGENT)
		cli_die(EXIT_USAGE, name, "only --as client starts a command");
	if (strcmp(o->path, "-") == 0 && !o->command)
		cli_die(EXIT_USAGE, name, "-: standard input carries the messages of the %s; name a file",
			acp_side_name(acp_other_side(o->player.us)));
}

/* --normalize; NULL for none. */
static struct normalize *
compile(const char *program)
{
	struct normalize *n;
	char *why = NULL;

	if (!program)
		return NULL;
	n = normalize_new(program, &why);
	if (!n)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "--normalize: %s", why ? why : strerror(ENOMEM));
	return n;
}

/* What is to be written, and what is to be compared. */
static void
read_recorder(struct asked *asked)
{
	struct peer_options *peer = &asked->peer;
	struct recorder_options *o = &peer->recorder;
	struct stat st;

	/* It is read twice. */
	if (o->check && (strcmp(peer->path, "-") == 0 || (stat(peer->path, &st) == 0 && !S_ISREG(st.st_mode))))
		cli_die(EXIT_USAGE, name, "--check: %s: it is not a regular file", peer->path);
	o->match = peer->player.match;
	/* Without a command standard output is the session's. */
	o->fd = peer->command ? STDOUT_FILENO : STDERR_FILENO;
}

int
main(int argc, char **argv)
{
	struct asked asked = {
		.match = -1,
		.peer = {.limit = MAX_LINE, .grace = GRACE, .player = {.us = ACP_AGENT, .max_pause = UINT64_MAX},
			.recorder = {.format = "text"}},
	};
	int option, status;
	struct cli_given given = {0};

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	while ((option = cli_next(&cli, argc, argv, &given)) >= 0)
		read_option(option, &asked);
	cli_fact(&given, asked.peer.player.on_miss == MISS_NEXT, "--on-miss next");
	cli_check(&cli, &given, rules);
	asked.peer.player.normalize = compile(asked.peer.recorder.normalize);
	asked.peer.player.match = asked.match >= 0 ? (enum match)asked.match
		: asked.peer.player.us == ACP_AGENT ? MATCH_PARAMS : MATCH_SHAPE;
	read_operands(argv + optind, &asked.peer);
	read_recorder(&asked);
	status = peer_run(&asked.peer);
	select_free(asked.peer.player.range.glob);
	normalize_free(asked.peer.player.normalize);
	return status;
}
