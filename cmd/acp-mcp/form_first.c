/* The first form of MCP over ACP: mcp/connect, then each MCP message in an mcp/message with the connection's id. */
#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/listen.h"
#include "cmd/acp-mcp/names.h"

/* {"connectionId":C,"method":M,"params":P} */
static int
put(const struct conn *c, const struct msg *m, struct buf *to)
{
	/* A command names a subscription by the id that its request has there: the chain knows another one. */
	const struct ask *a = m->kind == MSG_NOTIFICATION && !c->server ? conn_find_ask(c, listen_name(m->params)) : NULL;
	struct slice params = m->params;
	struct buf room = {0};
	int r = buf_printf(to, "{\"%s\":%.*s,\"method\":", acp_connection_id, (int)c->id.n, c->id.p);

	r |= buf_add_slice(to, m->method);
	if (a)
		r |= listen_rename(&params, buf_slice(&a->id), &room);
	if (params.p) {
		r |= buf_add_string(to, ",\"params\":");
		r |= buf_add_slice(to, params);
	}
	buf_free(&room);
	return r | buf_add(to, "}", 1);
}

static enum call_kind
kind_of(struct slice method)
{
	if (json_string_is(method, mcp_listen))
		return CALL_LISTEN;
	return json_string_is(method, mcp_discover) ? CALL_PROBE : CALL_MESSAGE;
}

static int
send_to_chain(struct conn *c, const struct msg *m)
{
	struct buf params = {0};
	int r;

	if (c->older && m->kind == MSG_REQUEST && json_string_is(m->method, mcp_discover))
		return conn_reply_error(c, m->id, ACP_ERR_METHOD, "acp-mcp: this server has no server/discover");
	r = put(c, m, &params);
	if (r == 0 && m->kind == MSG_NOTIFICATION)
		r = conn_notify(c, buf_slice(&params));
	else if (r == 0)
		r = conn_call(c, kind_of(m->method), ACP_MCP_MESSAGE, buf_slice(&params), m) ? 0 : -1;
	buf_free(&params);
	return r;
}

static int
connected(struct conn *c, const struct msg *answer)
{
	static const char none[] = "{\"code\":-32603,\"message\":\"acp-mcp: mcp/connect was answered without a connectionId\"}";
	struct slice id = json_type(answer->result) == JSON_OBJECT ? json_get(answer->result, acp_connection_id) : slice(NULL, 0);
	int r;

	if (json_type(id) != JSON_STRING)
		return conn_refuse_all(c, answer->error.p ? answer->error : slice_of(none));
	r = buf_add_slice(&c->id, id);
	if (r == 0)
		r = conn_retry_first(c);
	conn_resume(c);
	return r;
}

static int
call_response(struct conn *c, struct call *call, const struct msg *answer)
{
	struct slice result = answer->result;
	struct buf room = {0};
	int r;

	if (call->kind == CALL_CONNECT)
		return connected(c, answer);
	if (answer->error.p)
		return conn_call_failed(c, call, answer->error);
	r = listen_rename(&result, buf_slice(&call->id), &room);
	if (r == 0)
		r = conn_reply(c, buf_slice(&call->id), mcp_result, result);
	buf_free(&room);
	return r;
}

static int
peer_response(struct conn *c, struct ask *a, const struct msg *answer)
{
	struct slice result = answer->result;
	struct buf room = {0};
	int r;

	if (!a)
		return 0;
	if (answer->error.p)
		return conn_respond_error(c, a, answer->error);
	r = listen_rename(&result, buf_slice(&a->id), &room);
	if (r == 0)
		r = conn_respond(c, a, result);
	buf_free(&room);
	return r;
}

const struct form form_first = {.send = send_to_chain, .response = call_response, .deliver = conn_send_ask, .peer_response = peer_response};
