/*
 * What a process that died leaves:
 * - What it has not read stays in the queue, for the next process. A response that only the dead process would have known is
 *   replaced by what keeps its place.
 * - A request that it has passed on waits for the response to what was passed on; a filter's next process passes that on itself.
 * - One whose answer it was handed gets that answer.
 * - Only one with neither is sent again, once, with its cancellation, where it was cancelled.
 */
#include "mend.h"

#include <stdlib.h>
#include <utlist.h>

#include "chain.h"

static bool
is_unread(uint64_t end, uint64_t consumed)
{
	return end == 0 || end > consumed;
}

/* Nobody waits for what the dead process asked on its own account. What an agent asked is cancelled: a user may be looking at it. */
static void
orphan(struct port *p)
{
	struct call *c, *next;

	DL_FOREACH_SAFE(p->asked, c, next) {
		if (c->parent && c->parent->adopted)
			call_abandon(c);
		else
			call_orphan(c);
		if (p->memory && !c->cancelled) {
			c->cancelled = true;
			route_cancel(c);
		}
	}
}

/* Adds those that are sent again, oldest first, each with its cancellation. */
static int
send_again(struct port *p, struct call *c, struct mend_counts *n)
{
	struct sent s = {.id = c->id, .kind = SENT_REQUEST, .dir = c->dir};
	struct sent cancel = {.id = c->id, .kind = SENT_CANCEL, .dir = c->dir};
	struct buf text = {0};
	struct iovec whole;
	int r;

	if (pieces_hold(&s.text, &c->text) < 0)
		return -1;
	c->given++;
	c->end = 0;
	n->again++;
	r = port_journal_add(p, &s);
	if (r < 0 || !c->cancelled)
		return r;
	r = route_make_cancel(c, &text);
	whole = (struct iovec){text.p, text.n};
	if (r == 0 && (r = pieces_make(&cancel.text, &p->arena, NULL, &whole, 1)) == 0)
		r = port_journal_add(p, &cancel);
	buf_free(&text);
	return r;
}

/* A response that was to be read by who asked keeps its place only. False: it goes. */
static bool
to_place(struct port *p, struct sent *s)
{
	struct call *c = s->id ? call_open(p, s->id) : NULL;
	struct buf text = {0};
	struct pieces place;
	struct iovec whole;
	bool done = false;

	if (!c || !c->adopted || c->placed || route_make_place(c, &text) < 0)
		return false;
	whole = (struct iovec){text.p, text.n};
	if (pieces_make(&place, &p->arena, NULL, &whole, 1) == 0) {
		pieces_drop(&s->text);
		s->text = place;
		s->kind = SENT_PLACE;
		c->placed = done = true;
		p->places++;
		p->route->stuck_wanted = true;
	}
	buf_free(&text);
	return done;
}

static bool
stays(struct port *p, struct sent *s)
{
	struct call *c = s->id ? call_open(p, s->id) : NULL;

	switch (s->kind) {
	case SENT_RESPONSE:
		return (p->kind != PORT_PROXY && !p->memory) || to_place(p, s);
	case SENT_CANCEL:
		/* One that is sent again has its own; one that was passed on is cancelled where it is now. */
		return c && (c->end == 0 ? !c->given : p->kind != PORT_PROXY && !c->child);
	case SENT_REQUEST:
		/* The first question is asked anew, in another way. */
		return c && !(p->kind == PORT_PROXY && p->state == PORT_ASKED && c->what == ACP_INITIALIZE);
	case SENT_PLACE:
		return c != NULL;
	default:
		return true;
	}
}

static uint64_t
missing(struct port *p, const uint64_t *unread)
{
	struct port *out = p->twin ? p->twin : p;
	uint64_t lost = 0, read;
	enum acp_direction dir;

	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		read = p->notes_in[dir] - unread[dir];
		if (read > out->notes_out[dir])
			lost += read - out->notes_out[dir];
		p->notes_in[dir] = unread[dir];
		out->notes_out[dir] = 0;
	}
	return lost;
}

/* Keeps what was not read; the others are forgotten. */
static void
sort_journal(struct port *p, size_t old, uint64_t consumed, struct mend_counts *n)
{
	uint64_t unread[ACP_DIRECTIONS] = {0, 0};
	struct sent s;
	size_t i;

	for (i = 0; i < old && port_journal_take(p, &s); i++) {
		if (!is_unread(s.end, consumed) || !stays(p, &s)) {
			pieces_drop(&s.text);
			continue;
		}
		unread[s.dir] += s.kind == SENT_NOTIFICATION;
		s.end = 0;
		n->unread += s.kind != SENT_PLACE;
		if (port_journal_add(p, &s) < 0)
			route_no_memory(p->route);
	}
	n->lost += missing(p, unread);
}

static bool
is_extension(const struct call *c)
{
	return c->method.n > 2 && (c->method.p[1] == '_' || (c->method.n > 5 && memcmp(c->method.p + 1, "mcp/", 4) == 0));
}

/* A cancellation that the component had read, or was still to read, goes to where the request is now. */
static void
cancel_child(struct call *c)
{
	if (c->cancelled && c->child && !c->child->cancelled) {
		c->child->cancelled = true;
		route_cancel(c->child);
	}
}

static void
sort_call(struct port *p, struct call *c, uint64_t consumed, uint64_t taken, const char *why, struct slice data, struct mend_counts *n)
{
	bool proxy = p->kind == PORT_PROXY;

	if (p->state == PORT_ASKED && c->what == ACP_INITIALIZE && proxy) {
		c->end = 0; /* it is asked anew */
	} else if (c->own) {
		call_free(c);
	} else if (!c->read && is_unread(c->end, consumed)) {
		c->end = 0;
	} else if (c->kept.n && !is_unread(c->kept_end, taken)) {
		route_answer_kept(c);
		n->kept++;
	} else if (c->child || c->kept.n) {
		n->adopted += proxy && !c->adopted;
		c->adopted = c->adopted || proxy;
		c->read = true;
		c->kept_end = 0;
		cancel_child(c);
	} else if (p->memory) {
		route_fail_call(c, ACP_ERR_INTERNAL, why, data);
		n->failed++;
	} else if (!proxy && !p->twin) {
		/* What it has made of it is not known. */
	} else if (!c->alone) {
		/* It was passed on, and nobody waits for what has become of it: that component has ended. */
		route_fail_call(c, ACP_ERR_INTERNAL, why, data);
		n->failed++;
	} else if (p->state == PORT_GONE && proxy && !(c->given && is_extension(c))) {
		route_past(p, &c->text, c->dir, c);
		n->past++;
	} else if (c->given || (!c->from && !c->parent)) {
		route_fail_call(c, ACP_ERR_INTERNAL, why, data);
		n->failed++;
	} else if (send_again(p, c, n) < 0) {
		route_no_memory(p->route);
	}
}

/* consumed: what the component has read of the port; taken: of the one that hands it responses. */
static void
sort(struct port *p, uint64_t consumed, uint64_t taken, const char *why, struct slice data, struct mend_counts *n)
{
	struct call *c, *next;
	size_t old = p->n;

	p->live = false;
	p->suspect = 0;
	for (c = p->calls; c; c = next) {
		next = c->next_open;
		sort_call(p, c, consumed, taken, why, data, n);
	}
	if (p->kind == PORT_PROXY || p->memory)
		orphan(p);
	/* Those that are sent again were added after the old ones, which now go round: so they come first. */
	sort_journal(p, old, consumed, n);
}

void
mend_sort(struct component *c, const char *why, struct slice data, struct mend_counts *n)
{
	struct port *sides[] = {c->near, c->far};
	uint64_t consumed[2] = {0, 0};
	size_t i;

	for (i = 0; i < 2; i++)
		if (sides[i])
			consumed[i] = port_consumed(sides[i]);
	for (i = 0; i < 2; i++)
		if (sides[i] && !sides[i]->carries && (i == 0 || sides[1] != sides[0]))
			sort(sides[i], consumed[i], consumed[sides[i]->twin ? 1 - i : i], why, data, n);
}

void
mend_bypass(struct port *p, const char *why, struct slice data, struct mend_counts *n)
{
	uint64_t consumed = port_consumed(p);
	struct call *c;
	struct sent s;

	p->state = PORT_GONE;
	sort(p, consumed, consumed, why, data, n);
	while (port_journal_take(p, &s)) {
		c = s.id ? call_open(p, s.id) : NULL;
		if (s.kind == SENT_NOTIFICATION || (s.kind == SENT_REQUEST && c))
			route_past(p, &s.text, s.dir, s.kind == SENT_REQUEST ? c : NULL);
		else if (s.kind == SENT_PLACE && c)
			route_answer_kept(c);
		pieces_drop(&s.text);
		n->past++;
	}
	if (p->above == p->below) {
		/* The only one of a ring: its neighbour is its own neighbour. */
		p->above->below = p->above->above = p->above;
		return;
	}
	p->above->below = p->below;
	p->below->above = p->above;
	p->route->flow_changed = true;
}

void
mend_withdraw(struct port *p)
{
	struct sent s;
	size_t n = p->n, i;

	for (i = 0; i < n && port_journal_take(p, &s); i++) {
		if ((s.kind == SENT_REQUEST || s.kind == SENT_CANCEL) && s.end == 0 && !call_open(p, s.id))
			pieces_drop(&s.text);
		else if (port_journal_add(p, &s) < 0)
			route_no_memory(p->route);
	}
}

void
mend_report(struct port *p, const char *what, const struct mend_counts *n)
{
	struct buf line = {0};

	buf_printf(&line, "%s: %s", p->name, what);
	if (n->adopted)
		buf_printf(&line, "; requests already forwarded: %zu", n->adopted);
	if (n->kept)
		buf_printf(&line, "; responses delivered in its place: %zu", n->kept);
	if (n->again)
		buf_printf(&line, "; requests sent again: %zu", n->again);
	if (n->unread)
		buf_printf(&line, "; unread messages: %zu", n->unread);
	if (n->past)
		buf_printf(&line, "; messages forwarded past it: %zu", n->past);
	if (n->failed)
		buf_printf(&line, "; requests failed: %zu", n->failed);
	if (n->sessions)
		buf_printf(&line, "; sessions to restore: %zu", n->sessions);
	if (n->lost)
		buf_printf(&line, "; notifications lost: at most %llu", (unsigned long long)n->lost);
	if (buf_string(&line))
		report_say(p->route->report, "%s", line.p);
	buf_free(&line);
}

size_t
mend_unread(struct port *p)
{
	port_journal_trim(p, true);
	return p->n;
}

void
mend_deaf(struct port *p, const char *why)
{
	uint64_t consumed = port_consumed(p);
	struct call *c, *next;

	for (c = p->calls; c; c = next) {
		next = c->next_open;
		if (is_unread(c->end, consumed))
			route_fail_call(c, ACP_ERR_INTERNAL, why, slice(NULL, 0));
	}
}
