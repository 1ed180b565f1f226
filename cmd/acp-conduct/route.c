/* Decides where each line goes that a port has read. */
#include <inttypes.h>

#include "life.h"
#include "logs.h"
#include "send.h"

static const struct slice nothing = {NULL, 0};

/* --- messages --- */

/* Logs a message without its envelope. session: if the message itself does not name it. */
static void
log_message(struct port *p, const struct routed *routed, struct slice text, const struct msg *m, struct slice session)
{
	struct splices s = {.n = 0};

	if (!p->route->logs)
		return;
	send_open(p, m, routed, &s);
	logs_message(p->route->logs, p, routed->to, routed->dir, text, &s, &routed->inner, session);
}

/* Makes a new $/cancel_request without an envelope, with the id that the request has on its present hop. */
static void
cancel(struct port *p, const struct msg *m, struct routed *routed)
{
	const struct msg *in = &routed->inner;
	struct slice id = json_get(in->params, acp_request_id);
	struct call *c = call_find_origin(p, id);
	struct splices s = {.n = 0};
	char number[SLICE_DIGITS];

	/* The request has its response already, or never existed. */
	if (!c)
		return;
	c->cancelled = true;
	routed->to = c->to;
	routed->dir = c->dir;
	log_message(p, routed, m->text, m, c->session);
	send_open(p, m, routed, &s);
	splice_value(&s, id, slice_digits(c->id, number));
	/* Not MSG_NOTIFICATION, because notifications count as lost when a component dies. A cancel is void without its request. */
	send_line(&(struct outgoing){.to = c->to, .dir = c->dir, .kind = MSG_RESPONSE, .text = m->text, .splices = &s});
}

/* Finds the destination of a message by its origin, and opens its envelope. 0, or the code of the error with which it is refused. */
static int
find_receiver(struct port *p, const struct msg *m, struct routed *routed, const char **why)
{
	bool may_wrap = p->kind == PORT_PROXY || p->kind == PORT_OUTER, envelope = m->what == ACP_PROXY_SUCCESSOR;
	struct slice peer = nothing;
	struct port *to;
	int code = 0;

	*routed = (struct routed){.inner = *m};
	if (envelope && may_wrap) {
		if (msg_open_envelope(m, &routed->inner, &peer, why) < 0)
			code = ACP_ERR_PARAMS;
		routed->envelope = m;
	}
	if (envelope && !may_wrap)
		*why = "an envelope (proxy/successor) that does not come from a proxy";
	else if (envelope && code == 0 && routed->inner.what == ACP_PROXY_SUCCESSOR)
		*why = "an envelope (proxy/successor) inside an envelope";
	routed->dir = routed->envelope ? ACP_DOWN : ACP_UP;
	if (p->kind == PORT_OUTER)
		routed->dir = routed->envelope ? ACP_UP : ACP_DOWN;
	else if (p->kind != PORT_PROXY)
		routed->dir = p->kind == PORT_ABOVE ? ACP_DOWN : ACP_UP;
	routed->to = p->next[routed->dir];
	for (to = peer.p ? p->peers : NULL; to && !json_string_is(peer, to->component->peer); to = to->next_peer)
		;
	if (to) {
		routed->to = to;
	} else if (peer.p) {
		*why = "an envelope for an unknown peer";
		code = ACP_ERR_PARAMS;
	}
	if (routed->inner.what == ACP_PROXY_INITIALIZE && routed->dir == ACP_UP)
		*why = "proxy/initialize sent towards the client";
	if (*why && code == 0)
		code = ACP_ERR_INVALID_REQUEST;
	if (code)
		routed->envelope = NULL;
	return code;
}

/* Has the receiver of this message gone, or is it not there yet? */
static bool
has_ended(const struct port *to)
{
	const struct component *c = to->component;

	return to->route->chain->end.broken || (c && (c->life >= LIFE_ENDED || (c->life == LIFE_NONE && c->deaths.too_many) ||
		(c->kind >= KIND_AGENT && to->queue.finishing)));
}

/* Does the receiver wait for its first initialize? A filter gets any message. */
static bool
is_new(const struct port *to)
{
	const struct component *c = to->component;

	return c && c->kind >= KIND_PROXY ? c->life < LIFE_ASKED : !to->route->started;
}

static void
request_or_notification(struct port *p, struct block *block, struct slice text, const struct msg *m)
{
	struct route *r = p->route;
	const char *why = NULL;
	struct routed routed;
	bool initializes;
	int code = find_receiver(p, m, &routed, &why);

	if (code && p->kind == PORT_PROXY && p->component->life == LIFE_ASKED && routed.inner.what == ACP_PROXY_INITIALIZE && !routed.envelope) {
		init_no_proxy(p->component, "sent proxy/initialize back");
		return;
	}
	if (code) {
		if (m->kind == MSG_REQUEST)
			report_line(&r->chain->report, "%s: %s: refused", p->name, why);
		routed.inner = *m;
		log_message(p, &routed, text, m, nothing);
		send_refusal(p, m, &routed, code, why, nothing);
		return;
	}
	if (m->kind == MSG_NOTIFICATION && routed.inner.what == ACP_CANCEL_REQUEST) {
		cancel(p, m, &routed);
		return;
	}
	port_count_time(p, routed.dir);
	p->notes.out[routed.dir] += m->kind == MSG_NOTIFICATION;
	if (init_successor(p, m, &routed))
		return;
	log_message(p, &routed, text, m, nothing);
	initializes = m->kind == MSG_REQUEST && routed.dir == ACP_DOWN &&
		(routed.inner.what == ACP_INITIALIZE || (routed.inner.what == ACP_PROXY_INITIALIZE && p->kind != PORT_PROXY));
	if (m->kind == MSG_REQUEST && has_ended(routed.to))
		send_refusal(p, m, &routed, ACP_ERR_INTERNAL, r->reason.why ? r->reason.why : "the component has ended", send_reason(r));
	else if (routed.to->queue.closed && routed.to->component->kind == KIND_AGENT)
		send_refusal(p, m, &routed, ACP_ERR_INTERNAL, "the agent has closed its standard input", nothing);
	else if (initializes)
		init_request(p, text, m, &routed);
	else if (routed.dir == ACP_DOWN && is_new(routed.to))
		send_refusal(p, m, &routed, ACP_ERR_INVALID_REQUEST,
			port_peer(routed.to) ? "a request to a peer before initialize" : "a request before initialize", nothing);
	else
		send_message(p, block, text, m, &routed);
}

static void
response(struct port *p, struct block *block, struct slice text, const struct msg *m)
{
	struct call *c = call_find(p, m->id);
	uint64_t id;

	if (m->error.p && msg_null_id(m)) {
		send_dropped(p, "an error response without an id", m->error);
		return;
	}
	if (!c) {
		if (!p->init.stale || !json_u64(m->id, &id) || id != p->init.stale)
			send_dropped(p, "a response to no open request", m->id);
		return;
	}
	port_count_time(p, acp_back(c->dir));
	if (init_refused(p, c, m))
		return;
	if (c->what == ACP_INITIALIZE)
		init_response(p, c, m);
	send_response(c, block, text, m);
}

/* --- lines --- */

static void
noise(struct port *p, const struct line *line, const char *why)
{
	if (!line_is_blank(line))
		report_line(&p->route->chain->report, "%s: line %" PRIu64 ": %s: dropped: %.*s", p->name, line->number, why,
			(int)(line->text.n < SHOWN ? line->text.n : SHOWN), line->text.p);
	logs_noise(p->route->logs, p, line->text);
}

/* Discards a line. If a request waits because of it, that gets an error (HACKING.md, rule 5). */
static void
discard(struct port *p, const struct line *line, enum msg_kind unknown, const char *why)
{
	struct slice id;
	enum msg_kind meant = msg_guess_kind(line->text, &id);
	struct call *c = meant == MSG_RESPONSE ? call_find(p, id) : NULL;

	noise(p, line, why);
	if (meant == MSG_NOISE || meant == MSG_NOTIFICATION)
		meant = unknown;
	/* A line that is like a request and like a response was meant as the response, if a request with its id is open. */
	if (meant == MSG_REQUEST && memmem(line->text.p, line->text.n, "\"result\"", 8))
		c = call_find(p, id);
	if (c)
		send_failure(c, ACP_ERR_INTERNAL, "the response was not valid and could not be forwarded", nothing);
	else if (meant == MSG_REQUEST)
		send_refusal(p, &(struct msg){.kind = MSG_REQUEST, .id = id}, &(struct routed){.dir = ACP_DOWN},
			ACP_ERR_INVALID_REQUEST, why, nothing);
}

bool
route_line(void *arg, enum input_got got, const struct line *line)
{
	struct port *p = arg;
	struct json_error error;
	struct msg m;
	enum msg_kind kind;

	if (got == INPUT_PIECE) {
		if (line->first)
			discard(p, line, MSG_REQUEST, "longer than --max-line");
		return true;
	}
	if (got == INPUT_TORN && p->component && p->component->kind < KIND_AGENT) {
		/* The last line of a dying component may be cut. The last line of the client or the agent only lacks its newline. */
		noise(p, line, "an incomplete line");
		return true;
	}
	p->figures.in_messages++;
	p->figures.in_bytes += line->text.n + 1;
	kind = msg_scan(line->text, &m, &error);
	if (kind == MSG_RESPONSE)
		response(p, line->block, line->text, &m);
	else if (kind == MSG_NOISE)
		discard(p, line, MSG_NOISE, error.what);
	else
		request_or_notification(p, line->block, line->text, &m);
	return true;
}
