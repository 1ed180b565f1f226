/*
 * The newest form, at a shim: no connection, each request by itself, in the protocol of 2026-07-28. The
 * agent's MCP client speaks an older one, with a handshake: that is answered here.
 */
#include <inttypes.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/server.h"

/* The members of _meta that every request carries, from what the agent's client said of itself. */
static int
put_meta(const struct conn *c, struct buf *to)
{
	struct slice hello = buf_slice(&c->hello), capabilities = slice(NULL, 0), info = slice(NULL, 0);
	int r;

	if (hello.n > 0) {
		capabilities = json_get(hello, "capabilities");
		info = json_get(hello, "clientInfo");
	}
	r = buf_printf(to, "\"%sprotocolVersion\":\"%s\",\"%sclientCapabilities\":", mcp_prefix, mcp_newest, mcp_prefix)
		| buf_add_slice(to, json_type(capabilities) == JSON_OBJECT ? capabilities : slice_of("{}"));
	if (json_type(info) == JSON_OBJECT)
		r |= buf_printf(to, ",\"%sclientInfo\":", mcp_prefix) | buf_add_slice(to, info);
	return r;
}

static bool
is_empty(struct slice object)
{
	struct json_iter i = {.in = object};
	struct slice key, value;

	return !json_next(&i, &key, &value);
}

/* Members at the beginning of an object, and the object's own behind them. */
static int
put_inside(struct buf *to, struct slice object, struct slice members)
{
	return buf_add(to, "{", 1) | buf_add_slice(to, members) | (is_empty(object) ? 0 : buf_add(to, ",", 1))
		| buf_add_slice(to, slice(object.p + 1, object.n - 1));
}

/* The params of the request, with _meta. */
static int
put_params(const struct conn *c, struct slice params, struct buf *to)
{
	struct slice meta = json_type(params) == JSON_OBJECT ? json_get(params, mcp_meta) : slice(NULL, 0);
	struct buf own = {0}, with = {0};
	int r = put_meta(c, &own);

	if (json_type(meta) == JSON_OBJECT) {
		r |= buf_add_slice(to, slice_between(params.p, meta.p)) | put_inside(to, meta, buf_slice(&own))
			| buf_add_slice(to, slice_between(meta.p + meta.n, params.p + params.n));
	} else {
		r |= buf_printf(&with, "\"%s\":{", mcp_meta) | buf_add(&with, own.p, own.n) | buf_add(&with, "}", 1)
			| put_inside(to, json_type(params) == JSON_OBJECT ? params : slice_of("{}"), buf_slice(&with));
	}
	buf_free(&own);
	buf_free(&with);
	return r;
}

static int
ask(struct conn *c, enum call_kind kind, struct slice method, const struct msg *m)
{
	struct buf params = {0};
	struct call *call = NULL;
	int r;

	r = buf_printf(&params, "{\"%s\":", acp_server_id) | buf_add(&params, c->server->id.p, c->server->id.n)
		| buf_printf(&params, ",\"%s\":\"%" PRIu64 "\",\"method\":", acp_request_id, ++c->last)
		| buf_add_slice(&params, method) | buf_add_string(&params, ",\"params\":")
		| put_params(c, kind == CALL_DISCOVER ? slice(NULL, 0) : m->params, &params) | buf_add(&params, "}", 1);
	if (r == 0)
		call = conn_call(c, kind, ACP_MCP_MESSAGE, buf_slice(&params), m);
	buf_free(&params);
	if (!call)
		return -1;
	/* Whether the provider knows this form shows with the first answer; until then there is only one request. */
	if (!c->proven) {
		conn_wait(c, true);
		return buf_add_slice(&call->text, m->text);
	}
	return 0;
}

static int
say(struct conn *c, const struct msg *m)
{
	if (m->kind == MSG_NOTIFICATION)
		return 0;
	if (json_string_is(m->method, mcp_ping))
		return conn_reply(c, m->id, "result", slice_of("{}"));
	if (!json_string_is(m->method, mcp_initialize))
		return ask(c, CALL_MESSAGE, m->method, m);
	c->hello.n = 0;
	if (json_type(m->params) == JSON_OBJECT && buf_add_slice(&c->hello, m->params) < 0)
		return -1;
	return ask(c, CALL_DISCOVER, slice_of("\"server/discover\""), m);
}

/* The answer to the agent's MCP initialize, from what the provider says of itself. */
static int
welcome(struct conn *c, const struct call *call, struct slice found)
{
	struct slice hello = buf_slice(&c->hello), version = slice(NULL, 0), capabilities = slice(NULL, 0), info = slice(NULL, 0),
		help = slice(NULL, 0);
	struct buf text = {0};
	int r;

	if (hello.n > 0)
		version = json_get(hello, acp_protocol_version);
	if (json_type(found) == JSON_OBJECT) {
		capabilities = json_get(found, "capabilities");
		info = json_get(found, "serverInfo");
		if (!info.p && json_type(json_get(found, mcp_meta)) == JSON_OBJECT)
			info = json_get(json_get(found, mcp_meta), "io.modelcontextprotocol/serverInfo");
		help = json_get(found, "instructions");
	}
	r = buf_printf(&text, "{\"%s\":", acp_protocol_version);
	if (json_type(version) == JSON_STRING)
		r |= buf_add_slice(&text, version);
	else
		r |= buf_printf(&text, "\"%s\"", mcp_handshake);
	r |= buf_add_string(&text, ",\"capabilities\":")
		| buf_add_slice(&text, json_type(capabilities) == JSON_OBJECT ? capabilities : slice_of("{\"tools\":{}}"))
		| buf_add_string(&text, ",\"serverInfo\":");
	if (json_type(info) == JSON_OBJECT)
		r |= buf_add_slice(&text, info);
	else
		r |= buf_add_string(&text, "{\"name\":") | buf_add(&text, c->server->name.p, c->server->name.n)
			| buf_add_string(&text, ",\"version\":\"0\"}");
	if (json_type(help) == JSON_STRING)
		r |= buf_add_string(&text, ",\"instructions\":") | buf_add_slice(&text, help);
	r |= buf_add(&text, "}", 1);
	if (r == 0)
		r = conn_reply(c, buf_slice(&call->id), "result", buf_slice(&text));
	buf_free(&text);
	return r;
}

/* Does this error say that the provider does not know the form? */
static bool
unknown_form(struct slice error)
{
	struct slice code = json_type(error) == JSON_OBJECT ? json_get(error, "code") : slice(NULL, 0);

	return slice_is(code, "-32601") || slice_is(code, "-32602");
}

/* The same by way of mcp/connect. */
static int
fall_back(struct conn *c, struct call *call)
{
	c->again = call->text;
	call->text = (struct buf){0};
	return conn_connect(c, true);
}

static int
answered(struct conn *c, struct call *call, const struct msg *answer)
{
	struct slice id = buf_slice(&call->id), result = slice(NULL, 0), error = answer->error;
	int r;

	if (error.p && !c->proven && c->mcp->options->dialect == DIALECT_DECLARED && unknown_form(error))
		return fall_back(c, call);
	if (json_type(answer->result) == JSON_OBJECT) {
		result = json_get(answer->result, "result");
		error = json_get(answer->result, "error");
	}
	c->proven = c->proven || !answer->error.p;
	if (call->kind == CALL_DISCOVER && !answer->error.p)
		r = welcome(c, call, result);
	else if (result.p && json_type(result) == JSON_OBJECT && json_string_is(json_get(result, "resultType"), "input_required"))
		r = conn_reply_error(c, id, ACP_ERR_INTERNAL, "acp-mcp: the server wants input, which an older MCP client cannot be asked for");
	else if (result.p || error.p)
		r = conn_reply(c, id, error.p ? "error" : "result", error.p ? error : result);
	else
		r = conn_reply_error(c, id, ACP_ERR_INTERNAL, "acp-mcp: an answer with neither result nor error");
	conn_wait(c, false);
	return r;
}

/* The provider asks nothing in this form. */
static int
hand(struct conn *c, struct ask *a, struct slice method, struct slice params)
{
	(void)method;
	(void)params;
	return conn_settle_error(c, a, slice_of("{\"code\":-32601,\"message\":\"acp-mcp: a provider has no requests in this form\"}"));
}

static int
reply(struct conn *c, struct ask *a, const struct msg *m)
{
	(void)c;
	(void)a;
	(void)m;
	return 0;
}

const struct form form_newest = {say, answered, hand, reply};
