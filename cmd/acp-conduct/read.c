#include "read.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/base/cli.h"
#include "lib/run/system.h"
#include "life.h"
#include "send.h"

/* --- what a dead process leaves: what it had not read goes on, what it had read fails, what it had asked is withdrawn --- */

static void
died(struct component *c)
{
	FOR_PORTS(p, c) {
		port_stop_writing(p);
		endpoint_drain(&p->end);
		endpoint_pause(&p->end, false);
	}
}

static bool
holds_pipes(const struct component *c)
{
	return endpoint_can_read(&c->near->end) || (c->far && endpoint_can_read(&c->far->end));
}

static bool
is_settled(struct component *c)
{
	return !holds_pipes(c);
}

/* Everything that the process of a port had not read, in the order in which it came: what is in its pipe, and what was held. */
static void
gather_unread(struct port *p)
{
	SCOPED struct buf held = p->queue.held;
	int copy = p->queue.pipe;

	p->queue.held = (struct buf){0};
	p->queue.pipe = -1;
	if (io_unread(copy, &p->queue.held) < 0 || buf_add_slice(&p->queue.held, buf_slice(&held)) < 0)
		read_no_memory(p->route);
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
find_unread(struct port *p)
{
	struct slice text = buf_slice(&p->queue.held), line;
	struct call *c;
	struct msg m;

	while (line_next(&text, &line)) {
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

/* Fails what a process that has ended had read and not responded to. The response to what a one-way filter has passed on goes past it. */
static size_t
fail_read(struct port *p)
{
	bool asked_again = p->component->next == NEXT_DIALECT;
	char number[SLICE_DIGITS];
	struct call *c, *next;
	size_t failed = 0;

	for (c = p->calls.open; c; c = next) {
		next = c->next;
		if (c->unread || (asked_again && c->what == ACP_INITIALIZE) ||
			(is_one_way(p->component) && call_find_origin(other_port(p), slice_digits(c->id, number))))
			continue;
		failed += c->from != NULL;
		send_ended(c);
	}
	return failed;
}

static bool
keeps_line(const struct port *p, const struct msg *m)
{
	const struct call *c;

	switch (m->kind) {
	case MSG_REQUEST:
		c = call_find(p, m->id);
		/* A proxy's first initialize is sent again, in the other dialect. */
		return c && c->unread;
	case MSG_NOTIFICATION:
		return m->what != ACP_CANCEL_REQUEST || call_find(p, json_get(m->params, acp_request_id));
	case MSG_RESPONSE:
		return is_one_way(p->component);
	default:
		/* The end of a line that it had partly read. */
		return false;
	}
}

/* What the next process gets of what waited for the dead one. */
static void
keep_lines(struct port *p, struct losses *n)
{
	uint64_t unread[ACP_DIRECTIONS] = {0, 0}, noted;
	SCOPED struct buf all = p->queue.held;
	struct slice text = buf_slice(&all), line;
	const struct port *out = is_one_way(p->component) || p->component->kind == KIND_FILTER ? other_port(p) : p;
	enum acp_direction dir;
	struct msg m;

	p->queue.held = (struct buf){0};
	while (line_next(&text, &line)) {
		if (msg_scan(line, &m, NULL), !keeps_line(p, &m))
			continue;
		dir = p->kind == PORT_BELOW || (p->kind == PORT_PROXY && m.what != ACP_PROXY_SUCCESSOR) ? ACP_DOWN : ACP_UP;
		unread[dir] += m.kind == MSG_NOTIFICATION && m.what != ACP_CANCEL_REQUEST;
		n->unread++;
		if (buf_add_slice(&p->queue.held, line) < 0 || buf_add(&p->queue.held, "\n", 1) < 0)
			read_no_memory(p->route);
	}
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		noted = p->notes.in[dir] - unread[dir];
		if (noted > out->notes.out[dir])
			n->lost += noted - out->notes.out[dir];
		p->notes.in[dir] = unread[dir];
	}
}

static void
recover(struct component *c, struct losses *n)
{
	struct call *call;

	send_set_reason(c, c->process.how);
	FOR_PORTS(p, c) {
		gather_unread(p);
		/* Nothing follows a peer that could read it. */
		if (c->kind != KIND_PEER)
			find_unread(p);
	}
	FOR_PORTS(p, c) {
		n->failed += fail_read(p);
		if (!is_one_way(c))
			send_withdrawal(p);
	}
	FOR_PORTS(p, c)
		keep_lines(p, n);
	FOR_PORTS(p, c) {
		memset(p->notes.out, 0, sizeof(p->notes.out));
		memset(p->figures.times.since, 0, sizeof(p->figures.times.since));
		for (call = p->calls.open; call; call = call->next)
			call->unread = false;
	}
	/* Its next process asks its successors anew. */
	c->near->init.greeted = c->near->init.asks = false;
	for (struct port *p = c->near->peers; p; p = p->next_peer)
		p->init.greeted = false;
	send_clear_reason(c->chain->route);
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

static void
bypass(struct component *c)
{
	struct port *p = c->near, *above = p->next[ACP_UP], *below = p->next[ACP_DOWN];
	SCOPED struct buf held = p->queue.held;
	struct slice left, line;

	p->queue.held = (struct buf){0};
	port_join(above, below);
	for (left = buf_slice(&held); line_next(&left, &line);)
		forward_past(p, line);
	for (struct port *peer = p->peers; peer; peer = peer->next_peer)
		port_finish(peer);
	p->route->flow_changed = true;
}

static size_t
count_unread(struct component *c)
{
	struct port *p = c->near;
	struct slice left, line;
	size_t n = 0;

	if (p->queue.finishing)
		return 0;
	port_stop_writing(p);
	gather_unread(p);
	for (left = buf_slice(&p->queue.held); line_next(&left, &line); n++)
		;
	return n;
}

static void
fail_unread(struct port *p)
{
	static const char why[] = "the agent has closed its standard input";
	struct call *c, *next;

	/* What it has not read is counted when it has ended. */
	gather_unread(p);
	find_unread(p);
	for (c = p->calls.open; c; c = next) {
		next = c->next;
		if (c->unread)
			send_failure(c, ACP_ERR_INTERNAL, why, slice(NULL, 0));
	}
}

/* --- what comes in --- */

/* A component, or the client, does not read what is written to it any more. */
static void
reader_left(struct port *p)
{
	struct component *c = p->component;

	if (!c) {
		walk_unread(p->route);
		return;
	}
	port_stop_writing(p);
	if (!life_runs(c) || p->route->chain->end.broken)
		return;
	p->queue.closed = true;
	if (c->kind == KIND_AGENT)
		fail_unread(p);
	port_closed_input(p);
}

/* All that it wrote is read: what it was asked fails, what it has asked is withdrawn. */
static void
port_ended(struct port *p)
{
	port_close(p);
	buf_free(&p->queue.held);
	fail_read(p);
	if (!is_one_way(p->component))
		send_withdrawal(p);
}

static void
input_ended(struct port *p)
{
	struct component *c = p->component;

	if (!c) {
		walk_client_left(p->route->chain);
	} else if (c->life == LIFE_DYING) {
		life_event(c, EVENT_SETTLED);
	} else if (c->life >= LIFE_ENDED || c->life == LIFE_NONE) {
		port_ended(p);
	} else {
		life_closed(c, c->kind == KIND_FILTER && p == c->far ? "output (descriptor 7)" : "standard output");
		/* Nothing follows one that may end: what it was asked fails before its neighbours see the end. */
		if (c->kind != KIND_AGENT && walk_may_end(c))
			send_all_ended(p);
		/* Why an agent has ended is clear when its process has. */
		else if (c->kind == KIND_AGENT && p->end.out.n == 0 && system_unread(p->queue.pipe) == 0)
			port_finish(p);
	}
	end_renew(p->route->chain);
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct port *p = arg;
	struct route *r = p->route;

	switch (event) {
	case ENDPOINT_ENDED:
		if (p->end.in.error)
			report_line(&r->chain->report, "%s: %s", p->name, strerror(p->end.in.error));
		input_ended(p);
		break;
	case ENDPOINT_HUNG_UP:
		/* What the death of a component means is clear when its process has ended. */
		if (!p->component)
			end_begin(r->chain);
		break;
	case ENDPOINT_CLOSED:
		if (p->end.out.error)
			reader_left(p);
		/* The component sees the end only if nobody holds the pipe. */
		else if (p->queue.pipe >= 0)
			p->queue.pipe = proc_close(p->queue.pipe);
		break;
	default:
		break;
	}
	if (p->end.out.n == 0 && p->queue.own) {
		p->queue.own = false;
		r->flow_changed = true;
	}
	if (event != ENDPOINT_READ)
		port_queue_changed(p);
	end_follow(r->chain);
}

/* --- processes --- */

static struct port *
port_new(struct route *r, size_t hop, enum port_kind kind, struct component *c)
{
	struct port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct port){.route = r, .kind = kind, .component = c, .name = c ? c->name : "client", .hop = hop, .queue.theirs = {-1, -1}, .queue.pipe = -1};
	p->init.dialect = r->fixed ? r->dialect : ACP_PLAIN;
	r->ports[r->n++] = p;
	return p;
}

/* New pipes for a port. 0, or -1 with errno. */
static int
open_port(struct port *p, bool in, bool out)
{
	int rd[2] = {-1, -1}, wr[2] = {-1, -1};

	port_close(p);
	if ((out && proc_pipe(wr) < 0) || (in && proc_pipe(rd) < 0)) {
		proc_close(wr[0]);
		return proc_close(wr[1]);
	}
	p->queue.theirs[0] = wr[0];
	p->queue.theirs[1] = rd[1];
	/* Nothing follows a peer that could read what it has left; and by a copy of the read end its closing of that would not show. */
	if (out && !port_peer(p))
		p->queue.pipe = io_copy_end(wr);
	p->end = (struct endpoint){.line = route_line, .event = on_event, .arg = p};
	if (endpoint_open(&p->end, p->route->chain->loop, rd[0], wr[1], p->route->line_limit) < 0)
		return -1;
	p->end.out.keeps = true;
	p->queue.closed = false;
	return 0;
}

static ssize_t
renew(struct component *c, struct proc_fd *fds)
{
	ssize_t n = 0;

	if (open_port(c->near, c->kind != KIND_DOWN, c->kind != KIND_UP) < 0 ||
		(c->kind < KIND_PROXY && open_port(c->far, c->kind != KIND_UP, c->kind != KIND_DOWN) < 0))
		return -1;
	fds[n++] = (struct proc_fd){(c->kind == KIND_UP ? c->far : c->near)->queue.theirs[0], STDIN_FILENO};
	fds[n++] = (struct proc_fd){(c->kind == KIND_DOWN ? c->far : c->near)->queue.theirs[1], STDOUT_FILENO};
	if (c->kind == KIND_FILTER) {
		fds[n++] = (struct proc_fd){c->far->queue.theirs[0], 6};
		fds[n++] = (struct proc_fd){c->far->queue.theirs[1], 7};
	}
	return n;
}

static void
started(struct component *c)
{
	FOR_PORTS(p, c) {
		p->queue.theirs[0] = proc_close(p->queue.theirs[0]);
		p->queue.theirs[1] = proc_close(p->queue.theirs[1]);
		if (c->kind < KIND_PROXY || (c->kind == KIND_PROXY && p->route->fixed && c->process.first == c->process.pid))
			port_go_live(p);
	}
	c->chain->route->flow_changed = true;
}

/* --- the end of a process --- */

static void
ended(struct component *c, bool over)
{
	struct route *r = c->chain->route;
	bool has_reason = r->reason.why;

	if (!has_reason)
		send_set_reason(c, c->process.how);
	FOR_PORTS(p, c) {
		p->queue.live = false;
		endpoint_close_out(&p->end);
		/* A process that has left the group may hold a pipe: only what it has written so far is forwarded; the agent's for the grace period. */
		if (c->kind != KIND_AGENT && (over || c->kind == KIND_PROXY)) {
			endpoint_drain(&p->end);
			endpoint_pause(&p->end, false);
		}
		if (!endpoint_can_read(&p->end))
			port_ended(p);
	}
	if (c->kind == KIND_PEER && c->life == LIFE_NONE)
		c->near->init.response.n = 0;
	if (!has_reason)
		send_clear_reason(r);
}

static bool
holds_up(const struct component *c)
{
	if (c->kind != KIND_FILTER)
		return (c->near->queue.finishing || (c->far && c->far->queue.finishing)) && holds_pipes(c);
	return (c->near->queue.finishing && endpoint_can_read(&c->far->end)) || (c->far->queue.finishing && endpoint_can_read(&c->near->end));
}

static uint64_t
progress(const struct chain *ch)
{
	const struct route *r = ch->route;
	const struct port *p;
	uint64_t h = 0;

	for (size_t i = 0; i < ch->total; i++)
		h = h * 1000003 + ch->components[i].life;
	for (size_t i = 0; i < r->n; i++) {
		p = r->ports[i];
		h = h * 1000003 + p->end.out.written + p->figures.in.bytes[ACP_DOWN] + p->figures.in.bytes[ACP_UP];
		h = h * 31 + (p->queue.pipe < 0 ? 0 : (uint64_t)system_unread(p->queue.pipe));
	}
	return h;
}

static bool
is_client_slow(const struct chain *ch)
{
	return ch->has_agent && ch->components[ch->n - 1].life >= LIFE_ENDED && ch->route->client->end.out.n > 0;
}

static bool
is_over(const struct chain *ch)
{
	const struct endpoint *client = &ch->route->client->end;

	return ch->end.forced || (!endpoint_can_read(client) && !endpoint_can_write(client));
}

static void
failed(struct component *c, const char *what, int status)
{
	send_set_reason(c, what);
	walk_break(c->chain->route, what, status);
}

/* --- figures --- */

/* The quantile of these times, us; -1: none was measured. */
static double
quantile(const struct port_times *t, unsigned of_thousand)
{
	uint64_t n = 0, seen = 0;

	for (unsigned i = 0; i < PORT_TIMES; i++)
		n += t->histogram[i];
	for (unsigned i = 0; n > 0 && i < PORT_TIMES; i++) {
		seen += t->histogram[i];
		if (seen * 1000 >= n * of_thousand)
			return exp2((double)i / 6);
	}
	return -1;
}

static void
describe(const struct component *c, struct buf *to)
{
	const struct port_counts *down = &c->near->figures.out, *up = c->kind == KIND_PROXY ? down : &c->near->figures.in;
	const struct port_times *t = &c->near->figures.times;

	buf_printf(to, ", down %" PRIu64 " messages %" PRIu64 " bytes, up %" PRIu64 " messages %" PRIu64 " bytes",
		down->messages[ACP_DOWN], down->bytes[ACP_DOWN], up->messages[ACP_UP], up->bytes[ACP_UP]);
	if (c->kind == KIND_PROXY && quantile(t, 500) >= 0)
		buf_printf(to, ", added %.0f us (median) and %.0f us (99th percentile)", quantile(t, 500), quantile(t, 990));
}

static const struct flow read_flow = {
	.renew = renew, .started = started, .may_end = walk_may_end, .died = died, .is_settled = is_settled,
	.recover = recover, .ended = ended, .holds_pipes = holds_pipes, .holds_up = holds_up, .client_left = walk_client_left,
	.failed = failed, .proceed = walk_proceed, .progress = progress, .is_client_slow = is_client_slow, .is_over = is_over,
	.count_unread = count_unread, .describe = describe,
	.bypass = bypass, .set_other_dialect = init_set_other_dialect, .ask_again = init_ask_again,
};

static void
no_memory(void *arg)
{
	struct route *r = arg;

	report_line(&r->chain->report, "out of memory");
	walk_break(r, "out of memory", EXIT_FAILED);
	end_follow(r->chain);
}

/* --- the ports of a chain --- */

/* Adds a component below `above`. Returns the port below which the next one comes; NULL out of memory. */
static struct port *
add_component(struct route *r, struct component *c, struct port *above)
{
	size_t i = chain_index(c);

	c->near = port_new(r, c->kind == KIND_PROXY ? i + 1 : i, c->kind == KIND_PROXY ? PORT_PROXY : PORT_BELOW, c);
	if (!c->near)
		return NULL;
	port_join(above, c->near);
	if (c->kind == KIND_PROXY)
		c->far = c->near;
	if (c->kind >= KIND_PROXY)
		return c->near;
	c->far = port_new(r, i + 1, PORT_ABOVE, c);
	if (c->far && c->kind == KIND_UP)
		c->near->shortcut = c->far;
	if (c->far && c->kind == KIND_DOWN)
		c->far->shortcut = c->near;
	return c->far;
}

int
read_open(struct chain *ch)
{
	struct route *r = ch->route;
	struct port *p, *proxy;
	struct component *c;
	int in, out;
	size_t i;

	ch->flow = &read_flow;
	r->line = route_line;
	r->walk.up = (ssize_t)ch->n;
	r->no_memory = (struct loop_task){.run = no_memory, .arg = r};
	r->ports = calloc(2 * ch->total + 1, sizeof(struct port *));
	p = r->client = r->ports ? port_new(r, 0, ch->has_agent ? PORT_ABOVE : PORT_OUTER, NULL) : NULL;
	for (i = 0; p && i < ch->n; i++)
		p = add_component(r, &ch->components[i], p);
	for (; p && i < ch->total; i++) {
		c = &ch->components[i];
		proxy = ch->components[c->owner].near;
		c->near = port_new(r, proxy->hop, PORT_BELOW, c);
		if (!c->near)
			return -1;
		c->near->next[ACP_UP] = proxy;
		LL_APPEND2(proxy->peers, c->near, next_peer);
	}
	if (!p)
		return -1;
	if (!ch->has_agent) {
		r->client->name = "conductor";
		port_join(p, r->client);
	}
	cli_waits("acp-conduct", STDIN_FILENO, "the client's messages");
	p = r->client;
	p->end = (struct endpoint){.line = route_line, .event = on_event, .arg = p};
	p->queue.live = true;
	in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8);
	out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 8);
	if (in < 0 || out < 0) {
		proc_close(in);
		return proc_close(out);
	}
	return endpoint_open(&p->end, ch->loop, in, out, r->line_limit);
}

void
read_free(struct route *r)
{
	struct port *p;

	for (size_t i = 0; i < r->n; i++)
		while (r->ports[i]->calls.open)
			call_free(r->ports[i]->calls.open);
	for (size_t i = 0; i < r->n; i++) {
		p = r->ports[i];
		port_close(p);
		buf_free(&p->queue.held);
		buf_free(&p->init.request);
		buf_free(&p->init.response);
		free(p);
	}
	free(r->ports);
	free(r->reason.why);
	buf_free(&r->reason.data);
	buf_free(&r->with);
}

