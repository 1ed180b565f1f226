/* How a message leaves: in which form, under which id, and to which queue. */
#include "route_parts.h"

#include <inttypes.h>

#include "logs.h"

enum { SHOWN = 200 /* bytes of a message in a line on stderr */ };

/* Where no component reads in this direction, the message goes on as if one had passed it on. */
static int
pass_by(const struct outgoing *o, const struct splices *s)
{
	SCOPED struct buf text = {0};
	struct line line = {0};
	int r = splice_write(o->text, s->at, s->n, &text);

	line.text = buf_slice(&text);
	if (r == 0)
		o->to->route->on_line(o->to->forward_to, INPUT_LINE, &line);
	return r;
}

/* A request is kept as it is sent, until it is forwarded. */
static int
put(const struct outgoing *o, const struct splices *s)
{
	struct call *c = o->kind == ENTRY_REQUEST ? call_open(o->to, o->id) : NULL;
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct pieces out;

	if (pieces_make(&out, &o->to->arena, o->block, parts, splice_parts(o->text, s->at, s->n, parts)) < 0)
		return -1;
	if (c && c->unforwarded && pieces_hold(&c->text, &out) < 0) {
		pieces_drop(&out);
		return -1;
	}
	return port_put(o->to, &out, o->kind, o->id, o->dir);
}

void
route_emit(const struct outgoing *o)
{
	static const struct splices none = {.n = 0};
	const struct splices *s = o->splices ? o->splices : &none;
	struct route *r = o->to->route;

	if ((o->to->forward_to ? pass_by(o, s) : put(o, s)) < 0)
		route_no_memory(r);
}

void
route_put_made(struct port *to, struct buf *text, enum entry_kind kind, enum acp_direction dir)
{
	route_emit(&(struct outgoing){.to = to, .dir = dir, .kind = kind, .text = buf_slice(text)});
	buf_free(text);
}

/* Where we read and write only one end of a component, its name is still the component's. */
void
route_dropped(struct port *p, const char *what, struct slice text)
{
	report_line(p->route->report, "%s: %s: dropped%s%.*s", p->name, what, text.n ? ": " : "",
		(int)(text.n < SHOWN ? text.n : SHOWN), text.n ? text.p : "");
}

/* --- forms --- */

static bool
wraps(const struct port *to, enum acp_direction dir)
{
	return (to->kind == PORT_PROXY && dir == ACP_UP) || (to->kind == PORT_OUTER && dir == ACP_DOWN);
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
	if (pl->envelope && wraps(pl->to, pl->dir))
		return rewrap(s, m, &pl->inner, with, pl->to);
	if (pl->envelope)
		msg_unwrap(m, &pl->inner, s);
	else if (wraps(pl->to, pl->dir))
		return msg_wrap(m, pl->to->dialect, pl->peer, s, with);
	else if (pl->inner.method.p != m->method.p)
		splice_value(s, m->method, pl->inner.method);
	return 0;
}

/* The message in its plain form, for who looks in. */
void
route_log(struct port *p, const struct plain *pl, struct slice text, const struct msg *m)
{
	struct splices s = {.n = 0};

	if (!p->route->logs)
		return;
	if (pl->envelope)
		msg_unwrap(m, &pl->inner, &s);
	logs_message(p->route->logs, p, pl->to, pl->dir, text, &s, &pl->inner, slice(NULL, 0));
}

struct call *
route_pass(struct port *from, struct block *block, struct slice text, const struct msg *m, const struct plain *pl)
{
	struct port *to = pl->to;
	struct route *r = to->route;
	struct splices s = {.n = 0};
	struct call *c = NULL;
	char number[SLICE_DIGITS];

	if (m->kind == MSG_REQUEST) {
		c = call_new(from, to, pl->dir, &pl->inner);
		if (!c) {
			route_no_memory(r);
			return NULL;
		}
		c->t = loop_now(r->loop);
		call_match(c);
		if (c->parent)
			port_took(from, c->t - c->parent->t);
	}
	r->with.n = 0;
	if (form(pl, m, &s, &r->with) < 0) {
		route_no_memory(r);
		return c;
	}
	if (c)
		splice_value(&s, m->id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = to, .dir = pl->dir, .kind = c ? ENTRY_REQUEST : ENTRY_NOTIFICATION, .id = c ? c->id : 0,
		.text = text, .splices = &s, .block = block});
	return c;
}

int
route_make_cancel(const struct call *c, struct buf *text)
{
	SCOPED struct buf params = {0};
	int r = buf_printf(&params, "{\"%s\":%" PRIu64 "}", acp_request_id, c->id);

	if (r == 0)
		r = msg_make_notification(text, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params));
	return r;
}

void
route_cancel(struct call *c)
{
	SCOPED struct buf text = {0};

	if (route_make_cancel(c, &text) == 0)
		route_emit(&(struct outgoing){.to = c->to, .dir = c->dir, .kind = ENTRY_CANCEL, .id = c->id, .text = buf_slice(&text)});
}
