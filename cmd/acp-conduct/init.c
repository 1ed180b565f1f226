/* Initialization: which component is sent which request, and in which dialect. */
#include <signal.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "life.h"
#include "send.h"

static const char *
wrong_kind(const struct port *p, const struct routed *routed)
{
	if (p->kind == PORT_OUTER && routed->dir == ACP_DOWN && routed->inner.what == ACP_INITIALIZE)
		return "acp-conduct was started without an agent, so it is a proxy; send proxy/initialize";
	if (p->kind != PORT_OUTER && p->kind != PORT_PROXY && routed->inner.what == ACP_PROXY_INITIALIZE)
		return "acp-conduct was started with an agent, so it is not a proxy; send initialize";
	return NULL;
}

/* --- the start of the chain and of peers --- */

static void
init_over(void *arg)
{
	struct route *r = arg;
	struct chain *ch = r->chain;
	struct component *c = NULL;

	/* Of the components that have not responded, the last keeps the others waiting. */
	for (size_t i = 0; i < ch->total; i++)
		if (ch->components[i].life == LIFE_ASKED)
			c = &ch->components[i];
	report_line(&ch->report, "%s: did not initialize within --init-timeout; ending the chain", c ? c->name : "a filter");
	ch->flow->fail(c ? c : ch->components, "did not initialize within --init-timeout", EXIT_FAILED);
}

/* Starts what a request to this port needs: a peer, or the whole chain. */
static bool
start(struct port *to)
{
	struct component *c = to->component, *bad = NULL;
	struct route *r = to->route;
	struct chain *ch = r->chain;
	int status;

	if (!r->started) {
		r->started = true;
		r->init = (struct loop_timer){.expired = init_over, .arg = r};
		status = life_start_all(ch, &bad);
		if (status) {
			ch->flow->fail(bad, "could not be started", status);
			return false;
		}
	}
	if (!port_peer(to) || c->life != LIFE_NONE)
		return true;
	/* A chain whose end has reached the agent starts no peer. */
	if (ch->end.forced || ch->end.broken || r->walk.down >= ch->n || r->walk.up < (ssize_t)ch->n) {
		send_set_reason(c, "the chain is ending");
		return false;
	}
	if (life_start(c) != 0) {
		send_set_reason(c, "could not be started");
		ch->flow->close_pipes(c, true);
		return false;
	}
	life_report_start(c);
	return true;
}

/* --- both dialects, and later processes --- */

/* The name of initialize at this port: a JSON string, stored in `name`. */
static struct slice
initialize_method(const struct port *to, struct buf *name)
{
	buf_printf(name, "\"%s\"", acp_name(to->kind == PORT_PROXY ? ACP_PROXY_INITIALIZE : ACP_INITIALIZE, to->init.dialect));
	return buf_slice(name);
}

/* Sends the stored initialize request with the present id of the call, even before the port is live. */
static void
ask(struct port *p, const struct call *c)
{
	struct splices s = {.n = 0};
	SCOPED struct buf name = {0};
	char number[SLICE_DIGITS];
	struct msg m;

	if (msg_scan(buf_slice(&p->init.request), &m, NULL) != MSG_REQUEST) {
		read_no_memory(p->route);
		return;
	}
	splice_value(&s, m.method, initialize_method(p, &name));
	splice_value(&s, m.id, slice_digits(c->id, number));
	send_line(&(struct outgoing){.to = p, .dir = ACP_DOWN, .kind = MSG_REQUEST, .now = true,
		.text = buf_slice(&p->init.request), .splices = &s});
}

/* The open initialize request, or NULL. */
static struct call *
open_initialize(const struct port *p)
{
	struct call *c;

	for (c = p->calls.open; c && c->what != ACP_INITIALIZE; c = c->next)
		;
	return c;
}

bool
init_set_other_dialect(struct component *c)
{
	struct port *p = c->near;
	struct port_init *i = &p->init;

	if (c->life != LIFE_ASKED || i->tried_both || p->route->fixed || i->asks || !open_initialize(p))
		return false;
	i->tried_both = true;
	i->dialect = i->dialect == ACP_PLAIN ? ACP_UNDERSCORE : ACP_PLAIN;
	return true;
}

/* Sends the open initialize request again, in the other dialect. False: there is no other dialect to try. */
static bool
ask_in_other_dialect(struct port *p)
{
	struct call *c = open_initialize(p);

	if (!init_set_other_dialect(p->component))
		return false;
	p->init.stale = c->id;
	call_new_id(c);
	ask(p, c);
	return true;
}

int
init_again(struct component *component)
{
	struct port *p = component->near;
	struct call *c = component->next == NEXT_DIALECT ? open_initialize(p) : NULL;
	struct msg m;

	if (!c && msg_scan(buf_slice(&p->init.request), &m, NULL) == MSG_REQUEST) {
		m.what = ACP_INITIALIZE;
		c = call_new(NULL, p, ACP_DOWN, &m);
	}
	if (c)
		ask(p, c);
	return c ? 0 : -1;
}

/* --- requests --- */

/* Forwards initialize, under whatever name it has come, in the form that the next component needs. */
void
init_request(struct port *p, struct slice text, const struct msg *m, struct routed *routed)
{
	struct route *r = p->route;
	struct port *to = routed->to;
	const char *why = wrong_kind(p, routed);
	SCOPED struct buf name = {0};
	struct splices bare = {.n = 0};
	const struct call *open = open_initialize(to);
	bool first;

	/* If the sender of the first one has died, nobody waits for its response. */
	if (!why && open && open->from && to->component && to->component->life == LIFE_ASKED)
		why = "a second initialize before the response to the first one";
	if (why) {
		send_refusal(p, m, routed, ACP_ERR_INVALID_REQUEST, why, slice(NULL, 0));
		return;
	}
	if (p->kind == PORT_OUTER)
		p->init.dialect = acp_dialect(m->method);
	if (!start(to)) {
		send_refusal(p, m, routed, ACP_ERR_INTERNAL, r->reason.why ? r->reason.why : "a component could not be started", send_reason(r));
		send_clear_reason(r);
		return;
	}
	if (p == r->client && !r->initialized)
		loop_add_timer(r->chain->loop, &r->init, r->chain->options.init_timeout);
	if (to->kind == PORT_OUTER) {
		send_message(p, NULL, text, m, routed);
		return;
	}
	/* A second initialize, perhaps with another version, goes down the chain as the first did. */
	first = to->component->life == LIFE_STARTED;
	life_event(to->component, EVENT_ASKED);
	routed->inner.what = ACP_INITIALIZE;
	routed->inner.method = initialize_method(to, &name);
	/* The request is kept, to be sent again when the component is restarted. */
	if (routed->envelope)
		msg_unwrap(m, &routed->inner, &bare);
	to->init.request.n = 0;
	if (splice_write(text, bare.at, bare.n, &to->init.request) < 0)
		read_no_memory(r);
	/* Later messages wait until it is clear that the component has understood the first. */
	if (first)
		to->queue.live = true;
	send_message(p, NULL, text, m, routed);
	if (first)
		to->queue.live = to->kind != PORT_PROXY || r->fixed;
}

/* Handles what a proxy sends its successor about initialization. Returns true if nothing is left to forward. */
bool
init_successor(struct port *p, const struct msg *m, const struct routed *routed)
{
	bool to_peer = port_peer(routed->to);
	struct port_init *of = to_peer ? &routed->to->init : &p->init;
	struct buf text = {0};

	if (p->kind != PORT_PROXY || !routed->envelope || m->kind != MSG_REQUEST)
		return false;
	if (routed->inner.what == ACP_PROXY_INITIALIZE) {
		/* The proxy has sent back acp-conduct's own request, which it has not understood. */
		send_refusal(p, m, routed, ACP_ERR_METHOD, "Method not found", slice(NULL, 0));
		ask_in_other_dialect(p);
		return true;
	}
	if (routed->inner.what != ACP_INITIALIZE)
		return false;
	p->init.asks = true;
	if (p->component->life == LIFE_ASKED)
		port_go_live(p);
	/* The successor is initialized already, so the new process gets the response that the dead one got. */
	if (of->greeted || of->response.n == 0 || (to_peer && !life_runs(routed->to->component))) {
		of->greeted = true;
		return false;
	}
	of->greeted = true;
	if (msg_make_result(&text, m->id, buf_slice(&of->response)) < 0)
		read_no_memory(p->route);
	else
		send_own_response(p, ACP_UP, &text);
	return true;
}

/* --- responses --- */

void
init_no_proxy(struct component *c, const char *did)
{
	report_line(&c->chain->report, "%s: is not a proxy: it %s; ending the chain", c->name, did);
	c->chain->flow->fail(c, "is not a proxy", EXIT_FAILED);
}

bool
init_refused(struct port *p, const struct call *c, const struct msg *m)
{
	struct slice number;
	int64_t code;

	if (c->what != ACP_INITIALIZE || p->kind != PORT_PROXY || p->component->life != LIFE_ASKED || p->init.asks ||
		json_type(m->error) != JSON_OBJECT)
		return false;
	number = json_get(m->error, "code");
	code = number.p ? strtoll(number.p, NULL, 10) : 0;
	/* A conductor that is a proxy refuses any other first message as invalid. */
	if (code != ACP_ERR_METHOD && code != ACP_ERR_INVALID_REQUEST)
		return false;
	if (!ask_in_other_dialect(p))
		init_no_proxy(p->component, "refused proxy/initialize");
	return true;
}

void
init_response(struct port *p, const struct call *c, const struct msg *m)
{
	struct route *r = p->route;
	struct component *component = p->component, *all = r->chain->components;
	struct splices s = {.n = 0};
	SCOPED struct buf with = {0};
	struct port *to;

	if (!c->sender && m->error.p) {
		report_line(&r->chain->report, "%s: refused to initialize after its restart; killed: %.*s", p->name,
			(int)(m->error.n < 200 ? m->error.n : 200), m->error.p);
		proc_signal(component->process.pid, SIGKILL);
		return;
	}
	/* A later process of the proxy gets this result when it initializes the same successor or peer. */
	to = !c->sender ? NULL : port_peer(p) ? p : c->from && c->from->kind == PORT_PROXY ? c->from : NULL;
	if (to)
		to->init.response.n = 0;
	if (to && m->result.p &&
		(send_list_peers(to, m->result, &s, &with) < 0 || splice_write(m->result, s.at, s.n, &to->init.response) < 0))
		read_no_memory(r);
	if (component && (component->life == LIFE_ASKED || component->life == LIFE_ASKED_AGAIN)) {
		life_event(component, EVENT_INITIALIZED);
		port_go_live(p);
	}
	/* The first component may be a filter, and filters are not initialized. */
	if (c->from && c->from == r->client) {
		r->initialized = true;
		for (size_t i = 0; i < r->chain->n && r->chain->options.verbose; i++)
			if (all[i].kind == KIND_PROXY)
				report_line(&r->chain->report, "%s: initialized with the %s dialect", all[i].name,
					all[i].near->init.dialect == ACP_PLAIN ? "plain" : "underscore");
	}
}
