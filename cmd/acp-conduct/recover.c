/*
 * What a process that died leaves:
 * - What it has not read stays in the queue, for the next process. A response to a request of the dead process is replaced by a
 *   notification in its place.
 * - A request that it has forwarded waits for the response to what was forwarded; a filter's next process passes that on itself.
 * - A request that it had received the response for gets that response.
 * - Any other request is sent again, once, with its cancellation if it was cancelled.
 */
#include "recover.h"

#include <stdlib.h>
#include <utlist.h>

#include "chain.h"
#include "route_parts.h"

/* The end of a request that was read, and now waits to be written again. */
static const uint64_t SENT_AGAIN = UINT64_MAX;

static bool
is_unread(uint64_t end, uint64_t consumed)
{
	return end == 0 || end > consumed;
}

/* Separates the requests that the dead process sent from it. Those of an agent or peer are cancelled, because a user may be looking at them. */
static void
orphan(struct port *p)
{
	struct call *c, *next;

	DL_FOREACH_SAFE(p->sent_calls, c, next) {
		if (c->parent && c->parent->adopted)
			call_abandon(c);
		else
			call_orphan(c);
		if (p->kind != PORT_PROXY && !c->cancelled) {
			c->cancelled = true;
			route_cancel(c);
		}
	}
}

/* Adds those that are sent again, oldest first, each with its cancellation. */
static int
send_again(struct port *p, struct call *c, struct recover_counts *n)
{
	struct entry s = {.id = c->id, .kind = ENTRY_REQUEST, .dir = c->dir};
	struct entry cancel = {.id = c->id, .kind = ENTRY_CANCEL, .dir = c->dir};
	SCOPED struct buf text = {0};
	int r;

	if (pieces_hold(&s.text, &c->text) < 0)
		return -1;
	c->resends++;
	c->end = SENT_AGAIN;
	n->again++;
	r = port_journal_add(p, &s);
	if (r < 0 || !c->cancelled)
		return r;
	r = route_make_cancel(c, &text);
	if (r == 0 && (r = pieces_copy(&cancel.text, &p->arena, buf_slice(&text))) == 0)
		r = port_journal_add(p, &cancel);
	return r;
}

/* Replaces a response to a request of the dead process by a notification in its place. False: the entry is dropped. */
static bool
make_place(struct port *p, struct entry *s)
{
	struct call *c = s->id ? call_open(p, s->id) : NULL;
	SCOPED struct buf text = {0};
	struct pieces place;
	bool done = false;

	if (!c || !c->adopted || c->has_place || route_make_place(c, &text) < 0)
		return false;
	if (pieces_copy(&place, &p->arena, buf_slice(&text)) == 0) {
		pieces_drop(&s->text);
		s->text = place;
		s->kind = ENTRY_PLACE;
		c->has_place = done = true;
		p->places++;
		p->route->check_stuck = true;
	}
	return done;
}

static bool
keep_entry(struct port *p, struct entry *s)
{
	struct call *c = s->id ? call_open(p, s->id) : NULL;

	switch (s->kind) {
	case ENTRY_RESPONSE:
		return (p->kind != PORT_PROXY && !p->memory) || make_place(p, s);
	case ENTRY_CANCEL:
		/* One that is sent again now has its own; one that was forwarded is cancelled where it is now. */
		return c && (c->end == 0 || (c->end != SENT_AGAIN && p->kind != PORT_PROXY && !c->child));
	case ENTRY_REQUEST:
		/* The first question is asked again, in another way. */
		return c && !(p->kind == PORT_PROXY && p->state == PORT_INITIALIZING && c->what == ACP_INITIALIZE);
	case ENTRY_PLACE:
		return c != NULL;
	default:
		return true;
	}
}

static uint64_t
take_lost(struct port *p, const uint64_t *unread)
{
	struct port *out = p->other_side ? p->other_side : p;
	uint64_t lost = 0, read;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		read = p->notes_in[dir] - unread[dir];
		if (read > out->notes_out[dir])
			lost += read - out->notes_out[dir];
		p->notes_in[dir] = unread[dir];
		out->notes_out[dir] = 0;
	}
	return lost;
}

/* Keeps the entries that were not read, drops the others. */
static void
sort_journal(struct port *p, size_t old, uint64_t consumed, struct recover_counts *n)
{
	uint64_t unread[ACP_DIRECTIONS] = {0, 0};
	struct entry s;

	for (size_t i = 0; i < old && port_journal_take(p, &s); i++) {
		if (!is_unread(s.end, consumed) || !keep_entry(p, &s)) {
			pieces_drop(&s.text);
			continue;
		}
		unread[s.dir] += s.kind == ENTRY_NOTIFICATION;
		s.end = 0;
		n->unread += s.kind != ENTRY_PLACE;
		if (port_journal_add(p, &s) < 0)
			route_no_memory(p->route);
	}
	n->lost += take_lost(p, unread);
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

/* Forwards a message for a bypassed component, in whose form it is, to the next one. old: its call, if it is a request; else NULL. */
static void
forward_past(struct port *gone, const struct pieces *message, enum acp_direction dir, struct call *old)
{
	struct plain pl = {.dir = dir, .to = dir == ACP_DOWN ? gone->below : gone->above};
	struct slice peer = {NULL, 0};
	SCOPED struct buf text = {0};
	struct call *c = NULL;
	struct msg m;
	const char *why;

	if (pieces_write(message, &text) < 0 || text.n == 0)
		return;
	text.n--;
	if (msg_scan(buf_slice(&text), &m, NULL) != MSG_REQUEST && m.kind != MSG_NOTIFICATION)
		return;
	pl.inner = m;
	if (m.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m, &pl.inner, &peer, &why) == 0)
		pl.envelope = &m;
	/* What a peer sends is for its proxy alone. */
	if (!peer.p)
		c = route_pass(NULL, NULL, buf_slice(&text), &m, &pl);
	else if (old)
		route_fail_call(old, ACP_ERR_INTERNAL, "the proxy of this peer was bypassed", slice(NULL, 0));
	if (c) {
		c->t = old->t;
		call_join(c, old);
		old->adopted = true;
		if (old->cancelled)
			route_cancel(c);
	}
}

static void
sort_call(struct port *p, struct call *c, uint64_t consumed, uint64_t taken, struct recover_counts *n)
{
	bool proxy = p->kind == PORT_PROXY;

	if (p->state == PORT_INITIALIZING && c->what == ACP_INITIALIZE && proxy) {
		c->end = 0; /* it is asked again */
	} else if (c->own) {
		call_free(c);
	} else if (!c->read && is_unread(c->end, consumed)) {
		c->end = 0;
	} else if (c->child_response.n && !is_unread(c->child_response_end, taken)) {
		route_answer_from_child(c);
		n->delivered++;
	} else if (c->child || c->child_response.n) {
		n->adopted += proxy && !c->adopted;
		c->adopted = c->adopted || proxy;
		c->read = true;
		c->child_response_end = 0;
		cancel_child(c);
	} else if (p->memory) {
		route_fail_ended(c);
		n->failed++;
	} else if (!proxy && !p->other_side) {
		/* What it has made of it is not known. */
	} else if (!c->unforwarded) {
		/* It was forwarded to a component that has ended. */
		route_fail_ended(c);
		n->failed++;
	} else if (p->state == PORT_GONE && proxy && !(c->resends && is_extension(c))) {
		forward_past(p, &c->text, c->dir, c);
		n->past++;
	} else if (c->resends || (!c->from && !c->parent)) {
		route_fail_ended(c);
		n->failed++;
	} else if (send_again(p, c, n) < 0) {
		route_no_memory(p->route);
	}
}

/* consumed: what the component has read of the port; taken: of the one that hands it responses. */
static void
sort(struct port *p, uint64_t consumed, uint64_t taken, struct recover_counts *n)
{
	struct call *next;
	size_t old = p->n;

	p->live = false;
	p->resent = 0;
	for (struct call *c = p->calls; c; c = next) {
		next = c->next_open;
		sort_call(p, c, consumed, taken, n);
	}
	if (p->kind == PORT_PROXY || p->memory)
		orphan(p);
	/* Those that are sent again were added after the old ones, which now go round: so they come first. */
	sort_journal(p, old, consumed, n);
}

void
recover_sort(struct component *c, struct recover_counts *n)
{
	struct port *sides[] = {c->near, c->far};
	uint64_t consumed[2] = {0, 0};

	for (size_t i = 0; i < 2; i++)
		if (sides[i])
			consumed[i] = port_consumed(sides[i]);
	for (size_t i = 0; i < 2; i++)
		if (sides[i] && (i == 0 || sides[1] != sides[0]))
			sort(sides[i], consumed[i], consumed[sides[i]->other_side ? 1 - i : i], n);
}

void
recover_end(struct port *p)
{
	struct entry s;

	route_fail_calls(p);
	orphan(p);
	while (port_journal_take(p, &s))
		pieces_drop(&s.text);
}

void
recover_bypass(struct port *p, struct recover_counts *n)
{
	uint64_t consumed = port_consumed(p);
	struct call *c;
	struct entry s;

	p->state = PORT_GONE;
	sort(p, consumed, consumed, n);
	while (port_journal_take(p, &s)) {
		c = s.id ? call_open(p, s.id) : NULL;
		if (s.kind == ENTRY_NOTIFICATION || (s.kind == ENTRY_REQUEST && c))
			forward_past(p, &s.text, s.dir, s.kind == ENTRY_REQUEST ? c : NULL);
		else if (s.kind == ENTRY_PLACE && c)
			route_answer_from_child(c);
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
recover_report(struct port *p, const char *what, const struct recover_counts *n)
{
	const struct {
		const char *of;
		size_t n;
	} counts[] = {
		{"requests already forwarded:", n->adopted},
		{"responses delivered in its place:", n->delivered},
		{"requests sent again:", n->again},
		{"unread messages:", n->unread},
		{"messages forwarded past it:", n->past},
		{"requests failed:", n->failed},
		{"sessions to restore:", n->sessions},
		{"notifications lost: at most", n->lost},
	};
	SCOPED struct buf line = {0};

	buf_printf(&line, "%s: %s", p->name, what);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (counts[i].n)
			buf_printf(&line, "; %s %zu", counts[i].of, counts[i].n);
	if (buf_string(&line))
		report_line(p->route->report, "%s", line.p);
}

size_t
recover_count_unread(struct port *p)
{
	port_journal_trim(p);
	return p->n;
}

void
recover_fail_unread(struct port *p, const char *why)
{
	uint64_t consumed = port_consumed(p);
	struct call *next;

	for (struct call *c = p->calls; c; c = next) {
		next = c->next_open;
		if (is_unread(c->end, consumed))
			route_fail_call(c, ACP_ERR_INTERNAL, why, slice(NULL, 0));
	}
}
