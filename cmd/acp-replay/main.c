/* acp-replay: plays one side of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-replay/plan.h"
#include "lib/base/cli_line.h"
#include "lib/recording/home.h"
#include "lib/run/proc.h"

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
	{"--grace", "--as client", NULL},
	{"--on-miss|--loop", NULL, "--as client"},
	{"--max-pause", "--speed", "speed max"},
	{NULL, NULL, NULL},
};

static void
set_speed(const struct cli_argument *t)
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
set_until(const struct cli_argument *t)
{
	struct replay_options *o = t->at;
	char *why = NULL;

	o->until_word = t->argument;
	if (cli_count(t->argument, &o->until) == 0 && o->until > 0)
		return;
	o->until = 0;
	if (!o->glob && !(o->glob = select_new()))
		cli_no_memory(replay_name);
	if (select_glob(o->glob, t->argument, &why) < 0)
		cli_wrong(t, why);
}

static const struct cli_option options[] = {
	{"as", 0, CLI_WORD(struct replay_options, as, "agent", "client")},
	{"match", 0, CLI_WORD_OF(struct replay_options, match, match_names)},
	{"normalize", 0, CLI_TEXT(struct replay_options, program)},
	{"keep-paths", 0, CLI_FLAG(struct replay_options, keep_paths)},
	{"on-miss", 0, CLI_WORD(struct replay_options, on_miss, "error", "wait", "next")},
	{"speed", 0, CLI_PARSE_AT(set_speed, double, struct replay_options, speed)},
	{"max-pause", 0, CLI_DURATION(struct replay_options, max_pause)},
	{"start", 0, CLI_COUNT(struct replay_options, start), .least = 1},
	{"until", 0, CLI_PARSE(set_until)},
	{"loop", 0, CLI_FLAG(struct replay_options, loop)},
	{"record", 0, CLI_TEXT(struct replay_options, record)},
	{"check", 0, CLI_FLAG(struct replay_options, check)},
	{"format", 'f', CLI_WORD_OF(struct replay_options, format, replay_formats)},
	{"update", 0, CLI_FLAG(struct replay_options, update)},
	{"hop", 0, CLI_TEXT(struct replay_options, hop)},
	{"env", 0, CLI_FLAG(struct replay_options, environment)},
	{"max-line", 0, CLI_BYTES(struct replay_options, limit)},
	{"timeout", 0, CLI_DURATION(struct replay_options, timeout), .least = 1},
	{"grace", 0, CLI_DURATION(struct replay_options, grace)},
	{0},
};

/* Reads FILE, or FILE -- COMMAND... */
static void
read_operands(char **words, struct replay_options *o)
{
	if (!words[0])
		cli_die(EXIT_USAGE, replay_name, "no recording is named; try acp-replay --help");
	o->path = words[0];
	if (words[1] && strcmp(words[1], "--") != 0)
		cli_die(EXIT_USAGE, replay_name, "%s: only one recording can be played; a command follows --", words[1]);
	if (words[1] && !words[2])
		cli_die(EXIT_USAGE, replay_name, "no command after --");
	if (words[1])
		o->command = words + 2;
	if (o->command && o->us == ACP_AGENT)
		cli_die(EXIT_USAGE, replay_name, "only --as client starts a command");
	if (strcmp(o->path, "-") == 0 && !o->command)
		cli_die(EXIT_USAGE, replay_name, "-: standard input carries the messages of the %s; name a file",
			acp_side_name(acp_other_side(o->us)));
}

/* Checks the options together, and sets what follows from several of them. */
static void
finish_options(struct replay_options *o, const struct cli_line *line)
{
	struct stat st;
	char *why;

	o->us = o->as == AS_CLIENT ? ACP_CLIENT : ACP_AGENT;
	if (o->program && !(o->normalize = normalize_new(o->program, &why)))
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, replay_name, "--normalize: %s", why ? why : strerror(ENOMEM));
	if (o->us == ACP_CLIENT && !cli_has(line, "--match"))
		o->match = MATCH_SHAPE;
	cli_files(line);
	home_files(line);
	read_operands(line->words, o);
	/* The recording is read twice. */
	if (o->check && (strcmp(o->path, "-") == 0 || (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode))))
		cli_die(EXIT_USAGE, replay_name, "--check: %s: it is not a regular file", o->path);
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {replay_name, help, options};
	struct replay_options o = {.limit = MAX_LINE, .grace = GRACE, .match = MATCH_PARAMS, .max_pause = UINT64_MAX};
	struct cli_line line;
	int status;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &o, &line);
	cli_note(&line, o.speed <= 0, "speed max");
	cli_check(&line, rules);
	finish_options(&o, &line);
	status = peer_run(&o);
	select_free(o.glob);
	normalize_free(o.normalize);
	return status;
}
