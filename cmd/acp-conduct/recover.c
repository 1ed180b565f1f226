/* What a dead process of a read chain leaves: what it had not read goes on, what it had read fails, and what it had asked is withdrawn. */
#include <fcntl.h>

#include "lib/run/system.h"
#include "send.h"

/* Appends what waits in the pipe of a process that has gone. 0 or -1. */
static int
take_pipe(struct port *p, struct buf *to)
{
	int copy = p->queue.pipe;
	int fd = copy < 0 ? -1 : system_reopen(copy, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct io io = {.fd = -1};
	char bytes[4096];
	ssize_t n;
	int r = 0;

	p->queue.pipe = -1;
	if (copy < 0)
		return 0;
	/* Where it could not be opened anew, the copy is the read end. */
	if (fd >= 0 ? io_reader(&io, fd) == 0 : io_reader(&io, fcntl(copy, F_DUPFD_CLOEXEC, 8)) == 0) {
		proc_close(copy);
		while (r == 0 && (n = io_read(&io, bytes, sizeof(bytes))) > 0)
			r = buf_add(to, bytes, (size_t)n);
		io_close(&io, false);
	}
	return r;
}

/* The next of the lines in text, without its newline; false: there is none. */
static bool
next_line(struct slice *text, struct slice *line)
{
	const char *newline = text->n ? memchr(text->p, '\n', text->n) : NULL;

	if (!newline)
		return false;
	*line = slice_between(text->p, newline);
	*text = slice_between(newline + 1, text->p + text->n);
	return true;
}

/* A one-way filter never sees the responses to the requests that it has passed on. */
static bool
is_one_way(const struct component *c)
{
	return c->kind == KIND_DOWN || c->kind == KIND_UP;
}

static struct port *
other_port(const struct port *p)
{
	return p == p->component->near ? p->component->far : p->component->near;
}

/* Marks the requests that the dead process had not read; where it is one-way, also those whose response it had not. */
static void
find_unread(struct port *p, struct slice text)
{
	struct slice line;
	struct call *c;
	struct msg m;

	while (next_line(&text, &line)) {
		c = NULL;
		switch (msg_scan(line, &m, NULL)) {
		case MSG_REQUEST:
			c = call_find(p, m.id);
			break;
		case MSG_RESPONSE:
			c = is_one_way(p->component) ? call_find(other_port(p), m.id) : NULL;
			break;
		default:
			break;
		}
		if (c)
			c->unread = true;
	}
}

/* Fails what the dead process had read and not responded to. */
static void
fail_read(struct port *p, struct losses *n)
{
	bool asked_again = p->component->next == NEXT_DIALECT;
	struct call *c, *next;
	char number[SLICE_DIGITS];
	bool passed_on;

	for (c = p->calls.open; c; c = next) {
		next = c->next;
		/* The response to what a one-way filter has passed on goes past it. */
		passed_on = is_one_way(p->component) && call_find_origin(other_port(p), slice_digits(c->id, number));
		if (!c->unread && !passed_on && !(asked_again && c->what == ACP_INITIALIZE)) {
			n->failed += c->from != NULL;
			send_ended(c);
		}
	}
}

static bool
keeps_line(const struct port *p, const struct msg *m)
{
	const struct call *c;
	struct slice id;

	switch (m->kind) {
	case MSG_REQUEST:
		c = call_find(p, m->id);
		/* A proxy's first initialize is sent again, in the other dialect. */
		return c && c->unread;
	case MSG_NOTIFICATION:
		id = json_type(m->params) == JSON_OBJECT ? json_get(m->params, acp_request_id) : slice(NULL, 0);
		return m->what != ACP_CANCEL_REQUEST || (id.p && call_find(p, id));
	case MSG_RESPONSE:
		return is_one_way(p->component);
	default:
		/* The rest of a line that it had partly read. */
		return false;
	}
}

/* What the next process gets of what waited for the dead one. */
static void
keep_lines(struct port *p, struct slice text, struct losses *n)
{
	uint64_t unread[ACP_DIRECTIONS] = {0, 0}, noted;
	struct buf *held = &p->queue.held;
	const struct port *out = is_one_way(p->component) || p->component->kind == KIND_FILTER ? other_port(p) : p;
	enum acp_direction dir;
	struct slice line;
	struct msg m;

	held->n = 0;
	while (next_line(&text, &line)) {
		if (msg_scan(line, &m, NULL), !keeps_line(p, &m))
			continue;
		dir = p->kind == PORT_BELOW || (p->kind == PORT_PROXY && m.what != ACP_PROXY_SUCCESSOR) ? ACP_DOWN : ACP_UP;
		unread[dir] += m.kind == MSG_NOTIFICATION && m.what != ACP_CANCEL_REQUEST;
		n->unread++;
		if (buf_add_slice(held, line) < 0 || buf_add(held, "\n", 1) < 0)
			read_no_memory(p->route);
	}
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		noted = p->notes.in[dir] - unread[dir];
		if (noted > out->notes.out[dir])
			n->lost += noted - out->notes.out[dir];
		p->notes.in[dir] = unread[dir];
	}
}

/* Everything that a port's process had not read. */
static void
gather_unread(struct port *p, struct buf *text)
{
	if (take_pipe(p, text) < 0 || buf_add_slice(text, buf_slice(&p->queue.held)) < 0)
		read_no_memory(p->route);
	buf_free(&p->queue.held);
}

void
recover_unread(struct component *c, struct losses *n)
{
	struct buf texts[2] = {{0}, {0}};
	struct port *ports[2], *p;
	struct call *call;
	size_t i;

	port_of(c, ports);
	for (i = 0; i < 2 && ports[i]; i++) {
		gather_unread(ports[i], &texts[i]);
		find_unread(ports[i], buf_slice(&texts[i]));
	}
	for (i = 0; i < 2 && ports[i]; i++) {
		if (c->kind == KIND_PEER) {
			for (call = ports[i]->calls.open; call; call = call->next)
				call->unread = false;
		}
		fail_read(ports[i], n);
		if (!is_one_way(c))
			send_withdrawal(ports[i]);
	}
	for (i = 0; i < 2 && ports[i]; i++) {
		p = ports[i];
		keep_lines(p, buf_slice(&texts[i]), n);
		buf_free(&texts[i]);
	}
	for (i = 0; i < 2 && ports[i]; i++) {
		memset(ports[i]->notes.out, 0, sizeof(ports[i]->notes.out));
		memset(ports[i]->figures.times.since, 0, sizeof(ports[i]->figures.times.since));
		for (call = ports[i]->calls.open; call; call = call->next)
			call->unread = false;
	}
	/* Its next process asks its successors anew. */
	c->near->init.greeted = c->near->init.asks = false;
	for (p = c->near->peers; p; p = p->next_peer)
		p->init.greeted = false;
}

/* Forwards a message that a proxy had not read to the next component. */
static void
forward_past(struct port *gone, struct slice text)
{
	struct plain pl = {.dir = ACP_DOWN, .to = gone->next[ACP_DOWN]};
	struct slice peer = {NULL, 0};
	struct call *c, *next = NULL;
	struct port *from;
	const char *why;
	struct msg m;

	if (msg_scan(text, &m, NULL) != MSG_REQUEST && m.kind != MSG_NOTIFICATION)
		return;
	pl.inner = m;
	if (m.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m, &pl.inner, &peer, &why) == 0) {
		pl.envelope = &m;
		pl.dir = ACP_UP;
		pl.to = gone->next[ACP_UP];
	}
	c = m.kind == MSG_REQUEST ? call_find(gone, m.id) : NULL;
	from = c ? c->from : NULL;
	/* What a peer sends is for its proxy alone. */
	if (peer.p && c)
		send_failure(c, ACP_ERR_INTERNAL, "the proxy of this peer was bypassed", slice(NULL, 0));
	if (peer.p || m.what == ACP_CANCEL_REQUEST)
		return;
	if (c)
		pl.inner.id = c->origin;
	next = send_message(from, NULL, text, &m, &pl);
	if (next && c->cancelled)
		send_cancel(next);
	if (c)
		call_free(c);
}

void
recover_past(struct component *c)
{
	struct port *p = c->near, *above = p->next[ACP_UP], *below = p->next[ACP_DOWN];
	SCOPED struct buf held = {0};
	struct slice left, line;

	held = p->queue.held;
	p->queue.held = (struct buf){0};
	port_join(above, below);
	for (left = buf_slice(&held); next_line(&left, &line);)
		forward_past(p, line);
	for (struct port *peer = p->peers; peer; peer = peer->next_peer)
		port_finish(peer);
	p->route->flow_changed = true;
}

size_t
recover_count(struct component *c)
{
	struct port *p = c->near;
	SCOPED struct buf text = {0};
	struct slice left, line;
	size_t n = 0;

	if (p->queue.finishing)
		return 0;
	port_stop_writing(p);
	gather_unread(p, &text);
	for (left = buf_slice(&text); next_line(&left, &line); n++)
		;
	return n;
}

void
recover_fail_unread(struct port *p)
{
	static const char why[] = "the agent has closed its standard input";
	struct call *c, *next;
	SCOPED struct buf text = {0};

	gather_unread(p, &text);
	find_unread(p, buf_slice(&text));
	for (c = p->calls.open; c; c = next) {
		next = c->next;
		if (c->unread)
			send_failure(c, ACP_ERR_INTERNAL, why, slice(NULL, 0));
	}
	/* They are counted when it has ended. */
	if (buf_add_slice(&p->queue.held, buf_slice(&text)) < 0)
		read_no_memory(p->route);
}
