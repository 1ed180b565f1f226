/* acp-ws: carries a stream over WebSocket. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/acp-ws/ws.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

static const char help[] =
	"usage: acp-ws --listen [ADDR:]PORT [OPTION]... -- AGENT [ARG]...\n"
	"       acp-ws --connect URL [OPTION]...\n"
	"Serves an agent over WebSocket, or makes a remote agent a command.\n"
	"\n"
	"Server\n"
	"      --listen [ADDR:]PORT\n"
	"                        listen for connections, and start an agent for each\n"
	"                        (ADDR: loopback; PORT 0: any free port)\n"
	"      --path PATH       path to serve (/acp)\n"
	"      --no-auth         serve an address other than loopback without a token\n"
	"      --origin ORIGIN   let web pages of this origin connect; may be repeated\n"
	"      --max-connections N  refuse more connections than this at a time (200)\n"
	"\n"
	"Client\n"
	"      --connect URL     connect stdin and stdout to ws://... or wss://...\n"
	"      --header 'NAME: VALUE'\n"
	"                        send this header with the handshake; may be repeated\n"
	"      --ca FILE         also trust these certificates (PEM)\n"
	"      --cookies FILE    keep cookies of the server in FILE\n"
	"\n"
	"Both\n"
	"      --token-file FILE  bearer token that clients must send, or with --connect\n"
	"                        the token to send\n"
	"      --max-line SIZE   longest message in bytes (64M)\n"
	"      --grace TIME      how long to wait for the agent to end (5s)\n"
	"      --ping TIME       send a ping at this interval (30s; 0: never)\n"
	"  -v, --verbose         also report connections and refusals\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"Exit status: 0 done; 1 --connect: no connection could be made, or it was lost;\n"
	"2 bad usage; 125 acp-ws failed.\n";

enum { MAX_LINE = 64 * 1024 * 1024, MOST_LINE = 1 << 30, GRACE = 5 * 1000 * 1000, PING = 30 * 1000 * 1000, CONNECTIONS = 200 };
enum { DESCRIPTORS = 32, DESCRIPTORS_EACH = 4 }; /* that the server needs, and each connection */
enum { TOKEN_MOST = 8192 };
enum { OPT_LISTEN = 256, OPT_PATH, OPT_TOKEN_FILE, OPT_NO_AUTH, OPT_ORIGIN, OPT_MAX_CONNECTIONS, OPT_CONNECT, OPT_HEADER, OPT_CA, OPT_COOKIES,
	OPT_MAX_LINE, OPT_GRACE, OPT_PING };

static const struct option longs[] = {
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"path", required_argument, NULL, OPT_PATH},
	{"token-file", required_argument, NULL, OPT_TOKEN_FILE},
	{"no-auth", no_argument, NULL, OPT_NO_AUTH},
	{"origin", required_argument, NULL, OPT_ORIGIN},
	{"max-connections", required_argument, NULL, OPT_MAX_CONNECTIONS},
	{"connect", required_argument, NULL, OPT_CONNECT},
	{"header", required_argument, NULL, OPT_HEADER},
	{"ca", required_argument, NULL, OPT_CA},
	{"cookies", required_argument, NULL, OPT_COOKIES},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	{"grace", required_argument, NULL, OPT_GRACE},
	{"ping", required_argument, NULL, OPT_PING},
	{"verbose", no_argument, NULL, 'v'},
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {tool_name, help, "+vhV", longs};

static const struct cli_rule rules[] = {
	{"--listen", "a command", "--connect"},
	{"--connect", NULL, "a command"},
	{"--path|--origin|--max-connections|--no-auth", "--listen", NULL},
	{"--header|--ca|--cookies", "--connect", NULL},
	{"--no-auth", NULL, "--token-file"},
	{"an address other than loopback", "--token-file|--no-auth", NULL},
	{NULL, NULL, NULL},
};

/* The token: a line of printable text without blanks. */
static void
read_token(const char *path, struct buf *token)
{
	char text[TOKEN_MOST + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text)), i;

	if (n < 0)
		cli_bad(&cli, OPT_TOKEN_FILE, path, strerror(errno));
	close(fd);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (n == 0)
		cli_bad(&cli, OPT_TOKEN_FILE, path, "it holds no token");
	if (n > TOKEN_MOST)
		cli_bad(&cli, OPT_TOKEN_FILE, path, "this is too long for a token");
	for (i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			cli_bad(&cli, OPT_TOKEN_FILE, path, "a token is one line of printable ASCII without blanks");
	token->n = 0;
	if (buf_add(token, text, (size_t)n) < 0 || !buf_string(token))
		cli_refuse(&cli, NULL);
	explicit_bzero(text, sizeof(text));
}

/* Is this the name, or one of those that begin so (where it ends in -)? */
static bool
is_named(const char *header, size_t n, const char *name)
{
	size_t known = strlen(name);

	return (name[known - 1] == '-' ? n >= known : n == known) && strncasecmp(header, name, known) == 0;
}

/* A header that is the handshake's own is not for people to set. */
static void
check_header(const char *header)
{
	static const char *const own[] = {"host", "upgrade", "connection", "sec-websocket-", "content-length", "transfer-encoding"};
	size_t n = strspn(header, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"), i;
	const char *p;

	if (n == 0 || header[n] != ':')
		cli_bad(&cli, OPT_HEADER, header, "expected 'NAME: VALUE'");
	for (p = header; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t')
			cli_bad(&cli, OPT_HEADER, header, "a header is one line");
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (is_named(header, n, own[i]))
			cli_bad(&cli, OPT_HEADER, header, "the handshake sets this header itself");
}

/* [ADDR:]PORT; ADDR may stand in brackets. The argument is changed. */
static void
read_listen(char *text, struct options *o)
{
	char *colon = strrchr(text, ':'), *end;
	long port;

	o->port = colon ? colon + 1 : text;
	port = strtol(o->port, &end, 10);
	if (*o->port < '0' || *o->port > '9' || *end || port > 65535 || colon == text)
		cli_bad(&cli, OPT_LISTEN, text, "expected [ADDR:]PORT, such as 8080 or 127.0.0.1:8080");
	if (!colon)
		return;
	*colon = '\0';
	o->address = text;
	if (*text == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		o->address = text + 1;
	}
}

static bool
is_loopback(const char *address)
{
	return !address || strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 || strncmp(address, "127.", 4) == 0;
}

/* Appends to a list that ends with NULL; what NULL makes one. */
static void
append(const char ***list, const char *what)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = realloc(*list, (n + 2) * sizeof(**list));
	if (!*list)
		cli_refuse(&cli, NULL);
	(*list)[n] = what;
	(*list)[n + 1] = NULL;
}

static void
read_limit(int option, struct options *o)
{
	switch (option) {
	case OPT_MAX_CONNECTIONS:
		if (cli_count(optarg, &o->max_connections) < 0 || o->max_connections == 0)
			cli_bad(&cli, option, optarg, "expected a number, 1 or more");
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(optarg, &o->limit) < 0)
			cli_bad(&cli, option, optarg, cli_want_bytes);
		if (o->limit > MOST_LINE)
			cli_bad(&cli, option, optarg, "at most 1G");
		break;
	case OPT_GRACE:
		if (cli_duration(optarg, &o->grace) < 0)
			cli_bad(&cli, option, optarg, cli_want_duration);
		break;
	case OPT_PING:
		if (cli_duration(optarg, &o->ping) < 0)
			cli_bad(&cli, option, optarg, cli_want_duration);
		break;
	}
}

static void
read_option(int option, struct options *o)
{
	switch (option) {
	case OPT_LISTEN:
		read_listen(optarg, o);
		break;
	case OPT_PATH:
		o->path = optarg;
		if (*optarg != '/')
			cli_bad(&cli, option, optarg, "a path must begin with /");
		break;
	case OPT_TOKEN_FILE:
		read_token(optarg, &o->token);
		break;
	case OPT_ORIGIN:
		append(&o->origins, optarg);
		break;
	case OPT_CONNECT:
		o->url = optarg;
		break;
	case OPT_HEADER:
		check_header(optarg);
		append(&o->headers, optarg);
		break;
	case OPT_CA:
		o->ca = optarg;
		if (access(optarg, R_OK) < 0)
			cli_bad(&cli, option, optarg, strerror(errno));
		break;
	case OPT_COOKIES:
		o->cookies = optarg;
		break;
	case 'v':
		o->verbose = true;
		break;
	default:
		read_limit(option, o);
	}
}

/* Reported at the start, not when the last clients connect. */
static void
check_descriptors(const struct options *o)
{
	uint64_t needed = DESCRIPTORS + DESCRIPTORS_EACH * o->max_connections;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed)
		cli_die(EXIT_USAGE, tool_name, "--max-connections %" PRIu64 " needs %" PRIu64 " descriptors, and the limit is %" PRIu64
			" (ulimit -n)", o->max_connections, needed, (uint64_t)limit.rlim_cur);
}

int
main(int argc, char **argv)
{
	struct options o = {.path = "/acp", .max_connections = CONNECTIONS, .limit = MAX_LINE, .grace = GRACE, .ping = PING};
	struct cli_given given = {0};
	int option, status;

	if (proc_stdio() < 0)
		return EXIT_FAILED;
	append(&o.origins, NULL);
	append(&o.headers, NULL);
	while ((option = cli_next(&cli, argc, argv, &given)) >= 0)
		read_option(option, &o);
	if (given.dashes && argv[optind])
		o.command = argv + optind;
	if (!o.command && argv[optind])
		cli_die(EXIT_USAGE, tool_name, "%s: a command goes after --", argv[optind]);
	if (!o.port && !o.url)
		cli_die(EXIT_USAGE, tool_name, "either --listen or --connect is required; try acp-ws --help");
	cli_fact(&given, o.command != NULL, "a command");
	cli_fact(&given, !is_loopback(o.address), "an address other than loopback");
	cli_check(&cli, &given, rules);
	if (o.port)
		check_descriptors(&o);
	status = o.port ? listen_run(&o) : connect_run(&o);
	free(o.origins);
	free(o.headers);
	buf_free(&o.token);
	return status;
}
