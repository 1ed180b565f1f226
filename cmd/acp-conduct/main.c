/* acp-conduct: starts a chain of components around an agent, and joins them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "end.h"
#include "engine.h"
#include "hop.h"
#include "lib/base/cli.h"
#include "logs.h"
#include "route.h"
#include "shares.h"
#include "wire.h"

static const char name[] = "acp-conduct";

static const char usage[] =
	"usage: acp-conduct [OPTION]... [-p PROXY | -f FILTER | -d FILTER | -u FILTER]...\n"
	"                   [--] [AGENT [ARG...]]\n"
	"       acp-conduct [OPTION]... agent PROXY... AGENT\n"
	"       acp-conduct [OPTION]... proxy PROXY...\n"
	"Starts the components and the agent, and connects them in the order of the\n"
	"command line. The client is on standard input and output. Without an agent\n"
	"acp-conduct is itself a proxy.\n"
	"\n"
	"Components\n"
	"  -f, --filter CMD      add a filter for both directions: the client is on\n"
	"                        descriptors 0 and 1, the agent on 6 and 7\n"
	"  -d, --down CMD        add a filter from client to agent: stdin to stdout\n"
	"  -u, --up CMD          add a filter from agent to client: stdin to stdout\n"
	"  -p, --proxy CMD       add a proxy, which speaks the proxy-chain protocol\n"
	"      --peer NAME=CMD   EXPERIMENTAL: add an agent that the proxy before this\n"
	"                        option reaches as NAME\n"
	"      --on-crash restart|fail|bypass\n"
	"                        what to do when one of the components after this option\n"
	"                        dies (restart)\n"
	"      --on-agent-crash end|restart\n"
	"                        what to do when the agent dies: end the chain, or\n"
	"                        restart the agent and restore its sessions (end)\n"
	"      --restarts N/TIME  restart a component at most N times in TIME (3/1m)\n"
	"      --init-timeout TIME  fail if initialization takes longer than this (30s)\n"
	"      --dialect plain|underscore\n"
	"                        initialize all proxies with proxy/initialize or with\n"
	"                        _proxy/initialize (default: detect it for each proxy)\n"
	"      --no-mcp          do not add acp-mcp before the agent\n"
	"\n"
	"Recording and sharing\n"
	"      --record FILE     record the messages of all hops; acp-recording(5)\n"
	"      --trace FILE      write the messages of all hops as events for the trace\n"
	"                        viewer of the Rust conductor\n"
	"      --control SOCKET|auto\n"
	"                        let tools attach to the chain; see acp-share(1)\n"
	"      --control-hop N|NAME\n"
	"                        share this hop (0); may be repeated\n"
	"\n"
	"Other options\n"
	"      --grace TIME      stop a component that has not ended after TIME (5s)\n"
	"      --max-line SIZE   discard lines longer than SIZE bytes (64M)\n"
	"  -v, --verbose         report when each component starts and ends\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"\n"
	"Example: acp-conduct -p my-proxy -f 'acp-tap -o s.rec' -- my-agent --acp\n";

enum { OPTION_GRACE = 256, OPTION_CRASH, OPTION_NO_MCP, OPTION_RESTARTS, OPTION_INIT, OPTION_DIALECT, OPTION_TRACE, OPTION_RECORD,
	OPTION_CONTROL, OPTION_HOP, OPTION_LIST, OPTION_MAX_LINE, OPTION_AGENT_CRASH, OPTION_PEER };

static const struct option options[] = {
	{"filter", required_argument, NULL, 'f'},
	{"down", required_argument, NULL, 'd'},
	{"up", required_argument, NULL, 'u'},
	{"proxy", required_argument, NULL, 'p'},
	{"peer", required_argument, NULL, OPTION_PEER},
	{"on-crash", required_argument, NULL, OPTION_CRASH},
	{"on-agent-crash", required_argument, NULL, OPTION_AGENT_CRASH},
	{"no-mcp", no_argument, NULL, OPTION_NO_MCP},
	{"restarts", required_argument, NULL, OPTION_RESTARTS},
	{"init-timeout", required_argument, NULL, OPTION_INIT},
	{"dialect", required_argument, NULL, OPTION_DIALECT},
	{"trace", required_argument, NULL, OPTION_TRACE},
	{"record", required_argument, NULL, OPTION_RECORD},
	{"control", required_argument, NULL, OPTION_CONTROL},
	{"control-hop", required_argument, NULL, OPTION_HOP},
	{"list", no_argument, NULL, OPTION_LIST},
	{"max-line", required_argument, NULL, OPTION_MAX_LINE},
	{"grace", required_argument, NULL, OPTION_GRACE},
	{"verbose", no_argument, NULL, 'v'},
	CLI_LONG_OPTIONS,
};

/* What is said on the command line and is not yet a chain. */
struct setup {
	struct chain *chain;
	struct route *route;
	enum on_crash on_crash;
	bool agent_returns;
	bool no_mcp;
	const char *trace, *record;
	struct shares shares;
};

static void
add_component(struct setup *s, enum kind kind, const char *command)
{
	struct chain *ch = s->chain;

	if (chain_add_command(ch, kind, command) == 0) {
		ch->components[kind == KIND_PEER ? ch->total - 1 : ch->n - 1].on_crash = s->on_crash;
		return;
	}
	if (errno == EINVAL)
		cli_die(EXIT_USAGE, name, "the command of a %s is empty", kind < KIND_PROXY ? "filter" : chain_kind(kind));
	cli_die(EXIT_FAILED, name, "%s", strerror(errno));
}

/* NAME=COMMAND, for the component before it. */
static void
add_peer(struct setup *s, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct chain *ch = s->chain;
	size_t n = strspn(text, plain), i;
	char *own;

	if (n == 0 || text[n] != '=')
		cli_die(EXIT_USAGE, name, "--peer %s: expected NAME=COMMAND, the name of letters, digits, `.', `_' and `-'", text);
	if (ch->n == 0 || ch->components[ch->n - 1].kind != KIND_PROXY)
		cli_die(EXIT_USAGE, name, "--peer %s: the component before it must be a proxy (-p)", text);
	own = strndup(text, n);
	if (!own)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	for (i = ch->n; i < ch->total; i++)
		if (ch->components[i].owner == ch->n - 1 && strcmp(ch->components[i].peer, own) == 0)
			cli_die(EXIT_USAGE, name, "--peer %s: this proxy has a peer of that name", text);
	add_component(s, KIND_PEER, text + n + 1);
	ch->components[ch->total - 1].peer = own;
}

static void
read_restarts(struct chain *ch, const char *text)
{
	const char *slash = strchr(text, '/');
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!slash || end != slash || end == text || text[0] < '0' || text[0] > '9' || errno || n > 1000 ||
		cli_duration(slash + 1, &ch->window) < 0)
		cli_die(EXIT_USAGE, name, "--restarts %s: expected N/TIME with N at most 1000, such as 3/1m", text);
	ch->restarts = n;
	ch->allowed = text;
}

static void
read_word(struct setup *s, int option, const char *word)
{
	static const char *const crashes[] = {"restart", "bypass", "fail"}, *const dialects[] = {"plain", "underscore"};
	size_t i;

	if (option == OPTION_CRASH) {
		for (i = 0; i < 3; i++) {
			if (strcmp(word, crashes[i]) == 0) {
				s->on_crash = (enum on_crash)i;
				return;
			}
		}
		cli_die(EXIT_USAGE, name, "--on-crash %s: not one of restart, bypass, fail", word);
	}
	for (i = 0; i < 2; i++) {
		if (strcmp(word, dialects[i]) == 0) {
			s->route->dialect = (enum acp_dialect)i;
			s->route->fixed = true;
			return;
		}
	}
	cli_die(EXIT_USAGE, name, "--dialect %s: not one of plain, underscore", word);
}

static void
read_agent_crash(struct setup *s, const char *word)
{
	s->agent_returns = strcmp(word, "restart") == 0;
	if (!s->agent_returns && strcmp(word, "end") != 0)
		cli_die(EXIT_USAGE, name, "--on-agent-crash %s: not one of end, restart", word);
}

static void
read_duration(const char *option, const char *text, uint64_t *us)
{
	if (cli_duration(text, us) < 0)
		cli_die(EXIT_USAGE, name, "%s %s: %s", option, text, cli_want_duration);
}

static void
add_hop(struct setup *s, const char *text)
{
	const char **hops = reallocarray(s->shares.hops, s->shares.n + 1, sizeof(*hops));

	if (!hops)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	s->shares.hops = hops;
	hops[s->shares.n++] = text;
}

/* The Rust conductor's command line: each word is a command. */
static void
read_commands(struct setup *s, int argc, char **argv)
{
	bool agent = strcmp(argv[0], "agent") == 0;
	int i;

	if (argc < 2)
		cli_die(EXIT_USAGE, name, "missing component; try acp-conduct --help");
	for (i = 1; i < argc; i++)
		add_component(s, agent && i == argc - 1 ? KIND_AGENT : KIND_PROXY, argv[i]);
	s->chain->has_agent = agent;
}

static void
read_operands(struct setup *s, int argc, char **argv)
{
	struct chain *ch = s->chain;
	bool dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;

	if (optind < argc && !dashes && (strcmp(argv[optind], "agent") == 0 || strcmp(argv[optind], "proxy") == 0)) {
		if (ch->n)
			cli_die(EXIT_USAGE, name, "give components either as options or after `%s', not both; put -- before an agent of that name", argv[optind]);
		read_commands(s, argc - optind, argv + optind);
		return;
	}
	ch->has_agent = optind < argc;
	if (!ch->has_agent && ch->n == 0)
		cli_die(EXIT_USAGE, name, "missing agent; try acp-conduct --help");
	if (ch->has_agent && chain_add_argv(ch, KIND_AGENT, argv + optind) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
}

static void
read_options(struct setup *s, int argc, char **argv)
{
	static const struct cli_rule rules[] = {{"--control-hop", "--control", NULL}, {NULL, NULL, NULL}};
	static const struct cli cli = {name, usage, "+f:d:u:p:vhV", options};
	struct cli_given given = {0};
	struct chain *ch = s->chain;
	size_t i;
	int option;

	while ((option = cli_next(&cli, argc, argv, &given)) != -1) {
		switch (option) {
		case 'f':
			add_component(s, KIND_FILTER, optarg);
			break;
		case 'd':
			add_component(s, KIND_DOWN, optarg);
			break;
		case 'u':
			add_component(s, KIND_UP, optarg);
			break;
		case 'p':
			add_component(s, KIND_PROXY, optarg);
			break;
		case OPTION_PEER:
			add_peer(s, optarg);
			break;
		case OPTION_CRASH:
		case OPTION_DIALECT:
			read_word(s, option, optarg);
			break;
		case OPTION_AGENT_CRASH:
			read_agent_crash(s, optarg);
			break;
		case OPTION_NO_MCP:
			s->no_mcp = true;
			break;
		case OPTION_RESTARTS:
			read_restarts(s->chain, optarg);
			break;
		case OPTION_INIT:
			read_duration("--init-timeout", optarg, &s->route->init_timeout);
			break;
		case OPTION_TRACE:
			s->trace = optarg;
			break;
		case OPTION_RECORD:
			s->record = optarg;
			break;
		case OPTION_CONTROL:
			s->shares.control = optarg;
			break;
		case OPTION_HOP:
			add_hop(s, optarg);
			break;
		case OPTION_LIST:
			cli_die(EXIT_USAGE, name, "--list: to list running chains, use acp-share --list");
		case OPTION_MAX_LINE:
			if (cli_bytes(optarg, &s->route->line_limit) < 0 || s->route->line_limit == 0)
				cli_die(EXIT_USAGE, name, "--max-line %s: %s", optarg, cli_want_bytes);
			s->shares.max_line = optarg;
			break;
		case OPTION_GRACE:
			read_duration("--grace", optarg, &s->chain->grace);
			break;
		case 'v':
			s->chain->verbose = true;
			break;
		}
	}
	cli_check(&cli, &given, rules);
	read_operands(s, argc, argv);
	for (i = 0; i < ch->total; i++)
		if (ch->components[i].kind >= KIND_AGENT)
			ch->components[i].on_crash = s->agent_returns ? CRASH_RESTART : CRASH_FAIL;
	if (s->agent_returns && !ch->has_agent)
		cli_die(EXIT_USAGE, name, "--on-agent-crash restart: there is no agent");
}

/* Does conduct have to read what goes by? */
static bool
is_routed(const struct setup *s)
{
	const struct chain *ch = s->chain;
	size_t i;

	for (i = 0; i < ch->n; i++)
		if (ch->components[i].kind == KIND_PROXY)
			return true;
	return !ch->has_agent || s->agent_returns || s->trace || s->record;
}

static void
open_logs(struct setup *s)
{
	char *why;

	if (!s->trace && !s->record)
		return;
	s->route->logs = logs_open(s->route, s->trace, s->record, &why);
	if (!s->route->logs)
		cli_die(EXIT_USAGE, name, "%s", why ? why : strerror(errno));
}

static void
share(const struct setup *s)
{
	char *why;

	if (s->shares.control && shares_add(s->chain, &s->shares, &why) < 0)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "%s", why ? why : strerror(errno));
}

/* Those that end a chain; SIGHUP only where nohup has not seen to it that it is ignored. */
static const int *
ending_signals(void)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, 0}, but_hup[] = {SIGINT, SIGTERM, 0};
	struct sigaction hup;

	return sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN ? but_hup : all;
}

int
main(int argc, char **argv)
{
	struct chain chain = {.grace = 5 * 1000000, .allowed = "3/1m", .restarts = 3, .window = 60 * 1000000};
	struct route route = {.chain = &chain, .report = &chain.report, .init_timeout = 30 * 1000000,
		.line_limit = 64 * 1024 * 1024};
	struct setup setup = {.chain = &chain, .route = &route};
	int status;

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	read_options(&setup, argc, argv);
	chain.loop = route.loop = loop_new(ending_signals(), engine_signal, &chain);
	if (!chain.loop || report_open(&chain.report, chain.loop) < 0 ||
		proc_guardian_start(&chain.guardian) < 0 || (!setup.no_mcp && bridge_add(&chain) < 0) || chain_name(&chain) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	share(&setup);
	chain.route = &route;
	chain.routed = is_routed(&setup);
	engine_open(&chain);
	open_logs(&setup);
	if (wire_chain(&chain) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	status = engine_run(&chain);
	if (logs_close(route.logs) < 0 && status == 0)
		status = EXIT_FAILED;
	end_close(&chain);
	hop_free(&chain);
	report_close(&chain.report, chain.grace);
	loop_free(chain.loop);
	chain_free(&chain);
	free(setup.shares.hops);
	return status;
}
