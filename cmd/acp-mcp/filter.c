/* The filter: which message concerns whom. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/declare.h"
#include "cmd/acp-mcp/mcp.h"
#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/provide.h"
#include "cmd/acp-mcp/server.h"
#include "lib/cli.h"

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
out_of_memory(struct mcp *m)
{
	mcp_fail(m, "out of memory");
	return VERDICT_PASS;
}

/* --- declarations --- */

static bool
declares(const struct msg *m)
{
	return m->kind == MSG_REQUEST && (m->what == ACP_SESSION_NEW || m->what == ACP_SESSION_LOAD
		|| m->what == ACP_SESSION_RESUME || m->what == ACP_SESSION_FORK);
}

static enum verdict
hold_early(struct mcp *m)
{
	struct early *e = calloc(1, sizeof(*e)), **at = &m->early;

	if (!e || !(e->held = frame_hold(m->frame))) {
		free(e);
		return out_of_memory(m);
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

	if (m->agent == AGENT_UNKNOWN)
		return hold_early(m);
	r = declare_change(m, s->msg.params, &what, &with);
	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	buf_free(&with);
	return r < 0 ? out_of_memory(m) : VERDICT_PASS;
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
	r = declare_change(m, msg.params, &what, &with);
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

	if (!s->msg.result.p)
		return VERDICT_PASS;
	m->agent = declare_taken(s->msg.result, &m->v2) ? AGENT_TAKES : AGENT_LACKS;
	if (m->agent == AGENT_LACKS)
		r = declare_claim(s->msg.result, m->v2, &what, &with);
	if (r == 1)
		r = frame_replace(m->frame, what, buf_slice(&with));
	buf_free(&with);
	if (r == 0)
		r = release_early(m);
	return r < 0 ? out_of_memory(m) : VERDICT_PASS;
}

/* --- messages of MCP over ACP --- */

static struct slice
string_in(const struct msg *m, const char *member)
{
	struct slice v = json_type(m->params) == JSON_OBJECT ? json_get(m->params, member) : slice(NULL, 0);

	return json_type(v) == JSON_STRING ? v : slice(NULL, 0);
}

static enum verdict
answer(struct mcp *m, struct slice result)
{
	return frame_answer(m->frame, NULL, result) < 0 ? out_of_memory(m) : VERDICT_DROP;
}

/* A name for a connection that no other component gives. */
static int
name_connection(struct mcp *m, struct conn *c)
{
	return buf_printf(&c->id, "%.*s-%llu\"", (int)c->provided->id.n - 1, c->provided->id.p, (unsigned long long)++m->nconns);
}

static enum verdict
connect_offered(struct mcp *m, const struct provided *p)
{
	struct conn *c = conn_start(m, p, &form_first);
	struct buf result = {0};
	enum verdict v;

	if (!c)
		return frame_refuse(m->frame, NULL, MCP_ERR_BACKEND, "acp-mcp: the server could not be started", slice(NULL, 0)) < 0
			? out_of_memory(m) : VERDICT_DROP;
	if ((name_connection(m, c) | buf_printf(&result, "{\"%s\":", acp_connection_id) | buf_add(&result, c->id.p, c->id.n)
		| buf_add(&result, "}", 1)) < 0)
		return out_of_memory(m);
	v = answer(m, buf_slice(&result));
	buf_free(&result);
	return v;
}

static enum verdict
take_connect(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = string_in(&s->msg, acp_acp_id);
	const struct provided *p;

	if (!id.p)
		id = string_in(&s->msg, acp_server_id);
	p = id.p && lane == LANE_UP && s->msg.kind == MSG_REQUEST ? provide_by_id(m, id) : NULL;
	return p ? connect_offered(m, p) : VERDICT_PASS;
}

/* The newest form: a request for a server that we offer, or a notification about one of a shim's requests. */
static enum verdict
take_newest(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = string_in(&s->msg, acp_server_id);
	const struct provided *p = lane == LANE_UP && id.p ? provide_by_id(m, id) : NULL;
	struct conn *c;

	if (lane == LANE_DOWN)
		return id.p && s->msg.kind == MSG_NOTIFICATION && conn_tell_about(m, id, &s->msg) ? VERDICT_DROP : VERDICT_PASS;
	if (!p)
		return VERDICT_PASS;
	if (s->msg.kind != MSG_REQUEST)
		return VERDICT_DROP;
	c = conn_serving(m, p);
	if (!c)
		c = conn_start(m, p, &form_newest_offer);
	if (c)
		return conn_take(c, s);
	return frame_refuse(m->frame, NULL, MCP_ERR_BACKEND, "acp-mcp: the server could not be started", slice(NULL, 0)) < 0
		? out_of_memory(m) : VERDICT_DROP;
}

static enum verdict
take_message(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = string_in(&s->msg, acp_connection_id);
	struct conn *c;

	if (!id.p)
		return take_newest(m, lane, s);
	c = conn_find(m, lane, id);
	return c ? conn_take(c, s) : VERDICT_PASS;
}

static enum verdict
take_disconnect(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = string_in(&s->msg, acp_connection_id);
	struct conn *c = id.p ? conn_find(m, lane, id) : NULL;

	if (!c)
		return VERDICT_PASS;
	conn_finish(c);
	return s->msg.kind == MSG_REQUEST ? answer(m, slice_of("{}")) : VERDICT_DROP;
}

static enum verdict
take_cancel(struct mcp *m, enum lane lane, const struct seen *s)
{
	struct slice id = json_type(s->msg.params) == JSON_OBJECT ? json_get(s->msg.params, acp_request_id) : slice(NULL, 0);

	return id.p && conn_cancel_any(m, lane, id) ? VERDICT_DROP : VERDICT_PASS;
}

/* --- what the frame calls --- */

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *s)
{
	struct mcp *m = state;

	(void)f;
	if (s->msg.kind == MSG_RESPONSE)
		return lane == LANE_UP && s->request && s->request->what == ACP_INITIALIZE ? learn(m, s) : VERDICT_PASS;
	if (lane == LANE_DOWN && declares(&s->msg))
		return declare(m, s);
	switch (s->msg.what) {
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
	conn_end_all(m);
	provide_end_all(m);
	server_end_all(m);
	while ((e = m->early)) {
		m->early = e->next;
		free(e);
	}
	return 0;
}

/* The path of this very program: what the agent is to start. */
static char *
own_path(void)
{
	struct buf path = {0};
	ssize_t n;

	do {
		if (buf_reserve(&path, path.cap + 256) < 0)
			break;
		n = readlink("/proc/self/exe", path.p, path.cap);
		if (n > 0 && (size_t)n < path.cap) {
			path.n = (size_t)n;
			return buf_string(&path);
		}
	} while (n > 0);
	buf_free(&path);
	return NULL;
}

int
mcp_run(const struct options *o)
{
	struct mcp m = {.options = o};
	const struct filter filter = {.name = tool_name, .needs = FRAME_EDIT | FRAME_BOTH_LANES | FRAME_ANSWER, .state = &m,
		.start = start, .message = message, .answer = answered, .settled = settled, .end = end};
	int status;

	m.self = own_path();
	if (!m.self) {
		cli_warn(tool_name, "the path of this program: %s", strerror(errno));
		return EXIT_FAILED;
	}
	status = frame_run(&filter, &o->frame);
	free(m.self);
	return status;
}
