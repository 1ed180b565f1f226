/* Responses: conduct's own, those that come from components, and those that wait for their place. */
#include "route_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

#include "chain.h"
#include "logs.h"

/* Sent through a component that has taken the place of a dead one: when it comes out, all before it has. */
static const char place[] = "_acp-conduct/place";

struct slice
route_reason(const struct route *r)
{
	return r->reason.n ? buf_slice(&r->reason) : slice(NULL, 0);
}

void
route_set_reason(struct route *r, const struct component *c, const char *what)
{
	free(r->why_text);
	r->why_text = bytes_printf("acp-conduct: %s: no response: %s", c->name, what);
	r->why = r->why_text ? r->why_text : what;
	r->reason.n = 0;
	if (buf_add_string(&r->reason, "{\"component\":") < 0 || json_quote(slice_of(c->name), &r->reason) < 0 ||
		buf_add_string(&r->reason, ",\"status\":") < 0 || json_quote(slice_of(what), &r->reason) < 0 ||
		buf_add_string(&r->reason, ",\"stderr\":") < 0 || json_quote(report_tail(&c->errors), &r->reason) < 0 ||
		buf_add(&r->reason, "}", 1) < 0)
		r->reason.n = 0;
}

void
route_clear_reason(struct route *r)
{
	if (r->broken)
		return;
	r->why = NULL;
	r->reason.n = 0;
}

static enum acp_direction
back(enum acp_direction dir)
{
	return dir == ACP_DOWN ? ACP_UP : ACP_DOWN;
}

void
route_refuse(struct port *p, const struct msg *m, const struct plain *pl, int code, const char *why, struct slice data)
{
	struct buf answer = {0};

	if (m->kind != MSG_REQUEST) {
		/* That a chain ends has been reported. */
		if (!p->route->broken)
			route_dropped(p, why, m->method);
		return;
	}
	if (msg_make_error(&answer, m->id, code, why, data) < 0) {
		route_no_memory(p->route);
		return;
	}
	if (p->out.out.full)
		p->self_blocked = p->route->flow_changed = true;
	if (pl->to)
		logs_made(p->route->logs, pl->to, p, back(pl->dir), buf_slice(&answer), msg_session(&pl->inner));
	route_put_made(p, &answer, ENTRY_RESPONSE, back(pl->dir));
}

/* Its sender may die before it has responded with what this is the response for. */
static void
keep_child_response(struct call *parent, struct block *block, struct slice text, const struct msg *m)
{
	struct splices s = {.n = 0};
	struct iovec parts[2 * MSG_SPLICES + 1];
	size_t n;

	splice_value(&s, m->id, parent->origin);
	n = splice_parts(text, s.at, s.n, parts);
	pieces_drop(&parent->child_response);
	if (pieces_make(&parent->child_response, &parent->to->arena, block, parts, n) < 0)
		route_no_memory(parent->to->route);
	parent->child_response_end = 0;
	parent->answered = loop_now(parent->to->route->loop);
}

/* How long the component had it. */
static void
measure(const struct call *c)
{
	struct port *p = c->to;

	if (c->answered)
		port_took(p, loop_now(p->route->loop) - c->answered);
}

/* Delivers the response to an adopted call's child, after what the component has still to forward. */
static void
resolve(struct call *c)
{
	struct port *p = c->to;
	SCOPED struct buf text = {0};

	if (p->state == PORT_GONE || p->kind != PORT_PROXY || port_check_quiet(p, back(c->dir)) || route_make_place(c, &text) < 0) {
		route_answer_from_child(c);
	} else {
		c->has_place = true;
		p->places++;
		p->route->check_stuck = true;
		route_emit(&(struct outgoing){.to = p, .dir = back(c->dir), .kind = ENTRY_PLACE, .id = c->id, .text = buf_slice(&text)});
	}
}

/* An array or an object that has no member yet gets its first without a comma. */
static bool
is_empty(struct slice value)
{
	return value.p[1 + strspn(value.p + 1, " \t\r\n")] == value.p[value.n - 1];
}

int
route_list_peers(const struct port *proxy, struct slice result, struct splices *s, struct buf *with)
{
	struct slice list, at;
	const struct port *p;
	bool array;

	if (!proxy->peers || json_type(result) != JSON_OBJECT)
		return 0;
	list = json_get(result, "peers");
	array = json_type(list) == JSON_ARRAY;
	at = array ? list : result;
	if (!list.p || array)
		list = slice(at.p + at.n - 1, 0);
	if ((list.n == 0 && !is_empty(at) && buf_add(with, ",", 1) < 0) || (list.n == 0 && !array && buf_add_string(with, "\"peers\":") < 0) ||
		(!array && buf_add(with, "[", 1) < 0))
		return -1;
	LL_FOREACH2(proxy->peers, p, next_peer)
		if (buf_printf(with, "{\"name\":\"%s\"}%s", p->peer, p->next_peer ? "," : "") < 0)
			return -1;
	if (!array && buf_add(with, "]", 1) < 0)
		return -1;
	splice_value(s, list, buf_slice(with));
	return 0;
}

void
route_answer(struct call *c, struct block *block, struct slice text, const struct msg *m)
{
	enum acp_direction dir = back(c->dir);
	struct splices s = {.n = 0};
	struct call *parent = c->parent;
	struct buf *with = &c->to->route->with;
	struct msg plain = *m;

	measure(c);
	if (parent)
		keep_child_response(parent, block, text, m);
	if (c->from) {
		plain.id = c->origin;
		plain.what = c->what;
		splice_value(&s, m->id, c->origin);
		logs_message(c->from->route->logs, c->to, c->from, dir, text, &s, &plain, c->session);
		with->n = 0;
		if (c->what == ACP_INITIALIZE && !c->to->peer && route_list_peers(c->from, m->result, &s, with) < 0)
			route_no_memory(c->to->route);
		route_emit(&(struct outgoing){.to = c->from, .dir = dir, .kind = ENTRY_RESPONSE, .id = parent ? parent->id : 0,
			.text = text, .splices = &s, .block = block});
		parent = NULL;
	}
	call_free(c);
	if (parent && parent->adopted)
		resolve(parent);
}

/* A response of our own making, with the id that it has where the call came from. */
static void
answer_with(struct call *c, struct slice text)
{
	struct msg m;

	if (msg_scan(text, &m, NULL) == MSG_RESPONSE) {
		route_answer(c, NULL, text, &m);
	} else {
		route_no_memory(c->to->route);
		call_free(c);
	}
}

void
route_fail_call(struct call *c, int code, const char *why, struct slice data)
{
	SCOPED struct buf answer = {0};

	if (c->has_place && c->child_response.n) {
		route_answer_from_child(c);
		return;
	}
	if ((!c->from && !c->parent) || msg_make_error(&answer, c->origin, code, why, data) < 0)
		call_free(c);
	else
		answer_with(c, buf_slice(&answer));
}

void
route_fail_ended(struct call *c)
{
	const struct route *r = c->to->route;

	route_fail_call(c, ACP_ERR_INTERNAL, r->why ? r->why : "the component has ended", route_reason(r));
}

void
route_fail_calls(struct port *p)
{
	while (p->calls)
		route_fail_ended(p->calls);
}

void
route_answer_from_child(struct call *c)
{
	SCOPED struct buf text = {0};

	if (pieces_write(&c->child_response, &text) < 0 || text.n == 0) {
		route_no_memory(c->to->route);
		call_free(c);
	} else {
		text.n--;
		answer_with(c, buf_slice(&text));
	}
}

/* --- places --- */

static int
make_place(uint64_t number, struct buf *to)
{
	SCOPED struct buf params = {0};
	int r = buf_printf(&params, "{\"place\":%" PRIu64 "}", number);

	if (r == 0)
		r = msg_make_notification(to, place, buf_slice(&params));
	return r;
}

int
route_make_place(const struct call *c, struct buf *to)
{
	struct splices s = {.n = 0};
	SCOPED struct buf plain = {0}, with = {0};
	struct msg m;
	int r = make_place(c->id, &plain);

	if (r == 0 && msg_scan(buf_slice(&plain), &m, NULL) == MSG_NOTIFICATION) {
		if (back(c->dir) == ACP_UP)
			r = msg_wrap(&m, c->to->dialect, NULL, &s, &with);
		if (r == 0)
			r = splice_write(buf_slice(&plain), s.at, s.n, to);
	}
	return r;
}

void
route_send_flush(struct port *first)
{
	struct plain pl = {.dir = ACP_DOWN, .to = first->below};
	SCOPED struct buf text = {0};
	struct msg m;

	if (make_place(0, &text) == 0 && msg_scan(buf_slice(&text), &m, NULL) == MSG_NOTIFICATION) {
		pl.inner = m;
		route_pass(first, NULL, buf_slice(&text), &m, &pl);
	}
}

bool
route_accept_place(struct port *p, struct slice text, const struct msg *m, const struct plain *pl)
{
	struct slice number = {NULL, 0};
	struct call *c;

	if (m->kind != MSG_NOTIFICATION || p->kind != PORT_PROXY || !json_string_is(pl->inner.method, place))
		return false;
	if (json_type(pl->inner.params) == JSON_OBJECT)
		number = json_get(pl->inner.params, "place");
	if (number.p && slice_is(number, "0")) {
		if (pl->to->kind == PORT_PROXY)
			route_pass(p, NULL, text, m, pl);
		else
			pl->to->flushed = true;
		return true;
	}
	c = number.p ? call_find(p, number) : NULL;
	if (c && c->has_place)
		route_answer_from_child(c);
	return true;
}
