#include "route_parts.h"

#include "guest.h"

void
route_emit(const struct outgoing *o, struct gather *g)
{
	static const struct splices none = {.n = 0};
	const struct splices *s = o->splices ? o->splices : &none;
	struct call *c = o->kind == SENT_REQUEST ? o->call : NULL;
	struct route *r = o->to->route;
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct pieces out;

	if (o->to->kind == PORT_GUEST) {
		guest_answer(o->to, o->text, s, o->lane);
		return;
	}
	if (g) {
		g->port[o->lane] = o->to;
		if (buf_add_string(&g->to[o->lane], g->to[o->lane].n ? "," : "[") < 0 ||
			splice_write(o->text, s->at, s->n, &g->to[o->lane]) < 0)
			route_no_memory(r);
	}
	if (g && !(c && c->alone))
		return;
	if (pieces_make(&out, &o->to->arena, o->block, parts, splice_parts(o->text, s->at, s->n, parts)) < 0) {
		route_no_memory(r);
		return;
	}
	if (c && c->alone && pieces_hold(&c->text, &out) < 0)
		route_no_memory(r);
	if (g)
		pieces_drop(&out);
	else if (port_put(o->to, &out, o->kind, o->call ? o->call->id : 0, o->lane) < 0)
		route_no_memory(r);
}

void
route_put_made(struct port *to, struct buf *text, enum sent_kind kind, enum lane lane)
{
	route_emit(&(struct outgoing){.to = to, .lane = lane, .kind = kind, .text = buf_slice(text)}, NULL);
	buf_free(text);
}
