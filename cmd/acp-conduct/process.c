/*
 * The processes of a read chain: their pipes, what happens to the messages of a dead process, and what endpoints report. The next process
 * gets the messages that the dead one had not read. Requests that it had read fail. Requests that it had sent are cancelled.
 */
#include <errno.h>
#include <unistd.h>

#include "lib/run/system.h"
#include "life.h"
#include "send.h"

/* --- pipes --- */

/* In an envelope a line of 64 KiB does not fit into a pipe of 64 KiB: writer and reader would wait for each other at each line. */
enum { PIPE = 128 * 1024 };

/* Makes new pipes for a port. 0, or -1 with errno. */
static int
open_port(struct port *p, bool in, bool out)
{
	int rd[2] = {-1, -1}, wr[2] = {-1, -1};

	port_close(p);
	if ((out && proc_pipe(wr) < 0) || (in && proc_pipe(rd) < 0)) {
		proc_close(wr[0]);
		return proc_close(wr[1]);
	}
	/* If the system refuses this size, long lines are only slower. */
	if (out)
		system_set_pipe_size(wr[1], PIPE);
	if (in)
		system_set_pipe_size(rd[1], PIPE);
	p->queue.theirs[0] = wr[0];
	p->queue.theirs[1] = rd[1];
	/* Nothing follows a peer, so nobody needs what it leaves unread; and a copy of the read end would hide that the peer closes its own. */
	if (out && !port_peer(p))
		p->queue.unread_end = io_copy_end(wr);
	p->end = (struct endpoint){.line = route_line, .event = process_event, .arg = p};
	if (endpoint_open(&p->end, p->route->chain->loop, rd[0], wr[1], p->route->line_limit) < 0)
		return -1;
	p->end.out.keeps = true;
	p->queue.closed = false;
	return 0;
}

static ssize_t
open_pipes(struct component *c, struct proc_fd *fds)
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

static bool
holds_pipes(const struct component *c)
{
	return endpoint_can_read(&c->near->end) || (c->far && endpoint_can_read(&c->far->end));
}

static bool
holds_up(const struct component *c)
{
	if (c->kind != KIND_FILTER)
		return (c->near->queue.finishing || (c->far && c->far->queue.finishing)) && holds_pipes(c);
	return (c->near->queue.finishing && endpoint_can_read(&c->far->end)) || (c->far->queue.finishing && endpoint_can_read(&c->near->end));
}

/* --- what a dead process leaves --- */

static void
read_rest(struct component *c)
{
	FOR_PORTS(p, c) {
		port_stop_writing(p);
		endpoint_drain(&p->end);
		endpoint_pause(&p->end, false);
	}
}

static bool
is_settled(struct component *c)
{
	return !holds_pipes(c);
}

/* Collects what the dead process of a port had not read, in order: the bytes in its pipe, then the held lines. */
static void
gather_unread(struct port *p)
{
	SCOPED struct buf held = p->queue.held;
	int copy = p->queue.unread_end;

	p->queue.held = (struct buf){0};
	p->queue.unread_end = -1;
	if (io_unread(copy, &p->queue.held) < 0 || buf_add_slice(&p->queue.held, buf_slice(&held)) < 0)
		read_no_memory(p->route);
}

/* Is the component a filter of one direction? It never sees the responses to requests that it has forwarded. */
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

/* Marks the requests that the dead process had not read; of a one-way filter also the requests whose response it had not read. */
static void
flag_unread(struct port *p)
{
	struct slice text = buf_slice(&p->queue.held), line;
	const struct port *to;
	struct call *c;
	struct msg m;

	while (line_next(&text, &line)) {
		msg_scan(line, &m, NULL);
		to = m.kind == MSG_REQUEST ? p : m.kind == MSG_RESPONSE && is_one_way(p->component) ? other_port(p) : NULL;
		c = to ? call_find(to, m.id) : NULL;
		if (c && c->sender) /* acp-conduct makes its own initialize anew for each process */
			c->unread = true;
	}
}

/*
 * Fails the requests that a process has read before its end without a response, and withdraws the requests that it has sent. The responses
 * to what a one-way filter has forwarded go past the filter. Returns how many requests have failed.
 */
static size_t
fail_requests(struct port *p)
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
	if (!is_one_way(p->component))
		send_withdrawal(p);
	return failed;
}

static bool
keeps_line(const struct port *p, const struct msg *m)
{
	const struct call *c;

	switch (m->kind) {
	case MSG_REQUEST:
		c = call_find(p, m->id);
		/* The first initialize of a proxy is sent again, in the other dialect. */
		return c && c->unread;
	case MSG_NOTIFICATION:
		return m->what != ACP_CANCEL_REQUEST || call_find(p, json_get(m->params, acp_request_id));
	case MSG_RESPONSE:
		return is_one_way(p->component);
	default:
		/* The rest of a line whose beginning the dead process had read is no message. */
		return false;
	}
}

/* Keeps those lines that waited for the dead process and that the next process gets. */
static void
keep_lines(struct port *p, struct losses *n)
{
	uint64_t unread[ACP_DIRECTIONS] = {0, 0}, noted;
	SCOPED struct buf all = p->queue.held;
	struct slice text = buf_slice(&all), line;
	const struct port *out = p->component->far ? other_port(p) : p;
	enum acp_direction dir;
	struct msg m;

	p->queue.held = (struct buf){0};
	while (line_next(&text, &line)) {
		msg_scan(line, &m, NULL);
		if (!keeps_line(p, &m))
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
		/* Nothing follows a peer, so the requests that it had not read fail, too. */
		if (c->kind != KIND_PEER)
			flag_unread(p);
	}
	FOR_PORTS(p, c) {
		n->failed += fail_requests(p);
		keep_lines(p, n);
	}
	FOR_PORTS(p, c) {
		memset(p->notes.out, 0, sizeof(p->notes.out));
		memset(p->figures.since, 0, sizeof(p->figures.since));
		for (call = p->calls.open; call; call = call->next)
			call->unread = false;
	}
	/* The next process initializes its successors anew. */
	c->near->init.greeted = c->near->init.asks = false;
	for (struct port *p = c->near->peers; p; p = p->next_peer)
		p->init.greeted = false;
	send_clear_reason(c->chain->route);
}

/* Forwards a message that a bypassed proxy had not read to the next component. */
static void
forward_past(struct port *gone, struct slice text)
{
	struct routed routed = {.dir = ACP_DOWN, .to = gone->next[ACP_DOWN]};
	struct slice peer = {NULL, 0};
	struct call *c, *next = NULL;
	struct port *from;
	const char *why;
	struct msg m;

	if (msg_scan(text, &m, NULL) != MSG_REQUEST && m.kind != MSG_NOTIFICATION)
		return;
	routed.inner = m;
	if (m.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m, &routed.inner, &peer, &why) == 0) {
		routed.envelope = &m;
		routed.dir = ACP_UP;
		routed.to = gone->next[ACP_UP];
	}
	c = m.kind == MSG_REQUEST ? call_find(gone, m.id) : NULL;
	from = c ? c->from : NULL;
	/* Messages of a peer are for its proxy alone. */
	if (peer.p && c)
		send_failure(c, ACP_ERR_INTERNAL, "the proxy of this peer was bypassed", slice(NULL, 0));
	if (peer.p || m.what == ACP_CANCEL_REQUEST)
		return;
	if (c)
		routed.inner.id = c->origin;
	next = send_message(from, NULL, text, &m, &routed);
	if (next) {
		next->sender = c->sender;
		if ((next->cancelled = c->cancelled))
			send_cancel(next);
	}
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
	struct call *c, *next;

	/* Unread messages are counted when the process has ended. */
	gather_unread(p);
	flag_unread(p);
	for (c = p->calls.open; c; c = next) {
		next = c->next;
		if (c->unread)
			send_failure(c, ACP_ERR_INTERNAL, "the agent has closed its standard input", slice(NULL, 0));
	}
}

/* Everything that the process wrote has been read: fails the requests to it, and withdraws its own. */
static void
end_output(struct port *p)
{
	port_close(p);
	buf_free(&p->queue.held);
	fail_requests(p);
}

static void
close_pipes(struct component *c, bool over)
{
	struct route *r = c->chain->route;
	bool has_reason = r->reason.why;

	if (!has_reason)
		send_set_reason(c, c->process.how);
	FOR_PORTS(p, c) {
		p->queue.live = false;
		endpoint_close_out(&p->end);
		/* A child that has left the group may hold the pipe. It is read no further than now; an agent's for the grace period. */
		if (c->kind != KIND_AGENT && (over || c->kind == KIND_PROXY)) {
			endpoint_drain(&p->end);
			endpoint_pause(&p->end, false);
		}
		if (!endpoint_can_read(&p->end))
			end_output(p);
	}
	if (c->kind == KIND_PEER && c->life == LIFE_NONE)
		c->near->init.response.n = 0;
	if (!has_reason)
		send_clear_reason(r);
}

/* --- what comes in --- */

/* Handles that a component, or the client, does not read any more. */
static void
reader_left(struct port *p)
{
	struct component *c = p->component;
	struct chain *ch = p->route->chain;

	if (!c) {
		if (p->end.out.error != EPIPE && p->end.out.error != ECONNRESET) {
			report_line(&ch->report, "writing to the client: %s", strerror(p->end.out.error));
			ch->end.own_status = EXIT_FAILED;
		}
		endpoint_close(&p->end);
		walk_client_left(ch);
		return;
	}
	port_stop_writing(p);
	if (!life_runs(c) || ch->end.broken)
		return;
	p->queue.closed = true;
	if (c->kind == KIND_AGENT)
		fail_unread(p);
	port_closed_input(p);
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
		end_output(p);
	} else {
		life_closed(c, c->kind == KIND_FILTER && p == c->far ? "output (descriptor 7)" : "standard output");
		/* No process follows: the requests to it fail before its neighbours see the end. */
		if (c->kind != KIND_AGENT && walk_may_end(c))
			send_all_ended(p);
		/* The reason is known when the agent's process has ended. */
		else if (c->kind == KIND_AGENT && p->end.out.n == 0 && system_unread(p->queue.unread_end) == 0)
			port_finish(p);
	}
	end_renew(p->route->chain);
}

void
process_event(void *arg, enum endpoint_event event)
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
		/* What follows is decided when the process has ended. */
		if (!p->component)
			end_begin(r->chain);
		break;
	case ENDPOINT_CLOSED:
		if (p->end.out.error)
			reader_left(p);
		/* The component sees the end of its input only when no copy of the pipe is open. */
		else if (p->queue.unread_end >= 0)
			p->queue.unread_end = proc_close(p->queue.unread_end);
		break;
	default:
		break;
	}
	if (p->end.out.n == 0 && p->queue.own) {
		p->queue.own = false;
		r->flow_changed = true;
	}
	port_queue_changed(p);
	end_follow(r->chain);
}

const struct flow read_flow = {
	.open_pipes = open_pipes, .started = started, .may_end = walk_may_end, .read_rest = read_rest, .is_settled = is_settled,
	.recover = recover, .close_pipes = close_pipes, .holds_pipes = holds_pipes, .holds_up = holds_up, .client_left = walk_client_left,
	.fail = walk_fail, .proceed = walk_proceed, .progress = walk_progress, .is_client_slow = walk_is_client_slow,
	.is_over = walk_is_over, .count_unread = count_unread, .describe = port_describe,
	.bypass = bypass, .set_other_dialect = init_set_other_dialect, .ask_again = init_again,
};
