#include "route_parts.h"

#include <stdlib.h>

#include "chain.h"

static void
go_live(struct port *p)
{
	if (!p->live && port_go_live(p) < 0)
		route_no_memory(p->route);
}

/* The name of the question for this port. */
static struct slice
question(const struct port *to, struct buf *name)
{
	name->n = 0;
	if (to->kind != PORT_PROXY)
		buf_printf(name, "\"%s\"", acp_name(ACP_INITIALIZE, ACP_PLAIN));
	else
		buf_printf(name, "\"%s\"", acp_name(ACP_PROXY_INITIALIZE, to->dialect));
	return buf_slice(name);
}

/* Gives the question from memory, with the id that the call has now. It does not wait its turn. */
static void
ask(struct port *p, struct call *c)
{
	struct splices s = {.n = 0};
	SCOPED struct buf name = {0};
	char number[SLICE_DIGITS];
	struct msg m;

	if (msg_scan(buf_slice(&p->init), &m, NULL) != MSG_REQUEST) {
		route_no_memory(p->route);
		return;
	}
	splice_value(&s, m.method, question(p, &name));
	splice_value(&s, m.id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = p, .dir = ACP_DOWN, .kind = ENTRY_RESPONSE, .text = buf_slice(&p->init), .splices = &s});
}

/* The open request to initialize, or NULL. */
static struct call *
first_question(const struct port *p)
{
	struct call *c;

	for (c = p->calls; c && c->what != ACP_INITIALIZE; c = c->next_open)
		;
	return c;
}

bool
route_take_other_dialect(struct port *p)
{
	if (p->state != PORT_INITIALIZING || p->tried_both_dialects || p->route->fixed || p->successor_initialized)
		return false;
	p->tried_both_dialects = true;
	p->dialect = p->dialect == ACP_PLAIN ? ACP_UNDERSCORE : ACP_PLAIN;
	return true;
}

bool
route_ask_in_other_dialect(struct port *p)
{
	struct call *c = first_question(p);

	if (!c || !route_take_other_dialect(p))
		return false;
	p->stale = c->id;
	call_new_id(c);
	ask(p, c);
	return true;
}

int
route_ask_first(struct port *p)
{
	struct call *c = first_question(p);

	if (!c)
		return -1;
	ask(p, c);
	return 0;
}

/* A call of conduct's own. NULL out of memory. */
static struct call *
own_call(struct port *p, struct slice text, struct msg *m)
{
	struct call *c = msg_scan(text, m, NULL) == MSG_REQUEST ? call_new(NULL, p, ACP_DOWN, m) : NULL;

	if (c)
		c->own = true;
	return c;
}

int
route_ask_again(struct port *p)
{
	struct msg m;
	struct call *c = own_call(p, buf_slice(&p->init), &m);

	if (!c)
		return -1;
	c->what = ACP_INITIALIZE;
	ask(p, c);
	return 0;
}

int
route_ask(struct port *p, const char *method, struct slice params)
{
	struct splices s = {.n = 0};
	SCOPED struct buf text = {0};
	struct msg m;
	struct call *c = msg_make_request(&text, slice_of("0"), method, params) < 0 ? NULL : own_call(p, buf_slice(&text), &m);
	char number[SLICE_DIGITS];

	if (c) {
		splice_value(&s, m.id, slice_digits(c->id, number));
		route_emit(&(struct outgoing){.to = p, .dir = ACP_DOWN, .kind = ENTRY_RESPONSE, .text = buf_slice(&text), .splices = &s});
	}
	return c ? 0 : -1;
}

/* What it will be asked again when it is restarted. */
static int
remember(struct port *to, struct slice text, const struct msg *m, const struct plain *pl)
{
	struct splices s = {.n = 0};

	if (pl->envelope)
		msg_unwrap(m, &pl->inner, &s);
	to->init.n = 0;
	return splice_write(text, s.at, s.n, &to->init);
}

static const char *
disagrees(const struct port *p, const struct plain *pl)
{
	if (p->kind == PORT_OUTER && pl->dir == ACP_DOWN && pl->inner.what == ACP_INITIALIZE)
		return "acp-conduct was started without an agent, so it is a proxy; send proxy/initialize";
	if (p->kind != PORT_OUTER && p->kind != PORT_PROXY && pl->inner.what == ACP_PROXY_INITIALIZE)
		return "acp-conduct was started with an agent, so it is not a proxy; send initialize";
	return NULL;
}

/* initialize, or whatever it is called here. It goes on as the next component wants it. */
void
route_initialize(struct port *p, struct slice text, const struct msg *m, struct plain *pl)
{
	static const struct slice nothing = {NULL, 0};
	struct route *r = p->route;
	struct port *to = pl->to;
	const char *why = disagrees(p, pl);
	SCOPED struct buf name = {0};
	bool first;

	/* A proxy that was restarted does not know that it has initialized its peers. */
	if (!why && to->kind != PORT_OUTER && to->state == PORT_INITIALIZING && !to->peer)
		why = "a second initialize before the response to the first one";
	if (why) {
		route_refuse(p, m, pl, ACP_ERR_INVALID_REQUEST, why, nothing);
		return;
	}
	if (p->kind == PORT_OUTER) {
		p->dialect = acp_dialect(m->method);
		p->state = PORT_READY;
	}
	if (!r->start(to)) {
		route_refuse(p, m, pl, ACP_ERR_INTERNAL, r->why ? r->why : "a component could not be started", route_reason(r));
		route_clear_reason(r);
		return;
	}
	if (to->kind == PORT_OUTER) {
		route_pass(p, NULL, text, m, pl);
		return;
	}
	/* One that comes again, in another version perhaps, goes down the chain as the first did. */
	first = to->state == PORT_NEW;
	if (first)
		to->state = PORT_INITIALIZING;
	pl->inner.what = ACP_INITIALIZE;
	pl->inner.method = question(to, &name);
	if (remember(to, text, m, pl) < 0)
		route_no_memory(r);
	/* What comes after the first waits until it is clear that the question is understood. */
	if (first)
		to->live = true;
	route_pass(p, NULL, text, m, pl);
	if (first)
		to->live = to->kind != PORT_PROXY || r->fixed;
}

/* A proxy speaks to its successor about initialization. True where that is dealt with. */
bool
route_initialize_successor(struct port *p, const struct msg *m, const struct plain *pl)
{
	const struct buf *known = pl->to->peer ? &pl->to->successor : &p->successor;
	struct buf answer = {0};

	if (p->kind != PORT_PROXY || !pl->envelope || m->kind != MSG_REQUEST)
		return false;
	if (pl->inner.what == ACP_PROXY_INITIALIZE) {
		/* Our own question: it was not understood. What goes back ends it there. */
		route_refuse(p, m, pl, ACP_ERR_METHOD, "Method not found", slice(NULL, 0));
		route_ask_in_other_dialect(p);
		return true;
	}
	if (pl->inner.what != ACP_INITIALIZE)
		return false;
	p->successor_initialized = true;
	if (p->state != PORT_RECOVERING)
		go_live(p);
	if (p->state != PORT_RECOVERING || (pl->to->peer && known->n == 0))
		return false;
	/* Its successors have had theirs: it hears what its predecessor heard. */
	if (msg_make_result(&answer, m->id, buf_slice(known)) < 0)
		route_no_memory(p->route);
	else
		route_put_made(p, &answer, ENTRY_RESPONSE, ACP_UP);
	return true;
}

/* --- responses --- */

/* Keeps the result that a restarted proxy gets for its next initialize of the same successor or peer. */
static void
remember_successor(struct port *p, const struct msg *m)
{
	struct splices s = {.n = 0};
	SCOPED struct buf with = {0};

	p->successor.n = 0;
	if (m->result.p && (route_list_peers(p, m->result, &s, &with) < 0 || splice_write(m->result, s.at, s.n, &p->successor) < 0))
		route_no_memory(p->route);
}

bool
route_knows_no_proxy(const struct port *p, const struct call *c, const struct msg *m)
{
	struct slice number;
	int64_t code;

	if (c->what != ACP_INITIALIZE || p->kind != PORT_PROXY || p->state != PORT_INITIALIZING || p->successor_initialized ||
		json_type(m->error) != JSON_OBJECT)
		return false;
	number = json_get(m->error, "code");
	code = number.p ? strtoll(number.p, NULL, 10) : 0;
	/* A conductor that is a proxy calls any other first message invalid. */
	return code == ACP_ERR_METHOD || code == ACP_ERR_INVALID_REQUEST;
}

static void
report_dialects(const struct route *r)
{
	const struct port *p;

	for (size_t i = 0; i < r->n && r->chain->verbose; i++) {
		p = r->ports[i];
		if (p->kind == PORT_PROXY)
			report_line(r->report, "%s: initialized with the %s dialect", p->name, p->dialect == ACP_PLAIN ? "plain" : "underscore");
	}
}

void
route_has_initialized(struct port *p, const struct call *c, const struct msg *m)
{
	struct route *r = p->route;

	if (p->state == PORT_RECOVERING && c->own) {
		if (!m->error.p && !p->memory) {
			p->state = PORT_READY;
			if (port_go_live(p) < 0)
				route_no_memory(r);
		}
		return;
	}
	if (p->peer)
		loop_remove_timer(r->loop, &p->component->timer);
	if (p->peer || (c->from && c->from->kind == PORT_PROXY))
		remember_successor(p->peer ? p : c->from, m);
	if (p->state != PORT_INITIALIZING)
		return;
	p->state = PORT_READY;
	go_live(p);
	if (c->from && c->from == r->client) {
		loop_remove_timer(r->loop, &r->init);
		report_dialects(r);
	}
}
