/* acp-http: carries a stream over HTTP, WebSocket or plain TCP. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-http/http.h"
#include "lib/base/cli_line.h"
#include "lib/run/proc.h"

static const char help[] =
	"usage: acp-http --listen [ADDR:]PORT [OPTION]... -- AGENT [ARG]...\n"
	"       acp-http --connect URL [OPTION]...\n"
	"Serves an agent over HTTP and WebSocket, or makes a remote agent a command.\n"
	"\n"
	"Server\n"
	"      --listen [ADDR:]PORT | tcp:PORT\n"
	"                        listen for connections, and start an agent for each\n"
	"                        (ADDR: loopback; PORT 0: any; tcp: plain lines)\n"
	"      --path PATH       path to serve (/acp)\n"
	"      --cert FILE       serve https and wss with this certificate (PEM)\n"
	"      --key FILE        its private key, if it is not in the same file\n"
	"      --no-auth         serve an address other than loopback without a token\n"
	"      --origin ORIGIN   let web pages of this origin connect by WebSocket; may\n"
	"                        be repeated\n"
	"      --max-connections N  refuse more connections than this at a time (200)\n"
	"      --queue SIZE      what may wait for a client that reads no stream (1M)\n"
	"      --idle TIME       end a connection without any stream or message (5m)\n"
	"\n"
	"Client\n"
	"      --connect URL     connect stdin and stdout to http://..., https://...,\n"
	"                        ws://..., wss://... or tcp://HOST:PORT\n"
	"      --profile PROFILE  auto (by the URL), ws or http\n"
	"      --header 'NAME: VALUE'\n"
	"                        send this header with each request; may be repeated\n"
	"      --ca FILE         also trust these certificates (PEM)\n"
	"      --cookies FILE    keep cookies of the server in FILE\n"
	"      --timeout TIME    how long to wait for a connection, and for responses\n"
	"                        that a lost stream may have taken along (60s)\n"
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
	"2 bad usage; 125 acp-http failed.\n";

enum { MAX_LINE = 64 * 1024 * 1024, MOST_LINE = 1 << 30, CONNECTIONS = 200, QUEUE = 1024 * 1024 };
enum { SECOND = 1000 * 1000, GRACE = 5 * SECOND, PING = 30 * SECOND, IDLE = 300 * SECOND, TIMEOUT = 60 * SECOND };
enum { TOKEN_MOST = 8192 };
static const struct cli_rule rules[] = {
	{"--listen", "a command", "--connect"},
	{"--connect", NULL, "a command"},
	{"--path|--cert|--key|--origin|--max-connections|--no-auth|--queue|--idle", "--listen", NULL},
	{"--header|--ca|--cookies|--profile|--timeout", "--connect", NULL},
	{"--key", "--cert", NULL},
	{"tcp", NULL, "--path|--cert|--origin|--no-auth|--queue|--idle|--token-file|--header|--ca|--cookies|--profile"},
	{"--no-auth", NULL, "--token-file"},
	{"an address other than loopback", "--token-file|--no-auth", NULL},
	{NULL, NULL, NULL},
};

/* Reads the token: a line of printable ASCII without blanks. */
static void
parse_token(const struct cli_argument *t)
{
	struct options *o = t->at;
	struct buf *token = &o->token;

	o->token_file = t->argument;
	token->n = 0;
	if (read_small(t->argument, token, TOKEN_MOST + 2) < 0)
		cli_wrong(t, errno == EFBIG ? "this is too long for a token" : strerror(errno));
	while (token->n > 0 && (token->p[token->n - 1] == '\n' || token->p[token->n - 1] == '\r'))
		token->n--;
	if (token->n == 0)
		cli_wrong(t, "it holds no token");
	if (token->n > TOKEN_MOST)
		cli_wrong(t, "this is too long for a token");
	for (size_t i = 0; i < token->n; i++)
		if (token->p[i] <= ' ' || token->p[i] > '~')
			cli_wrong(t, "a token is one line of printable ASCII without blanks");
	if (!buf_string(token))
		cli_no_memory(tool_name);
}

/* Reads 'NAME: VALUE', and refuses the headers that the protocol needs for itself. */
static void
parse_header(const struct cli_argument *t)
{
	static const char *const own[] = {"host:*", "upgrade:*", "connection:*", "sec-websocket-*", "content-length:*", "content-type:*",
		"transfer-encoding:*", "accept:*", "acp-*"};
	const char *header = t->argument, *p;
	size_t n = strspn(header, header_name_bytes), i;

	if (n == 0 || header[n] != ':')
		cli_wrong(t, "expected 'NAME: VALUE'");
	for (p = header; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t')
			cli_wrong(t, "a header is one line");
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (fnmatch(own[i], header, FNM_CASEFOLD) == 0)
			cli_wrong(t, "acp-http sets this header itself");
	cli_add(t, t->at);
}

/* Adds an origin, which has to be as browsers send it, for that is compared with it. */
static void
parse_origin(const struct cli_argument *t)
{
	CURLU *u = curl_url();
	size_t n = strlen(t->argument);
	char *url = NULL;
	/* libcurl adds the path "/", and leaves out a default port. It reads no file URL without a path. */
	bool fits = curl_url_set(u, CURLUPART_URL, t->argument, CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER) == CURLUE_OK &&
		curl_url_get(u, CURLUPART_URL, &url, CURLU_NO_DEFAULT_PORT) == CURLUE_OK && strlen(url) == n + 1 &&
		strncasecmp(url, t->argument, n) == 0;

	curl_free(url);
	curl_url_cleanup(u);
	if (!fits && strcmp(t->argument, "null") != 0 && strcasecmp(t->argument, "file://") != 0)
		cli_wrong(t, "expected https://HOST[:PORT] as browsers send it: without a slash at the end or a default port");
	cli_add(t, t->at);
}

/* Reads [ADDR:]PORT, with or without brackets around ADDR, or tcp:PORT. Changes the argument. */
static void
parse_listen(const struct cli_argument *t)
{
	struct options *o = t->at;
	char *text = optarg, *colon = strrchr(text, ':'), *end;
	long port;

	o->port = colon ? colon + 1 : text;
	port = strtol(o->port, &end, 10);
	if (*o->port < '0' || *o->port > '9' || *end || port > 65535 || colon == text)
		cli_wrong(t, "expected [ADDR:]PORT, such as 8080 or 127.0.0.1:8080");
	if (colon)
		*colon = '\0';
	o->plain = colon && strcmp(text, "tcp") == 0;
	o->address = colon && !o->plain ? text : NULL;
	if (o->address && *text == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		o->address = text + 1;
	}
}

static const struct cli_option options[] = {
	{"listen", 0, CLI_PARSE(parse_listen)},
	{"path", 0, CLI_TEXT(struct options, path)},
	{"cert", 0, CLI_TEXT(struct options, cert)},
	{"key", 0, CLI_TEXT(struct options, key)},
	{"queue", 0, CLI_BYTES(struct options, queue)},
	{"idle", 0, CLI_DURATION(struct options, idle), .least = 1},
	{"token-file", 0, CLI_PARSE(parse_token)},
	{"no-auth", 0, CLI_MARK},
	{"origin", 0, CLI_PARSE_AT(parse_origin, const char **, struct options, origins)},
	{"max-connections", 0, CLI_COUNT(struct options, max_connections), .least = 1},
	{"connect", 0, CLI_TEXT(struct options, url)},
	{"profile", 0, CLI_WORD(struct options, profile, "auto", "ws", "http")},
	{"timeout", 0, CLI_DURATION(struct options, timeout)},
	{"header", 0, CLI_PARSE_AT(parse_header, const char **, struct options, headers)},
	{"ca", 0, CLI_TEXT(struct options, ca)},
	{"cookies", 0, CLI_TEXT(struct options, cookies)},
	{"max-line", 0, CLI_BYTES(struct options, limit), .most = MOST_LINE, .expected = "at most 1G"},
	{"grace", 0, CLI_DURATION(struct options, grace)},
	{"ping", 0, CLI_DURATION(struct options, ping)},
	{"verbose", 'v', CLI_FLAG(struct options, verbose)},
	{0},
};

static bool
is_loopback(const char *address)
{
	return !address || strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 || strncmp(address, "127.", 4) == 0;
}

/* Is the output a file that is also an input: this one, or (NULL) standard input? */
static bool
is_input(const char *output, const char *input)
{
	struct stat out, in;

	return stat(output, &out) == 0 && S_ISREG(out.st_mode) && (input ? stat(input, &in) : fstat(STDIN_FILENO, &in)) == 0 &&
		out.st_dev == in.st_dev && out.st_ino == in.st_ino;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tool_name, help, options};
	struct options o = {.path = "/acp", .max_connections = CONNECTIONS, .limit = MAX_LINE, .grace = GRACE, .ping = PING, .queue = QUEUE,
		.idle = IDLE, .timeout = TIMEOUT};
	struct cli_line line;
	int status;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &o, &line);
	if (*o.path != '/')
		cli_die(EXIT_USAGE, tool_name, "--path %s: a path must begin with /", o.path);
	if (o.ca && access(o.ca, R_OK) < 0)
		cli_die(EXIT_USAGE, tool_name, "--ca %s: %s", o.ca, strerror(errno));
	if (o.cookies && (is_input(o.cookies, o.token_file) || is_input(o.cookies, o.ca) || is_input(o.cookies, NULL)))
		cli_die(EXIT_USAGE, tool_name, "--cookies %s: it is also an input", o.cookies);
	if (line.dashes && line.words[0])
		o.command = line.words;
	if (!o.command && line.words[0])
		cli_die(EXIT_USAGE, tool_name, "%s: a command goes after --", line.words[0]);
	if (!o.port && !o.url)
		cli_die(EXIT_USAGE, tool_name, "either --listen or --connect is required; try acp-http --help");
	cli_note(&line, o.command != NULL, "a command");
	cli_note(&line, !is_loopback(o.address), "an address other than loopback");
	cli_note(&line, o.plain || (o.url && strncasecmp(o.url, "tcp:", 4) == 0), "tcp");
	cli_check(&line, rules);
	if (o.port && is_loopback(o.address) && !o.token.p && isatty(STDERR_FILENO))
		cli_warn(tool_name, "every user of this machine can connect: --token-file requires a token");
	status = o.port ? listen_run(&o) : connect_run(&o);
	free(o.origins);
	free(o.headers);
	buf_free(&o.token);
	return status;
}
