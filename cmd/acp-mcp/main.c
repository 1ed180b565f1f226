/* acp-mcp: lets an agent without MCP over ACP use MCP servers that live in the chain, and offers such servers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/run/proc.h"

static const char help[] =
	"usage: acp-mcp [OPTION]... [-- COMMAND [ARG]...]\n"
	"       acp-mcp --connect SOCKET\n"
	"Lets an agent use MCP servers of type acp, which it does not support itself, and\n"
	"offers such servers.\n"
	"      --provide NAME=CMD  offer the stdio MCP server CMD in every session\n"
	"      --dialect acpId|serverId|newest\n"
	"                        form of the protocol to use with providers (as each\n"
	"                        declares)\n"
	"      --max-connections N  connections to each command of --provide (16)\n"
	"      --timeout TIME    how long to wait for a provider to respond, for the\n"
	"                        agent to start a server, and for a peer to read (30s)\n"
	"      --socket-dir DIR  directory for the sockets ($XDG_RUNTIME_DIR or /tmp)\n"
	"      --connect SOCKET  connect stdin and stdout to SOCKET; the agent starts\n"
	"                        this\n"
	"      --max-line SIZE   longest message in bytes (64M)\n"
	FRAME_HELP;

enum { TIMEOUT = 30 * 1000 * 1000, CONNECTIONS = 16 };

/* Reads NAME=CMD. */
static void
add_provided(const struct cli_argument *t)
{
	struct options *o = t->at;
	const char *argument = t->argument, *equals = strchr(argument, '=');
	struct provided *p;
	SCOPED struct buf id = {0};
	char host[256] = "";

	if (!equals || equals == argument)
		cli_wrong(t, "expected NAME=CMD");
	o->provided = cli_grow(tool_name, o->provided, o->nprovided, sizeof(*p));
	p = &o->provided[o->nprovided++];
	*p = (struct provided){.words = proc_words(equals + 1)};
	if (!p->words)
		cli_wrong(t, "no command");
	/*
	 * The id has a hash of the machine, the process session and the command, so that no other command has it, here or elsewhere. A
	 * process that replaces this one recognizes the servers by their ids.
	 */
	gethostname(host, sizeof(host) - 1);
	if (json_quote(slice_between(argument, equals), &p->name) < 0
		|| buf_printf(&id, "%.*s-%016" PRIx64, (int)(equals - argument), argument,
			slice_hash(slice_hash(0, slice_of(host)) ^ (uint64_t)getsid(0), slice_of(equals + 1))) < 0
		|| json_quote(buf_slice(&id), &p->id) < 0)
		cli_no_memory(tool_name);
	for (const struct provided *other = o->provided; other < p; other++)
		if (slice_eq(buf_slice(&other->name), buf_slice(&p->name)))
			cli_wrong(t, "there is a server of this name already");
}

static const struct cli_option options[] = {
	{"provide", 0, CLI_PARSE(add_provided)},
	{"dialect", 0, CLI_WORD(struct options, dialect, "acpId", "serverId", "newest"), .value = DIALECT_ACP_ID},
	{"max-connections", 0, CLI_COUNT(struct options, connections)},
	{"timeout", 0, CLI_DURATION(struct options, timeout)},
	{"socket-dir", 0, CLI_TEXT(struct options, socket_dir), .expected = "expected a directory"},
	{"connect", 0, CLI_TEXT(struct options, socket)},
	{CLI_ROWS(struct options, frame, frame_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--connect", NULL, "a command|--provide|--dialect|--max-connections|--timeout|--socket-dir|--max-line|--way|--grace"},
	{NULL, NULL, NULL},
};

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.timeout = TIMEOUT, .connections = CONNECTIONS};
	struct cli_line line;
	int status;

	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	if (getentropy(&o.token, sizeof(o.token)) < 0)
		cli_die(EXIT_FAILED, tool_name, "no random numbers");
	cli_check(&line, rules);
	status = o.socket ? shim_run(o.socket) : mcp_run(&o);
	for (size_t i = 0; i < o.nprovided; i++) {
		free(o.provided[i].words);
		buf_free(&o.provided[i].name);
		buf_free(&o.provided[i].id);
	}
	free(o.provided);
	return status;
}
