#include "route_parts.h"

#include "look.h"

struct slice
route_reason(const struct route *r)
{
	return r->reason.n ? buf_slice(&r->reason) : slice(NULL, 0);
}

/* An error of conduct's own, for a request that `p` sent and that was not passed on. */
void
route_refuse(struct port *p, const struct msg *m, int code, const char *why, struct slice data, struct gather *g)
{
	struct buf answer = {0};

	if (m->kind != MSG_REQUEST) {
		route_dropped(p, why, m->method);
		return;
	}
	if (msg_make_error(&answer, m->id, code, why, data) < 0) {
		route_no_memory(p->route);
		return;
	}
	if (g) {
		g->batch->open++;
		route_batch_answer(g->batch, buf_slice(&answer));
		buf_free(&answer);
		return;
	}
	if (p->out.full)
		p->coupled = true;
	if (p->kind != PORT_PROXY && p->kind != PORT_BELOW)
		look_made(p->route->look, p->below, p, LANE_UP, buf_slice(&answer), slice(NULL, 0));
	route_put_made(p, &answer, SENT_RESPONSE, LANE_UP);
}

/* Its sender may die before it has answered what this is the answer for. */
static void
keep_answer(struct call *parent, struct block *block, struct slice text, const struct msg *m)
{
	struct splices s = {.n = 0};
	struct iovec parts[2 * MSG_SPLICES + 1];
	size_t n;

	splice_value(&s, m->id, parent->origin);
	n = splice_parts(text, s.at, s.n, parts);
	pieces_drop(&parent->kept);
	if (pieces_make(&parent->kept, &parent->to->arena, block, parts, n) < 0)
		route_no_memory(parent->to->route);
	parent->answered = loop_now(parent->to->route->loop);
}

/* The same for an answer that did not come as a message. */
static void
keep_text(struct call *c, struct slice text)
{
	struct json_error error;
	struct msg m;

	if (c->parent && c->from && msg_scan(text, &m, &error) == MSG_RESPONSE)
		keep_answer(c->parent, NULL, text, &m);
}

void
route_fail_call(struct call *c, int code, const char *why, struct slice data)
{
	enum lane lane = c->lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
	struct buf answer = {0};

	if (c->from && msg_make_error(&answer, c->origin, code, why, data) == 0) {
		look_made(c->from->route->look, c->to, c->from, lane, buf_slice(&answer), c->session);
		keep_text(c, buf_slice(&answer));
		if (c->batch)
			route_batch_answer(c->batch, buf_slice(&answer));
		else
			route_put_made(c->from, &answer, SENT_RESPONSE, lane);
		c->batch = NULL;
	}
	buf_free(&answer);
	call_free(c);
}

void
route_fail_calls(struct port *p, const char *why, struct slice data)
{
	struct call *c;

	while ((c = p->calls))
		route_fail_call(c, ACP_ERR_INTERNAL, why ? why : "that side has ended", data);
}

/* The origin may have changed since it was kept: its id is put in now. */
void
route_answer_kept(struct call *c)
{
	enum lane lane = c->lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
	struct buf text = {0}, answer = {0};
	struct splices s = {.n = 0};
	struct json_error error;
	struct msg m;

	if (pieces_write(&c->kept, &text) < 0 || msg_scan(buf_slice(&text), &m, &error) != MSG_RESPONSE) {
		route_no_memory(c->to->route);
		buf_free(&text);
		return;
	}
	splice_value(&s, m.id, c->origin);
	if (splice_write(m.text, s.at, s.n, &answer) < 0)
		route_no_memory(c->to->route);
	keep_text(c, buf_slice(&answer));
	if (c->from)
		look_made(c->from->route->look, c->to, c->from, lane, buf_slice(&answer), c->session);
	if (c->from && c->batch) {
		route_batch_answer(c->batch, buf_slice(&answer));
		c->batch = NULL;
	} else if (c->from) {
		route_put_made(c->from, &answer, SENT_RESPONSE, lane);
	}
	buf_free(&text);
	buf_free(&answer);
	call_free(c);
}

/* --- responses --- */

/* How long the component had it. */
static void
measure(const struct call *c)
{
	struct port *p = c->to;

	if (c->answered)
		port_took(p, loop_now(p->route->loop) - c->answered);
}


static void
deliver(struct call *c, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	enum lane lane = c->lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
	struct splices s = {.n = 0};
	struct msg plain = *m;
	struct buf entry = {0};

	plain.id = c->origin;
	plain.what = c->what;
	splice_value(&s, m->id, c->origin);
	look_message(c->from->route->look, c->to, c->from, lane, text, &s, &plain, c->session);
	if (c->parent)
		keep_answer(c->parent, block, text, m);
	if (!c->batch) {
		route_emit(&(struct outgoing){.to = c->from, .lane = lane, .kind = SENT_RESPONSE, .text = text, .splices = &s,
			.block = block}, g);
		return;
	}
	if (splice_write(text, s.at, s.n, &entry) < 0)
		route_no_memory(c->from->route);
	else
		route_batch_answer(c->batch, buf_slice(&entry));
	c->batch = NULL;
	buf_free(&entry);
}

void
route_response(struct port *p, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	struct call *c = call_find(p, m->id);
	uint64_t id;

	if (m->error.p && msg_null_id(m)) {
		if (!route_array_refused(p, m))
			route_dropped(p, "an error that answers no request", m->error);
		return;
	}
	if (!c) {
		if (!p->stale || json_type(m->id) != JSON_NUMBER || !json_u64(m->id, &id) || id != p->stale)
			route_dropped(p, "an answer to a request that is not open", m->id);
		return;
	}
	if (route_wants_other_dialect(p, c, m)) {
		route_ask_in_other_dialect(p);
		return;
	}
	measure(c);
	if (c->what == ACP_INITIALIZE)
		route_has_initialized(p, c, m);
	if (c->from)
		deliver(c, block, text, m, g);
	call_free(c);
}
