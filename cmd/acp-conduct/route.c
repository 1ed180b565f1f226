#include "route_parts.h"

#include <inttypes.h>

#include "lib/cli.h"
#include "life.h"
#include "look.h"

struct port *
route_hop(const struct route *r, size_t hop)
{
	struct port *p;

	for (p = r->ports; p < r->ports + r->n; p++)
		if (p->kind != PORT_BELOW && p->hop == hop)
			return p;
	return NULL;
}

static const char before[] = "before initialize";

void
route_no_memory(struct route *r)
{
	report_say(r->report, "out of memory");
	life_break(r, EXIT_FAILED, "out of memory", slice(NULL, 0));
}

/* --- forms --- */

static bool
wraps(const struct port *to, enum lane lane)
{
	return (to->kind == PORT_PROXY && lane == LANE_UP) || (to->kind == PORT_OUTER && lane == LANE_DOWN);
}

/* An envelope that stays one: what belonged to the last hop goes, the rest is as it was. */
static int
rewrap(struct splices *s, const struct msg *e, const struct msg *inner, struct buf *with, const struct port *to)
{
	size_t name, begin, end;

	/* With this the rest has room. */
	if (buf_reserve(with, 64 + inner->method.n) < 0)
		return -1;
	buf_add(with, "\"", 1);
	buf_add_string(with, acp_name(ACP_PROXY_SUCCESSOR, to->dialect));
	buf_add(with, "\"", 1);
	name = with->n;
	buf_add_string(with, "{\"method\":");
	buf_add_slice(with, inner->method);
	if (inner->params.p)
		buf_add_string(with, ",\"params\":");
	begin = with->n;
	buf_add(with, "}", 1);
	end = with->n;
	splice_value(s, e->method, slice(with->p, name));
	if (!inner->params.p) {
		splice_value(s, e->params, slice(with->p + name, end - name));
		return 0;
	}
	splice_value(s, slice_between(e->params.p, inner->params.p), slice(with->p + name, begin - name));
	splice_value(s, slice_between(inner->params.p + inner->params.n, e->params.p + e->params.n),
		slice(with->p + begin, end - begin));
	return 0;
}

/* The splices that turn what came into what goes. 0 or -1. */
static int
form(const struct plain *pl, const struct msg *m, struct splices *s, struct buf *with)
{
	if (pl->envelope && wraps(pl->to, pl->lane))
		return rewrap(s, m, &pl->inner, with, pl->to);
	if (pl->envelope)
		msg_unwrap(m, &pl->inner, s);
	else if (wraps(pl->to, pl->lane))
		return msg_wrap(m, pl->to->dialect, s, with);
	else if (pl->inner.method.p != m->method.p)
		splice_value(s, m->method, pl->inner.method);
	return 0;
}

/* $/cancel_request: a new one, bare, with the id of the hop that the request is on. */
static void
cancel(struct port *p, const struct msg *m, const struct plain *pl, struct gather *g)
{
	const struct msg *in = &pl->inner;
	struct slice id = {NULL, 0};
	struct splices s = {.n = 0};
	struct call *c;
	char number[SLICE_DIGITS];

	if (json_type(in->params) == JSON_OBJECT)
		id = json_get(in->params, acp_request_id);
	c = id.p ? call_named(p, id) : NULL;
	/* Answered already, or never heard of: then there is nothing to cancel. */
	if (!c)
		return;
	c->cancelled = true;
	if (pl->envelope)
		msg_unwrap(m, in, &s);
	look_message(p->route->look, p, c->to, c->lane, m->text, &s, in, c->session);
	s.n = 0;
	if (pl->envelope) {
		splice_value(&s, m->method, in->method);
		splice_value(&s, slice_between(m->params.p, in->params.p), slice(NULL, 0));
		splice_value(&s, slice_between(in->params.p + in->params.n, m->params.p + m->params.n), slice(NULL, 0));
	}
	splice_value(&s, id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = c->to, .lane = c->lane, .kind = SENT_CANCEL, .call = c, .text = m->text, .splices = &s},
		g);
}

void
route_cancel(struct call *c)
{
	struct buf params = {0}, text = {0};

	if (buf_printf(&params, "{\"%s\":%" PRIu64 "}", acp_request_id, c->id) == 0 &&
		msg_make_notification(&text, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params)) == 0)
		route_emit(&(struct outgoing){.to = c->to, .lane = c->lane, .kind = SENT_CANCEL, .call = c,
			.text = buf_slice(&text)}, NULL);
	buf_free(&params);
	buf_free(&text);
}

/* The message in its plain form, for who looks in. */
void
route_look(struct port *p, const struct plain *pl, struct slice text, const struct msg *m)
{
	struct splices s = {.n = 0};

	if (!p->route->look)
		return;
	if (pl->envelope)
		msg_unwrap(m, &pl->inner, &s);
	look_message(p->route->look, p, pl->to, pl->lane, text, &s, &pl->inner, slice(NULL, 0));
}

void
route_pass(struct port *p, struct block *block, struct slice text, const struct msg *m, const struct plain *pl, struct gather *g)
{
	struct port *to = pl->to;
	struct splices s = {.n = 0};
	struct buf *with = &p->route->with;
	struct call *c = NULL;
	char number[SLICE_DIGITS];

	if (m->kind == MSG_REQUEST) {
		c = call_new(p, to, pl->lane, &pl->inner);
		if (!c) {
			route_no_memory(p->route);
			return;
		}
		c->t = loop_now(p->route->loop);
		if (g) {
			c->batch = g->batch;
			g->batch->open++;
		}
		call_match(c);
		if (c->parent)
			port_took(p, c->t - c->parent->t);
	}
	with->n = 0;
	if (form(pl, m, &s, with) < 0) {
		route_no_memory(p->route);
		return;
	}
	if (c)
		splice_value(&s, m->id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = to, .lane = pl->lane, .kind = c ? SENT_REQUEST : SENT_NOTIFICATION, .call = c,
		.text = text, .splices = &s, .block = block}, g);
}

/* --- the ways of a message --- */

/* Where it came from decides which way it goes, and its envelope. 0; -1 where it is refused. */
static int
find_way(struct port *p, const struct msg *m, struct plain *pl, const char **why)
{
	*pl = (struct plain){.inner = *m};
	if (m->what == ACP_PROXY_SUCCESSOR && (p->kind == PORT_PROXY || p->kind == PORT_OUTER)) {
		if (msg_open_envelope(m, &pl->inner, why) < 0)
			return -1;
		pl->envelope = m;
	}
	pl->lane = pl->envelope ? LANE_DOWN : LANE_UP;
	if (p->kind == PORT_OUTER)
		pl->lane = pl->envelope ? LANE_UP : LANE_DOWN;
	else if (p->kind != PORT_PROXY)
		pl->lane = p->kind == PORT_ABOVE ? LANE_DOWN : LANE_UP;
	pl->to = pl->lane == LANE_DOWN ? p->below : p->above;
	return 0;
}

static void
call_or_note(struct port *p, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	static const struct slice nothing = {NULL, 0};
	struct route *r = p->route;
	const char *why = NULL;
	struct plain pl;

	if (find_way(p, m, &pl, &why) < 0) {
		report_say(r->report, "%s: %s: refused", p->name, why);
		route_refuse(p, m, ACP_ERR_PARAMS, why, nothing, g);
		return;
	}
	if (m->kind == MSG_NOTIFICATION)
		p->notes_out[pl.lane]++;
	if (pl.inner.what == ACP_CANCEL_REQUEST) {
		cancel(p, m, &pl, g);
		return;
	}
	if (route_initializes_successor(p, m, &pl, g))
		return;
	if (r->broken || pl.to->state == PORT_GONE) {
		route_refuse(p, m, ACP_ERR_INTERNAL, r->why ? r->why : "that component has ended", buf_slice(&r->reason), g);
		return;
	}
	if (m->kind == MSG_REQUEST && pl.lane == LANE_DOWN &&
		(pl.inner.what == ACP_INITIALIZE || (pl.inner.what == ACP_PROXY_INITIALIZE && p->kind != PORT_PROXY))) {
		route_initialize(p, text, m, &pl, g);
		return;
	}
	if (pl.lane == LANE_DOWN && pl.to->state == PORT_COLD) {
		route_refuse(p, m, ACP_ERR_INVALID_REQUEST, before, nothing, g);
		return;
	}
	route_look(p, &pl, text, m);
	route_pass(p, block, text, m, &pl, g);
}

void
route_message(struct port *p, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	if (m->kind == MSG_RESPONSE)
		route_response(p, block, text, m, g);
	else
		call_or_note(p, block, text, m, g);
}

/* The original is in the form in which the component that is taken out would have had it. */
void
route_past(struct port *gone, const struct pieces *message, enum lane lane, struct call *old)
{
	struct port *to = lane == LANE_DOWN ? gone->below : gone->above;
	struct plain pl = {.lane = lane, .to = to};
	struct splices s = {.n = 0};
	struct json_error error;
	struct buf text = {0}, with = {0};
	struct call *c = NULL;
	struct msg m;
	const char *why;
	char number[SLICE_DIGITS];

	if (pieces_write(message, &text) < 0 || text.n == 0)
		goto out;
	text.n--;
	if (msg_scan(buf_slice(&text), &m, &error) != MSG_REQUEST && m.kind != MSG_NOTIFICATION)
		goto out;
	pl.inner = m;
	if (m.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m, &pl.inner, &why) == 0)
		pl.envelope = &m;
	if (old) {
		c = call_new(NULL, to, lane, &pl.inner);
		if (!c)
			goto out;
		c->t = old->t;
	}
	if (form(&pl, &m, &s, &with) < 0)
		goto out;
	if (c)
		splice_value(&s, m.id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = to, .lane = lane, .kind = c ? SENT_REQUEST : SENT_NOTIFICATION, .call = c,
		.text = buf_slice(&text), .splices = &s}, NULL);
	if (c)
		call_adopt(c, old);
out:
	buf_free(&text);
	buf_free(&with);
}
