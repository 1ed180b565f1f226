/* Ports: requests in flight, the queues to write, which ports are read, and figures. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <utlist.h>

#include "life.h"
#include "read.h"

/* --- requests in flight --- */

static void
add(struct call *c)
{
	struct calls *to = &c->to->calls;
	struct call **bucket;

	c->id = ++to->last_id;
	bucket = &to->buckets[c->id % CALLS_BUCKETS];
	c->next_in_bucket = *bucket;
	*bucket = c;
	DL_APPEND(to->open, c);
}

static void
unlink_call(struct call *c)
{
	struct call **at = &c->to->calls.buckets[c->id % CALLS_BUCKETS];

	while (*at != c)
		at = &(*at)->next_in_bucket;
	*at = c->next_in_bucket;
	DL_DELETE(c->to->calls.open, c);
}

struct call *
call_new(struct port *from, struct port *to, enum acp_direction dir, const struct msg *m)
{
	struct slice session = msg_session(m);
	struct call *c = malloc(sizeof(*c) + m->id.n + session.n);
	char *p;

	if (!c)
		return NULL;
	*c = (struct call){.to = to, .from = from, .sender = from, .dir = dir, .what = m->what};
	p = c->bytes;
	c->origin = slice_keep(&p, m->id);
	c->session = slice_keep(&p, session);
	add(c);
	if (from)
		DL_APPEND2(from->calls.sent, c, prev_sent, next_sent);
	return c;
}

struct call *
call_find(const struct port *to, struct slice id)
{
	struct call *c;
	uint64_t n;

	if (!json_u64(id, &n))
		return NULL;
	for (c = to->calls.buckets[n % CALLS_BUCKETS]; c && c->id != n; c = c->next_in_bucket)
		;
	return c;
}

/* A search is fast enough: few requests are open, and cancelling is rare. */
struct call *
call_find_origin(const struct port *from, struct slice id)
{
	struct call *c;

	DL_FOREACH2(from->calls.sent, c, next_sent)
		if (msg_same_id(c->origin, id))
			break;
	return c;
}

void
call_new_id(struct call *c)
{
	unlink_call(c);
	add(c);
}

void
call_orphan(struct call *c)
{
	if (c->from)
		DL_DELETE2(c->from->calls.sent, c, prev_sent, next_sent);
	c->from = NULL;
}

void
call_free(struct call *c)
{
	call_orphan(c);
	unlink_call(c);
	free(c);
}

/* --- queues --- */

void
port_join(struct port *above, struct port *below)
{
	above->next[ACP_DOWN] = below;
	below->next[ACP_UP] = above;
}

void
read_no_memory(struct route *r)
{
	loop_add_task(r->chain->loop, &r->no_memory);
}

/* Has admission decided again only where the result may be another. */
void
port_queue_changed(struct port *p)
{
	struct port_queue *q = &p->queue;
	size_t waiting = p->end.out.queued + q->held.n;
	/* Its senders must still be read: the response that a restarted proxy waits for may follow the held lines. */
	bool asks = p->calls.sent && p->component && p->component->life == LIFE_ASKED_AGAIN;
	bool full = p->end.out.full || (q->held.n > OUTPUT_HIGH && !asks), over = waiting > CHAIN_BOUND;

	if (full == q->full && over == q->over)
		return;
	q->full = full;
	q->over = over;
	p->route->flow_changed = true;
}

/* A component that has closed its input counts as dead as soon as a message waits for it. */
void
port_closed_input(struct port *p)
{
	struct component *c = p->component;

	if (c->kind != KIND_AGENT && (p->queue.held.n > 0 || p->calls.open))
		life_closed(c, c->kind == KIND_FILTER && p == c->far ? "input (descriptor 6)" : "standard input");
}

size_t
port_put(struct port *p, struct block *block, const struct iovec *parts, size_t n, bool now)
{
	const struct component *c = p->component;
	size_t size = 1;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		size += parts[i].iov_len;
	if (now || p->queue.live) {
		r = endpoint_put_parts(&p->end, block, parts, n);
	} else if (c && c->life < LIFE_ENDED && !(p->queue.closed && c->kind == KIND_AGENT)) {
		for (size_t i = 0; r == 0 && i < n; i++)
			r = buf_add(&p->queue.held, parts[i].iov_base, parts[i].iov_len);
		r = r < 0 ? r : buf_add(&p->queue.held, "\n", 1);
	}
	if (p->queue.closed)
		port_closed_input(p);
	if (r < 0)
		read_no_memory(p->route);
	port_queue_changed(p);
	return size;
}

void
port_go_live(struct port *p)
{
	struct port_queue *q = &p->queue;

	if (q->live || !endpoint_can_write(&p->end))
		return;
	q->live = true;
	if (q->held.n > 0 && endpoint_put(&p->end, NULL, buf_slice(&q->held)) < 0)
		read_no_memory(p->route);
	buf_free(&q->held);
	if (q->finishing)
		endpoint_finish(&p->end);
	port_queue_changed(p);
}

void
port_finish(struct port *p)
{
	if (p->queue.finishing)
		return;
	p->queue.finishing = true;
	if (p->queue.live)
		endpoint_finish(&p->end);
	end_renew(p->route->chain);
}

void
port_stop_writing(struct port *p)
{
	SCOPED struct buf held = p->queue.held;

	p->queue.live = false;
	p->queue.held = (struct buf){0};
	if (output_take(&p->end.out, &p->queue.held) < 0 || buf_add_slice(&p->queue.held, buf_slice(&held)) < 0)
		read_no_memory(p->route);
	endpoint_close_out(&p->end);
}

void
port_close(struct port *p)
{
	endpoint_close(&p->end);
	p->queue.live = false;
	p->queue.unread_end = proc_close(p->queue.unread_end);
	p->queue.theirs[0] = proc_close(p->queue.theirs[0]);
	p->queue.theirs[1] = proc_close(p->queue.theirs[1]);
}

/* --- admission --- */

/* The position of a port, which grows from the client to the agent. A proxy's lies between its two hops. */
static size_t
position(const struct port *p)
{
	return 2 * p->hop + (p->kind == PORT_BELOW);
}

static bool
writes(const struct port *p, enum acp_direction dir)
{
	return p->kind == PORT_PROXY || p->kind == (dir == ACP_DOWN ? PORT_BELOW : PORT_ABOVE);
}

void
read_admit(struct route *r)
{
	size_t lowest = 0, highest = SIZE_MAX, at;
	bool over = false, any = false, full;
	struct port *p;

	for (p = r->ports; p < r->ports + r->n; p++) {
		port_queue_changed(p);
		at = position(p);
		over = over || (p->queue.over && p->kind != PORT_PROXY);
		any = any || (p->queue.full && p->kind != PORT_OUTER);
		if (p->queue.full && writes(p, ACP_DOWN) && at + 1 > lowest)
			lowest = at + 1;
		if (p->queue.full && writes(p, ACP_UP) && at < highest)
			highest = at;
	}
	r->flow_changed = false;
	for (p = r->ports; p < r->ports + r->n; p++) {
		at = position(p);
		if (p->kind == PORT_PROXY)
			full = over;
		else if (p->kind == PORT_OUTER)
			full = any;
		else
			full = p->kind == PORT_ABOVE ? lowest > at + 1 : highest < at;
		if (!p->end.draining)
			endpoint_pause(&p->end, full || p->queue.own);
		if (p->kind == PORT_PROXY && p->queue.over)
			life_event(p->component, EVENT_OVERRUN);
	}
}

/* --- figures --- */

void
port_count_time(struct port *p, enum acp_direction dir)
{
	struct port_figures *f = &p->figures;
	uint64_t us = loop_now(p->route->chain->loop) - f->since[dir];
	double step = us ? log2((double)us) * 6 : 0; /* six steps double the time */

	if (f->since[dir])
		f->times[step >= (double)PORT_TIMES ? PORT_TIMES - 1 : (unsigned)step]++;
	f->since[dir] = 0;
}

/* The quantile of the measured times, us; -1: none was measured. */
static double
quantile(const struct port_figures *f, unsigned of_thousand)
{
	uint64_t n = 0, seen = 0;

	for (unsigned i = 0; i < PORT_TIMES; i++)
		n += f->times[i];
	for (unsigned i = 0; n > 0 && i < PORT_TIMES; i++) {
		seen += f->times[i];
		if (seen * 1000 >= n * of_thousand)
			return exp2((double)i / 6);
	}
	return -1;
}

void
port_describe(const struct component *c, struct buf *to)
{
	const struct port_figures *f = &c->near->figures;
	bool proxy = c->kind == KIND_PROXY, queued = proxy || c->kind == KIND_DOWN; /* else what was read: past a KIND_DOWN, too */

	buf_printf(to, ", down %" PRIu64 " messages %" PRIu64 " bytes, up %" PRIu64 " messages %" PRIu64 " bytes",
		f->messages[ACP_DOWN], f->bytes[ACP_DOWN], queued ? f->messages[ACP_UP] : f->in_messages,
		queued ? f->bytes[ACP_UP] : f->in_bytes);
	if (proxy && quantile(f, 500) >= 0)
		buf_printf(to, ", added %.0f us (median) and %.0f us (99th percentile)", quantile(f, 500), quantile(f, 990));
}
