/* The first form of MCP over ACP: mcp/connect, then each MCP message in an mcp/message with the connection's id. */
#include "cmd/acp-mcp/conn.h"

static void
send_to_chain(struct conn *c, const struct msg *m)
{
	const enum call_kind kind = json_string_is(m->method, mcp_listen) ? CALL_LISTEN
		: json_string_is(m->method, mcp_discover) ? CALL_PROBE : CALL_MESSAGE;
	/* A command names a subscription by the id of the request that it got; the chain knows the id of its own request. */
	const struct ask *a = m->kind == MSG_NOTIFICATION && !c->server ? conn_find_ask(c, listen_name(m->params)) : NULL;
	struct json_member params[] = {{acp_connection_id, buf_slice(&c->id)}, {mcp_method, m->method}, {mcp_params, m->params}, {0}};
	struct slice *inner = &params[2].value;
	SCOPED struct buf room = {0};

	if (c->older && m->kind == MSG_REQUEST && kind == CALL_PROBE) {
		conn_reply_error(c, m->id, ACP_ERR_METHOD, "acp-mcp: this server has no server/discover");
		return;
	}
	if (a)
		mcp_check(c->mcp, listen_rename(inner, a->msg.id, &room));
	if (m->kind == MSG_NOTIFICATION)
		conn_notify(c, params);
	else
		conn_call(c, kind, params, m);
}

void
form_first_connect(struct conn *c, bool by_server_id)
{
	const struct json_member params[] = {{by_server_id ? acp_server_id : acp_acp_id, c->server->id}, {0}};

	c->form = &form_first;
	if (conn_call(c, CALL_CONNECT, params, NULL))
		conn_await(c);
}

static void
call_response(struct conn *c, struct call *call, const struct msg *response)
{
	static const char none[] = "{\"code\":-32603,\"message\":\"acp-mcp: mcp/connect was answered without a connectionId\"}";
	struct slice id = json_get_string(response->result, acp_connection_id);

	if (call->kind == CALL_CONNECT && !id.p) {
		conn_refuse_all(c, response->error.p ? response->error : slice_of(none));
	} else if (call->kind == CALL_CONNECT) {
		mcp_check(c->mcp, buf_add_slice(&c->id, id));
		conn_retry_first(c);
		conn_resume(c);
	} else if (response->error.p) {
		conn_call_failed(c, call, response->error);
	} else {
		conn_reply(c, call->id, response->result);
	}
}

static void
deliver(struct conn *c, struct ask *a)
{
	conn_send_ask(c, a, json_get(a->msg.params, mcp_params));
}

static void
peer_response(struct conn *c, struct ask *a, const struct msg *response)
{
	struct slice result = response->result;
	SCOPED struct buf room = {0};

	if (!a)
		return;
	mcp_check(c->mcp, listen_rename(&result, a->msg.id, &room));
	conn_respond(c, a, result, response->error);
}

const struct form form_first = {.send = send_to_chain, .response = call_response, .deliver = deliver, .peer_response = peer_response};
