/* A remote agent as a command: stdin and stdout here, a WebSocket there. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ws/ws.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

struct client {
	struct service service;
	const struct options *options;
	struct link link;
	struct loop_timer exit_timer;
	struct buf cookies;
	bool left;      /* the client has left, or a signal was received */
	bool hurried;   /* its time is over */
	char why[256];  /* the connection could not be made */
};

/* The parts of a URL, which point into text. */
struct target {
	char *text;
	const char *host;
	int port;
	bool secure;
	char *path;
	char *host_header;
};

/* --- the end --- */

static void
client_changed(void *arg)
{
	struct client *c = arg;
	struct link *l = &c->link;

	if (l->down) {
		c->service.over = !endpoint_can_write(&l->local);
		return;
	}
	if (l->local_ended && !c->left) {
		c->left = true;
		loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
	}
	/* A client that has closed its output may still read: waits for the responses to its requests. */
	if (!endpoint_can_write(&l->local) || (c->left && (c->hurried || link_open_requests(l, ACP_CLIENT) == 0)))
		link_finish(l, LWS_CLOSE_STATUS_NORMAL, "");
}

static void
exit_timer_expired(void *arg)
{
	struct client *c = arg;

	if (c->hurried)
		link_abort(&c->link);
	c->hurried = !link_update_progress(&c->link);
	loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
	client_changed(c);
}

static void
leave(void *arg)
{
	struct client *c = arg;

	endpoint_close_in(&c->link.local);
	c->link.local_ended = true;
	client_changed(c);
}

/* --- the connection --- */

static int
add_header(struct lws *wsi, const char *name, const char *value, unsigned char **p, unsigned char *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value, (int)strlen(value), p, end);
}

/* --header, the token and the cookies. 0, or -1: there is no room. */
static int
add_headers(struct client *c, struct lws *wsi, char **at, size_t room)
{
	unsigned char *p = (unsigned char *)*at, *end = p + room;
	const char *const *h;
	SCOPED struct buf text = {0};
	const char *value;
	int r = 0;

	for (h = c->options->headers; h && *h && r == 0; h++) {
		value = strchr(*h, ':') + 1;
		text.n = 0;
		r = buf_add(&text, *h, (size_t)(value - *h)) < 0 || !buf_string(&text) ? -1
			: add_header(wsi, text.p, value + strspn(value, " \t"), &p, end);
	}
	text.n = 0;
	if (r == 0 && c->options->token.p)
		r = buf_printf(&text, "Bearer %.*s", (int)c->options->token.n, c->options->token.p) < 0 || !buf_string(&text) ? -1
			: add_header(wsi, "authorization:", text.p, &p, end);
	text.n = 0;
	if (r == 0 && c->cookies.n > 0)
		r = cookies_header(&c->cookies, &text) < 0 || !buf_string(&text) ? -1 : add_header(wsi, "cookie:", text.p, &p, end);
	*at = (char *)p;
	return r ? -1 : 0;
}

/* Stores the cookies that the response to the handshake sets. */
static void
keep_cookies(struct client *c, struct lws *wsi)
{
	char *value;
	int i, n, r = 0;

	for (i = 0; r == 0 && (n = lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_SET_COOKIE, i)) > 0; i++) {
		value = malloc((size_t)n + 1);
			r = value && lws_hdr_copy_fragment(wsi, value, n + 1, WSI_TOKEN_HTTP_SET_COOKIE, i) >= 0 ? cookies_set(&c->cookies, value) : -1;
		free(value);
	}
	if (r < 0 || (i > 0 && cookies_write(&c->cookies, c->options->cookies) < 0))
		report(&c->service, NULL, "--cookies %s: %s", c->options->cookies, strerror(errno));
}

static void
refused(struct client *c, struct lws *wsi, const char *in, size_t len)
{
	unsigned status = lws_http_client_http_response(wsi);

	if (status && status != 101)
		snprintf(c->why, sizeof(c->why), "the server refused with HTTP status %u", status);
	else
		snprintf(c->why, sizeof(c->why), "cannot connect%s%.*s", in ? ": " : "", in ? (int)len : 0, in ? in : "");
}

static int
callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct client *c = lws_get_opaque_user_data(wsi);

	(void)user;
	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return add_headers(c, wsi, in, len);
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		refused(c, wsi, in, len);
		return 0;
	case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
		if (c->options->cookies)
			keep_cookies(c, wsi);
		return 0;
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		report_verbose(&c->service, NULL, "connected");
		link_up(&c->link, wsi);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		if (c && !c->link.down)
			link_down(&c->link, c->why[0] ? c->why : NULL);
		return 0;
	case LWS_CALLBACK_CLIENT_RECEIVE:
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
	case LWS_CALLBACK_CLIENT_WRITEABLE:
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
	case LWS_CALLBACK_TIMER:
		return c ? link_callback(&c->link, reason, in, len) : 0;
	default:
		return 0;
	}
}

/* --- the URL --- */

static void
target_free(struct target *t)
{
	free(t->text);
	free(t->path);
	free(t->host_header);
}

/* 0, or -1 and *why: NULL where memory is out. */
static int
target_read(struct target *t, const char *url, const char **why)
{
	const char *scheme, *path, *authority;
	bool six;

	*t = (struct target){.text = strdup(url)};
	*why = NULL;
	if (!t->text)
		return -1;
	authority = strstr(url, "://");
	*why = "a user name and a password do not belong there: see --token-file and --header";
	if (authority && memchr(authority + 3, '@', strcspn(authority + 3, "/?#")))
		return -1;
	*why = "expected ws://HOST[:PORT][/PATH] or wss://...";
	if (lws_parse_uri(t->text, &scheme, &t->host, &t->port, &path))
		return -1;
	t->secure = strcmp(scheme, "wss") == 0;
	if ((!t->secure && strcmp(scheme, "ws") != 0) || !*t->host || t->port < 1 || t->port > 65535 || strpbrk(t->host, "?# ") ||
		strpbrk(path, "# "))
		return -1;
	*why = NULL;
	if (asprintf(&t->path, "%s%s", *path == '/' ? "" : "/", path) < 0) {
		t->path = NULL;
		return -1;
	}
	six = strchr(t->host, ':') != NULL;
	if (asprintf(&t->host_header, t->port == (t->secure ? 443 : 80) ? "%s%s%s" : "%s%s%s:%d", six ? "[" : "", t->host,
			six ? "]" : "", t->port) < 0) {
		t->host_header = NULL;
		return -1;
	}
	return 0;
}

static void
connect_to(struct client *c, const struct target *t)
{
	struct lws_client_connect_info info = {
		.context = c->service.lws,
		.address = t->host,
		.port = t->port,
		.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (t->secure ? LCCSCF_USE_SSL : 0),
		.path = t->path,
		.host = t->host_header,
		.local_protocol_name = "acp",
		.alpn = "http/1.1",
		.opaque_user_data = c,
	};

	if (!lws_client_connect_via_info(&info) && !c->link.down)
		link_down(&c->link, c->why[0] ? c->why : "cannot connect");
}

/* The exit status, once all is over. */
static int
outcome(struct client *c)
{
	struct link *l = &c->link;

	if (c->service.signal)
		return 128 + c->service.signal;
	if (l->closed_by_us || (l->failed == 0 && l->close_code == LWS_CLOSE_STATUS_NORMAL))
		return 0;
	if (c->why[0])
		cli_warn(tool_name, "%s: %s", c->options->url, c->why);
	else if (l->close_code)
		cli_warn(tool_name, "%s: the agent closed the connection with code %u", c->options->url, l->close_code);
	else
		cli_warn(tool_name, "%s: the connection was lost", c->options->url);
	return EXIT_NEGATIVE;
}

int
connect_run(const struct options *o)
{
	struct client c = {.options = o};
	struct target t;
	const char *why;
	int status = EXIT_FAILED, in, out;

	if (target_read(&t, o->url, &why) < 0) {
		cli_warn(tool_name, "--connect %s: %s", o->url, why ? why : strerror(ENOMEM));
		target_free(&t);
		return why ? EXIT_USAGE : EXIT_FAILED;
	}
	if (o->cookies && cookies_read(&c.cookies, o->cookies) < 0) {
		cli_warn(tool_name, "--cookies %s: %s", o->cookies, strerror(errno));
		target_free(&t);
		buf_free(&c.cookies);
		return EXIT_USAGE;
	}
	cli_waits(tool_name, STDIN_FILENO, "a client's messages");
	c.service = (struct service){.options = o, .leave = leave, .owner = &c};
	c.link = (struct link){.service = &c.service, .name = NULL, .remote = ACP_AGENT, .changed = client_changed, .arg = &c};
	c.exit_timer = (struct loop_timer){.expired = exit_timer_expired, .arg = &c};
	if (service_open(&c.service, callback, o->ca) == 0 && (in = proc_claim(STDIN_FILENO)) >= 0 &&
		(out = proc_claim(STDOUT_FILENO)) >= 0 && link_open(&c.link, in, out) == 0) {
		connect_to(&c, &t);
		if (service_run(&c.service) == 0)
			status = outcome(&c);
	}
	if (status == EXIT_FAILED)
		cli_warn(tool_name, "%s", strerror(errno));
	if (c.link.wsi)
		lws_set_opaque_user_data(c.link.wsi, NULL);
	/* A connection that is still being made ends with libwebsockets, and nothing is to follow from it. */
	c.link.down = true;
	link_close(&c.link);
	service_close(&c.service);
	target_free(&t);
	buf_free(&c.cookies);
	return status;
}
