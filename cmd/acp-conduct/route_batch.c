#include "route_parts.h"

#include <stdlib.h>

#include "chain.h"

/* An answer goes the other way than its question; here that only matters for what is counted. */
static void
send_array(struct port *to, struct buf *array, enum sent_kind kind, enum lane lane)
{
	struct iovec whole;
	struct pieces out;

	if (buf_add(array, "]", 1) < 0) {
		route_no_memory(to->route);
		return;
	}
	whole = (struct iovec){array->p, array->n};
	if (pieces_make(&out, &to->arena, NULL, &whole, 1) < 0 || port_put(to, &out, kind, 0, lane) < 0)
		route_no_memory(to->route);
}

void
route_batch_release(struct batch *b)
{
	if (--b->open > 0)
		return;
	if (b->answers.n && b->from)
		send_array(b->from, &b->answers, SENT_RESPONSE, LANE_UP);
	buf_free(&b->answers);
	free(b);
}

void
route_batch_answer(struct batch *b, struct slice answer)
{
	if (buf_add_string(&b->answers, b->answers.n ? "," : "[") < 0 || buf_add_slice(&b->answers, answer) < 0)
		route_no_memory(b->from->route);
	route_batch_release(b);
}

static void
given_in_array(struct port *to, const struct batch *b)
{
	struct call *c;

	for (c = to->calls; c; c = c->next_open)
		if (c->batch == b && to->live)
			c->end = to->given;
}

void
route_array(struct port *p, struct block *block, const struct msg *m)
{
	struct gather g = {.batch = calloc(1, sizeof(*g.batch))};
	struct json_iter it = {.in = m->text};
	struct msg entry;
	enum lane lane;

	if (!g.batch) {
		route_no_memory(p->route);
		return;
	}
	*g.batch = (struct batch){.from = p, .open = 1};
	while (msg_next(&it, &entry)) {
		if (entry.kind == MSG_NOISE || entry.kind == MSG_BATCH)
			report_say(p->route->report, "%s: an entry of an array is no message: dropped", p->name);
		else
			route_message(p, block, entry.text, &entry, &g);
	}
	for (lane = LANE_DOWN; lane < LANES; lane++) {
		if (g.to[lane].n)
			send_array(g.port[lane], &g.to[lane], SENT_ARRAY, lane);
		if (g.to[lane].n)
			given_in_array(g.port[lane], g.batch);
		buf_free(&g.to[lane]);
	}
	route_batch_release(g.batch);
}

bool
route_array_refused(struct port *p, const struct msg *m)
{
	struct splices s;
	struct call *c, *next;
	struct batch *b;
	struct buf answer = {0};

	for (c = p->calls; c && !c->batch; c = c->next_open)
		;
	if (!c)
		return false;
	b = c->batch;
	for (; c; c = next) {
		next = c->next_open;
		if (c->batch != b)
			continue;
		s.n = 0;
		answer.n = 0;
		splice_value(&s, m->id, c->origin);
		if (splice_write(m->text, s.at, s.n, &answer) < 0)
			route_no_memory(p->route);
		else
			route_batch_answer(b, buf_slice(&answer));
		c->batch = NULL;
		call_free(c);
	}
	buf_free(&answer);
	return true;
}
