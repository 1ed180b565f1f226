/* acp-conduct: starts a chain of components around an agent, and joins them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "lib/base/cli_line.h"
#include "logs.h"
#include "read.h"
#include "siblings.h"

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

/* The command line, before a chain is made of it. */
struct setup {
	struct chain chain;
	struct route route;
	enum on_crash on_crash;
	bool no_mcp;
	const char *trace, *record;
	struct shares shares;
};

static struct component *
add_component(struct setup *s, enum kind kind, const char *command, char *const *argv)
{
	struct component *c = chain_add(&s->chain, kind, command, argv);

	if (!c && command && errno == EINVAL)
		cli_die(EXIT_USAGE, name, "the command of a %s is empty", kind < KIND_PROXY ? "filter" : chain_kind(kind));
	if (!c)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	c->on_crash = s->on_crash;
	return c;
}

static void
parse_component(const struct cli_argument *t)
{
	add_component(t->at, (enum kind)t->option->value, t->argument, NULL);
}

/* Adds a peer, NAME=COMMAND, of the component before it on the command line. */
static void
parse_peer(const struct cli_argument *t)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct setup *s = t->at;
	struct chain *ch = &s->chain;
	const char *text = t->argument;
	size_t n = strspn(text, plain), i;
	char *own;

	if (n == 0 || text[n] != '=')
		cli_wrong(t, "expected NAME=COMMAND, the name of letters, digits, `.', `_' and `-'");
	if (ch->n == 0 || ch->components[ch->n - 1].kind != KIND_PROXY)
		cli_wrong(t, "the component before it must be a proxy (-p)");
	own = strndup(text, n);
	if (!own)
		cli_no_memory(name);
	for (i = ch->n; i < ch->total; i++)
		if (ch->components[i].owner == ch->n - 1 && strcmp(ch->components[i].peer, own) == 0)
			cli_wrong(t, "this proxy has a peer of that name");
	add_component(s, KIND_PEER, text + n + 1, NULL)->peer = own;
}

static const struct cli_option options[] = {
	{"filter", 'f', CLI_PARSE(parse_component), .value = KIND_FILTER},
	{"down", 'd', CLI_PARSE(parse_component), .value = KIND_DOWN},
	{"up", 'u', CLI_PARSE(parse_component), .value = KIND_UP},
	{"proxy", 'p', CLI_PARSE(parse_component), .value = KIND_PROXY},
	{"peer", 0, CLI_PARSE(parse_peer)},
	{"on-crash", 0, CLI_WORD(struct setup, on_crash, "restart", "bypass", "fail")},
	{"restarts", 0, CLI_RATE(struct setup, chain.options.restarts)},
	{"init-timeout", 0, CLI_DURATION(struct setup, chain.options.init_timeout)},
	{"dialect", 0, CLI_WORD(struct setup, route.dialect, "plain", "underscore")},
	{"no-mcp", 0, CLI_FLAG(struct setup, no_mcp)},
	{"record", 0, CLI_TEXT(struct setup, record)},
	{"trace", 0, CLI_TEXT(struct setup, trace)},
	{"control", 0, CLI_TEXT(struct setup, shares.control)},
	{"control-hop", 0, CLI_TEXTS(struct setup, shares.hops)},
	{"grace", 0, CLI_DURATION(struct setup, chain.options.grace)},
	{"max-line", 0, CLI_BYTES(struct setup, route.line_limit)},
	{"verbose", 'v', CLI_FLAG(struct setup, chain.options.verbose)},
	{0},
};

static const struct cli_rule rules[] = {{"--control-hop", "--control", NULL}, {NULL, NULL, NULL}};

static void
read_operands(struct setup *s, const struct cli_line *line)
{
	struct chain *ch = &s->chain;
	char **words = line->words;
	bool rust = *words && !line->dashes && (strcmp(*words, "agent") == 0 || strcmp(*words, "proxy") == 0);

	if (rust && ch->n)
		cli_die(EXIT_USAGE, name, "give components either as options or after `%s', not both; put -- before an agent of that name", *words);
	if (rust && !words[1])
		cli_die(EXIT_USAGE, name, "missing component; try acp-conduct --help");
	ch->has_agent = rust ? strcmp(*words, "agent") == 0 : *words != NULL;
	if (rust) {
		/* As in the Rust conductor's command line, each word is a command. */
		while (*++words)
			add_component(s, ch->has_agent && !words[1] ? KIND_AGENT : KIND_PROXY, *words, NULL);
		return;
	}
	if (!ch->has_agent && ch->n == 0)
		cli_die(EXIT_USAGE, name, "missing agent; try acp-conduct --help");
	if (ch->has_agent)
		add_component(s, KIND_AGENT, NULL, words);
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {name, usage, options};
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, 0};
	struct setup setup = {
		.chain.options = {.grace = 5 * 1000000, .init_timeout = 30 * 1000000, .restarts = {"3/1m", 3, 60 * 1000000}},
		.route = {.line_limit = 64 * 1024 * 1024},
	};
	struct chain *ch = &setup.chain;
	struct route *r = &setup.route;
	struct cli_line line;
	char *why;
	int status;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &setup, &line);
	cli_check(&line, rules);
	read_operands(&setup, &line);
	setup.shares.max_line = cli_has(&line, "--max-line") ? r->line_limit : 0;
	r->fixed = cli_has(&line, "--dialect");
	r->chain = ch;
	ch->loop = loop_new(ending, engine_signal, ch);
	if (!ch->loop || report_open(&ch->report, name, ch->loop) < 0 ||
		proc_guardian_start(&ch->guardian) < 0 || (!setup.no_mcp && siblings_add_mcp(ch) < 0) || chain_name(ch) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	if (setup.shares.control && siblings_add_shares(ch, &setup.shares, &why) < 0)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "%s", why ? why : strerror(errno));
	/* Each of these needs acp-conduct to read the messages; any other chain is direct. */
	if (ch->has_proxies || !ch->has_agent || setup.trace || setup.record)
		ch->route = r;
	if ((setup.trace || setup.record) && !(r->logs = logs_open(r, setup.trace, setup.record, &why)))
		cli_die(EXIT_USAGE, name, "%s", why ? why : strerror(errno));
	if ((ch->route ? read_open(ch) : direct_open(ch)) < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
	status = engine_run(ch);
	if (logs_close(r->logs) < 0 && status == 0)
		status = EXIT_FAILED;
	read_free(r);
	direct_free(ch->direct);
	report_close(&ch->report, ch->options.grace, ch->options.grace);
	loop_free(ch->loop);
	chain_free(ch);
	free(setup.shares.hops);
	return status;
}
