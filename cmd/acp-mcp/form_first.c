/* The first form of MCP over ACP: mcp/connect, then each MCP message in an mcp/message with the connection's id. */
#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/names.h"

/* {"connectionId":C,"method":M,"params":P} */
static int
put(const struct conn *c, const struct msg *m, struct buf *to)
{
	int r = buf_printf(to, "{\"%s\":%.*s,\"method\":", acp_connection_id, (int)c->id.n, c->id.p);

	r |= buf_add_slice(to, m->method);
	if (m->params.p) {
		r |= buf_add_string(to, ",\"params\":");
		r |= buf_add_slice(to, m->params);
	}
	return r | buf_add(to, "}", 1);
}

static int
say(struct conn *c, const struct msg *m)
{
	struct buf params = {0};
	int r = put(c, m, &params);

	if (r == 0 && m->kind == MSG_NOTIFICATION)
		r = conn_notify(c, buf_slice(&params));
	else if (r == 0)
		r = conn_call(c, CALL_MESSAGE, ACP_MCP_MESSAGE, buf_slice(&params), m) ? 0 : -1;
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
		return conn_refused(c, answer->error.p ? answer->error : slice_of(none));
	r = buf_add_slice(&c->id, id);
	if (r == 0)
		r = conn_again(c);
	conn_go_on(c);
	return r;
}

static int
answered(struct conn *c, struct call *call, const struct msg *answer)
{
	if (call->kind == CALL_CONNECT)
		return connected(c, answer);
	if (answer->error.p)
		return conn_reply(c, buf_slice(&call->id), mcp_error, answer->error);
	return conn_reply(c, buf_slice(&call->id), mcp_result, answer->result);
}

static int
reply(struct conn *c, struct ask *a, const struct msg *answer)
{
	if (!a)
		return 0;
	return answer->error.p ? conn_settle_error(c, a, answer->error) : conn_settle(c, a, answer->result);
}

const struct form form_first = {.say = say, .answered = answered, .hand = conn_hand, .reply = reply};
