/*
 * The newest form, at a command that we offer: it speaks the older protocol, with a handshake, which is
 * done here, and each request of the agent's side comes by itself.
 */
#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/names.h"

/* The command's handshake, with what the first request says of the client. */
static int
greet(struct conn *c, struct slice params)
{
	struct slice meta = json_type(params) == JSON_OBJECT ? json_get(params, mcp_meta) : slice(NULL, 0), info = slice(NULL, 0);
	struct buf hello = {0};
	int r;

	if (json_type(meta) == JSON_OBJECT)
		info = json_get(meta, "io.modelcontextprotocol/clientInfo");
	/* The client's capabilities are for servers that ask it something, which this form does not have. */
	r = buf_printf(&hello, "{\"%s\":\"%s\",\"capabilities\":{},\"clientInfo\":", acp_protocol_version, mcp_handshake);
	if (json_type(info) == JSON_OBJECT)
		r |= buf_add_slice(&hello, info);
	else
		r |= buf_printf(&hello, "{\"name\":\"%s\",\"version\":\"%s\"}", tool_name, VERSION);
	r |= buf_add(&hello, "}", 1);
	if (r == 0)
		r = conn_tell(c, slice_of("0"), slice_of("\"initialize\""), buf_slice(&hello));
	buf_free(&hello);
	c->asked = true;
	return r;
}

/* server/discover, from the result of the handshake. */
static int
introduce(struct conn *c, struct ask *a)
{
	struct slice hello = buf_slice(&c->hello), capabilities = json_get(hello, "capabilities"), info = json_get(hello, "serverInfo"),
		help = json_get(hello, "instructions");
	struct buf text = {0};
	int r;

	r = buf_printf(&text, "{\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"%s\"],\"capabilities\":", mcp_newest)
		| buf_add_slice(&text, json_type(capabilities) == JSON_OBJECT ? capabilities : slice_of("{}"));
	if (json_type(help) == JSON_STRING)
		r |= buf_add_string(&text, ",\"instructions\":") | buf_add_slice(&text, help);
	if (json_type(info) == JSON_OBJECT)
		r |= buf_add_string(&text, ",\"serverInfo\":") | buf_add_slice(&text, info)
			| buf_printf(&text, ",\"%s\":{\"%sserverInfo\":", mcp_meta, mcp_prefix) | buf_add_slice(&text, info)
			| buf_add(&text, "}", 1);
	r |= buf_add_string(&text, "}}");
	if (r == 0)
		r = conn_settle_ask(c, a, buf_slice(&text));
	buf_free(&text);
	return r;
}

static int
hand(struct conn *c, struct ask *a, struct slice method, struct slice params)
{
	if (c->hello.n == 0)
		return c->asked ? 0 : greet(c, params);
	if (json_string_is(method, mcp_discover) && json_get(buf_slice(&c->hello), acp_protocol_version).p)
		return introduce(c, a);
	return conn_hand(c, a, method, params);
}

/* The answer to our own initialize: a command that refuses it may know the newest protocol only. */
static int
greeted(struct conn *c, const struct msg *m)
{
	int r;

	if (c->hello.n > 0 || !slice_is(m->id, "0"))
		return 0;
	r = buf_add_slice(&c->hello, json_type(m->result) == JSON_OBJECT ? m->result : slice_of("{}"));
	if (r == 0 && m->result.p)
		r = conn_tell(c, slice(NULL, 0), slice_of("\"notifications/initialized\""), slice(NULL, 0));
	return r < 0 ? -1 : conn_hand_waiting(c);
}

/* Results of 2026-07-28 say of what type they are. */
static int
put_result(struct buf *to, struct slice result)
{
	if (json_type(result) != JSON_OBJECT || json_get(result, "resultType").p)
		return buf_add_slice(to, result);
	return buf_add_string(to, "{\"resultType\":\"complete\"")
		| (json_next(&(struct json_iter){.in = result}, &(struct slice){0}, &(struct slice){0}) ? buf_add(to, ",", 1) : 0)
		| buf_add_slice(to, slice(result.p + 1, result.n - 1));
}

static int
reply(struct conn *c, struct ask *a, const struct msg *m)
{
	struct buf text = {0};
	int r;

	if (!a)
		return greeted(c, m);
	r = buf_printf(&text, "{\"%s\":", m->error.p ? "error" : "result")
		| (m->error.p ? buf_add_slice(&text, m->error) : put_result(&text, m->result)) | buf_add(&text, "}", 1);
	if (r == 0)
		r = conn_settle_ask(c, a, buf_slice(&text));
	buf_free(&text);
	return r;
}

/* The request that a notification of the command's belongs to: by its progress token, or the only one. */
static const struct ask *
about(const struct conn *c, struct slice params)
{
	struct slice token = json_type(params) == JSON_OBJECT ? json_get(params, "progressToken") : slice(NULL, 0);
	const struct ask *a;

	for (a = c->asks; a && token.p; a = a->next)
		if (slice_eq(token, buf_slice(&a->token)))
			return a;
	return c->asks && !c->asks->next ? c->asks : NULL;
}

static int
say(struct conn *c, const struct msg *m)
{
	const struct ask *a;
	struct buf params = {0};
	int r;

	if (m->kind == MSG_REQUEST && json_string_is(m->method, mcp_ping))
		return conn_reply(c, m->id, "result", slice_of("{}"));
	if (m->kind == MSG_REQUEST)
		return conn_reply_error(c, m->id, ACP_ERR_METHOD, "acp-mcp: the client cannot be asked in this form of MCP over ACP");
	a = about(c, m->params);
	if (!a || a->request_id.n == 0)
		return 0;
	r = buf_printf(&params, "{\"%s\":", acp_server_id) | buf_add(&params, c->provided->id.p, c->provided->id.n)
		| buf_printf(&params, ",\"%s\":", acp_request_id) | buf_add(&params, a->request_id.p, a->request_id.n)
		| buf_add_string(&params, ",\"method\":") | buf_add_slice(&params, m->method);
	if (m->params.p)
		r |= buf_add_string(&params, ",\"params\":") | buf_add_slice(&params, m->params);
	r |= buf_add(&params, "}", 1);
	if (r == 0)
		r = conn_notify(c, buf_slice(&params));
	buf_free(&params);
	return r;
}

static int
answered(struct conn *c, struct call *call, const struct msg *m)
{
	(void)c;
	(void)call;
	(void)m;
	return 0;
}

const struct form form_newest_offer = {say, answered, hand, reply};
