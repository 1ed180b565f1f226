/* The filter: which message concerns whom. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/declare.h"
#include "cmd/acp-mcp/mcp.h"
#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/provide.h"
#include "cmd/acp-mcp/server.h"
#include "lib/cli.h"
#include "lib/proc.h"

/* A request that declares servers, before the agent has said what it takes. */
struct early {
	struct early *next;
	struct held *held;
};

void
mcp_fail(struct mcp *m, const char *why)
{
	frame_say(m->frame, "%s", why);
	frame_quit(m->frame, EXIT_FAILED);
}

static enum verdict
checked(struct mcp *m, int r, enum verdict v)
{
	if (r < 0)
		mcp_fail(m, "out of memory");
	return v;
}

/* --- declarations --- */

static enum verdict
hold_early(struct mcp *m)
{
	struct early *e = calloc(1, sizeof(*e)), **at = &m->early;

	if (!e || !(e->held = frame_hold(m->frame))) {
		free(e);
		return checked(m, -1, VERDICT_PASS);
	}
	while (*at)
		at = &(*at)->next;
	*at = e;
	return VERDICT_HOLD;
}

static enum verdict
declare(struct mcp *m, const struct seen *s)
{
	struct buf with = {0};
	struct slice what;
	int r;

	/* In the array that asks it would wait for itself. */
	if (m->asked && m->asked != s->number)
		return hold_early(m);
	r = declare_change(m, &s->msg, &what, &with);
	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	buf_free(&with);
	return checked(m, r, VERDICT_PASS);
}

static int
release(struct mcp *m, struct held *h)
{
	struct slice text = frame_held_text(h), what;
	struct buf with = {0}, edited = {0};
	struct json_error error;
	struct splice change;
	struct msg msg;
	int r;

	msg_scan(text, &msg, &error);
	r = declare_change(m, &msg, &what, &with);
	if (r == 1) {
		change = (struct splice){what.p, what.p + what.n, buf_slice(&with)};
		r = splice_write(text, &change, 1, &edited);
	}
	frame_release(m->frame, h, VERDICT_PASS, r == 0 && edited.n ? buf_slice(&edited) : slice(NULL, 0));
	buf_free(&with);
	buf_free(&edited);
	return r;
}

static int
release_early(struct mcp *m)
{
	struct early *e;
	int r = 0;

	while ((e = m->early)) {
		m->early = e->next;
		r |= release(m, e->held);
		free(e);
	}
	return r;
}

/* The agent's answer to initialize: what it takes; towards the client it takes servers of type acp in any case. */
static enum verdict
learn(struct mcp *m, const struct seen *s)
{
	struct buf with = {0};
	struct slice what;
	int r = 0;

	if (s->msg.result.p)
		m->agent = declare_taken(s->msg.result, &m->v2);
	if (m->agent == AGENT_HELPLESS && m->options->nprovided)
		frame_say(m->frame, "the agent takes no MCP servers of ours: neither of type acp nor stdio");
	if (s->msg.result.p && m->agent == AGENT_LACKS)
		r = declare_claim(s->msg.result, m->v2, &what, &with);
	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	buf_free(&with);
	m->asked = 0;
	if (r == 0)
		r = release_early(m);
	return checked(m, r, VERDICT_PASS);
}

static enum verdict
take_response(struct mcp *m, enum lane lane, const struct seen *s)
{
	enum acp_method what = s->request && lane == LANE_UP ? s->request->what : ACP_OTHER;

	if (what == ACP_INITIALIZE)
		return learn(m, s);
	if (acp_opens_session(what))
		return checked(m, server_opened(m, s), VERDICT_PASS);
	if ((what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE) && !s->msg.error.p)
		server_closed(m, s->request->session);
	return VERDICT_PASS;
}

/* --- messages of MCP over ACP --- */

static enum verdict
refuse_broken(struct mcp *m)
{
	return checked(m, frame_refuse(m->frame, NULL, MCP_ERR_BACKEND, "acp-mcp: the server could not be started", slice(NULL, 0)),
		VERDICT_DROP);
}

static enum verdict
connect_offered(struct mcp *m, const struct provided *p)
{
	struct conn *c = conn_start(m, p, &form_first);
	struct buf result = {0};
	int r;

	if (!c)
		return refuse_broken(m);
	/* A name that no other component gives: the server's own has a random part. */
	r = buf_printf(&c->id, "%.*s-%llu\"", (int)p->id.n - 1, p->id.p, (unsigned long long)++m->nconns);
	if (r == 0)
		r = buf_printf(&result, "{\"%s\":%.*s}", acp_connection_id, (int)c->id.n, c->id.p);
	if (r == 0)
		r = frame_answer(m->frame, NULL, buf_slice(&result));
	buf_free(&result);
	return checked(m, r, VERDICT_DROP);
}

static enum verdict
take_connect(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = mcp_string(s->msg.params, acp_acp_id);
	const struct provided *p;

	if (!id.p)
		id = mcp_string(s->msg.params, acp_server_id);
	p = id.p && lane == LANE_UP && s->msg.kind == MSG_REQUEST ? provide_by_id(m, id) : NULL;
	return p ? connect_offered(m, p) : VERDICT_PASS;
}

/* A notification of the newest form: about one of a shim's requests. */
static enum verdict
take_about(struct mcp *m, const struct seen *s)
{
	struct slice id = mcp_string(s->msg.params, acp_server_id);

	return id.p && s->msg.kind == MSG_NOTIFICATION && conn_tell_about(m, id, &s->msg) ? VERDICT_DROP : VERDICT_PASS;
}

/* A request of it: for a server that we offer. */
static enum verdict
take_newest(struct mcp *m, const struct seen *s)
{
	struct slice id = mcp_string(s->msg.params, acp_server_id);
	const struct provided *p = id.p ? provide_by_id(m, id) : NULL;
	struct conn *c;

	if (!p)
		return VERDICT_PASS;
	if (s->msg.kind != MSG_REQUEST)
		return VERDICT_DROP;
	c = conn_serving(m, p);
	if (!c)
		c = conn_start(m, p, &form_newest_offer);
	return c ? conn_take(c, s) : refuse_broken(m);
}

static enum verdict
take_message(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = mcp_string(s->msg.params, acp_connection_id);
	struct conn *c = id.p ? conn_find(m, lane, id) : NULL;

	if (c)
		return conn_take(c, s);
	if (id.p)
		return VERDICT_PASS;
	return lane == LANE_DOWN ? take_about(m, s) : take_newest(m, s);
}

static enum verdict
take_disconnect(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = mcp_string(s->msg.params, acp_connection_id);
	struct conn *c = id.p ? conn_find(m, lane, id) : NULL;

	if (!c)
		return VERDICT_PASS;
	conn_finish(c);
	return checked(m, s->msg.kind == MSG_REQUEST ? frame_answer(m->frame, NULL, slice_of("{}")) : 0, VERDICT_DROP);
}

static enum verdict
take_cancel(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = {NULL, 0};

	if (s->msg.kind == MSG_NOTIFICATION && json_type(s->msg.params) == JSON_OBJECT)
		id = json_get(s->msg.params, acp_request_id);
	return id.p && conn_cancel_any(m, lane, id) ? VERDICT_DROP : VERDICT_PASS;
}

/* --- what the frame calls --- */

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *s)
{
	struct mcp *m = state;

	(void)f;
	if (s->msg.kind == MSG_RESPONSE)
		return take_response(m, lane, s);
	if (lane == LANE_DOWN && s->msg.kind == MSG_REQUEST && acp_opens_session(s->msg.what))
		return declare(m, s);
	switch (s->msg.what) {
	case ACP_INITIALIZE:
		if (lane == LANE_DOWN && s->msg.kind == MSG_REQUEST)
			m->asked = s->number;
		return VERDICT_PASS;
	case ACP_MCP_CONNECT:
		return take_connect(m, lane, s);
	case ACP_MCP_MESSAGE:
		return take_message(m, lane, s);
	case ACP_MCP_DISCONNECT:
		return take_disconnect(m, lane, s);
	case ACP_CANCEL_REQUEST:
		return take_cancel(m, lane, s);
	default:
		return VERDICT_PASS;
	}
}

static void
answered(void *state, struct frame *f, void *tag, const struct seen *s)
{
	(void)f;
	conn_answered(state, tag, &s->msg);
}

static void
settled(void *state, struct frame *f)
{
	(void)f;
	conn_look(state);
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
	struct early *e;

	(void)f;
	conn_close_all(m);
	provide_end_all(m);
	conn_free_all(m);
	server_end_all(m);
	while ((e = m->early)) {
		m->early = e->next;
		free(e);
	}
	return 0;
}

int
mcp_run(const struct options *o)
{
	struct mcp m = {.options = o};
	const struct filter filter = {.name = tool_name, .needs = FRAME_EDIT | FRAME_BOTH_LANES | FRAME_ANSWER, .state = &m,
		.start = start, .message = message, .answer = answered, .settled = settled, .end = end};
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
