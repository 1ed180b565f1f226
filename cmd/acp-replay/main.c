/* acp-replay: plays one side of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-replay/peer.h"
#include "lib/base/cli_line.h"
#include "lib/recording/home.h"
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
static const struct cli_rule rules[] = {
	{"--update", "--check", "--record|--hop|--env|--on-miss next"},
	{"--check", NULL, "--start|--until|--loop|--hop"},
	{"--format", "--check", NULL},
	{NULL, NULL, NULL},
};

struct asked {
	struct peer_options peer;
	enum { AS_AGENT, AS_CLIENT } as;
	int match;              /* --match, or -1 */
	unsigned format;        /* of formats */
};

static const char *const formats[] = {"text", "json", "junit", NULL};

static void
set_speed(const struct cli_taken *t)
{
	double *speed = t->at;
	char *end;

	if (strcmp(t->argument, "max") == 0 || strcmp(t->argument, "recorded") == 0) {
		*speed = *t->argument == 'r';
		return;
	}
	*speed = strtod(t->argument, &end);
	if (end == t->argument || *end || !(*speed > 0) || *speed > 1e9)
		cli_wrong(t, "expected recorded, max, or a factor, such as 2");
}

static void
set_until(const struct cli_taken *t)
{
	struct plan_range *range = t->at;
	char *why = NULL;

	range->word = t->argument;
	if (cli_count(t->argument, &range->until) == 0 && range->until > 0)
		return;
	range->until = 0;
	if (!range->glob && !(range->glob = select_new()))
		cli_no_memory(name);
	if (select_glob(range->glob, t->argument, &why) < 0)
		cli_wrong(t, why);
}

static const struct cli_option options[] = {
	{"as", 0, CLI_WORD(struct asked, as, "agent", "client")},
	{"match", 0, CLI_WORD_OF(struct asked, match, match_names)},
	{"normalize", 0, CLI_TEXT(struct asked, peer.recorder.normalize)},
	{"keep-paths", 0, CLI_FLAG(struct asked, peer.player.keep_paths)},
	{"on-miss", 0, CLI_WORD(struct asked, peer.player.on_miss, "error", "wait", "next")},
	{"speed", 0, CLI_TAKE_AT(set_speed, double, struct asked, peer.player.speed)},
	{"max-pause", 0, CLI_DURATION(struct asked, peer.player.max_pause)},
	{"start", 0, CLI_COUNT(struct asked, peer.player.range.start), .least = 1},
	{"until", 0, CLI_TAKE_AT(set_until, struct plan_range, struct asked, peer.player.range)},
	{"loop", 0, CLI_FLAG(struct asked, peer.player.loop)},
	{"record", 0, CLI_TEXT(struct asked, peer.recorder.record)},
	{"check", 0, CLI_FLAG(struct asked, peer.recorder.check)},
	{"format", 'f', CLI_WORD_OF(struct asked, format, formats)},
	{"update", 0, CLI_FLAG(struct asked, peer.recorder.update)},
	{"hop", 0, CLI_TEXT(struct asked, peer.hop)},
	{"env", 0, CLI_FLAG(struct asked, peer.environment)},
	{"max-line", 0, CLI_BYTES(struct asked, peer.limit)},
	{"timeout", 0, CLI_DURATION(struct asked, peer.timeout), .least = 1},
	{"grace", 0, CLI_DURATION(struct asked, peer.grace)},
	{0},
};

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

/* The options that the player, the peer and the recorder share. */
static void
share_options(struct asked *asked, const struct cli_line *line)
{
	struct peer_options *peer = &asked->peer;
	struct player_options *player = &peer->player;
	struct recorder_options *o = &peer->recorder;
	struct stat st;
	char *why;

	player->us = asked->as == AS_CLIENT ? ACP_CLIENT : ACP_AGENT;
	if (o->normalize && !(player->normalize = normalize_new(o->normalize, &why)))
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "--normalize: %s", why ? why : strerror(ENOMEM));
	player->match = asked->match >= 0 ? (enum match)asked->match : asked->as == AS_AGENT ? MATCH_PARAMS : MATCH_SHAPE;
	player->range.endless = player->loop;
	cli_files(line);
	home_files(line);
	read_operands(line->words, peer);
	/* It is read twice. */
	if (o->check && (strcmp(peer->path, "-") == 0 || (stat(peer->path, &st) == 0 && !S_ISREG(st.st_mode))))
		cli_die(EXIT_USAGE, name, "--check: %s: it is not a regular file", peer->path);
	o->match = player->match;
	o->format = formats[asked->format];
	o->keep_paths = player->keep_paths;
	o->environment = peer->environment;
	/* Without a command standard output is the session's. */
	o->fd = peer->command ? STDOUT_FILENO : STDERR_FILENO;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {name, help, options};
	struct asked asked = {.match = -1, .peer = {.limit = MAX_LINE, .grace = GRACE, .player.max_pause = UINT64_MAX}};
	struct cli_line line;
	int status;

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &asked, &line);
	cli_check(&line, rules);
	share_options(&asked, &line);
	status = peer_run(&asked.peer);
	select_free(asked.peer.player.range.glob);
	normalize_free(asked.peer.player.normalize);
	return status;
}
