/* acp-mcp: lets an agent without MCP over ACP use MCP servers that live in the chain, and offers such servers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/base/cli.h"
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
	"      --timeout TIME    how long a provider may take to respond (30s)\n"
	"      --socket-dir DIR  directory for the sockets ($XDG_RUNTIME_DIR or /tmp)\n"
	"      --connect SOCKET  connect stdin and stdout to SOCKET; the agent starts\n"
	"                        this\n"
	"      --max-line SIZE   longest message in bytes (64M)\n"
	FRAME_HELP;

enum { OPT_PROVIDE = 256, OPT_DIALECT, OPT_TIMEOUT, OPT_SOCKET_DIR, OPT_CONNECT };
enum { TIMEOUT = 30 * 1000 * 1000 };

static const struct option options[] = {
	{"provide", required_argument, NULL, OPT_PROVIDE},
	{"dialect", required_argument, NULL, OPT_DIALECT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"socket-dir", required_argument, NULL, OPT_SOCKET_DIR},
	{"connect", required_argument, NULL, OPT_CONNECT},
	FRAME_LONG_OPTIONS,
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+hV", options};

static const struct cli_rule rules[] = {
	{"--connect", NULL, "a command|--provide|--dialect|--timeout|--socket-dir"},
	{NULL, NULL, NULL},
};

_Noreturn static void
no_memory(void)
{
	cli_die(EXIT_FAILED, tool_name, "out of memory");
}

static uint64_t
mix(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

/*
 * What a declaration has beside its name, so that no other command's, here or elsewhere, has the same: the machine, the
 * process session, the command. One that takes our place when we have died knows our servers by it.
 */
static uint64_t
fingerprint(const char *command)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	return mix(mix(14695981039346656037u, host) ^ (uint64_t)getsid(0), command);
}

/* NAME=CMD. */
static void
take_provided(struct options *o, const char *argument)
{
	const char *equals = strchr(argument, '=');
	const struct provided *other;
	struct provided *p;
	struct buf id = {0};

	if (!equals || equals == argument)
		cli_bad(&cli, OPT_PROVIDE, argument, "expected NAME=CMD");
	p = realloc(o->provided, (o->nprovided + 1) * sizeof(*p));
	if (!p)
		no_memory();
	o->provided = p;
	p += o->nprovided++;
	*p = (struct provided){.words = proc_words(equals + 1)};
	if (!p->words)
		cli_bad(&cli, OPT_PROVIDE, argument, "no command");
	if (json_quote(slice_between(argument, equals), &p->name) < 0
		|| buf_printf(&id, "%.*s-%016" PRIx64, (int)(equals - argument), argument, fingerprint(equals + 1)) < 0
		|| json_quote(buf_slice(&id), &p->id) < 0)
		no_memory();
	buf_free(&id);
	for (other = o->provided; other < p; other++)
		if (slice_eq(buf_slice(&other->name), buf_slice(&p->name)))
			cli_bad(&cli, OPT_PROVIDE, argument, "there is a server of this name already");
}

static void
take_option(void *arg, int option, const char *argument)
{
	static const char *const dialects[] = {"acpId", "serverId", "newest", NULL};
	struct options *o = arg;

	switch (option) {
	case OPT_PROVIDE:
		take_provided(o, argument);
		break;
	case OPT_DIALECT:
		o->dialect = (enum dialect)(DIALECT_ACP_ID + cli_word(&cli, option, argument, dialects));
		break;
	case OPT_TIMEOUT:
		if (cli_duration(argument, &o->timeout) < 0)
			cli_bad(&cli, option, argument, cli_want_duration);
		break;
	case OPT_SOCKET_DIR:
		if (!*argument)
			cli_bad(&cli, option, argument, "expected a directory");
		o->socket_dir = argument;
		break;
	case OPT_CONNECT:
		o->socket = argument;
		break;
	}
}

int
main(int argc, char **argv)
{
	struct options o = {.timeout = TIMEOUT};
	struct cli_given given = {0};
	int status;
	size_t i;

	frame_read(&o.frame, &cli, argc, argv, &given, take_option, &o);
	if (getentropy(&o.token, sizeof(o.token)) < 0)
		cli_die(EXIT_FAILED, tool_name, "no random numbers");
	cli_check(&cli, &given, rules);
	status = o.socket ? shim_run(o.socket) : mcp_run(&o);
	for (i = 0; i < o.nprovided; i++) {
		free(o.provided[i].words);
		buf_free(&o.provided[i].name);
		buf_free(&o.provided[i].id);
	}
	free(o.provided);
	return status;
}
