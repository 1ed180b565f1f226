#include "route.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "chain.h"
#include "lib/cli.h"
#include "life.h"
#include "look.h"

enum { SHOWN = 200 }; /* bytes of a message in a line on stderr */

static const char before[] = "before initialize";

void
route_no_memory(struct route *r)
{
	report_say(r->report, "out of memory");
	life_break(r, EXIT_FAILED, "out of memory", slice(NULL, 0));
}

/* Where we read and write only one end of a component, its name is still the component's. */
static void
dropped(struct port *p, const char *what, struct slice text)
{
	report_say(p->route->report, "%s: %s: dropped%s%.*s", p->name, what, text.n ? ": " : "",
		(int)(text.n < SHOWN ? text.n : SHOWN), text.n ? text.p : "");
}

/* --- out --- */

/* Gives the spliced text to a port, or adds it to an array for that lane. */
static void
emit(struct port *to, struct block *block, struct slice text, const struct splices *s, enum sent_kind kind, struct call *c,
	uint64_t id, enum lane lane, struct gather *g)
{
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct pieces out;
	size_t n;

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

static void
put_made(struct port *to, struct buf *text, enum sent_kind kind, enum lane lane)
{
	struct splices none = {.n = 0};

	emit(to, NULL, buf_slice(text), &none, kind, NULL, 0, lane, NULL);
	buf_free(text);
}

/* An error of conduct's own, for a request that `p` sent and that was not passed on. */
static void
refuse(struct port *p, const struct msg *m, int code, const char *why, struct slice data, struct gather *g)
{
	struct splices none = {.n = 0};
	struct buf answer = {0};

	if (m->kind != MSG_REQUEST) {
		dropped(p, why, m->method);
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
		look_message(p->route->look, p->below, p, LANE_UP, buf_slice(&answer), &none, slice(NULL, 0));
	put_made(p, &answer, SENT_RESPONSE, LANE_UP);
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
	struct splices none = {.n = 0};
	struct buf answer = {0};

	if (c->from && msg_make_error(&answer, c->origin, code, why, data) == 0) {
		look_message(c->from->route->look, c->to, c->from, lane, buf_slice(&answer), &none, c->session);
		keep_text(c, buf_slice(&answer));
		if (c->batch)
			route_batch_answer(c->batch, buf_slice(&answer));
		else
			put_made(c->from, &answer, SENT_RESPONSE, lane);
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
		route_fail_call(c, ACP_ERR_INTERNAL, why, data);
}

/* The origin may have changed since it was kept: its id is put in now. */
void
route_answer_kept(struct call *c)
{
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
	if (c->from && c->batch) {
		route_batch_answer(c->batch, buf_slice(&answer));
		c->batch = NULL;
	} else if (c->from) {
		put_made(c->from, &answer, SENT_RESPONSE, c->lane == LANE_DOWN ? LANE_UP : LANE_DOWN);
	}
	buf_free(&text);
	buf_free(&answer);
	call_free(c);
}

/* --- responses --- */

static void
remember_successor(struct port *p, const struct msg *m)
{
	p->successor.n = 0;
	if (m->result.p && buf_add_slice(&p->successor, m->result) < 0)
		route_no_memory(p->route);
}

/* How long the component had it. */
static void
measure(const struct call *c)
{
	struct port *p = c->to;

	if (c->answered)
		port_took(p, loop_now(p->route->loop) - c->answered);
}

/* Is this the answer to a question about initialization that is to be asked in the other dialect? */
static bool
wants_other_dialect(const struct port *p, const struct call *c, const struct msg *m)
{
	int64_t code;
	struct slice number;

	if (c->what != ACP_INITIALIZE || p->kind != PORT_PROXY || p->state != PORT_ASKED || p->asked_twice ||
		p->route->fixed || p->told_initialize || json_type(m->error) != JSON_OBJECT)
		return false;
	number = json_get(m->error, "code");
	code = number.p ? strtoll(number.p, NULL, 10) : 0;
	/* A conductor that is a proxy calls any other first message invalid. */
	return code == ACP_ERR_METHOD || code == ACP_ERR_INVALID_REQUEST;
}

static void ask(struct port *, struct call *);

static void
ask_in_other_dialect(struct port *p)
{
	struct call *c;

	for (c = p->calls; c && c->what != ACP_INITIALIZE; c = c->hh.next)
		;
	if (!c)
		return;
	p->asked_twice = true;
	p->dialect = p->dialect == ACP_PLAIN ? ACP_UNDERSCORE : ACP_PLAIN;
	p->stale = c->id;
	if (call_renew(c) < 0)
		route_no_memory(p->route);
	else
		ask(p, c);
}

static void
go_live(struct port *p)
{
	if (!p->live && port_go_live(p) < 0)
		route_no_memory(p->route);
}

static void
has_initialized(struct port *p, const struct call *c, const struct msg *m)
{
	struct route *r = p->route;

	if (p->state == PORT_MENDING && c->own) {
		life_mended(p, m);
		return;
	}
	if (p->state != PORT_ASKED)
		return;
	p->state = PORT_READY;
	go_live(p);
	if (c->from && c->from->kind == PORT_PROXY)
		remember_successor(c->from, m);
	if (c->from && !c->from->component && c->from == r->stretches[0].first) {
		r->initialized = true;
		loop_remove_timer(r->loop, &r->init);
		life_introduce(r);
	}
}

static void
deliver(struct call *c, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	enum lane lane = c->lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
	struct splices s = {.n = 0};
	struct buf entry = {0};

	splice_value(&s, m->id, c->origin);
	look_message(c->from->route->look, c->to, c->from, lane, text, &s, c->session);
	if (c->parent)
		keep_answer(c->parent, block, text, m);
	if (!c->batch) {
		emit(c->from, block, text, &s, SENT_RESPONSE, NULL, 0, lane, g);
		return;
	}
	if (splice_write(text, s.at, s.n, &entry) < 0)
		route_no_memory(c->from->route);
	else
		route_batch_answer(c->batch, buf_slice(&entry));
	c->batch = NULL;
	buf_free(&entry);
}

static void
response(struct port *p, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	struct call *c = call_find(p, m->id);
	uint64_t id;

	if (m->error.p && msg_null_id(m)) {
		if (!route_array_refused(p, m))
			dropped(p, "an error that answers no request", m->error);
		return;
	}
	if (!c) {
		if (!p->stale || json_type(m->id) != JSON_NUMBER || !json_u64(m->id, &id) || id != p->stale)
			dropped(p, "an answer to a request that is not open", m->id);
		return;
	}
	if (wants_other_dialect(p, c, m)) {
		ask_in_other_dialect(p);
		return;
	}
	measure(c);
	if (c->what == ACP_INITIALIZE)
		has_initialized(p, c, m);
	if (c->from)
		deliver(c, block, text, m, g);
	call_free(c);
}

/* --- requests and notifications --- */

/* What a message says, and how it has come: inner is the message itself, in its envelope or bare. */
struct plain {
	struct msg inner;
	const struct msg *envelope; /* NULL: bare */
	enum lane lane;
	struct port *to;
};

static bool
wraps(const struct port *to, enum lane lane)
{
	return (to->kind == PORT_PROXY && lane == LANE_UP) || (to->kind == PORT_OUTER && lane == LANE_DOWN);
}

/* An envelope that stays one: what belonged to the last hop goes, the rest is as it was. */
static void
rewrap(struct splices *s, const struct msg *e, const struct msg *inner, struct buf *with, const struct port *to)
{
	size_t name, begin, end;

	buf_printf(with, "\"%s\"", acp_name(ACP_PROXY_SUCCESSOR, to->dialect));
	name = with->n;
	buf_printf(with, "{\"method\":");
	buf_add_slice(with, inner->method);
	if (inner->params.p)
		buf_add_string(with, ",\"params\":");
	begin = with->n;
	buf_add(with, "}", 1);
	end = with->n;
	splice_value(s, e->method, slice(with->p, name));
	if (!inner->params.p) {
		splice_value(s, e->params, slice(with->p + name, end - name));
		return;
	}
	splice_value(s, slice_between(e->params.p, inner->params.p), slice(with->p + name, begin - name));
	splice_value(s, slice_between(inner->params.p + inner->params.n, e->params.p + e->params.n),
		slice(with->p + begin, end - begin));
}

/* The splices that turn what came into what goes. 0 or -1. */
static int
form(const struct plain *pl, const struct msg *m, struct splices *s, struct buf *with)
{
	if (pl->envelope && wraps(pl->to, pl->lane)) {
		rewrap(s, m, &pl->inner, with, pl->to);
		return 0;
	}
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
	char number[24];

	if (json_type(in->params) == JSON_OBJECT)
		id = json_get(in->params, acp_request_id);
	c = id.p ? call_named(p, id) : NULL;
	/* Answered already, or never heard of: then there is nothing to cancel. */
	if (!c)
		return;
	c->cancelled = true;
	snprintf(number, sizeof(number), "%" PRIu64, c->id);
	look_message(p->route->look, p, c->to, c->lane, m->text, &s, c->session);
	if (pl->envelope) {
		splice_value(&s, m->method, in->method);
		splice_value(&s, slice_between(m->params.p, in->params.p), slice(NULL, 0));
		splice_value(&s, slice_between(in->params.p + in->params.n, m->params.p + m->params.n), slice(NULL, 0));
	}
	splice_value(&s, id, slice_of(number));
	emit(c->to, NULL, m->text, &s, SENT_CANCEL, NULL, c->id, c->lane, g);
}

void
route_cancel(struct call *c)
{
	struct buf params = {0}, text = {0};
	struct splices none = {.n = 0};

	if (buf_printf(&params, "{\"%s\":%" PRIu64 "}", acp_request_id, c->id) == 0 &&
		msg_make_notification(&text, acp_name(ACP_CANCEL_REQUEST, ACP_PLAIN), buf_slice(&params)) == 0)
		emit(c->to, NULL, buf_slice(&text), &none, SENT_CANCEL, NULL, c->id, c->lane, NULL);
	buf_free(&params);
	buf_free(&text);
}

/* The message in its plain form, for who looks in. */
static void
look(struct port *p, const struct plain *pl, struct slice text, const struct msg *m)
{
	struct splices s = {.n = 0};

	if (!p->route->look)
		return;
	if (pl->envelope)
		msg_unwrap(m, &pl->inner, &s);
	look_message(p->route->look, p, pl->to, pl->lane, text, &s, msg_session(&pl->inner));
}

static void
pass(struct port *p, struct block *block, struct slice text, const struct msg *m, const struct plain *pl, struct gather *g)
{
	struct port *to = pl->to;
	struct splices s = {.n = 0};
	struct buf with = {0};
	struct call *c = NULL;
	char number[24];

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
		snprintf(number, sizeof(number), "%" PRIu64, c->id);
	}
	if (form(pl, m, &s, &with) < 0) {
		route_no_memory(p->route);
		return;
	}
	if (c)
		splice_value(&s, m->id, slice_of(number));
	emit(to, block, text, &s, c ? SENT_REQUEST : SENT_NOTIFICATION, c, c ? c->id : 0, pl->lane, g);
	buf_free(&with);
}

/* --- initialization --- */

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
	struct json_error error;
	struct buf name = {0};
	char number[24];
	struct msg m;

	if (msg_scan(buf_slice(&p->init), &m, &error) != MSG_REQUEST) {
		route_no_memory(p->route);
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu64, c->id);
	splice_value(&s, m.method, question(p, &name));
	splice_value(&s, m.id, slice_of(number));
	emit(p, NULL, buf_slice(&p->init), &s, SENT_RESPONSE, NULL, 0, LANE_DOWN, NULL);
	buf_free(&name);
}

int
route_ask_first(struct port *p)
{
	struct call *c;

	for (c = p->calls; c && c->what != ACP_INITIALIZE; c = c->hh.next)
		;
	if (!c)
		return -1;
	ask(p, c);
	route_flush(p->route);
	return 0;
}

int
route_ask_again(struct port *p)
{
	struct json_error error;
	struct call *c;
	struct msg m;

	if (msg_scan(buf_slice(&p->init), &m, &error) != MSG_REQUEST)
		return -1;
	m.what = ACP_INITIALIZE;
	c = call_new(NULL, p, LANE_DOWN, &m);
	if (!c)
		return -1;
	c->own = true;
	ask(p, c);
	return 0;
}

/* What it will be asked again when it is started again. */
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
	if (p->kind == PORT_OUTER && pl->lane == LANE_DOWN && pl->inner.what == ACP_INITIALIZE)
		return "acp-conduct was started without an agent: it is a proxy, and is sent proxy/initialize";
	if (p->kind != PORT_OUTER && p->kind != PORT_PROXY && pl->inner.what == ACP_PROXY_INITIALIZE)
		return "acp-conduct was started with an agent: it is no proxy, and is sent initialize";
	return NULL;
}

/* initialize, or whatever it is called here. It goes on as the next component wants it. */
static void
initialize(struct port *p, struct slice text, const struct msg *m, struct plain *pl, struct gather *g)
{
	static const struct slice nothing = {NULL, 0};
	struct route *r = p->route;
	struct port *to = pl->to;
	const char *why = disagrees(p, pl);
	struct buf name = {0};

	if (!why && to->kind != PORT_OUTER && to->state != PORT_COLD)
		why = "initialize came a second time";
	if (why) {
		refuse(p, m, ACP_ERR_INVALID_REQUEST, why, nothing, g);
		return;
	}
	if (p->kind == PORT_OUTER) {
		p->dialect = acp_dialect(m->method);
		p->state = PORT_READY;
	}
	if (!r->started && !life_start(r)) {
		refuse(p, m, ACP_ERR_INTERNAL, r->why ? r->why : "a component cannot be started", buf_slice(&r->reason), g);
		return;
	}
	look(p, pl, text, m);
	if (to->kind == PORT_OUTER) {
		pass(p, NULL, text, m, pl, g);
		return;
	}
	to->state = PORT_ASKED;
	pl->inner.what = ACP_INITIALIZE;
	pl->inner.method = question(to, &name);
	if (remember(to, text, m, pl) < 0)
		route_no_memory(r);
	/* What comes behind it waits until it is clear that the question is understood. */
	to->live = true;
	pass(p, NULL, text, m, pl, g);
	to->live = to->kind != PORT_PROXY || r->fixed;
	buf_free(&name);
}

/* A proxy speaks to its successor about initialization. True where that is dealt with. */
static bool
initializes_successor(struct port *p, const struct msg *m, const struct plain *pl, struct gather *g)
{
	struct buf answer = {0};

	if (p->kind != PORT_PROXY || !pl->envelope || m->kind != MSG_REQUEST)
		return false;
	if (pl->inner.what == ACP_PROXY_INITIALIZE) {
		/* Our own question: it was not understood. What goes back ends it there. */
		refuse(p, m, ACP_ERR_METHOD, "Method not found", slice(NULL, 0), g);
		if (p->state == PORT_ASKED && !p->asked_twice && !p->route->fixed && !p->told_initialize)
			ask_in_other_dialect(p);
		return true;
	}
	if (pl->inner.what != ACP_INITIALIZE)
		return false;
	p->told_initialize = true;
	if (p->state != PORT_MENDING) {
		go_live(p);
		return false;
	}
	/* Its successors have had theirs: it hears what its predecessor heard. */
	if (msg_make_result(&answer, m->id, buf_slice(&p->successor)) < 0)
		route_no_memory(p->route);
	else
		put_made(p, &answer, SENT_RESPONSE, LANE_UP);
	return true;
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
		refuse(p, m, ACP_ERR_PARAMS, why, nothing, g);
		return;
	}
	if (m->kind == MSG_NOTIFICATION)
		p->notes_out[pl.lane]++;
	if (pl.inner.what == ACP_CANCEL_REQUEST) {
		cancel(p, m, &pl, g);
		return;
	}
	if (initializes_successor(p, m, &pl, g))
		return;
	if (r->broken || pl.to->state == PORT_GONE) {
		refuse(p, m, ACP_ERR_INTERNAL, r->why ? r->why : "that component has ended", buf_slice(&r->reason), g);
		return;
	}
	if (m->kind == MSG_REQUEST && pl.lane == LANE_DOWN &&
		(pl.inner.what == ACP_INITIALIZE || (pl.inner.what == ACP_PROXY_INITIALIZE && p->kind != PORT_PROXY))) {
		initialize(p, text, m, &pl, g);
		return;
	}
	if (pl.lane == LANE_DOWN && pl.to->state == PORT_COLD) {
		refuse(p, m, ACP_ERR_INVALID_REQUEST, before, nothing, g);
		return;
	}
	look(p, &pl, text, m);
	pass(p, block, text, m, &pl, g);
}

void
route_message(struct port *p, struct block *block, struct slice text, const struct msg *m, struct gather *g)
{
	if (m->kind == MSG_RESPONSE)
		response(p, block, text, m, g);
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
	char number[24];

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
		snprintf(number, sizeof(number), "%" PRIu64, c->id);
	}
	if (form(&pl, &m, &s, &with) < 0)
		goto out;
	if (c)
		splice_value(&s, m.id, slice_of(number));
	emit(to, NULL, buf_slice(&text), &s, c ? SENT_REQUEST : SENT_NOTIFICATION, c, c ? c->id : 0, lane, NULL);
	if (c)
		call_adopt(c, old);
out:
	buf_free(&text);
	buf_free(&with);
}

/* --- lines --- */

static void
noise(struct port *p, const struct line *line, const char *why)
{
	report_say(p->route->report, "%s: line %" PRIu64 ": %s: dropped: %.*s", p->name, line->number, why,
		(int)(line->text.n < SHOWN ? line->text.n : SHOWN), line->text.p);
	look_noise(p->route->look, p, line->text);
}

static void
too_long(struct port *p, const struct line *line)
{
	struct buf answer = {0};

	if (!line->first)
		return;
	noise(p, line, "longer than 64 MiB");
	if (msg_make_error(&answer, slice_of("null"), ACP_ERR_INVALID_REQUEST, "the line is longer than 64 MiB",
		slice(NULL, 0)) == 0)
		put_made(p, &answer, SENT_RESPONSE, LANE_UP);
}

static void
take_line(struct port *p, const struct line *line)
{
	struct json_error error;
	struct msg m;

	p->in_counts.messages[p->kind == PORT_ABOVE ? LANE_DOWN : LANE_UP]++;
	p->in_counts.bytes[p->kind == PORT_ABOVE ? LANE_DOWN : LANE_UP] += line->text.n + 1;
	switch (msg_scan(line->text, &m, &error)) {
	case MSG_NOISE:
		noise(p, line, error.what);
		break;
	case MSG_BATCH:
		route_array(p, line->block, &m);
		break;
	default:
		route_message(p, line->block, line->text, &m, NULL);
	}
}

static void
ended(struct port *p)
{
	if (p->in.error)
		report_say(p->route->report, "%s: %s", p->name, strerror(p->in.error));
	port_close_in(p);
	life_ended(p);
}

/* Reads once; false when there is nothing more now, or when it has ended. */
static bool
read_once(struct port *p)
{
	ssize_t n = input_fill(&p->in);
	enum input_got got;
	struct line line;

	if (n < 0 && (errno == EAGAIN || errno == ENOMEM) && !p->in.ended)
		return false;
	while (p->in_open) {
		got = input_line(&p->in, &line);
		if (got == INPUT_NOTHING || got == INPUT_END)
			break;
		if (got == INPUT_PIECE)
			too_long(p, &line);
		/* A dying component's last line may be cut; the client's or the agent's only lacks its newline. */
		else if (got == INPUT_TORN && p->kind == PORT_PROXY)
			noise(p, &line, "a torn line");
		else
			take_line(p, &line);
	}
	if (p->kind == PORT_PROXY && p->journal_bytes > 256 * 1024)
		port_journal_trim(p, true);
	if (p->in_open && p->in.ended) {
		ended(p);
		return false;
	}
	return p->in_open && n > 0;
}

void
route_readable(void *arg, short revents)
{
	struct port *p = arg;

	(void)revents;
	if (p->in_open)
		read_once(p);
	route_flush(p->route);
}

void
route_drain(struct port *p)
{
	while (p->in_open && read_once(p))
		;
}

void
route_writable(void *arg, short revents)
{
	struct port *p = arg;

	if (p->out.n == 0 && (revents & (POLLERR | POLLHUP))) {
		output_fail(&p->out, EPIPE);
		route_unread(p);
	} else {
		port_touch(p);
	}
	route_flush(p->route);
}

void
route_flush(struct route *r)
{
	struct port *p;
	bool full;

	look_flush(r->look);
	while ((p = r->dirty)) {
		r->dirty = p->next_dirty;
		p->dirty = false;
		port_flush(p);
		full = port_full(p);
		port_watch(p);
		if (full != p->was_full) {
			if (p->above)
				port_watch(p->above);
			if (p->below)
				port_watch(p->below);
		}
		p->was_full = full;
	}
	life_settle(r);
}

void
route_unread(struct port *p)
{
	if (!p->out_open)
		return;
	/* A proxy that does not read is about to end: what it has not read is for the next one. */
	if (p->kind == PORT_PROXY) {
		p->writable.events = LOOP_PAUSED;
		return;
	}
	port_close_out(p);
	life_unread(p);
}
