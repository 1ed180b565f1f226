/* acp-mcp: lets an agent without MCP over ACP use MCP servers that live in the chain, and offers such servers. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/cli.h"
#include "lib/proc.h"

const char tool_name[] = "acp-mcp";

static const char help[] =
	"usage: acp-mcp [OPTION]... [-- COMMAND [ARG]...]\n"
	"       acp-mcp --connect SOCKET\n"
	"Lets an agent use MCP servers of type acp that it does not know itself.\n"
	"      --provide NAME=CMD  offer the stdio MCP server CMD in every session\n"
	"      --dialect acpId|serverId|newest   what providers are spoken to in\n"
	"                          (as they are declared)\n"
	"      --timeout TIME      for an answer to mcp/connect (30s)\n"
	"      --socket-dir DIR    where the sockets are ($XDG_RUNTIME_DIR, /tmp)\n"
	"      --connect SOCKET    the small side, which the agent starts\n"
	"      --max-line SIZE     the longest message (64M)\n"
	"      --grace TIME        how long an agent may take to end (5s)\n"
	"      --way pipe|link|proxy   how to meet the stream (as it is found)\n"
	"  -h, --help              this text\n"
	"  -V, --version           the version\n";

enum { OPT_PROVIDE = 256, OPT_DIALECT, OPT_TIMEOUT, OPT_SOCKET_DIR, OPT_CONNECT, OPT_MAX_LINE, OPT_GRACE, OPT_WAY };
enum { TIMEOUT = 30 * 1000 * 1000 };

static const struct option long_options[] = {
	{"provide", required_argument, NULL, OPT_PROVIDE},
	{"dialect", required_argument, NULL, OPT_DIALECT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"socket-dir", required_argument, NULL, OPT_SOCKET_DIR},
	{"connect", required_argument, NULL, OPT_CONNECT},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"way", required_argument, NULL, OPT_WAY},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

_Noreturn static void
bad(const char *option, const char *argument, const char *why)
{
	cli_die(EXIT_USAGE, tool_name, "%s %s: %s", option, argument, why);
}

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
	struct provided *p = realloc(o->provided, (o->nprovided + 1) * sizeof(*p));
	struct buf id = {0};

	if (!p)
		no_memory();
	if (!equals || equals == argument)
		bad("--provide", argument, "expected NAME=CMD");
	o->provided = p;
	p += o->nprovided++;
	*p = (struct provided){.words = proc_words(equals + 1)};
	if (!p->words)
		bad("--provide", argument, "no command");
	if (json_quote(slice_between(argument, equals), &p->name) < 0
		|| buf_printf(&id, "%.*s-%016" PRIx64, (int)(equals - argument), argument, fingerprint(equals + 1)) < 0
		|| json_quote(buf_slice(&id), &p->id) < 0)
		no_memory();
	buf_free(&id);
}

static int
word(const char *option, const char *argument, const char *const *words, const char *expected)
{
	int i;

	for (i = 0; words[i]; i++)
		if (strcmp(argument, words[i]) == 0)
			return i;
	bad(option, argument, expected);
}

static void
take_option(struct options *o, int option, const char *argument)
{
	static const char *const dialects[] = {"acpId", "serverId", "newest", NULL}, *const ways[] = {"pipe", "link", "proxy", NULL};
	static const enum frame_way way_of[] = {FRAME_PIPE, FRAME_LINK, FRAME_PROXY};

	switch (option) {
	case OPT_PROVIDE:
		take_provided(o, argument);
		break;
	case OPT_DIALECT:
		o->dialect = (enum dialect)(DIALECT_ACP_ID + word("--dialect", argument, dialects, "expected acpId, serverId or newest"));
		break;
	case OPT_TIMEOUT:
		if (cli_duration(argument, &o->timeout) < 0)
			bad("--timeout", argument, "expected a time such as 30s");
		break;
	case OPT_SOCKET_DIR:
		o->socket_dir = argument;
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(argument, &o->frame.limit) < 0 || o->frame.limit == 0)
			bad("--max-line", argument, "expected a size such as 64M");
		break;
	case OPT_GRACE:
		if (cli_duration(argument, &o->frame.grace) < 0)
			bad("--grace", argument, "expected a time such as 5s");
		break;
	case OPT_WAY:
		o->frame.way = way_of[word("--way", argument, ways, "expected pipe, link or proxy")];
		break;
	case 'h':
		cli_print(tool_name, help);
	case 'V':
		cli_print(tool_name, "acp-mcp " VERSION "\n");
	default:
		cli_die(EXIT_USAGE, tool_name, "try acp-mcp --help");
	}
}

int
main(int argc, char **argv)
{
	struct options o = {.timeout = TIMEOUT, .frame = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE}};
	const char *socket = NULL;
	int option, before;
	size_t i;

	do {
		before = optind;
		option = getopt_long(argc, argv, "+hV", long_options, NULL);
		if (option == OPT_CONNECT)
			socket = optarg;
		else if (option != -1)
			take_option(&o, option, optarg);
	} while (option != -1);
	if (argv[optind] && !(optind > before))
		cli_die(EXIT_USAGE, tool_name, "%s: a command goes behind --", argv[optind]);
	if (optind > before && !argv[optind])
		cli_die(EXIT_USAGE, tool_name, "no command after --");
	if (getrandom(&o.token, sizeof(o.token), 0) != (ssize_t)sizeof(o.token))
		cli_die(EXIT_FAILED, tool_name, "no random numbers");
	if (argv[optind])
		o.frame.command = argv + optind;
	if (o.frame.command && o.frame.way != FRAME_AUTO)
		cli_die(EXIT_USAGE, tool_name, "--way is for a stream without a command");
	if (socket && (o.frame.command || o.nprovided))
		cli_die(EXIT_USAGE, tool_name, "--connect stands alone");
	option = socket ? shim_run(socket) : mcp_run(&o);
	for (i = 0; i < o.nprovided; i++) {
		free(o.provided[i].words);
		buf_free(&o.provided[i].name);
		buf_free(&o.provided[i].id);
	}
	free(o.provided);
	return option;
}
