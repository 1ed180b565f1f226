/* A request and its response, in any version of HTTP; and the events for event streams, which wait while no stream is open. */
#include <stdlib.h>

#include "cmd/acp-http/server.h"

enum { FLOWS = 4096 }; /* the most sessions of a connection that have a stream, or wait for one */

/* --- event streams --- */

struct flow *
flow_of(struct conn *c, struct slice name)
{
	struct flow *f;

	HASH_FIND(hh, c->flows, name.p, name.n, f);
	if (f || HASH_COUNT(c->flows) > FLOWS)
		return f;
	f = calloc(1, sizeof(*f) + name.n + 1);
	if (!f)
		return NULL;
	f->conn = c;
	memcpy(f->name, name.p, name.n);
	HASH_ADD(hh, c->flows, name[0], name.n, f);
	return f;
}

void
conn_touch(struct conn *c)
{
	if (c->readers == 0 && !c->gone)
		loop_add_timer(c->server->service.loop, &c->idle, c->finished ? c->server->options->grace : c->server->options->idle);
}

static void
wake(struct flow *f)
{
	if (f->reader)
		channel_wake(f->reader->channel);
}

void
flow_free(struct flow *f)
{
	HASH_DEL(f->conn->flows, f);
	wake(f);
	if (f->reader)
		f->reader->flow = NULL;
	f->conn->queued -= f->bytes.n - f->taken + f->then.n;
	buf_free(&f->bytes);
	buf_free(&f->then);
	free(f);
}

/* A blank replaces each CR, which would end the line of the event, and is white space in JSON. */
void
flow_put(struct flow *f, struct buf *to, const char *field, struct slice text)
{
	size_t before = to->n;

	if (buf_add_string(to, field) < 0 || buf_add_slice(to, text) < 0 || buf_add_string(to, "\n\n") < 0) {
		to->n = before;
		report(&f->conn->server->service, f->conn->label, "out of memory");
		return;
	}
	for (char *p = to->p + before; (p = memchr(p, '\r', (size_t)(to->p + to->n - p))); p++)
		*p = ' ';
	f->conn->queued += to->n - before;
	wake(f);
}

void
flow_send(struct conn *c, const struct message *m)
{
	SCOPED struct buf room = {0};
	struct slice session = link_session(&m->msg, m->request), name = session.p ? json_text(session, &room) : slice(NULL, 0);
	struct flow *f = name.n > 0 ? flow_of(c, name) : c->own;
	bool load = m->request && m->request->what == ACP_SESSION_LOAD;

	if (!f || (load && f->taken == f->bytes.n && f->then.n == 0))
		f = c->own;
	flow_put(f, load && f != c->own ? &f->then : &f->bytes, "data: ", m->line);
}

/* A stream has taken n bytes more. Is that the end of the stream? */
static bool
flow_taken(struct flow *f, size_t n)
{
	struct conn *c = f->conn;

	c->queued -= n;
	if (n > 0)
		conn_wake(c);
	if (f->taken == f->bytes.n) {
		f->bytes.n = f->taken = 0;
		if (f->bytes.cap > QUEUE_HIGH)
			buf_free(&f->bytes);
	} else if (f->taken > QUEUE_HIGH) {
		/* Keeps the last two bytes that were taken: they show whether an event has ended. */
		f->taken -= 2;
		f->bytes.n -= f->taken;
		memmove(f->bytes.p, f->bytes.p + f->taken, f->bytes.n);
		f->taken = 2;
	}
	return n == 0 && (c->gone || (c->finished && f->bytes.n == 0 && f->then.n == 0));
}

/* A stream has ended: drops the rest of an event that was sent in part, for the next stream begins with a whole event. */
static void
detach(struct exchange *x)
{
	struct flow *f = x->flow;
	struct conn *c = f->conn;
	const char *p = f->bytes.p + f->taken, *end = f->bytes.p + f->bytes.n;
	size_t before = f->taken;

	f->reader = NULL;
	c->readers--;
	if (f->taken >= 2 && memcmp(p - 2, "\n\n", 2) != 0) {
		for (; p < end && memcmp(p - 2, "\n\n", 2) != 0; p++)
			;
		f->taken = (size_t)(p - f->bytes.p);
		c->queued -= f->taken - before;
		report(&c->server->service, c->label, "a stream was lost in a message: %s", *f->name ? f->name : "of the connection");
	}
	conn_touch(c);
	conn_wake(c);
}

/* --- exchanges --- */

void
conn_wait(struct conn *c, struct exchange *x)
{
	x->conn = c;
	DL_APPEND2(c->waiting, x, waits_prev, waits_next);
}

void
conn_forget(struct exchange *x)
{
	struct conn *c = x->conn;

	DL_DELETE2(c->waiting, x, waits_prev, waits_next);
	x->conn = NULL;
	if (c->initialize.p)
		conn_wake(c);
}

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
	if (x->channel->late == x)
		x->channel->late = NULL;
	x->channel->bodies -= x->body.n;
	if (x->flow)
		detach(x);
	if (x->conn)
		conn_forget(x);
	buf_free(&x->head);
	buf_free(&x->body);
	buf_free(&x->response);
	free(x);
}

unsigned
exchange_add(struct exchange *x, const char *name, struct slice value)
{
	static const char *const once[] = {"host", "content-length", "content-type", "authorization", "origin", "acp-connection-id",
		"acp-session-id", "sec-websocket-key", "sec-websocket-version"};
	size_t n = strlen(name) + 1;

	for (size_t i = 0; i < sizeof(once) / sizeof(*once); i++)
		if (strcmp(name, once[i]) == 0 && exchange_header(x, name))
			return 400;
	return x->head.n + n + value.n + 1 <= HEADERS && buf_add(&x->head, name, n) == 0 && buf_add_slice(&x->head, value) == 0 &&
		buf_add(&x->head, "", 1) == 0 ? 0 : 431;
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
	buf_free(&x->head);
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
	struct flow *f = x->flow;
	const struct buf *from = f ? &f->bytes : &x->response;
	size_t *taken = f ? &f->taken : &x->sent;

	if (n > from->n - *taken)
		n = from->n - *taken;
	if (n > 0)
		memcpy(to, from->p + *taken, n);
	*taken += n;
	*end = f ? flow_taken(f, n) : x->sent == x->response.n;
	return n;
}

/* --- streams come and go --- */

void
flow_attach(struct flow *f, struct exchange *x)
{
	static const char *const headers[] = {"cache-control", "no-cache", NULL};

	f->reader = x;
	x->flow = f;
	f->conn->readers++;
	loop_remove_timer(f->conn->server->service.loop, &f->conn->idle);
	exchange_respond(x, 200, headers, "text/event-stream", slice(NULL, 0));
}

void
flow_steer(struct conn *c)
{
	struct flow *f, *next;

	HASH_ITER (hh, c->flows, f, next) {
		if (f->taken == f->bytes.n && f->then.n > 0 && buf_add_slice(&c->own->bytes, buf_slice(&f->then)) == 0) {
			buf_free(&f->then);
			wake(c->own);
		}
		if (f != c->own && !f->reader && f->taken == f->bytes.n && f->then.n == 0)
			flow_free(f);
		else if (c->gone)
			wake(f);
	}
}

/* The comments keep the network from forgetting a stream, and show when a client has vanished. */
void
flow_beat(void *arg)
{
	struct conn *c = arg;
	struct flow *f, *next;

	HASH_ITER (hh, c->flows, f, next)
		if (f->reader && f->taken == f->bytes.n)
			flow_put(f, &f->bytes, ":", slice("", 0));
	loop_add_timer(c->server->service.loop, &c->beat, c->server->options->ping);
}
