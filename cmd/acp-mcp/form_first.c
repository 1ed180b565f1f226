/* The first form of MCP over ACP: mcp/connect, then each MCP message in an mcp/message with the connection's id. */
#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/names.h"

/* {"connectionId":C,"method":M,"params":P} */
static int
put(const struct conn *c, const struct msg *m, struct buf *to)
{
	int r;

	r = buf_printf(to, "{\"%s\":", acp_connection_id) | buf_add(to, c->id.p, c->id.n)
		| buf_add_string(to, ",\"method\":") | buf_add_slice(to, m->method);
	if (m->params.p)
		r |= buf_add_string(to, ",\"params\":") | buf_add_slice(to, m->params);
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

/* What had been asked in the newest form, which the provider does not know. */
static int
say_again(struct conn *c)
{
	struct buf text = c->again;
	struct json_error error;
	struct msg m;
	int r = 0;

	c->again = (struct buf){0};
	if (text.n > 0 && msg_scan(buf_slice(&text), &m, &error) == MSG_REQUEST)
		r = c->refusal.n ? conn_reply(c, m.id, "error", buf_slice(&c->refusal)) : say(c, &m);
	buf_free(&text);
	return r;
}

static int
connected(struct conn *c, const struct msg *answer)
{
	static const char none[] = "{\"code\":-32603,\"message\":\"acp-mcp: mcp/connect was answered without a connectionId\"}";
	struct slice id = json_type(answer->result) == JSON_OBJECT ? json_get(answer->result, acp_connection_id) : slice(NULL, 0);
	int r;

	if (json_type(id) == JSON_STRING)
		r = buf_add_slice(&c->id, id);
	else
		r = buf_add_slice(&c->refusal, answer->error.p ? answer->error : slice_of(none));
	if (c->refusal.n > 0)
		conn_say(c, "no connection: ", buf_slice(&c->refusal));
	if (r == 0)
		r = say_again(c);
	conn_wait(c, false);
	return r;
}

static int
answered(struct conn *c, struct call *call, const struct msg *answer)
{
	if (call->kind == CALL_CONNECT)
		return connected(c, answer);
	return conn_reply(c, buf_slice(&call->id), answer->error.p ? "error" : "result",
		answer->error.p ? answer->error : answer->result);
}

static int
reply(struct conn *c, struct ask *a, const struct msg *answer)
{
	if (!a)
		return 0;
	return answer->error.p ? conn_settle_error(c, a, answer->error) : conn_settle_ask(c, a, answer->result);
}

const struct form form_first = {say, answered, conn_hand, reply};
