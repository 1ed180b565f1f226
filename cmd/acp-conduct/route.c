/* Where each line that is read goes. */
#include "route_parts.h"

#include <inttypes.h>
#include <utlist.h>

#include "chain.h"
#include "logs.h"
#include "memory.h"

enum { SHOWN = 200 /* bytes of a line in a report */ };

static const struct slice nothing = {NULL, 0};

/* --- messages --- */

/* $/cancel_request: a new one, bare, with the id of the hop that the request is on. */
static void
cancel(struct port *p, const struct msg *m, const struct plain *pl)
{
	const struct msg *in = &pl->inner;
	struct slice id = nothing;
	struct splices s = {.n = 0};
	struct call *c;
	char number[SLICE_DIGITS];

	if (json_type(in->params) == JSON_OBJECT)
		id = json_get(in->params, acp_request_id);
	c = id.p ? call_find_origin(p, id) : NULL;
	/* It has its response, or never existed: there is nothing to cancel. */
	if (!c)
		return;
	c->cancelled = true;
	if (pl->envelope)
		msg_unwrap(m, in, &s);
	logs_message(p->route->logs, p, c->to, c->dir, m->text, &s, in, c->session);
	while (c->adopted && c->child) {
		c = c->child;
		c->cancelled = true;
	}
	if (c->adopted)
		return;
	s.n = 0;
	if (pl->envelope) {
		splice_value(&s, m->method, in->method);
		splice_value(&s, slice_between(m->params.p, in->params.p), nothing);
		splice_value(&s, slice_between(in->params.p + in->params.n, m->params.p + m->params.n), nothing);
	}
	splice_value(&s, id, slice_digits(c->id, number));
	route_emit(&(struct outgoing){.to = c->to, .dir = c->dir, .kind = ENTRY_CANCEL, .id = c->id, .text = m->text, .splices = &s});
}

/* The peer of that name, a JSON string, or NULL. */
static struct port *
find_peer(const struct port *proxy, struct slice name)
{
	struct port *p;

	LL_FOREACH2(proxy->peers, p, next_peer)
		if (json_string_is(name, p->peer))
			return p;
	return NULL;
}

/* Where it came from decides which way it goes, and its envelope. 0; the code of the error with which it is refused. */
static int
find_way(struct port *p, const struct msg *m, struct plain *pl, const char **why)
{
	bool wraps = p->kind == PORT_PROXY || p->kind == PORT_OUTER, envelope = m->what == ACP_PROXY_SUCCESSOR;
	struct slice peer = nothing;
	struct port *to = NULL;
	int code = 0;

	*pl = (struct plain){.inner = *m, .peer = p->peer};
	if (envelope && wraps) {
		if (msg_open_envelope(m, &pl->inner, &peer, why) < 0)
			code = ACP_ERR_PARAMS;
		pl->envelope = m;
	}
	if (envelope && !wraps)
		*why = "an envelope (proxy/successor) that does not come from a proxy";
	else if (envelope && code == 0 && pl->inner.what == ACP_PROXY_SUCCESSOR)
		*why = "an envelope (proxy/successor) inside an envelope";
	pl->dir = pl->envelope ? ACP_DOWN : ACP_UP;
	if (p->kind == PORT_OUTER)
		pl->dir = pl->envelope ? ACP_UP : ACP_DOWN;
	else if (p->kind != PORT_PROXY)
		pl->dir = p->kind == PORT_ABOVE ? ACP_DOWN : ACP_UP;
	pl->to = pl->dir == ACP_DOWN ? p->below : p->above;
	if (peer.p && (to = find_peer(p, peer))) {
		pl->to = to;
	} else if (peer.p) {
		*why = "an envelope for an unknown peer";
		code = ACP_ERR_PARAMS;
	}
	if (pl->inner.what == ACP_PROXY_INITIALIZE && pl->dir == ACP_UP)
		*why = "proxy/initialize sent towards the client";
	if (*why && code == 0)
		code = ACP_ERR_INVALID_REQUEST;
	if (code)
		pl->envelope = NULL;
	return code;
}

static bool
initializes(const struct port *p, const struct msg *m, const struct plain *pl)
{
	return m->kind == MSG_REQUEST && pl->dir == ACP_DOWN &&
		(pl->inner.what == ACP_INITIALIZE || (pl->inner.what == ACP_PROXY_INITIALIZE && p->kind != PORT_PROXY));
}

/*
 * A session/update of an agent that is restarted: it is remembered. While its sessions are restored it is discarded: the client
 * has it, or does not need it.
 */
static bool
note_update(struct port *p, const struct msg *m)
{
	if (m->what != ACP_SESSION_UPDATE)
		return false;
	if (p->state == PORT_RECOVERING)
		return true;
	if (memory_note_update(p->memory, m) < 0)
		route_no_memory(p->route);
	return false;
}

static void
call_or_note(struct port *p, struct block *block, struct slice text, const struct msg *m)
{
	struct route *r = p->route;
	const char *why = NULL;
	struct session *lost;
	struct plain pl;
	int code = find_way(p, m, &pl, &why);

	if (code && p->state == PORT_INITIALIZING && p->kind == PORT_PROXY && pl.inner.what == ACP_PROXY_INITIALIZE && !pl.envelope) {
		r->no_proxy(p, "it sent proxy/initialize back");
		return;
	}
	if (code) {
		if (m->kind == MSG_REQUEST)
			report_line(r->report, "%s: %s: refused", p->name, why);
		pl.inner = *m;
		route_log(p, &pl, text, m);
		route_refuse(p, m, &pl, code, why, nothing);
		return;
	}
	if (route_accept_place(p, text, m, &pl))
		return;
	if (m->kind == MSG_NOTIFICATION && pl.inner.what == ACP_CANCEL_REQUEST) {
		cancel(p, m, &pl);
		return;
	}
	if (m->kind == MSG_NOTIFICATION)
		p->notes_out[pl.dir]++;
	if (route_initialize_successor(p, m, &pl) || (p->memory && note_update(p, m)))
		return;
	route_log(p, &pl, text, m);
	if (r->broken || pl.to->state == PORT_GONE)
		route_refuse(p, m, &pl, ACP_ERR_INTERNAL, r->why ? r->why : "the component has ended", route_reason(r));
	else if (pl.to->refuses)
		route_refuse(p, m, &pl, ACP_ERR_INTERNAL, "the agent has closed its standard input", nothing);
	else if (initializes(p, m, &pl))
		route_initialize(p, text, m, &pl);
	else if (pl.dir == ACP_DOWN && pl.to->state == PORT_NEW)
		route_refuse(p, m, &pl, ACP_ERR_INVALID_REQUEST, pl.to->peer ? "a request to a peer before initialize" : "a request before initialize", nothing);
	else if (pl.to->memory && (lost = memory_use_session(pl.to->memory, pl.inner.what, msg_session(&pl.inner))))
		route_refuse(p, m, &pl, ACP_ERR_NOT_FOUND, lost->why.p, buf_slice(&lost->refusal));
	else
		route_pass(p, block, text, m, &pl);
}

static void
response(struct port *p, struct block *block, struct slice text, const struct msg *m)
{
	struct call *c = call_find(p, m->id);
	enum acp_method what;
	uint64_t id;
	bool own;

	if (m->error.p && msg_null_id(m)) {
		route_dropped(p, "an error response without an id", m->error);
		return;
	}
	if (!c || c->adopted) {
		if (!p->stale || json_type(m->id) != JSON_NUMBER || !json_u64(m->id, &id) || id != p->stale)
			route_dropped(p, "a response to no open request", m->id);
		return;
	}
	if (route_knows_no_proxy(p, c, m)) {
		if (!route_ask_in_other_dialect(p))
			p->route->no_proxy(p, "it refused proxy/initialize");
		return;
	}
	own = c->own;
	what = c->what;
	if (what == ACP_INITIALIZE)
		route_has_initialized(p, c, m);
	else if (!own && p->memory && memory_note_response(p->memory, c, m) < 0)
		route_no_memory(p->route);
	route_answer(c, block, text, m);
	if (own)
		p->route->own_response(p, what, m);
}

/* --- lines --- */

static enum acp_direction
direction(const struct port *p)
{
	return p->kind == PORT_ABOVE ? ACP_DOWN : ACP_UP;
}

static void
noise(struct port *p, const struct line *line, const char *why)
{
	if (!line_is_blank(line))
		report_line(p->route->report, "%s: line %" PRIu64 ": %s: dropped: %.*s", p->name, line->number, why,
			(int)(line->text.n < SHOWN ? line->text.n : SHOWN), line->text.p);
	logs_noise(p->route->logs, p, line->text);
}

/* Discards a line. If a request waits because of it, that gets an error (DESIGN, rule 5). */
static void
discard(struct port *p, const struct line *line, enum msg_kind unknown, const char *why)
{
	static const char invalid[] = "the response was not valid and could not be forwarded";
	struct slice id;
	enum msg_kind meant = msg_noise_meant(line->text, &id);
	struct buf answer = {0};
	struct call *c = meant == MSG_RESPONSE ? call_find(p, id) : NULL;

	noise(p, line, why);
	if (meant == MSG_NOISE || meant == MSG_NOTIFICATION)
		meant = unknown;
	/* What is both, and has the id of a request that is open, was meant for that. */
	if (meant == MSG_REQUEST && memmem(line->text.p, line->text.n, "\"result\"", 8))
		c = call_find(p, id);
	if (c)
		route_fail_call(c, ACP_ERR_INTERNAL, invalid, nothing);
	if (c || meant != MSG_REQUEST)
		return;
	if (p->out.out.full)
		p->self_blocked = p->route->flow_changed = true;
	if (msg_make_error(&answer, id, ACP_ERR_INVALID_REQUEST, why, nothing) < 0)
		route_no_memory(p->route);
	else
		route_put_made(p, &answer, ENTRY_RESPONSE, ACP_UP);
}

static void
route_one(struct port *p, const struct line *line)
{
	struct json_error error;
	struct msg m;
	enum msg_kind kind;

	p->in_counts.messages[direction(p)]++;
	p->in_counts.bytes[direction(p)] += line->text.n + 1;
	kind = msg_scan(line->text, &m, &error);
	if (kind == MSG_RESPONSE)
		response(p, line->block, line->text, &m);
	else if (kind == MSG_NOISE)
		discard(p, line, MSG_NOISE, error.what);
	else
		call_or_note(p, line->block, line->text, &m);
}

/* --- lines that are carried --- */

static bool
is_json(struct slice text)
{
	static const struct json_keys none = {0};
	struct slice values[1];

	return json_members(text, JSON_DEPTH, &none, values, NULL) != JSON_NONE;
}

/*
 * The end of a message is no JSON: cut between two strings it lacks a bracket, cut within one it has an odd number of quotes.
 * So what is JSON has not been begun by anybody. A line beyond the limit is not looked at.
 */
static bool
is_whole(enum input_got got, const struct line *line)
{
	size_t blank = strspn(line->text.p, " \t");

	if (got == INPUT_PIECE)
		return line->first && line->text.n > blank && (line->text.p[blank] == '{' || line->text.p[blank] == '[');
	return is_json(line->text);
}

/* Drops the rest of a line that the dead process had partly read. False: the line is not such a rest. */
static bool
drop_rest(struct port *to, enum input_got got, const struct line *line)
{
	bool last = got != INPUT_PIECE || line->last;

	if (!to->check_rest)
		return false;
	if (to->dropped == 0 && is_whole(got, line)) {
		to->check_rest = false;
		return false;
	}
	to->dropped += line->text.n + (got == INPUT_LINE);
	if (!last)
		return true;
	if (!line_is_blank(line) && to->sink->reader)
		report_line(to->route->report, "%s: %s: dropped the rest of a line that it had partly read before it died (%" PRIu64 " bytes)",
			to->sink->reader->name, to->sink->dir == ACP_DOWN ? "down" : "up", to->dropped);
	to->check_rest = false;
	to->dropped = 0;
	return true;
}

void
route_carry(struct port *to, enum input_got got, const struct line *line)
{
	int r;

	if (drop_rest(to, got, line))
		return;
	if (to->forward_to) {
		route_line(to->forward_to, got, line);
		return;
	}
	if (got == INPUT_PIECE)
		r = endpoint_put(&to->out, line->block, line->text);
	else
		r = endpoint_put_line(&to->out, line->block, line->text, got == INPUT_TORN);
	if (r < 0)
		route_no_memory(to->route);
	port_queue_changed(to);
}

bool
route_line(void *arg, enum input_got got, const struct line *line)
{
	struct port *p = arg;

	p->read += line->text.n + 1;
	if (p->carries) {
		route_carry(direction(p) == ACP_DOWN ? p->below : p->above, got, line);
	} else if (got == INPUT_PIECE) {
		if (line->first) {
			discard(p, line, MSG_REQUEST, "longer than --max-line");
		}
	} else if (got == INPUT_TORN && p->source && p->source->writer && p->source->writer->kind < KIND_AGENT) {
		/* A dying component's last line may be cut; the client's or the agent's only lacks its newline. */
		noise(p, line, "an incomplete line");
	} else {
		route_one(p, line);
	}
	return true;
}
