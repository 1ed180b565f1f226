/* A request and its response, whatever version of HTTP brings them. */
#include <stdlib.h>

#include "cmd/acp-http/server.h"

struct exchange *
exchange_new(struct channel *ch, int32_t stream)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->channel = ch;
	x->stream = stream;
	DL_APPEND(ch->exchanges, x);
	return x;
}

void
exchange_free(struct exchange *x)
{
	DL_DELETE(x->channel->exchanges, x);
	x->channel->bodies -= x->body.n;
	if (x->flow || x->conn)
		x->gone(x);
	buf_free(&x->head);
	buf_free(&x->body);
	buf_free(&x->response);
	free(x);
}

bool
exchange_add(struct exchange *x, struct slice name, struct slice value)
{
	return x->head.n + name.n + value.n + 2 <= HEADERS && buf_add_slice(&x->head, name) == 0 && buf_add(&x->head, "", 1) == 0 &&
		buf_add_slice(&x->head, value) == 0 && buf_add(&x->head, "", 1) == 0;
}

bool
exchange_repeats(const struct exchange *x, const char *name)
{
	static const char *const once[] = {"host", "content-length", "content-type", "authorization", "origin", "acp-connection-id",
		"acp-session-id", "sec-websocket-key", "sec-websocket-version"};

	for (size_t i = 0; i < sizeof(once) / sizeof(*once); i++)
		if (strcmp(name, once[i]) == 0)
			return exchange_header(x, name);
	return false;
}

const char *
exchange_header(const struct exchange *x, const char *name)
{
	const char *p = x->head.p, *end = x->head.n > 0 ? p + x->head.n : p, *value;

	for (; p < end; p = value + strlen(value) + 1) {
		value = p + strlen(p) + 1;
		if (strcmp(p, name) == 0)
			return value;
	}
	return NULL;
}

void
exchange_body(struct exchange *x, struct slice piece)
{
	struct channel *ch = x->channel;

	if (x->responded)
		return;
	if (piece.n > ch->server->options->limit - x->body.n)
		exchange_refuse(x, 413, "a message longer than --max-line");
	else if (ch->bodies + piece.n > 2 * ch->server->options->limit || buf_add_slice(&x->body, piece) < 0)
		exchange_refuse(x, 503, "too much at once");
	else
		ch->bodies += piece.n;
}

void
exchange_respond(struct exchange *x, unsigned status, const char *const *headers, const char *type, struct slice body)
{
	const char *method = exchange_header(x, ":method");

	if (x->responded)
		return;
	x->responded = true;
	x->streams = x->flow;
	x->channel->bodies -= x->body.n;
	buf_free(&x->body);
	if (method && strcmp(method, "HEAD") == 0)
		body.n = 0;
	if (buf_add_slice(&x->response, body) < 0)
		endpoint_abort(&x->channel->far);
	else
		x->channel->respond(x, status, headers, type, body.n);
	channel_wake(x->channel);
}

void
exchange_refuse(struct exchange *x, unsigned status, const char *why)
{
	static const char *const extra[][3] = {
		{"www-authenticate", "Bearer", NULL}, {"allow", "GET, POST, DELETE", NULL}, {"retry-after", "1", NULL},
		{"sec-websocket-version", "13", NULL},
	};
	SCOPED struct buf text = {0};

	report_verbose(&x->channel->server->service, NULL, "refused with %u: %s", status, why);
	if (buf_printf(&text, "%s\n", why) < 0)
		endpoint_abort(&x->channel->far);
	exchange_respond(x, status, status == 401 ? extra[0] : status == 405 ? extra[1] : status == 503 ? extra[2] : status == 426 ? extra[3]
		: NULL, "text/plain", buf_slice(&text));
}

size_t
exchange_read(struct exchange *x, char *to, size_t n, bool *end)
{
	size_t left = x->response.n - x->sent;

	if (x->flow)
		return x->read(x->flow, to, n, end);
	if (n > left)
		n = left;
	if (n > 0)
		memcpy(to, x->response.p + x->sent, n);
	x->sent += n;
	*end = x->sent == x->response.n;
	return n;
}
