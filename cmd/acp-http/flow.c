/* What event streams carry: it waits where no stream is open, and streams come and go. */
#include <stdlib.h>

#include "cmd/acp-http/server.h"

enum { FLOWS = 4096 }; /* sessions of a connection that have a stream, or wait for one */

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

/* Appends an event. A CR would end its line; in JSON it can only be white space. */
static void
put_event(struct flow *f, struct buf *to, struct slice text)
{
	size_t before = to->n;

	if (buf_add_string(to, "data: ") < 0 || buf_add_slice(to, text) < 0 || buf_add_string(to, "\n\n") < 0) {
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
	put_event(f, load && f != c->own ? &f->then : &f->bytes, m->line);
}

static size_t
read_flow(struct flow *f, char *to, size_t n, bool *end)
{
	struct conn *c = f->conn;
	size_t left = f->bytes.n - f->taken;

	if (n > left)
		n = left;
	if (n > 0)
		memcpy(to, f->bytes.p + f->taken, n);
	f->taken += n;
	c->queued -= n;
	if (n > 0)
		conn_wake(c);
	if (f->taken == f->bytes.n) {
		f->bytes.n = f->taken = 0;
		if (f->bytes.cap > QUEUE_HIGH)
			buf_free(&f->bytes);
	} else if (f->taken > QUEUE_HIGH) {
		/* The last two bytes show whether an event has ended. */
		f->taken -= 2;
		f->bytes.n -= f->taken;
		memmove(f->bytes.p, f->bytes.p + f->taken, f->bytes.n);
		f->taken = 2;
	}
	*end = n == 0 && (c->gone || (c->finished && f->bytes.n == 0 && f->then.n == 0));
	return n;
}

/* The rest of an event that was sent in part is dropped, with the next stream in mind. */
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

void
flow_attach(struct flow *f, struct exchange *x)
{
	static const char *const headers[] = {"cache-control", "no-cache", NULL};

	f->reader = x;
	x->flow = f;
	x->read = read_flow;
	x->gone = detach;
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

/* So the network between does not forget a stream, and a client that has vanished is noticed. */
void
flow_beat(void *arg)
{
	struct conn *c = arg;
	struct flow *f, *next;

	HASH_ITER (hh, c->flows, f, next)
		if (f->reader && f->taken == f->bytes.n && buf_add_string(&f->bytes, ":\n\n") == 0) {
			c->queued += 3;
			wake(f);
		}
	loop_add_timer(c->server->service.loop, &c->beat, c->server->options->ping);
}
