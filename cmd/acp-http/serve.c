/* Carries out the requests to the endpoint, or refuses them. */
#include "cmd/acp-http/server.h"
#include "lib/base/base64.h"

static bool
header_is(const struct exchange *x, const char *name, const char *wanted)
{
	const char *value = exchange_header(x, name);

	return value && strcasecmp(value, wanted) == 0;
}

static bool
method_is(const struct exchange *x, const char *method)
{
	return strcmp(exchange_header(x, ":method"), method) == 0;
}

/* May web pages of this origin connect? Only browsers send an origin, and they always do. */
static bool
origin_may(const struct exchange *x, const char *const *origins)
{
	const char *origin = exchange_header(x, "origin");

	for (; origin && origins && *origins; origins++)
		if (strcasecmp(origin, *origins) == 0)
			return true;
	return !origin;
}

/* Is this the token? The comparison takes the same time wherever the two differ. */
static bool
token_is(const struct exchange *x, const struct buf *token)
{
	static const char scheme[] = "Bearer ";
	const char *value = exchange_header(x, "authorization");

	return value && strncasecmp(value, scheme, strlen(scheme)) == 0 && strlen(value + strlen(scheme)) == token->n &&
		CRYPTO_memcmp(value + strlen(scheme), token->p, token->n) == 0;
}

/* "application/json; charset=utf-8" is application/json. */
static bool
type_is_json(const struct exchange *x)
{
	const char *type = exchange_header(x, "content-type");
	size_t n = type ? strcspn(type, "; \t") : 0;

	return n == 16 && strncasecmp(type, "application/json", n) == 0;
}

void
serve_head(struct exchange *x)
{
	const struct options *o = x->channel->server->options;
	const char *path = exchange_header(x, ":path"), *method = exchange_header(x, ":method");

	x->headed = true;
	if (x->responded)
		return;
	if (!path || !method || strncmp(path, o->path, strlen(o->path)) != 0 || (path[strlen(o->path)] != '\0' && path[strlen(o->path)] != '?'))
		exchange_refuse(x, 404, "nothing is here");
	else if (!method_is(x, "GET") && !method_is(x, "POST") && !method_is(x, "DELETE"))
		exchange_refuse(x, 405, "this method does nothing here");
	else if (!origin_may(x, o->origins))
		exchange_refuse(x, 403, "this origin is not allowed");
	else if (o->token.p && !token_is(x, &o->token))
		exchange_refuse(x, 401, "a bearer token is required");
	else if (method_is(x, "POST") && !type_is_json(x))
		exchange_refuse(x, 415, "a message is application/json");
	else if (x->body_left > o->limit)
		exchange_refuse(x, 413, "a message longer than --max-line");
}

/* Makes a connection with an agent. NULL: the request is refused. */
static struct conn *
admit(struct exchange *x, enum profile profile)
{
	struct server *s = x->channel->server;
	struct conn *c;

	if (s->service.leaving || s->nconns >= s->options->max_connections) {
		exchange_refuse(x, 503, s->service.leaving ? "the server is going away" : "too many connections");
		return NULL;
	}
	c = conn_new(s, profile);
	if (c)
		report_verbose(&s->service, c->label, "connected");
	else
		exchange_refuse(x, 500, "the agent could not be started");
	return c;
}

/* Finds the connection that the request names. NULL: the request is refused. */
static struct conn *
named(struct exchange *x)
{
	const char *id = exchange_header(x, "acp-connection-id");
	struct conn *c = NULL;

	if (id)
		HASH_FIND_STR(x->channel->server->by_id, id, c);
	if (!id)
		exchange_refuse(x, 400, "Acp-Connection-Id is required");
	else if (!c)
		exchange_refuse(x, 404, "this Acp-Connection-Id is not known");
	return c;
}

/* Makes the channel the WebSocket of a new connection, and ends the exchange; or refuses the request. */
static void
upgrade(struct exchange *x)
{
	struct channel *ch = x->channel;
	const char *key = exchange_header(x, "sec-websocket-key"), *connection = exchange_header(x, "connection");
	SCOPED struct buf bytes = {0}, text = {0};
	char accept[29];
	struct conn *c;

	if (!header_is(x, "sec-websocket-version", "13") || ch->kind != CHANNEL_H1) {
		exchange_refuse(x, 426, "this is WebSocket version 13 over HTTP/1.1");
	} else if (!key || strlen(key) != 24 || base64_decode(slice_of(key), &bytes) != 0 || bytes.n != 16 || !connection ||
		!strcasestr(connection, "upgrade")) {
		exchange_refuse(x, 400, "Sec-WebSocket-Key or Connection is not valid");
	} else if ((c = admit(x, PROFILE_WS))) {
		ws_accept_of(key, accept);
		if (buf_printf(&text, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				"Sec-WebSocket-Accept: %s\r\nAcp-Connection-Id: %s\r\n\r\n", accept, c->id) < 0)
			endpoint_abort(&ch->far);
		channel_put(ch, buf_slice(&text));
		ch->kind = CHANNEL_WS;
		ch->conn = c;
		c->channel = ch;
		ws_open(&c->ws, &ch->far, &c->link);
		exchange_free(x);
	}
}

static void
open_stream(struct exchange *x)
{
	const char *accept = exchange_header(x, "accept"), *session = exchange_header(x, "acp-session-id");
	struct conn *c;
	struct flow *flow;

	if (!accept || !strcasestr(accept, "text/event-stream")) {
		exchange_refuse(x, 406, "a stream is text/event-stream");
		return;
	}
	c = named(x);
	if (!c)
		return;
	flow = flow_of(c, slice_of(session ? session : ""));
	if (!flow)
		exchange_refuse(x, 503, "too many sessions");
	else if (flow->reader)
		exchange_refuse(x, 409, "this stream is open already");
	else
		flow_attach(flow, x);
}

/* --- POST --- */

/* Refuses a body that is not a message: the client gets a JSON-RPC error, and so does the agent, if the body may be a response. */
static void
refuse_message(struct exchange *x, struct conn *c, const char *why)
{
	struct slice text = buf_slice(&x->body), id;
	enum msg_kind meant = msg_guess_kind(text, &id);
	enum json_type type = json_scan(text, JSON_DEPTH, NULL, 0, NULL, NULL);
	SCOPED struct buf error = {0};

	if (c && meant == MSG_RESPONSE) {
		link_discard(&c->link, ACP_CLIENT, 0, text, why);
		conn_wake(c);
	}
	if (meant != MSG_REQUEST)
		id = slice_of("null");
	if (msg_make_error(&error, id, type ? ACP_ERR_INVALID_REQUEST : ACP_ERR_PARSE, why, slice(NULL, 0)) < 0)
		endpoint_abort(&x->channel->far);
	exchange_respond(x, type == JSON_ARRAY ? 501 : 400, NULL, "application/json", buf_slice(&error));
}

/* A message of a session, or a response to a session's request, names the session in a header, too. NULL, or what is wrong. */
static const char *
wrong_session(struct exchange *x, struct conn *c, const struct msg *m)
{
	const char *header = exchange_header(x, "acp-session-id");
	struct request *r = m->kind == MSG_RESPONSE ? requests_find(c->link.requests, ACP_AGENT, m->id) : NULL;
	struct slice session = link_session(m, r);

	if (!session.p)
		return NULL;
	if (!header)
		return "Acp-Session-Id is required";
	return json_string_is(session, header) ? NULL : "Acp-Session-Id is not the session of the message";
}

static void
initialize(struct exchange *x, const struct msg *m)
{
	struct conn *c = admit(x, PROFILE_HTTP);

	if (!c)
		return;
	if (buf_add_slice(&c->initialize, m->id) < 0) {
		exchange_refuse(x, 500, "out of memory");
		conn_leave(c, "out of memory");
		return;
	}
	conn_wait(c, x);
	link_deliver(&c->link, buf_slice(&x->body), m);
	conn_wake(c);
}

static void
post(struct exchange *x)
{
	const struct options *o = x->channel->server->options;
	struct conn *c = NULL;
	struct json_error error;
	const char *wrong;
	struct msg m;

	if (exchange_header(x, "acp-connection-id") && !(c = named(x)))
		return;
	for (char *p = x->body.p; x->body.n > 0 && (p = memchr(p, '\n', x->body.n - (size_t)(p - x->body.p))); p++)
		*p = ' ';
	if (msg_scan(buf_slice(&x->body), &m, &error) == MSG_NOISE) {
		refuse_message(x, c, x->body.n == 0 ? "a message is required" : error.what);
	} else if (!c && m.kind == MSG_REQUEST && m.what == ACP_INITIALIZE) {
		initialize(x, &m);
	} else if (!c) {
		named(x);
	} else if ((wrong = wrong_session(x, c, &m))) {
		exchange_refuse(x, 400, wrong);
	} else if (c->link.local.out.queued > o->queue || (m.kind == MSG_REQUEST && c->queued > o->queue)) {
		exchange_refuse(x, 503, "too much waits for the agent, or for its client");
	} else {
		conn_touch(c);
		conn_wait(c, x);
		link_deliver(&c->link, buf_slice(&x->body), &m);
		conn_wake(c);
	}
}

void
serve_request(struct exchange *x)
{
	struct conn *c;

	x->complete = true;
	if (x->responded)
		return;
	if (method_is(x, "POST")) {
		post(x);
	} else if (method_is(x, "DELETE")) {
		c = named(x);
		if (c) {
			exchange_respond(x, 202, NULL, NULL, slice(NULL, 0));
			conn_leave(c, "the client has closed the connection");
		}
	} else if (header_is(x, "upgrade", "websocket")) {
		upgrade(x);
	} else {
		open_stream(x);
	}
}
