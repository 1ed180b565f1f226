/* The filter: passes each message to the part that handles it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-mcp/conn.h"
#include "lib/run/proc.h"

/* --- declarations --- */

/*
 * Must this message from the client wait until the agent has reported which servers it supports? A request that declares servers
 * must wait, and so must later messages. Responses pass, and cancellations of requests that are not held: the agent may need them
 * to respond to initialize.
 */
static bool
must_wait(const struct mcp *m, const struct message *s)
{
	struct slice id = {NULL, 0};
	struct held *h;

	if (!m->asked || s->msg.kind == MSG_RESPONSE)
		return false;
	if (m->early_bytes == 0)
		return s->msg.kind == MSG_REQUEST && acp_opens_session(s->msg.what) && declare_any(m, &s->msg);
	if (s->msg.what == ACP_CANCEL_REQUEST)
		id = json_get(s->msg.params, acp_request_id);
	for (h = id.p ? frame_held_next(m->frame, m, NULL) : NULL; h && !frame_held_is(h, id);)
		h = frame_held_next(m->frame, m, h);
	return !id.p || h;
}

static enum verdict
declare(struct mcp *m, const struct message *s)
{
	SCOPED struct buf with = {0};
	struct slice what;
	int r = declare_change(m, &s->msg, &what, &with);

	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	mcp_check(m, r);
	return VERDICT_PASS;
}

/* Notes which servers the agent supports, by its response to initialize. Adds support of type acp if it supports only stdio. */
static enum verdict
note_agent_kind(struct mcp *m, const struct message *s)
{
	SCOPED struct buf with = {0};
	struct slice what;
	struct held *h;
	int r = 0;

	if (s->msg.result.p)
		m->agent = declare_agent_kind(s->msg.result, &m->v2);
	if (m->agent == AGENT_NEITHER && m->options->nprovided)
		frame_warn(m->frame, "the agent supports MCP servers neither of type acp nor of type stdio: none is offered");
	if (s->msg.result.p && m->agent == AGENT_STDIO)
		r = declare_claim(s->msg.result, m->v2, &what, &with);
	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	mcp_check(m, r);
	m->asked = false;
	/* A held message may be another initialize: then all messages after it wait for its response. */
	while (!m->asked && (h = frame_held_next(m->frame, m, NULL))) {
		m->early_bytes -= frame_held_text(h).n;
		frame_show_again(m->frame, h);
	}
	return VERDICT_PASS;
}

static enum verdict
on_response(struct mcp *m, enum acp_direction dir, const struct message *s)
{
	enum acp_method what = s->request && dir == ACP_UP ? s->request->what : ACP_OTHER;

	if (what == ACP_INITIALIZE)
		return note_agent_kind(m, s);
	if (acp_opens_session(what))
		server_opened(m, s);
	if (what == ACP_SESSION_PROMPT && !s->msg.error.p)
		server_turn(m, s->request->session, true);
	if ((what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE) && !s->msg.error.p)
		server_closed(m, s->request->session);
	return VERDICT_PASS;
}

/* --- messages of MCP over ACP --- */

static enum verdict
on_connect(struct mcp *m, enum acp_direction dir, const struct message *s)
{
	struct slice id = json_get_string(s->msg.params, acp_acp_id);
	const struct provided *p;
	SCOPED struct buf result = {0};
	struct conn *c;
	int r;

	if (!id.p)
		id = json_get_string(s->msg.params, acp_server_id);
	p = id.p && dir == ACP_UP && s->msg.kind == MSG_REQUEST ? provide_by_id(m, id) : NULL;
	if (!p)
		return VERDICT_PASS;
	c = conn_start(m, p, &form_first, &s->msg);
	if (!c)
		return VERDICT_DROP;
	/* No other process makes this id, nor did an earlier process of this component. */
	r = buf_printf(&c->id, "%.*s-%016" PRIx64 "-%" PRIu64 "\"", (int)p->id.n - 1, p->id.p, m->options->token, ++m->nconns);
	r |= buf_printf(&result, "{\"%s\":%.*s}", acp_connection_id, (int)c->id.n, c->id.p);
	r |= frame_reply(m->frame, NULL, buf_slice(&result));
	mcp_check(m, r);
	return VERDICT_DROP;
}

/* Handles a message of the newest form, if it is for a server of --provide. */
static enum verdict
on_newest_request(struct mcp *m, const struct message *s, struct slice id)
{
	const struct provided *p = id.p ? provide_by_id(m, id) : NULL;
	struct conn *c;

	if (!p)
		return VERDICT_PASS;
	if (s->msg.kind != MSG_REQUEST)
		return VERDICT_DROP;
	c = conn_serving(m, p);
	if (!c)
		c = conn_start(m, p, &form_newest_offer, &s->msg);
	return c ? conn_deliver(c, s) : VERDICT_DROP;
}

static enum verdict
on_mcp_message(struct mcp *m, enum acp_direction dir, const struct message *s)
{
	struct slice id = json_get_string(s->msg.params, acp_connection_id), server;
	struct conn *c = id.p ? conn_find(m, dir, id) : NULL;

	if (c)
		return conn_deliver(c, s);
	if (id.p && dir == ACP_UP && provide_by_connection(m, id))
		return mcp_refuse(m, &s->msg, MCP_ERR_UNAVAILABLE, "acp-mcp: there is no such connection any more");
	if (id.p)
		return VERDICT_PASS;
	server = json_get_string(s->msg.params, acp_server_id);
	if (dir == ACP_UP)
		return on_newest_request(m, s, server);
	/* In the newest form a notification is about one of a shim's requests. */
	return server.p && s->msg.kind == MSG_NOTIFICATION && conn_forward_notification(m, server, &s->msg) ? VERDICT_DROP : VERDICT_PASS;
}

static enum verdict
on_disconnect(struct mcp *m, enum acp_direction dir, const struct message *s)
{
	struct slice id = json_get_string(s->msg.params, acp_connection_id);
	struct conn *c = id.p ? conn_find(m, dir, id) : NULL;

	if (!c && !(id.p && dir == ACP_UP && provide_by_connection(m, id)))
		return VERDICT_PASS;
	if (c)
		conn_finish(c);
	if (s->msg.kind == MSG_REQUEST)
		mcp_check(m, frame_reply(m->frame, NULL, slice_of("{}")));
	return VERDICT_DROP;
}

static enum verdict
on_cancel(struct mcp *m, enum acp_direction dir, const struct message *s)
{
	struct slice id = json_get(s->msg.params, acp_request_id);

	if (s->msg.kind != MSG_NOTIFICATION)
		return VERDICT_PASS;
	/* The client never saw a request to which acp-mcp responded. */
	return conn_cancel_any(m, dir, id) || (dir == ACP_UP && !frame_open_request(m->frame, dir, id)) ? VERDICT_DROP : VERDICT_PASS;
}

/* Connects a shim of the agent to a command of --provide, or else to the chain. */
static void
accept_shim(struct mcp *m, struct server *s, int fd)
{
	const struct provided *p = provide_by_id(m, s->id);

	if (p)
		provide_serve(m, p, fd);
	else if (conn_accept(m, s, fd) < 0)
		frame_warn(m->frame, "%s: %s", s->path, strerror(errno));
	conn_update_all(m);
}

/* --- functions that the frame calls --- */

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *s)
{
	struct mcp *m = state;
	struct held *h;

	(void)f;
	if (dir == ACP_DOWN && must_wait(m, s)) {
		h = frame_hold(m->frame, m);
		mcp_check(m, h ? 0 : -1);
		m->early_bytes += h ? frame_held_text(h).n : 0;
		return h ? VERDICT_HOLD : VERDICT_PASS;
	}
	if (s->msg.kind == MSG_RESPONSE)
		return on_response(m, dir, s);
	if (dir == ACP_DOWN && s->msg.kind == MSG_REQUEST && acp_opens_session(s->msg.what))
		return declare(m, s);
	switch (s->msg.what) {
	case ACP_INITIALIZE:
		m->asked |= dir == ACP_DOWN && s->msg.kind == MSG_REQUEST;
		return VERDICT_PASS;
	case ACP_MCP_CONNECT:
		return on_connect(m, dir, s);
	case ACP_MCP_MESSAGE:
		return on_mcp_message(m, dir, s);
	case ACP_MCP_DISCONNECT:
		return on_disconnect(m, dir, s);
	case ACP_CANCEL_REQUEST:
		return on_cancel(m, dir, s);
	case ACP_SESSION_UPDATE:
		if (m->v2 && json_string_is(json_path(s->msg.params, acp_update_state), acp_idle))
			server_turn(m, message_session(s), false);
		return VERDICT_PASS;
	default:
		return VERDICT_PASS;
	}
}

static void
response(void *state, struct frame *f, void *tag, const struct message *s)
{
	(void)f;
	conn_response(state, tag, &s->msg);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	(void)f;
	if (e->kind == FRAME_EOF && e->from == ACP_CLIENT)
		conn_client_left(state);
	if (e->kind == FRAME_BATCH || e->kind == FRAME_WRITABLE)
		conn_update_all(state);
}

static int
start(void *state, struct frame *f)
{
	struct mcp *m = state;

	m->frame = f;
	return 0;
}

static int
end(void *state, struct frame *f)
{
	struct mcp *m = state;

	(void)f;
	conn_close_all(m);
	provide_end_all(m);
	conn_free_all(m);
	server_end_all(m);
	return 0;
}

int
mcp_run(const struct options *o)
{
	struct mcp m = {.options = o, .accept = accept_shim};
	const struct filter filter = {.name = tool_name, .needs = FILTER_EDITS | FILTER_SENDS, .state = &m,
		.start = start, .message = message, .response = response, .event = event, .end = end};
	int status;

	m.self = proc_self();
	if (!m.self) {
		cli_warn(tool_name, "the path of this program: %s", strerror(errno));
		return EXIT_FAILED;
	}
	status = frame_run(&filter, &o->frame);
	free(m.self);
	return status;
}
