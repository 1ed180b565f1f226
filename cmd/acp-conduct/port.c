#include "port.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "lib/run/proc.h"
#include "lib/run/system.h"
#include "memory.h"
#include "route.h" /* struct route, route_no_memory */

enum { TRIM_EVERY = 64 * 1024 /* bytes written: how much is unread costs a system call */ };

void
route_no_memory(struct route *r)
{
	loop_add_task(r->loop, &r->no_memory);
}

void
route_follow(struct route *r)
{
	loop_add_task(r->loop, &r->follow);
}

int
port_open_in(struct port *p, int fd)
{
	p->in = (struct endpoint){.line = p->route->on_line, .event = p->route->on_input, .arg = p};
	p->input_over = p->discards = false;
	return endpoint_open(&p->in, p->route->loop, fd, -1, p->carries ? PORT_LONGEST : p->route->line_limit);
}

void
port_drain(struct port *p)
{
	endpoint_drain(&p->in);
	endpoint_pause(&p->in, false);
}

int
port_open_out(struct port *p, int fd)
{
	p->out_bytes = p->trimmed = 0;
	p->finishing = p->input_closed = p->refuses = false;
	proc_close(p->rest);
	p->rest = p->sink ? fcntl(fd, F_DUPFD_CLOEXEC, 8) : -1;
	p->out = (struct endpoint){.event = p->route->on_output, .arg = p};
	return endpoint_open(&p->out, p->route->loop, -1, fd, 0);
}

/* --- the journal --- */

static struct entry *
entry_at(struct port *p, size_t i)
{
	return &p->journal[(p->first + i) & (p->cap - 1)];
}

static int
grow(struct port *p)
{
	size_t cap = p->cap ? p->cap * 2 : 64, i;
	struct entry *ring = malloc(cap * sizeof(*ring));

	if (!ring)
		return -1;
	for (i = 0; i < p->n; i++)
		ring[i] = *entry_at(p, i);
	free(p->journal);
	p->journal = ring;
	p->cap = cap;
	p->first = 0;
	return 0;
}

int
port_journal_add(struct port *p, struct entry *s)
{
	if (p->n == p->cap && grow(p) < 0) {
		pieces_drop(&s->text);
		return -1;
	}
	p->n++;
	*entry_at(p, p->n - 1) = *s;
	if (s->end == 0)
		p->waiting += s->text.size;
	return 0;
}

bool
port_journal_take(struct port *p, struct entry *s)
{
	if (p->n == 0)
		return false;
	*s = *entry_at(p, 0);
	p->first = (p->first + 1) & (p->cap - 1);
	p->n--;
	if (s->end == 0)
		p->waiting -= s->text.size;
	return true;
}

/* What is written and not read is in the pipe; after its reader's end, too. */
uint64_t
port_consumed(const struct port *p)
{
	uint64_t written = p->out.out.written;
	uint64_t unread = p->rest < 0 ? 0 : (uint64_t)system_unread(p->rest);

	return unread > written ? written : written - unread;
}

void
port_journal_trim(struct port *p)
{
	uint64_t consumed = port_consumed(p);
	struct entry s;

	p->trimmed = p->out.out.written;
	while (p->n > 0 && entry_at(p, 0)->end != 0 && entry_at(p, 0)->end <= consumed && port_journal_take(p, &s))
		pieces_drop(&s.text);
}

bool
port_check_quiet(struct port *p, enum acp_direction dir)
{
	const struct port *out = p->other_side ? p->other_side : p;

	port_journal_trim(p);
	return p->n == 0 && p->places == 0 && p->notes_in[dir] <= out->notes_out[dir];
}

/* --- out --- */

/* Admission is thought over where the answer may be another now. */
void
port_queue_changed(struct port *p)
{
	bool full = p->out.out.full || p->waiting > OUTPUT_HIGH, over = p->out.out.queued + p->waiting > PORT_BOUND;

	if (full == p->queue_full && over == p->overrun)
		return;
	p->queue_full = full;
	p->overrun = over;
	p->route->flow_changed = true;
}

static int
write_entry(struct port *p, struct entry *s)
{
	struct call *c;

	p->out_bytes += s->text.size;
	s->end = p->out_bytes;
	if (pieces_put(&s->text, &p->out) < 0)
		return -1;
	/* A response for a filter belongs to the call that it came to from its other side. */
	if (s->id == 0 || !(c = call_open(s->kind == ENTRY_RESPONSE && p->other_side ? p->other_side : p, s->id)))
		return 0;
	if (s->kind == ENTRY_REQUEST)
		c->end = s->end;
	else if (s->kind != ENTRY_CANCEL)
		c->child_response_end = s->end;
	if (s->kind == ENTRY_REQUEST && c->resends) {
		p->resent = c->id;
		p->route->check_stuck = true;
		p->resent_at = loop_now(p->route->loop);
	}
	return 0;
}

static void
count_out(struct port *p, const struct pieces *text, enum entry_kind kind, enum acp_direction dir)
{
	p->out_counts.messages[dir]++;
	p->out_counts.bytes[dir] += text->size;
	if (kind == ENTRY_NOTIFICATION)
		p->notes_in[dir]++;
}

int
port_put(struct port *p, struct pieces *text, enum entry_kind kind, uint64_t id, enum acp_direction dir)
{
	struct entry s = {*text, 0, id, kind, dir};
	/* What the process asks before it is ready, or before it passes a request on, it gets at once. */
	bool first = kind == ENTRY_RESPONSE && id == 0 && (!p->live || p->resent);
	int r = 0;

	if (kind != ENTRY_PLACE)
		count_out(p, text, kind, dir);
	if ((p->live && !p->resent) || first)
		r = write_entry(p, &s);
	if (r < 0 || !p->sink || first) {
		pieces_drop(text);
	} else {
		if (p->out.out.written - p->trimmed >= TRIM_EVERY)
			port_journal_trim(p);
		r = port_journal_add(p, &s);
	}
	port_queue_changed(p);
	return r;
}

/* A request, or its cancellation, that has its response while it waits. */
static bool
is_settled(const struct port *p, const struct entry *s)
{
	return s->end == 0 && (s->kind == ENTRY_REQUEST || s->kind == ENTRY_CANCEL) && !call_open(p, s->id);
}

int
port_go_live(struct port *p)
{
	struct entry s;
	size_t n = p->n, i;
	int r = 0;

	p->live = true;
	for (i = 0; i < n && port_journal_take(p, &s); i++) {
		if (is_settled(p, &s)) {
			pieces_drop(&s.text);
			continue;
		}
		/* The cancellation of a request that is sent again goes with it. */
		if (s.end == 0 && (!p->resent || (s.kind == ENTRY_CANCEL && s.id == p->resent)) && r == 0)
			r = write_entry(p, &s);
		if (port_journal_add(p, &s) < 0)
			r = -1;
	}
	if (p->finishing && p->waiting == 0)
		endpoint_finish(&p->out);
	port_queue_changed(p);
	return r;
}

void
port_settled(struct port *p, const struct call *c)
{
	if (!p->resent || c->id != p->resent)
		return;
	p->resent = 0;
	if (p->live && port_go_live(p) < 0)
		route_no_memory(p->route);
}

/* --- admission --- */

/* Upwards the numbers fall; a proxy stands between two hops. */
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
port_admit(struct route *r)
{
	size_t i, lowest = 0, highest = SIZE_MAX, at;
	bool over = false, any = false, full;
	struct port *p;

	r->flow_changed = false;
	for (i = 0; i < r->n; i++) {
		p = r->ports[i];
		port_queue_changed(p);
		at = position(p);
		over = over || (p->overrun && p->kind != PORT_PROXY);
		any = any || (p->queue_full && p->kind != PORT_OUTER);
		if (p->queue_full && writes(p, ACP_DOWN) && at + 1 > lowest)
			lowest = at + 1;
		if (p->queue_full && writes(p, ACP_UP) && at < highest)
			highest = at;
	}
	r->flow_changed = false;
	for (i = 0; i < r->n; i++) {
		p = r->ports[i];
		at = position(p);
		if (p->kind == PORT_PROXY)
			full = over;
		else if (p->kind == PORT_OUTER)
			full = any;
		else
			full = p->kind == PORT_ABOVE ? lowest > at + 1 : highest < at;
		if (!p->in.draining)
			endpoint_pause(&p->in, full || p->self_blocked);
	}
}

/* --- the end --- */

void
port_finish(struct port *p)
{
	if (p->finishing || !endpoint_can_write(&p->out))
		return;
	p->finishing = true;
	if (p->waiting == 0)
		endpoint_finish(&p->out);
}

void
port_close_out(struct port *p)
{
	endpoint_close(&p->out);
	p->rest = proc_close(p->rest);
}

void
port_close(struct port *p)
{
	endpoint_close(&p->in);
	port_close_out(p);
}

void
port_free(struct port *p)
{
	struct entry s;

	port_close(p);
	while (port_journal_take(p, &s))
		pieces_drop(&s.text);
	free(p->journal);
	buf_free(&p->init);
	buf_free(&p->successor);
	if (p->memory)
		memory_free(p->memory);
	free(p->memory);
	arena_free(&p->arena);
	free(p);
}

/* --- times --- */

/* Six steps to each doubling. */
static unsigned
step_of(uint64_t us)
{
	double l = us ? log2((double)us) * 6 : 0;

	return l >= (double)PORT_TIMES ? PORT_TIMES - 1 : (unsigned)l;
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

	for (unsigned i = 0; i < PORT_TIMES; i++)
		n += p->times[i];
	for (unsigned i = 0; n > 0 && i < PORT_TIMES; i++) {
		seen += p->times[i];
		if (seen * 1000 >= n * of_thousand)
			return exp2((double)i / 6);
	}
	return -1;
}
