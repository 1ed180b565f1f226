/* --connect: makes a remote agent a command, which reads stdin and writes stdout. (Streamable HTTP is in posts.c.) */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-http/client.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

enum { HEAD_MOST = 64 * 1024 };

static const char not_valid[] = "cannot connect: the response to the handshake is not valid";

/* --- a connection that libcurl makes, for WebSocket and plain lines: messages to the server --- */

static void
far_send(struct client *c, struct slice text)
{
	int r = 0;

	if (!c->up)
		r = buf_add_slice(&c->early, text) < 0 ? -1 : buf_add(&c->early, "\n", 1);
	else if (c->profile == PROFILE_TCP)
		r = endpoint_put_line(&c->far, NULL, text, false);
	else
		ws_send(&c->ws, text);
	if (r < 0)
		client_over(c, "out of memory");
}

/* The connection is made: sends the messages that came before. */
static void
connection_up(struct client *c)
{
	struct slice left = buf_slice(&c->early), line;

	report_verbose(&c->service, NULL, "connected");
	loop_remove_timer(c->service.loop, &c->handshake);
	c->up = true;
	while (line_next(&left, &line))
		far_send(c, line);
	buf_free(&c->early);
}

/* The client has left: ends the connection; a connection that is not made yet has the grace period for that. */
static void
far_finish(struct client *c)
{
	if (!c->up && !c->hurried)
		return;
	c->finishing = true;
	if (!c->up)
		client_over(c, client_no_response);
	else if (c->profile == PROFILE_WS)
		ws_finish(&c->ws, WS_NORMAL, "");
	else
		endpoint_finish(&c->far);
}

/* --- the handshake --- */

/* Sends the request of WebSocket's handshake. 0, or -1. */
static int
shake_hands(struct client *c)
{
	const char *host = strstr(c->url, "://") + 3, *path = host + strcspn(host, "/");
	unsigned char bytes[16];
	SCOPED struct buf text = {0};

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -1;
	EVP_EncodeBlock((unsigned char *)c->key, bytes, sizeof(bytes));
	if (buf_printf(&text, "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
			"Sec-WebSocket-Version: 13\r\n", path, (int)(path - host), host, c->key) < 0)
		return -1;
	for (struct curl_slist *h = c->connect.headers; h; h = h->next)
		if (buf_printf(&text, "%s\r\n", h->data) < 0)
			return -1;
	return buf_add_string(&text, "\r\n") < 0 ? -1 : endpoint_put(&c->far, NULL, buf_slice(&text));
}

/* The value of the header in a line that ends with a NUL. NULL: the header has another name. */
static const char *
value_of(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

/* Reads, and changes, the head of the response to the handshake. False: the server refused, and the connection is over. */
static bool
read_response(struct client *c, char *head)
{
	char accept[29], *line, *save = NULL;
	const char *value;
	bool upgrade = false, accepted = false, chosen = false;
	int status = strncmp(head, "HTTP/1.1 ", 9) == 0 ? atoi(head + 9) : 0;

	ws_accept_of(c->key, accept);
	for (line = strtok_r(head, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
		if ((value = value_of(line, "Set-Cookie")))
			client_cookie(c, value);
		else if ((value = value_of(line, "Upgrade")))
			upgrade = strcasecmp(value, "websocket") == 0;
		else if ((value = value_of(line, "Sec-WebSocket-Accept")))
			accepted = strcmp(value, accept) == 0;
		chosen |= value_of(line, "Sec-WebSocket-Extensions") || value_of(line, "Sec-WebSocket-Protocol");
	}
	client_cookie(c, NULL);
	if (status != 101 && status != 0)
		client_over(c, "the server refused with HTTP status %d", status);
	else if (chosen)
		client_over(c, "cannot connect: the server chose an extension or a protocol that was not offered");
	else if (status == 0 || !upgrade || !accepted)
		client_over(c, not_valid);
	return !c->over;
}

static void
handshake_expired(void *arg)
{
	struct client *c = arg;

	client_over(c, client_no_response);
}

static void
receive_head(struct client *c, struct slice bytes)
{
	size_t before = c->head.n;
	char *end;

	if (buf_add_slice(&c->head, bytes) < 0 || !buf_string(&c->head)) {
		client_over(c, "out of memory");
		return;
	}
	end = strstr(c->head.p, "\r\n\r\n");
	if (!end && c->head.n >= HEAD_MOST)
		client_over(c, not_valid);
	if (!end)
		return;
	*end = '\0';
	if (!read_response(c, c->head.p))
		return;
	ws_open(&c->ws, &c->far, &c->link);
	connection_up(c);
	before = (size_t)(end + 4 - c->head.p) - before;
	ws_receive(&c->ws, slice(bytes.p + before, bytes.n - before));
}

/* --- the connection --- */

static bool
far_line(void *arg, enum input_got got, const struct line *line)
{
	struct client *c = arg;

	c->received += line->text.n;
	if (c->over)
		return true;
	if (c->profile == PROFILE_TCP)
		link_line(&c->link, got, line);
	else if (c->up)
		ws_receive(&c->ws, line->text);
	else
		receive_head(c, line->text);
	return true;
}

static void
far_event(void *arg, enum endpoint_event event)
{
	struct client *c = arg;
	bool order = c->profile == PROFILE_WS ? c->ws.closed_by_us || (c->link.failed == 0 && c->ws.close_code == WS_NORMAL)
		: c->finishing || (link_open_requests(&c->link, ACP_CLIENT) == 0 && !c->far.in.error && !c->far.out.error);

	if (event == ENDPOINT_CLOSED && c->far.out.error)
		(c->far.paused ? endpoint_abort : endpoint_drain)(&c->far); /* what the server sent before is still read */
	if (event == ENDPOINT_ENDED && order)
		client_over(c, NULL);
	else if (event == ENDPOINT_ENDED && c->ws.close_code)
		client_over(c, "the agent closed the connection with code %u", c->ws.close_code);
	else if (event == ENDPOINT_ENDED)
		client_over(c, c->up ? "the connection was lost" : "cannot connect: the server closed the connection");
	c->changed(c);
}

static ssize_t
result_of(CURLcode code, const size_t *n)
{
	errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
	return code == CURLE_OK ? (ssize_t)*n : -1;
}

static ssize_t
layer_read(void *easy, void *to, size_t size)
{
	size_t n = 0;

	return result_of(curl_easy_recv(easy, to, size, &n), &n);
}

static ssize_t
layer_write(void *easy, const void *from, size_t size)
{
	size_t n = 0;

	return result_of(curl_easy_send(easy, from, size, &n), &n);
}

static void
connected(void *arg, CURLcode code)
{
	struct client *c = arg;
	bool ws = c->profile == PROFILE_WS;
	curl_socket_t fd = -1;
	int own;

	if (code != CURLE_OK) {
		client_over(c, "cannot connect: %s", transfer_reason(&c->connect, code));
		return;
	}
	curl_easy_getinfo(c->connect.easy, CURLINFO_ACTIVESOCKET, &fd);
	own = dup(fd);
	c->layer = (struct io_layer){.read = layer_read, .write = layer_write, .arg = c->connect.easy};
	c->far = (struct endpoint){.line = far_line, .event = far_event, .arg = c, .layer = ws ? &c->layer : NULL};
	if (own < 0 || endpoint_open(&c->far, c->service.loop, own, own, ws ? 0 : c->options->limit) < 0 || (ws && shake_hands(c) < 0))
		client_over(c, "cannot connect: %s", strerror(errno));
	else if (!ws)
		connection_up(c);
	else if (c->options->timeout)
		loop_add_timer(c->service.loop, &c->handshake, c->options->timeout);
}

/* --- the end --- */

/* Bytes that the remote end has accepted, and that it has sent, without those of pings. */
static uint64_t
moved(const struct client *c)
{
	uint64_t sent = c->profile == PROFILE_HTTP ? c->posts.sent - transfers_unread(c)
		: c->profile == PROFILE_WS && c->up ? ws_acked(&c->ws) : c->far.out.written;

	return c->received + sent - c->ws.control_bytes - c->posts.comments;
}

static void
client_changed(void *arg)
{
	struct client *c = arg;
	struct link *l = &c->link;

	if (c->over) {
		if (!endpoint_can_write(&l->local))
			loop_stop(c->service.loop);
		return;
	}
	link_steer(l, c->profile == PROFILE_HTTP ? posts_steer(c) : c->up ? c->far.out.queued : c->early.n, QUEUE_HIGH);
	endpoint_pause(&c->far, c->up && !link_wants(l) && !c->far.finishing);
	if (l->local_ended && !c->left) {
		c->left = true;
		c->last_moved = moved(c);
		loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
	}
	/* A client that has closed its output may still read: waits for the responses to its requests. */
	if (!c->finishing && !c->over &&
		(!endpoint_can_write(&l->local) || (c->left && (c->hurried || link_open_requests(l, ACP_CLIENT) == 0))))
		(c->profile == PROFILE_HTTP ? posts_finish : far_finish)(c);
}

static void
exit_timer_expired(void *arg)
{
	struct client *c = arg;
	uint64_t now = moved(c);

	if (c->hurried)
		client_over(c, NULL);
	c->hurried = (int64_t)(now - c->last_moved) <= 0; /* a ping that is under way makes it less */
	c->last_moved = now;
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

static void
send_message(void *arg, const struct message *m)
{
	struct client *c = arg;

	if (c->profile == PROFILE_HTTP)
		posts_send(c, m);
	else
		far_send(c, m->line);
}

/* --- the URL --- */

static const struct scheme {
	const char *name, *http;
	enum profile profile;
} schemes[] = {
	{"ws", "http", PROFILE_WS}, {"wss", "https", PROFILE_WS}, {"http", "http", PROFILE_HTTP}, {"https", "https", PROFILE_HTTP},
	{"tcp", "http", PROFILE_TCP}, {NULL, NULL, PROFILE_AUTO},
};

/* Sets the profile and c->url by --connect and --profile. NULL, or what is wrong. */
static const char *
read_url(struct client *c, CURLU *u)
{
	static const char expected[] = "expected http://HOST[:PORT][/PATH], https://..., ws://..., wss://... or tcp://HOST:PORT";
	const char *url = c->options->url, *wrong = NULL;
	const struct scheme *s = schemes;
	CURLUcode code = curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER);
	size_t n = strcspn(url, ":");
	char *port = NULL, *path = NULL;

	while (s->name && (strlen(s->name) != n || strncasecmp(s->name, url, n) != 0))
		s++;
	if (!s->name || strncmp(url + n, "://", 3) != 0 || (code && code != CURLUE_USER_NOT_ALLOWED))
		return expected;
	if (code)
		return "a user name and a password do not belong there: see --token-file and --header";
	if ((curl_url_get(u, CURLUPART_PORT, &port, 0) == CURLUE_OK ? atoi(port) == 0 : s->profile == PROFILE_TCP) || strchr(url, '#') ||
		curl_url_set(u, CURLUPART_SCHEME, s->http, 0) != CURLUE_OK || curl_url_get(u, CURLUPART_URL, &c->url, 0) != CURLUE_OK)
		wrong = expected;
	else if (s->profile == PROFILE_TCP &&
		(strchr(url, '?') || curl_url_get(u, CURLUPART_PATH, &path, 0) != CURLUE_OK || strcmp(path, "/") != 0))
		wrong = "tcp has no path";
	c->profile = c->options->profile == PROFILE_AUTO ? s->profile : (enum profile)c->options->profile;
	curl_free(port);
	curl_free(path);
	return wrong;
}

/* --- the client --- */

/* The exit status after the loop; reports why the connection was lost. */
static int
outcome(const struct client *c)
{
	int error = c->link.local.out.error;

	if (c->service.signal)
		return 128 + c->service.signal;
	if (error && error != EPIPE && error != ECONNRESET) {
		cli_warn(tool_name, "writing to the client: %s", strerror(error));
		return EXIT_FAILED;
	}
	if (c->in_order && (c->finishing || c->link.failed == 0))
		return 0;
	cli_warn(tool_name, "%s: %s", c->options->url, c->why[0] ? c->why : "the connection was closed while requests were open");
	return EXIT_NEGATIVE;
}

static int
run(struct client *c)
{
	int in = proc_move_high(STDIN_FILENO), out = proc_move_high(STDOUT_FILENO), status = -1;
	CURL *e;

	c->service = (struct service){.options = c->options, .leave = leave, .owner = c};
	c->link = (struct link){.service = &c->service, .remote = ACP_AGENT, .send = send_message, .changed = client_changed, .arg = c};
	c->changed = client_changed;
	c->exit_timer = (struct loop_timer){.expired = exit_timer_expired, .arg = c};
	c->handshake = (struct loop_timer){.expired = handshake_expired, .arg = c};
	if (in >= 0 && out >= 0 && service_open(&c->service) == 0 && link_open(&c->link, in, out) == 0 && transfers_open(c) == 0) {
		if (c->profile != PROFILE_HTTP) {
			e = transfer_new(c, &c->connect, connected, c);
			curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
			curl_easy_setopt(e, CURLOPT_HTTPPROXYTUNNEL, 1L);
			curl_easy_setopt(e, CURLOPT_SSL_ENABLE_ALPN, 0L);
			curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
			transfer_start(c, &c->connect);
		}
		client_changed(c);
		if (loop_run(c->service.loop) == 0)
			status = outcome(c);
	}
	if (status < 0) {
		cli_warn(tool_name, "%s", strerror(errno));
		status = EXIT_FAILED;
	}
	c->over = true;
	posts_close(c);
	ws_close(&c->ws);
	endpoint_close(&c->far);
	transfer_end(c, &c->connect);
	transfers_close(c);
	link_close(&c->link);
	service_close(&c->service);
	return status;
}

int
connect_run(const struct options *o)
{
	struct client c = {.options = o};
	CURLU *u = curl_url();
	const char *wrong = u ? read_url(&c, u) : strerror(ENOMEM);
	/* A URL that may hold a password is not shown. */
	bool secret = strchr(o->url, '@');
	int status = EXIT_USAGE;

	curl_url_cleanup(u);
	if (wrong) {
		cli_warn(tool_name, "--connect%s%s: %s", secret ? "" : " ", secret ? "" : o->url, wrong);
	} else if (o->cookies && read_small(o->cookies, &c.cookies, COOKIES_MOST) < 0 && errno != ENOENT) {
		cli_warn(tool_name, "--cookies %s: %s", o->cookies, strerror(errno));
	} else {
		cli_waits(tool_name, STDIN_FILENO, "a client's messages");
		status = run(&c);
	}
	buf_free(&c.head);
	buf_free(&c.early);
	buf_free(&c.cookies);
	curl_free(c.url);
	return status;
}
