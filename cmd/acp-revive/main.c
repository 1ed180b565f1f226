/* acp-revive: starts an agent again when it dies, and restores its sessions. */
#include <unistd.h>

#include "lib/base/cli_line.h"
#include "revive.h"

static const char usage[] =
	"usage: acp-revive [OPTION]... [--] AGENT [ARG]...\n"
	"Starts the agent, and starts it again when it dies. The new process is\n"
	"initialized as the last one was, and the client's sessions are restored in it.\n"
	"The client is on standard input and output; while all is well, every line\n"
	"passes unchanged.\n"
	"\n"
	"      --restarts N/TIME  restart the agent at most N times in TIME (3/1m)\n"
	"      --init-timeout TIME  how long the new process may take for each step of\n"
	"                        the restoration (30s)\n"
	"      --grace TIME      how long to wait for the agent to end (5s)\n"
	"      --max-line SIZE   lines longer than this pass unread (64M)\n"
	"  -v, --verbose         report each start of the agent\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"\n"
	"Example: acp-revive -- claude-agent-acp\n";

static const struct cli_option options[] = {
	{"restarts", 0, CLI_RATE(struct revive_options, restarts)},
	{"init-timeout", 0, CLI_DURATION(struct revive_options, init_timeout), .least = 1},
	{"grace", 0, CLI_DURATION(struct revive_options, grace)},
	{"max-line", 0, CLI_BYTES(struct revive_options, line_limit)},
	{"verbose", 'v', CLI_FLAG(struct revive_options, verbose)},
	{0},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {revive_name, usage, options};
	struct revive_options o = {.restarts = {"3/1m", 3, 60 * 1000000}, .init_timeout = 30 * 1000000,
		.grace = 5 * 1000000, .line_limit = 64 * 1024 * 1024};
	struct cli_line line;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &o, &line);
	if (!*line.words)
		cli_die(EXIT_USAGE, revive_name, "missing agent; try acp-revive --help");
	o.command = line.words;
	cli_waits(revive_name, STDIN_FILENO, "the client's messages");
	return revive_run(&o);
}
