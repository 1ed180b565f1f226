/* A server behind a connection that libcurl makes: WebSocket, or plain lines over TCP. */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-http/client.h"
#include "lib/base/base64.h"

enum { HEAD_MOST = 64 * 1024 };

static const char not_valid[] = "cannot connect: the response to the handshake is not valid";

/* --- messages to the server --- */

void
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

/* The connection is there: what came before it goes first. */
static void
connection_up(struct client *c)
{
	char *p = c->early.p, *end = p + c->early.n, *newline;

	report_verbose(&c->service, NULL, "connected");
	c->up = true;
	for (; p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		far_send(c, slice_between(p, newline));
	}
	buf_free(&c->early);
}

void
far_finish(struct client *c)
{
	if (!c->up && !c->hurried)
		return;
	c->finishing = true;
	if (!c->up)
		client_over(c, NULL);
	else if (c->profile == PROFILE_WS)
		ws_finish(&c->ws, WS_NORMAL, "");
	else
		endpoint_finish(&c->far);
}

/* --- the handshake --- */

/* 0, or -1. */
static int
shake_hands(struct client *c)
{
	const char *host = strstr(c->url, "://") + 3, *path = host + strcspn(host, "/");
	unsigned char bytes[16];
	SCOPED struct buf text = {0}, key = {0};

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes) || base64_encode(slice((char *)bytes, sizeof(bytes)), &key) < 0)
		return -1;
	snprintf(c->key, sizeof(c->key), "%.*s", (int)key.n, key.p);
	if (buf_printf(&text, "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
			"Sec-WebSocket-Version: 13\r\n", path, (int)(path - host), host, c->key) < 0)
		return -1;
	for (struct curl_slist *h = c->connect.headers; h; h = h->next)
		if (buf_printf(&text, "%s\r\n", h->data) < 0)
			return -1;
	return buf_add_string(&text, "\r\n") < 0 ? -1 : endpoint_put(&c->far, NULL, buf_slice(&text));
}

/* The value of a header of the response, which has this name; NULL: it has another. The line has a NUL. */
static const char *
value_of(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

/* The head of the response, which is changed. Else the client is over. */
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
	c->ws = (struct ws){.service = &c->service, .far = &c->far, .link = &c->link, .client = true};
	ws_open(&c->ws);
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
		(c->far.paused ? endpoint_abort : endpoint_drain)(&c->far); /* what was sent before is still read */
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
layer_finish(void *easy)
{
	(void)easy;
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
	c->layer = (struct io_layer){.read = layer_read, .write = layer_write, .finish = layer_finish, .arg = c->connect.easy};
	c->far = (struct endpoint){.line = far_line, .event = far_event, .arg = c, .layer = ws ? &c->layer : NULL};
	if (own < 0 || endpoint_open(&c->far, c->service.loop, own, own, ws ? 0 : c->options->limit) < 0 || (ws && shake_hands(c) < 0))
		client_over(c, "cannot connect: %s", strerror(errno));
	else if (!ws)
		connection_up(c);
}

void
far_open(struct client *c)
{
	CURL *e = transfer_new(c, &c->connect, connected, c);

	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_HTTPPROXYTUNNEL, 1L);
	curl_easy_setopt(e, CURLOPT_SSL_ENABLE_ALPN, 0L);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	transfer_start(c, &c->connect);
}
