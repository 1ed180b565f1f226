/* acp-share: lets other programs watch and join a stream that runs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-share/share.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"


static const char help[] =
	"usage: acp-share [OPTION]... [-- COMMAND [ARG]...]\n"
	"       acp-share --list [-f text|json]\n"
	"Lets other programs watch and join the stream while it runs: acp-tap, acp-check,\n"
	"acp-usage, acp-stat and acp-inject with --attach.\n"
	"      --control SOCKET|auto\n"
	"                        socket at which to listen (auto: named after the pid)\n"
	"      --name NAME       name of this place, for --hop (agent)\n"
	"  -l, --list            list the streams that this user shares\n"
	"  -f, --format text|json  format of the list (text)\n"
	"      --max-line SIZE   refuse lines of more than SIZE bytes (64M)\n"
	FRAME_HELP
	"Example:\n"
	"  acp-share -- my-agent --acp         # in the settings of the editor\n"
	"  acp-tap --attach auto               # in a terminal\n";

enum { OPT_CONTROL = 256, OPT_NAME };

static const struct option options[] = {
	{"control", required_argument, NULL, OPT_CONTROL},
	{"name", required_argument, NULL, OPT_NAME},
	{"list", no_argument, NULL, 'l'},
	{"format", required_argument, NULL, 'f'},
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {share_name, help, "+lf:hV", options};

static const struct cli_rule rules[] = {
	{"--list", NULL, "--control|--name|--max-line|--way|--grace|a command"},
	{"--format", "--list", NULL},
	{NULL, NULL, NULL},
};

struct command {
	struct frame_options frame;
	const char *control, *name;
	bool list, json;
};

static void
take_option(void *arg, int option, const char *argument)
{
	static const char *const formats[] = {"text", "json", NULL};
	struct command *c = arg;

	switch (option) {
	case OPT_CONTROL:
		c->control = argument;
		break;
	case OPT_NAME:
		c->name = argument;
		break;
	case 'l':
		c->list = true;
		break;
	case 'f':
		c->json = cli_word(&cli, option, argument, formats) == 1;
		break;
	}
}

/* Before anything is started: what cannot be shared is refused. */
static void
listen_at(struct share *s, const char *where)
{
	pid_t first = cli_started_again();
	char *why;

	if (proc_stdio() < 0)
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
	struct command c = {.control = "auto", .name = "agent"};
	struct cli_given given = {0};
	struct share s;

	frame_read(&c.frame, &cli, argc, argv, &given, take_option, &c);
	cli_check(&cli, &given, rules);
	if (c.list)
		list_print(c.json);
	s = (struct share){.name = c.name, .limit = c.frame.limit};
	listen_at(&s, c.control);
	return share_run(&s, &c.frame);
}
