/*
 * What a proxy that died leaves: each request that it was given is answered once, whatever happens.
 * - What it has not read stays in the journal, for the next process.
 * - A request that it has passed on is adopted: the answer goes to where the original came from.
 * - One whose answer it was handed gets that answer.
 * - Only one with neither is given again, once.
 */
#include <stdlib.h>
#include <utlist.h>

#include "chain.h"
#include "life.h"

static bool
is_unread(const struct call *c, uint64_t consumed)
{
	return c->end == 0 || c->end > consumed;
}

static void
adopt(struct call *original, struct mend_counts *n)
{
	struct call *c = original->child;
	bool cancelled = original->cancelled && !c->cancelled;

	call_adopt(c, original);
	c->cancelled = c->cancelled || cancelled;
	if (cancelled)
		route_cancel(c);
	n->adopted++;
}

/* Nobody waits for what the dead process asked on its own account. */
static void
orphan(struct port *p)
{
	struct call *c, *next;

	DL_FOREACH_SAFE(p->asked, c, next) {
		/* A batch of its own is nobody's either. */
		if (c->batch) {
			c->batch->from = NULL;
			route_batch_release(c->batch);
			c->batch = NULL;
		}
		call_orphan(c);
	}
}

/* Adds those that are given again, oldest first. */
static int
give_again(struct port *p, struct call *c, struct mend_counts *n)
{
	struct sent s = {.id = c->id, .kind = SENT_REQUEST, .lane = c->lane};

	if (pieces_hold(&s.text, &c->text) < 0)
		return -1;
	c->given++;
	c->end = 0;
	n->again++;
	return port_journal_add(p, &s);
}

/* A batch's entry is not in the journal by itself. */
static bool
stays(struct port *p, const struct sent *s)
{
	struct call *c;

	switch (s->kind) {
	case SENT_RESPONSE:
		return false;
	case SENT_CANCEL:
	case SENT_REQUEST:
		c = call_open(p, s->id);
		return c != NULL;
	default:
		return true;
	}
}

static uint64_t
missing(const struct port *p, const uint64_t *unread)
{
	uint64_t lost = 0, read;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		read = p->notes_in[lane] - unread[lane];
		if (read > p->notes_out[lane])
			lost += read - p->notes_out[lane];
	}
	return lost;
}

/* Keeps what was not read; the others are forgotten. */
static void
sort_journal(struct port *p, size_t old, uint64_t consumed, struct mend_counts *n)
{
	uint64_t unread[LANES] = {0, 0};
	struct sent s;
	size_t i;

	for (i = 0; i < old && port_journal_take(p, &s); i++) {
		if ((s.end != 0 && s.end <= consumed) || !stays(p, &s)) {
			pieces_drop(&s.text);
			continue;
		}
		unread[s.lane] += s.kind == SENT_NOTIFICATION;
		s.end = 0;
		if (port_journal_add(p, &s) < 0)
			route_no_memory(p->route);
		n->unread++;
	}
	n->lost = missing(p, unread);
	p->notes_in[LANE_DOWN] = unread[LANE_DOWN];
	p->notes_in[LANE_UP] = unread[LANE_UP];
	p->notes_out[LANE_DOWN] = p->notes_out[LANE_UP] = 0;
}

static bool
is_extension(const struct call *c)
{
	return c->method.n > 2 && (c->method.p[1] == '_' || (c->method.n > 5 && memcmp(c->method.p + 1, "mcp/", 4) == 0));
}

static void
sort_call(struct port *p, struct call *c, uint64_t consumed, const char *why, struct slice data, struct mend_counts *n)
{
	struct port *from = c->from;
	bool bypass = p->state == PORT_GONE;

	if (p->state == PORT_ASKED && c->what == ACP_INITIALIZE) {
		c->end = 0; /* it is asked anew */
	} else if (c->own) {
		call_free(c);
	} else if (is_unread(c, consumed)) {
		c->end = 0;
	} else if (c->child) {
		adopt(c, n);
	} else if (c->kept.n) {
		route_answer_kept(c);
		n->kept++;
	} else if (bypass && !(c->given && is_extension(c))) {
		route_past(p, &c->text, c->lane, c);
		n->past++;
	} else if (c->given || !from) {
		route_fail_call(c, ACP_ERR_INTERNAL, why, data);
		n->failed++;
	} else if (give_again(p, c, n) < 0) {
		route_no_memory(p->route);
	}
}

void
mend_sort(struct port *p, const char *why, struct slice data, struct mend_counts *n)
{
	uint64_t consumed = port_consumed(p);
	struct call *c, *next;
	size_t old = p->n;

	p->live = false;
	for (c = p->calls; c; c = next) {
		next = c->next_open;
		sort_call(p, c, consumed, why, data, n);
	}
	orphan(p);
	/* Those that are given again were added behind the old ones, which now go round: so they come first. */
	sort_journal(p, old, consumed, n);
}

void
mend_bypass(struct port *p, const char *why, struct slice data, struct mend_counts *n)
{
	struct call *c;
	struct sent s;

	p->state = PORT_GONE;
	mend_sort(p, why, data, n);
	while (port_journal_take(p, &s)) {
		c = NULL;
		if (s.kind == SENT_REQUEST)
			c = call_open(p, s.id);
		if (s.kind == SENT_NOTIFICATION || c)
			route_past(p, &s.text, s.lane, c);
		pieces_drop(&s.text);
		n->past++;
	}
	route_fail_calls(p, why, data);
	if (p->above == p->below) {
		/* The only one of a ring: its neighbour is its own neighbour. */
		p->above->below = p->above->above = p->above;
		return;
	}
	p->above->below = p->below;
	p->below->above = p->above;
	port_watch(p->above);
	port_watch(p->below);
}
