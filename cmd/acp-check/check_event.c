/* Checks what the order of messages says about connections, requests and sessions. */
#include "cmd/acp-check/check.h"

#include <inttypes.h>
#include <stdlib.h>

static bool
is_initialize(enum acp_method what)
{
	return what == ACP_INITIALIZE || what == ACP_PROXY_INITIALIZE;
}

/* --- the connection --- */

/* Takes over the version that initialize asks for, or that its response agrees on. */
static void
set_version(struct check *c, struct slice from)
{
	uint64_t n;

	if (!c->options->protocol && json_u64(json_get(from, acp_protocol_version), &n))
		c->conn.version = n == 2 ? 2 : 1;
}

static void
set_capabilities(struct check *c, enum acp_side side, struct slice from)
{
	struct slice value = json_get(from, c->conn.version == 2 ? "capabilities" : side == ACP_CLIENT ? "clientCapabilities" : "agentCapabilities");
	struct buf *to = &c->conn.capabilities[side];

	to->n = 0;
	c->failed |= buf_add_slice(to, json_type(value) == JSON_OBJECT ? value : slice_of("{}")) < 0;
}

/* Begins a connection; a recording may lack its initialize. */
static void
connect(struct check *c, const struct session_message *seen)
{
	struct slice params = seen->message.msg.params;

	c->conn.enveloped = seen->enveloped;
	if (seen->message.msg.kind != MSG_REQUEST || !is_initialize(seen->message.msg.what))
		return;
	if (c->conn.early_agent && !c->conn.early)
		check_report(c, RULE_BEFORE_INITIALIZE, "method", "initialize before the agent's first message", slice(NULL, 0));
	check_begin(c, c->selected);
	c->conn.initialized = true;
	c->conn.enveloped = seen->enveloped;
	set_version(c, params);
	set_capabilities(c, ACP_CLIENT, params);
	/* The agreed version decides which member has the client's capabilities, so the params are kept until then. */
	c->failed |= buf_add_slice(&c->conn.initialize_params, params.p ? params : slice_of("{}")) < 0;
}

static void
agree(struct check *c, const struct session_message *seen)
{
	struct slice agreed = json_get(seen->message.msg.result, acp_protocol_version), logins;
	uint64_t n;

	if (!seen->message.msg.result.p || seen->enveloped != c->conn.enveloped)
		return;
	if (json_u64(agreed, &n) && (n == 0 || n > 2))
		check_report(c, RULE_VERSION, "result.protocolVersion", "1 or 2", agreed);
	set_version(c, seen->message.msg.result);
	if (c->conn.initialize_params.n > 0)
		set_capabilities(c, ACP_CLIENT, buf_slice(&c->conn.initialize_params));
	buf_free(&c->conn.initialize_params);
	set_capabilities(c, ACP_AGENT, seen->message.msg.result);
	logins = json_get(seen->message.msg.result, "authMethods");
	c->conn.logins.n = 0;
	c->failed |= buf_add_slice(&c->conn.logins, json_type(logins) == JSON_ARRAY ? logins : slice_of("[]")) < 0;
	c->marks++;
	if (c->options->coverage)
		coverage_offer(c);
}

/* --- requests --- */

static void
open_request(struct check *c, struct session_request *r, const struct msg *m)
{
	struct slice options = m->what == ACP_REQUEST_PERMISSION ? json_get(m->params, acp_options) : slice(NULL, 0);
	struct slice text = c->options->where ? m->text : slice(NULL, 0);
	struct check_request *data = calloc(1, sizeof(*data) + options.n + text.n);
	struct check_session *s = r->session ? r->session->data : NULL;
	char *to;

	r->data = data;
	c->failed |= !data;
	if (!data)
		return;
	to = data->bytes;
	data->options = slice_keep(&to, options);
	data->text = slice_keep(&to, text);
	data->where = c->where;
	data->sent = c->conn.sent[acp_other_side(r->request->from)];
	data->releases = r->copy ? 0 : check_terminal(c, m);
	data->connected = json_get(m->params, "connectionId").p != NULL;
	if (s && m->what == ACP_SESSION_RESUME && !r->copy)
		s->stated = false;
	if (s && m->what == ACP_SESSION_RESUME)
		s->replay = json_type(json_get(m->params, "replayFrom")) != JSON_OBJECT ? CHECK_RESUMING : CHECK_NO_REPLAY;
	/* The client tries again to open a session that could not be opened. */
	if (s && s->opening == CHECK_UNOPENED && (m->what == ACP_SESSION_LOAD || m->what == ACP_SESSION_RESUME))
		s->opening = CHECK_LOADING;
}

/* Appends how long a request was open, and how many messages the side that should respond sent meanwhile. */
static int
put_waited(struct check *c, struct buf *to, const struct session_request *r, const struct check_request *data)
{
	enum acp_side other = acp_other_side(r->request->from);
	const char *name = acp_side_name(r->enveloped ? r->request->from : other);
	uint64_t n = c->conn.sent[other] - data->sent, t = data->where.t;
	int e = !data->where.timed ? buf_printf(to, "a response, while the %s sent ", name) :
		buf_printf(to, "a response within %.1f s, in which the %s sent ", (double)(c->now - t) / 1e6, name);

	if (n == 0)
		return e | buf_add_string(to, "nothing");
	e |= buf_printf(to, "%" PRIu64 " message%s", n, n > 1 ? "s" : "");
	if (data->where.timed)
		e |= buf_printf(to, ", the last after %.1f s", (double)(c->conn.last[other] - t) / 1e6);
	return e;
}

/* Reports a request that never got its response. */
static void
report_unanswered(struct check *c, struct session_request *r, enum rule_id rule)
{
	const struct check_request *data = r->data;
	const struct request *q = r->request;
	struct message s = {.from = r->enveloped ? acp_other_side(q->from) : q->from, .t = data->where.t, .request = q, /* for its session */
		.msg = {.kind = MSG_REQUEST, .what = q->what, .id = q->id, .method = q->method}};
	SCOPED struct buf text = {0};
	struct where before = c->where;

	if (data->text.p && msg_scan(data->text, &s.msg, NULL) != MSG_NOISE)
		s.line = data->text;
	c->where = data->where;
	c->where.from = s.from;
	c->where.message = &s;
	if (put_waited(c, &text, r, data) < 0 || !buf_string(&text))
		c->failed = true;
	else
		check_report(c, rule, "id", text.p, q->id);
	c->where = before;
}

/* Handles a request that gets no response: its id is in use again, too many are open, the agent restarted, a side or all ended. */
static void
give_up_request(struct check *c, const struct session_event *e)
{
	const struct request *q = e->request->request;
	const struct message *cause = e->message ? &e->message->message : NULL;
	bool again = cause && cause->msg.kind == MSG_REQUEST && msg_same_id(cause->msg.id, q->id), waited;
	enum acp_side other = acp_other_side(q->from);

	if (again && !e->request->copy && !c->conn.partial)
		check_report(c, RULE_ID_IN_USE, "id", "an id that no open request has", cause->msg.id);
	if (cause) {
		c->conn.excused[other] += again || cause->msg.kind != MSG_REQUEST;
		c->conn.partial |= !again && cause->msg.kind == MSG_REQUEST;
		return;
	}
	if (c->giving_up == GIVING_UP_NOISE)
		return;
	/* The requester waited if the other side left first, or all is over; not if it left itself, or connected again. */
	waited = (c->giving_up == GIVING_UP_EOF || c->watch->ending == WATCH_OVER) && !c->conn.ended[q->from];
	if (e->request->data && !e->request->copy && c->conn.seen[other] && !c->conn.partial && !c->conn.ended[other] && c->watch->ending != WATCH_CUT)
		report_unanswered(c, e->request, waited ? RULE_UNANSWERED : RULE_ABANDONED);
}

/* Checks that a new session does not have an open one's id. In a proxy chain the response comes twice, once in an envelope. */
static void
check_new_session(struct check *c, struct slice id, bool enveloped)
{
	struct slice plain = id.p ? json_text(id, &c->text) : id;
	const struct session *s = plain.p ? sessions_find(c->watch->sessions, plain) : NULL;
	struct check_session *data = s ? s->data : NULL;

	if (!data || s->closed || s->how == SESSION_NAMED)
		return;
	if (data->opening == CHECK_UNOPENED) {
		data->opening = CHECK_OPENED;
		data->opened[false] = data->opened[true] = false;
	} else if (data->opened[enveloped] && check_is_complete(c)) {
		check_report(c, RULE_SESSION_TWICE, "result.sessionId", "an id that no other session has", id);
	}
	data->opened[enveloped] = true;
}

static void
end_request(struct check *c, const struct session_event *e)
{
	const struct request *q = e->request->request;
	struct check_session *data = e->session ? e->session->data : NULL;
	const struct check_request *request = e->request->data;

	if (e->unanswered) {
		give_up_request(c, e);
		free(e->request->data);
		e->request->data = NULL;
	} else if (is_initialize(q->what)) {
		agree(c, e->message);
	} else if (data && (q->what == ACP_SESSION_LOAD || q->what == ACP_SESSION_RESUME)) {
		/* In a proxy chain each response comes twice, so the second one must change nothing. */
		data->opening = e->message->message.msg.error.p && data->opening != CHECK_OPENED ? CHECK_UNOPENED : CHECK_OPENED;
		data->replay = q->what == ACP_SESSION_LOAD && data->opening == CHECK_OPENED ? CHECK_LOADED : CHECK_NO_REPLAY;
	} else if (q->what == ACP_SESSION_NEW || q->what == ACP_SESSION_FORK) {
		check_new_session(c, json_get_string(e->message->message.msg.result, acp_session_id), e->message->enveloped);
	} else if (q->what == ACP_OTHER && request) {
		check_change_terminals(c, &e->message->message, request->releases);
	}
}

/* --- sessions --- */

/* Reports a message that names a session which was not opened. Callers report each session once. */
static void
report_unknown(struct check *c)
{
	bool v2 = c->conn.version == 2, child = c->where.from == ACP_AGENT &&
		(v2 || json_path(buf_slice(&c->conn.capabilities[ACP_CLIENT]), "subagents").p);

	if (check_is_complete(c) && !c->conn.forgot_session && !(c->where.from == ACP_AGENT && sessions_opening(c->watch->sessions)))
		check_report(c, child ? RULE_SUBAGENT_UNANNOUNCED : RULE_UNKNOWN_SESSION, "params.sessionId",
			child ? "a session that was opened, or announced as a sub-agent's" : "a session that was opened",
			json_get(c->message.msg.params, acp_session_id));
}

static void
open_session(struct check *c, struct session *s, bool enveloped)
{
	struct check_session *data = s->data ? s->data : calloc(1, sizeof(*data));

	s->data = data;
	c->failed |= !data;
	if (!data)
		return;
	data->opening = s->how == SESSION_LOADED || s->how == SESSION_RESUMED ? CHECK_LOADING : CHECK_OPENED;
	data->opened[enveloped] = true;
	if (s->how == SESSION_NAMED && !data->deleted)
		report_unknown(c);
	data->deleted = false;
}

void
check_event(struct check *c, const struct session_event *e)
{
	struct check_session *data = e->session ? e->session->data : NULL;
	struct session *s;

	check_locate(c, e->message);
	switch (e->kind) {
	case SESSION_CONNECTED:
		connect(c, e->message);
		break;
	case SESSION_RESTARTED:
		/* A restarted agent may count its cost from 0. */
		for (s = sessions_next(c->watch->sessions, NULL); s; s = sessions_next(c->watch->sessions, s))
			if ((data = s->data))
				data->currency = 0;
		break;
	case SESSION_REQUESTED:
		open_request(c, e->request, &e->message->message.msg);
		break;
	case SESSION_RESPONDED:
		end_request(c, e);
		check_turn_event(c, e);
		break;
	case SESSION_BEGAN:
	case SESSION_OPENED:
		c->sessions += e->kind == SESSION_BEGAN;
		open_session(c, e->session, e->message->enveloped);
		break;
	case SESSION_HISTORY_BEGAN:
		if (data)
			data->currency = 0;
		break;
	case SESSION_CLOSED:
		if (data) {
			data->deleted = e->message->message.request->what == ACP_SESSION_DELETE;
			data->opened[false] = data->opened[true] = false;
		}
		check_turn_event(c, e);
		break;
	case SESSION_FORGOTTEN:
		c->conn.forgets_session |= e->limit;
		free(data);
		e->session->data = NULL;
		break;
	default:
		check_turn_event(c, e);
	}
}

void
check_session_of(struct check *c, const struct session_message *seen)
{
	struct check_session *data = seen->session ? seen->session->data : NULL;
	enum acp_method what = seen->message.msg.what;

	/* A failed session/load opens no session. Other methods than these, such as session/close, may name it all the same. */
	if (!data || data->opening != CHECK_UNOPENED || seen->message.msg.kind == MSG_RESPONSE ||
		!(what == ACP_SESSION_UPDATE || what == ACP_SESSION_PROMPT || what == ACP_SESSION_CANCEL || what == ACP_SESSION_SET_MODE ||
		what == ACP_SESSION_SET_CONFIG || seen->role == ACP_AGENT))
		return;
	data->opening = CHECK_OPENED;
	report_unknown(c);
}
