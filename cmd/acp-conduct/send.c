#include "send.h"

#include <stdlib.h>

#include "logs.h"

static const struct splices none;

/* --- lines --- */

static bool
wraps(const struct port *to, enum acp_direction dir)
{
	return (to->kind == PORT_PROXY && dir == ACP_UP) || (to->kind == PORT_OUTER && dir == ACP_DOWN);
}

void
send_line(const struct outgoing *o)
{
	const struct splices *s = o->splices ? o->splices : &none;
	struct iovec parts[2 * MSG_SPLICES + 1];
	struct port *to = o->to;
	SCOPED struct buf text = {0};
	struct line line = {0};

	if (!to->shortcut) {
		to->notes.in[o->dir] += o->kind == MSG_NOTIFICATION;
		to->figures.messages[o->dir]++;
		if (to->figures.since[o->dir] == 0)
			to->figures.since[o->dir] = loop_now(to->route->chain->loop);
		to->figures.bytes[o->dir] += port_put(to, o->block, parts, splice_parts(o->text, s->at, s->n, parts), o->now);
		return;
	}
	if (splice_write(o->text, s->at, s->n, &text) < 0) {
		read_no_memory(to->route);
		return;
	}
	line.text = buf_slice(&text);
	to->route->line(to->shortcut, INPUT_LINE, &line);
}

void
send_dropped(struct port *p, const char *what, struct slice text)
{
	report_line(&p->route->chain->report, "%s: %s: dropped: %.*s", p->name, what,
		(int)(text.n < SHOWN ? text.n : SHOWN), text.p);
}

void
send_open(const struct port *from, const struct msg *m, const struct routed *routed, struct splices *s)
{
	struct slice id = routed->inner.what == ACP_ELICITATION_CREATE ? json_get(routed->inner.params, acp_request_id) : slice(NULL, 0);
	const struct call *c = from ? call_find(from, id) : NULL;

	if (routed->envelope)
		msg_unwrap(m, &routed->inner, s);
	if (c && c->from)
		splice_value(s, id, c->origin);
}

struct call *
send_message(struct port *from, struct block *block, struct slice text, const struct msg *m, const struct routed *routed)
{
	struct port *to = routed->to;
	struct route *r = to->route;
	struct splices s = {.n = 0};
	SCOPED struct buf bare = {0};
	struct msg inner;
	struct call *c = NULL;
	char number[SLICE_DIGITS];
	int e = 0;

	if (m->kind == MSG_REQUEST) {
		c = call_new(from, to, routed->dir, &routed->inner);
		if (!c) {
			read_no_memory(r);
			return NULL;
		}
	}
	r->with.n = 0;
	send_open(from, m, routed, &s);
	/* From one envelope into another, where acp-conduct is itself a proxy: nothing of the last hop's envelope is kept. */
	if (routed->envelope && wraps(to, routed->dir) && (e = splice_write(text, s.at, s.n, &bare)) == 0) {
		inner = routed->inner;
		/* A message that a dead proxy had not read has the id of the proxy's hop, not the one that its sender gave it. */
		inner.id = m->id;
		msg_moved(text, s.at, s.n, bare.p, &inner);
		text = buf_slice(&bare);
		block = NULL;
		s.n = 0;
		m = &inner;
	}
	if (e == 0 && wraps(to, routed->dir))
		e = msg_wrap(m, to->init.dialect, from ? port_peer(from) : NULL, &s, &r->with);
	else if (!routed->envelope && routed->inner.method.p != m->method.p)
		splice_value(&s, m->method, routed->inner.method);
	if (e < 0) {
		read_no_memory(r);
		return c;
	}
	if (c)
		splice_value(&s, m->id, slice_digits(c->id, number));
	send_line(&(struct outgoing){.to = to, .dir = routed->dir, .kind = m->kind, .text = text, .splices = &s, .block = block});
	return c;
}

/* --- why there is no response --- */

struct slice
send_reason(const struct route *r)
{
	return r->reason.data.n ? buf_slice(&r->reason.data) : slice(NULL, 0);
}

void
send_set_reason(const struct component *c, const char *what)
{
	struct route *r = c->chain->route;
	struct buf *to = &r->reason.data;

	if (r->chain->end.broken)
		return;
	free(r->reason.why);
	r->reason.why = bytes_printf("acp-conduct: %s: no response: %s", c->name, what);
	to->n = 0;
	if (msg_put_reason(to, c->name, what, buf_slice(&c->process.errors.tail)) < 0)
		to->n = 0;
}

void
send_clear_reason(struct route *r)
{
	const struct component *agent = chain_agent(r->chain);

	if (r->chain->end.broken || (agent && agent->life >= LIFE_ENDED))
		return;
	free(r->reason.why);
	r->reason.why = NULL;
	r->reason.data.n = 0;
}

/* --- responses --- */

/* Requests that a process sends before it is ready get their responses at once. */
static bool
is_initializing(const struct port *p)
{
	return p->component && (p->component->life == LIFE_ASKED || p->component->life == LIFE_ASKED_AGAIN);
}

void
send_own_response(struct port *to, enum acp_direction dir, struct buf *text)
{
	if (to->end.out.full)
		to->queue.own = to->route->flow_changed = true;
	send_line(&(struct outgoing){.to = to, .dir = dir, .kind = MSG_RESPONSE, .now = is_initializing(to), .text = buf_slice(text)});
	buf_free(text);
}

void
send_refusal(struct port *p, const struct msg *m, const struct routed *routed, int code, const char *why, struct slice data)
{
	struct buf text = {0};
	struct msg made;

	if (m->kind != MSG_REQUEST) {
		/* The end of the chain has been reported already. */
		if (!p->route->chain->end.broken)
			send_dropped(p, why, m->method);
	} else if (msg_make_error(&text, m->id, code, why, data) < 0) {
		read_no_memory(p->route);
	} else {
		if (routed->to && msg_scan(buf_slice(&text), &made, NULL) == MSG_RESPONSE)
			logs_message(p->route->logs, routed->to, p, acp_back(routed->dir), buf_slice(&text), &none, &made, msg_session(&routed->inner));
		send_own_response(p, acp_back(routed->dir), &text);
	}
}

int
send_list_peers(const struct port *proxy, struct slice result, struct splices *s, struct buf *with)
{
	struct slice list, at;
	bool array;

	if (!proxy->peers || json_type(result) != JSON_OBJECT)
		return 0;
	list = json_get(result, "peers");
	array = json_type(list) == JSON_ARRAY;
	at = array ? list : result;
	if (!list.p || array)
		list = slice(at.p + at.n - 1, 0);
	if ((list.n == 0 && !json_is_empty(at) && buf_add(with, ",", 1) < 0) || (list.n == 0 && !array && buf_add_string(with, "\"peers\":") < 0) ||
		(!array && buf_add(with, "[", 1) < 0))
		return -1;
	for (const struct port *p = proxy->peers; p; p = p->next_peer)
		if (buf_printf(with, "{\"name\":\"%s\"}%s", p->component->peer, p->next_peer ? "," : "") < 0)
			return -1;
	if (!array && buf_add(with, "]", 1) < 0)
		return -1;
	splice_value(s, list, buf_slice(with));
	return 0;
}

void
send_response(struct call *c, struct block *block, struct slice text, const struct msg *m)
{
	enum acp_direction dir = acp_back(c->dir);
	struct splices s = {.n = 0};
	struct buf *with = &c->to->route->with;
	struct port *to = c->from;
	struct msg plain = *m;

	plain.id = c->origin;
	plain.what = c->what;
	splice_value(&s, m->id, c->origin);
	if (c->sender)
		logs_message(c->to->route->logs, c->to, c->sender, dir, text, &s, &plain, c->session);
	if (to) {
		with->n = 0;
		if (c->what == ACP_INITIALIZE && !port_peer(c->to) && send_list_peers(to, m->result, &s, with) < 0)
			read_no_memory(to->route);
		send_line(&(struct outgoing){.to = to, .dir = dir, .kind = MSG_RESPONSE, .now = is_initializing(to), .text = text, .splices = &s,
			.block = block});
	}
	if (c->what == ACP_INITIALIZE && to && to == to->route->client)
		loop_remove_timer(to->route->chain->loop, &to->route->init);
	call_free(c);
}

void
send_failure(struct call *c, int code, const char *why, struct slice data)
{
	SCOPED struct buf text = {0};
	struct msg m;

	if (c->from && (msg_make_error(&text, c->origin, code, why, data) < 0 || msg_scan(buf_slice(&text), &m, NULL) != MSG_RESPONSE))
		read_no_memory(c->to->route);
	if (c->from && text.n > 0)
		send_response(c, NULL, buf_slice(&text), &m);
	else
		call_free(c);
}

void
send_ended(struct call *c)
{
	const struct route *r = c->to->route;

	send_failure(c, ACP_ERR_INTERNAL, r->reason.why ? r->reason.why : "the component has ended", send_reason(r));
}

void
send_all_ended(struct port *p)
{
	while (p->calls.open)
		send_ended(p->calls.open);
}

/* --- requests whose sender has died --- */

/* Makes a notification with one member. Returns false out of memory. */
static bool
make_notification(const struct call *c, enum acp_method what, const char *member, struct slice value, struct buf *text, struct msg *m)
{
	SCOPED struct buf params = {0};

	if (json_format(&params, "{\"%s\":%b}", member, value) < 0 ||
		msg_make_notification(text, acp_name(what, ACP_PLAIN), buf_slice(&params)) < 0 ||
		msg_scan(buf_slice(text), m, NULL) != MSG_NOTIFICATION) {
		read_no_memory(c->to->route);
		return false;
	}
	return true;
}

/* Not MSG_NOTIFICATION, because notifications count as lost when a component dies. A cancel is void without its request. */
void
send_cancel(const struct call *c)
{
	struct splices s = {.n = 0};
	SCOPED struct buf text = {0};
	char number[SLICE_DIGITS];
	struct msg m;

	if (!make_notification(c, ACP_CANCEL_REQUEST, acp_request_id, c->origin, &text, &m))
		return;
	/* Nobody has sent this one: it is logged as the dead sender's. */
	if (!c->cancelled)
		logs_message(c->to->route->logs, c->sender, c->to, c->dir, buf_slice(&text), &none, &m, c->session);
	splice_value(&s, json_get(m.params, acp_request_id), slice_digits(c->id, number));
	send_line(&(struct outgoing){.to = c->to, .dir = c->dir, .kind = MSG_RESPONSE, .text = buf_slice(&text), .splices = &s});
}

void
send_withdrawal(struct port *from)
{
	SCOPED struct buf text = {0};
	struct routed routed = {.dir = ACP_DOWN};
	struct call *c;

	while ((c = from->calls.sent)) {
		call_orphan(c);
		if (!c->cancelled)
			send_cancel(c);
		c->cancelled = true;
		routed.to = c->to;
		text.n = 0;
		if (c->what == ACP_SESSION_PROMPT && c->dir == ACP_DOWN && c->session.p &&
			make_notification(c, ACP_SESSION_CANCEL, acp_session_id, c->session, &text, &routed.inner)) {
			logs_message(c->to->route->logs, c->sender, c->to, c->dir, buf_slice(&text), &none, &routed.inner, c->session);
			send_message(NULL, NULL, buf_slice(&text), &routed.inner, &routed);
		}
	}
}
