#include "route_parts.h"

#include "guest.h"

/* Gives the spliced text to a port, or adds it to an array for that lane. */
void
route_emit(struct port *to, struct block *block, struct slice text, const struct splices *s, enum sent_kind kind, struct call *c,
	uint64_t id, enum lane lane, struct gather *g)
{
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct pieces out;
	size_t n;

	if (to->kind == PORT_GUEST) {
		guest_answer(to, text, s, lane);
		return;
	}
	if (g) {
		g->port[lane] = to;
		if (buf_add_string(&g->to[lane], g->to[lane].n ? "," : "[") < 0 ||
			splice_write(text, s->at, s->n, &g->to[lane]) < 0)
			route_no_memory(to->route);
	}
	if (g && !(c && c->alone))
		return;
	n = splice_parts(text, s->at, s->n, parts);
	if (pieces_make(&out, &to->arena, block, parts, n) < 0) {
		route_no_memory(to->route);
		return;
	}
	if (c && c->alone && pieces_hold(&c->text, &out) < 0)
		route_no_memory(to->route);
	if (g)
		pieces_drop(&out);
	else if (port_put(to, &out, kind, id, lane) < 0)
		route_no_memory(to->route);
}

void
route_put_made(struct port *to, struct buf *text, enum sent_kind kind, enum lane lane)
{
	struct splices none = {.n = 0};

	route_emit(to, NULL, buf_slice(text), &none, kind, NULL, 0, lane, NULL);
	buf_free(text);
}
