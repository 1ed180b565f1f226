#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "route.h"

enum { EXACT_ABOVE = 256 * 1024 }; /* bytes of a journal that are worth a question to the kernel */

int
port_open(struct port *p, int in, int out)
{
	int capacity;

	if (in >= 0) {
		if (input_open(&p->in, in, ROUTE_LINE_LIMIT) < 0)
			return -1;
		p->in_open = true;
		p->held_above = p->held_below = false;
		p->readable = (struct loop_fd){.fd = p->in.io.fd, .ready = route_readable, .arg = p};
	}
	if (out >= 0) {
		capacity = fcntl(out, F_GETPIPE_SZ);
		p->pipe = capacity > 0 ? (uint64_t)capacity : 0;
		if (output_open(&p->out, out) < 0)
			return -1;
		p->out_open = true;
		p->given = 0;
		p->writable = (struct loop_fd){.fd = p->out.io.fd, .ready = route_writable, .arg = p};
	}
	port_watch(p);
	if (in >= 0 && loop_add_fd(p->route->loop, &p->readable) < 0)
		return -1;
	return out >= 0 ? loop_add_fd(p->route->loop, &p->writable) : 0;
}

/* --- the journal --- */

static struct sent *
sent_at(struct port *p, size_t i)
{
	return &p->journal[(p->first + i) & (p->cap - 1)];
}

static int
grow(struct port *p)
{
	size_t cap = p->cap ? p->cap * 2 : 64, i;
	struct sent *ring = malloc(cap * sizeof(*ring));

	if (!ring)
		return -1;
	for (i = 0; i < p->n; i++)
		ring[i] = *sent_at(p, i);
	free(p->journal);
	p->journal = ring;
	p->cap = cap;
	p->first = 0;
	return 0;
}

int
port_journal_add(struct port *p, struct sent *s)
{
	if (p->n == p->cap && grow(p) < 0) {
		pieces_drop(&s->text);
		return -1;
	}
	p->n++;
	*sent_at(p, p->n - 1) = *s;
	p->journal_bytes += s->text.size;
	if (s->end == 0)
		p->waiting += s->text.size;
	return 0;
}

bool
port_journal_take(struct port *p, struct sent *s)
{
	if (p->n == 0)
		return false;
	*s = *sent_at(p, 0);
	p->first = (p->first + 1) & (p->cap - 1);
	p->n--;
	p->journal_bytes -= s->text.size;
	if (s->end == 0)
		p->waiting -= s->text.size;
	return true;
}

uint64_t
port_consumed(const struct port *p)
{
	int n = 0;

	if (p->rest < 0 || ioctl(p->rest, FIONREAD, &n) < 0 || n < 0 || (uint64_t)n > p->out.written)
		n = 0;
	return p->out.written - (uint64_t)n;
}

void
port_journal_trim(struct port *p, bool exact)
{
	uint64_t consumed = exact ? port_consumed(p) : p->out.written > p->pipe ? p->out.written - p->pipe : 0;
	struct sent s;

	while (p->n > 0 && sent_at(p, 0)->end != 0 && sent_at(p, 0)->end <= consumed && port_journal_take(p, &s))
		pieces_drop(&s.text);
}

/* --- out --- */

void
port_touch(struct port *p)
{
	if (p->dirty)
		return;
	p->dirty = true;
	p->next_dirty = p->route->dirty;
	p->route->dirty = p;
}

static int
give(struct port *p, const struct pieces *text)
{
	p->given += text->size;
	port_touch(p);
	return pieces_put(text, &p->out);
}

static void
count_out(struct port *p, const struct pieces *text, enum sent_kind kind, enum lane lane)
{
	p->out_counts.messages[lane]++;
	p->out_counts.bytes[lane] += text->size;
	if (kind == SENT_NOTIFICATION)
		p->notes_in[lane]++;
}

int
port_put(struct port *p, struct pieces *text, enum sent_kind kind, uint64_t id, enum lane lane)
{
	struct sent s = {*text, 0, id, kind, lane};
	struct call *c;
	int r;

	count_out(p, text, kind, lane);
	if (p->live || kind == SENT_RESPONSE) {
		r = give(p, text);
		if (r < 0 || p->kind != PORT_PROXY || !p->live) {
			pieces_drop(text);
			return r;
		}
		s.end = p->given;
		if (kind == SENT_REQUEST) {
			HASH_FIND(hh, p->calls, &id, sizeof(id), c);
			if (c)
				c->end = s.end;
		}
		port_journal_trim(p, false);
	}
	return port_journal_add(p, &s);
}

int
port_go_live(struct port *p)
{
	struct sent s;
	struct call *c;
	size_t n = p->n, i;

	p->live = true;
	for (i = 0; i < n && port_journal_take(p, &s); i++) {
		if (s.end == 0) {
			if (give(p, &s.text) < 0) {
				pieces_drop(&s.text);
				return -1;
			}
			s.end = p->given;
			HASH_FIND(hh, p->calls, &s.id, sizeof(s.id), c);
			if (c && s.kind == SENT_REQUEST)
				c->end = s.end;
		}
		if (port_journal_add(p, &s) < 0)
			return -1;
	}
	/* What was in an array is read with it. */
	for (c = p->calls; c; c = c->hh.next)
		if (c->end == 0 && c->batch)
			c->end = p->given;
	return 0;
}

bool
port_full(const struct port *p)
{
	return p->out.full || p->waiting > OUTPUT_HIGH;
}

void
port_flush(struct port *p)
{
	bool waits;

	if (!p->out_open)
		return;
	waits = output_flush(&p->out) == 1;
	/* A proxy's end is told by its process. */
	loop_watch(p->route->loop, &p->writable, waits ? POLLOUT : p->kind == PORT_PROXY ? LOOP_PAUSED : 0);
	if (p->out.n == 0)
		p->coupled = false;
	if (p->closing && !waits && p->waiting == 0)
		port_close_out(p);
	else if (p->out.error)
		route_unread(p);
}

/* --- what is watched --- */

/* Where its messages go is known before they are read; of a proxy's only afterwards. */
static bool
waits_for_above(const struct port *p)
{
	return p->above && port_full(p->above) && (p->kind == PORT_BELOW || p->held_above);
}

static bool
waits_for_below(const struct port *p)
{
	return p->below && port_full(p->below) && (p->kind == PORT_ABOVE || p->held_below);
}

/*
 * A process that waits for its output to be read does not read. Two neighbours that wait for nobody but each other would
 * do so for ever: then the one on the client's side is read. What it gets is at an end soon, for both that send to it wait.
 */
static bool
wait_for_each_other(const struct port *p)
{
	const struct port *q = p->below;

	return p->kind == PORT_PROXY && q->kind != PORT_OUTER && !waits_for_above(p) && waits_for_above(q) && !waits_for_below(q) &&
		!q->coupled;
}

void
port_watch(struct port *p)
{
	bool may = p->in_open && !p->coupled && !waits_for_above(p) && (!waits_for_below(p) || wait_for_each_other(p));

	loop_watch(p->route->loop, &p->readable, may ? POLLIN : LOOP_PAUSED);
}

void
port_watch_around(struct port *p)
{
	port_watch(p);
	if (p->above)
		port_watch(p->above);
	if (p->below)
		port_watch(p->below);
}

uint64_t
port_total(const struct port *p)
{
	return p->out_counts.bytes[LANE_DOWN] + p->out_counts.bytes[LANE_UP];
}

void
port_finish(struct port *p)
{
	if (!p->out_open || p->closing)
		return;
	p->closing = true;
	port_touch(p);
}

void
port_close_in(struct port *p)
{
	if (!p->in_open)
		return;
	p->in_open = false;
	loop_remove_fd(p->route->loop, &p->readable);
	input_close(&p->in);
}

void
port_close_out(struct port *p)
{
	if (!p->out_open)
		return;
	p->out_open = false;
	loop_remove_fd(p->route->loop, &p->writable);
	/* Whoever reads the same socket must see the end. */
	io_close(&p->out.io, p->kind != PORT_PROXY);
	output_close(&p->out);
}

void
port_free(struct port *p)
{
	struct sent s;
	struct call *c, *next;

	port_close_in(p);
	port_close_out(p);
	while (port_journal_take(p, &s))
		pieces_drop(&s.text);
	free(p->journal);
	for (c = p->calls; c; c = next) {
		next = c->hh.next;
		if (c->batch && --c->batch->open == 0) {
			buf_free(&c->batch->answers);
			free(c->batch);
		}
		c->from = NULL;
		call_free(c);
	}
	buf_free(&p->init);
	buf_free(&p->successor);
	arena_free(&p->arena);
}

/* --- times --- */

/* Six steps to each doubling. */
static unsigned
step_of(uint64_t us)
{
	double l = us ? log2((double)us) * 6 : 0;

	return l >= PORT_TIMES ? PORT_TIMES - 1 : (unsigned)l;
}

void
port_took(struct port *p, uint64_t us)
{
	p->times[step_of(us)]++;
}

double
port_time(const struct port *p, unsigned of_thousand)
{
	uint64_t n = 0, seen = 0;
	unsigned i;

	for (i = 0; i < PORT_TIMES; i++)
		n += p->times[i];
	for (i = 0; n > 0 && i < PORT_TIMES; i++) {
		seen += p->times[i];
		if (seen * 1000 >= n * of_thousand)
			return exp2((double)i / 6);
	}
	return -1;
}
