/* acp-share: lets other programs watch and join a stream that runs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-share/share.h"
#include "lib/run/proc.h"

static const char help[] =
	"usage: acp-share [OPTION]... [-- COMMAND [ARG]...]\n"
	"       acp-share --list [-f text|json]\n"
	"Lets other programs watch and join the stream while it runs: acp-top, and with\n"
	"--attach acp-check, acp-export, acp-inject, acp-stat, acp-tap and acp-usage.\n"
	"      --control SOCKET|auto\n"
	"                        socket at which to listen (auto: named after the pid)\n"
	"      --name NAME       name of this place, for --hop (agent)\n"
	"      --answers         let guests respond to permission requests, elicitations\n"
	"  -l, --list            list the streams that this user shares\n"
	"  -f, --format text|json  format of the list (text)\n"
	"      --max-line SIZE   refuse lines of more than SIZE bytes (64M)\n"
	FRAME_HELP
	"Example:\n"
	"  acp-share -- my-agent --acp         # in the settings of the editor\n"
	"  acp-tap --attach auto               # in a terminal\n";

struct command {
	struct frame_options frame;
	const char *control, *name;
	bool list, answers;
	enum { LIST_TEXT, LIST_JSON } format;
};

static const struct cli_option options[] = {
	{"control", 0, CLI_TEXT(struct command, control)},
	{"name", 0, CLI_TEXT(struct command, name)},
	{"answers", 0, CLI_FLAG(struct command, answers)},
	{"list", 'l', CLI_FLAG(struct command, list)},
	{"format", 'f', CLI_WORD(struct command, format, "text", "json")},
	{CLI_ROWS(struct command, frame, frame_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--list", NULL, "--control|--name|--answers|--max-line|--way|--grace|a command"},
	{"--format", "--list", NULL},
	{NULL, NULL, NULL},
};

/* Before anything is started, refuses a socket at which it could not listen. */
static void
listen_at(struct share *s, const char *where)
{
	pid_t first = cli_started_again();
	char *why;

	if (proc_open_stdio() < 0)
		cli_die(EXIT_FAILED, share_name, "/dev/null cannot be opened");
	if (rendezvous_open(&s->at, where, first ? first : getpid(), &why) < 0)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, share_name, "--control %s: %s", where, why ? why : "out of memory");
	if (why)
		cli_warn(share_name, "--list and --attach auto will not find %s: %s", where, why);
	free(why);
	s->restarted = first;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {share_name, help, options};
	struct command c = {.control = "auto", .name = "agent"};
	struct cli_line line;
	struct share s;

	frame_read(&c.frame, &tool, argc, argv, &c, &line);
	cli_check(&line, rules);
	if (c.list)
		list_print(c.format == LIST_JSON);
	s = (struct share){.name = c.name, .answers = c.answers, .limit = c.frame.limit};
	listen_at(&s, c.control);
	return share_run(&s, &c.frame);
}
