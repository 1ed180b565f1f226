/*
 * The newest form, at a shim: no connection, each request by itself, in the protocol of 2026-07-28. Where the
 * agent's MCP client speaks an older one, with a handshake, that is answered here; one that speaks the same
 * gets what the provider says.
 */
#include <inttypes.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/listen.h"
#include "cmd/acp-mcp/meta.h"
#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/server.h"

/* Does the request have the members of _meta that the newest protocol requires? */
static bool
is_modern(const struct msg *m)
{
	struct slice meta = mcp_object(m->params, mcp_meta);

	return meta.p && json_get(meta, mcp_key_version).p;
}

/* Appends the members of _meta that each request must have, from the initialize of the agent's MCP client. */
static int
put_meta(const struct conn *c, struct buf *to)
{
	struct slice hello = c->hello.n ? buf_slice(&c->hello) : slice_of("{}");
	struct slice capabilities = mcp_object(hello, mcp_capabilities), client = mcp_object(hello, "clientInfo");
	int r = buf_printf(to, "\"%s\":\"%s\",\"%s\":", mcp_key_version, mcp_newest, mcp_key_capabilities);

	r |= buf_add_slice(to, capabilities.p ? capabilities : slice_of("{}"));
	if (client.p) {
		r |= buf_printf(to, ",\"%s\":", mcp_key_client);
		r |= buf_add_slice(to, client);
	}
	return r;
}

/* The params of the request, with _meta. */
static int
put_params(const struct conn *c, struct slice params, struct buf *to)
{
	struct buf own = {0};
	int r = put_meta(c, &own);

	r |= meta_put(params, buf_slice(&own), to);
	buf_free(&own);
	return r;
}

/* {"serverId":X,"requestId":R,"method":M,"params":P} */
static int
put(struct conn *c, uint64_t number, struct slice method, struct slice params, struct buf *to)
{
	int r = buf_printf(to, "{\"%s\":%.*s,\"%s\":\"%" PRIu64 "\",\"method\":", acp_server_id, (int)c->server->id.n,
		c->server->id.p, acp_request_id, number);

	r |= buf_add_slice(to, method);
	r |= buf_add_string(to, ",\"params\":");
	r |= c->modern ? buf_add_slice(to, params) : put_params(c, params, to);
	return r | buf_add(to, "}", 1);
}

/* A request to the provider, m being the peer's, or NULL. NULL out of memory. */
static struct call *
put_out(struct conn *c, enum call_kind kind, struct slice method, struct slice params, const struct msg *m)
{
	uint64_t number = ++c->mcp->nrequests;
	struct buf text = {0};
	struct call *call = NULL;

	if (put(c, number, method, params, &text) == 0)
		call = conn_call(c, kind, ACP_MCP_MESSAGE, buf_slice(&text), m);
	buf_free(&text);
	if (call)
		call->number = number;
	return call;
}

static int
ask(struct conn *c, enum call_kind kind, struct slice method, struct slice params, const struct msg *m)
{
	if (!put_out(c, kind, method, params, m))
		return -1;
	if (c->proven)
		return 0;
	/* Whether the provider knows this form shows with the first answer; until then there is only one request. */
	conn_await(c, kind);
	return buf_add_slice(&c->first, m->text);
}

/* --- notifications for an older client --- */

/* Opens a new subscription, which replaces the earlier one. */
static int
listen_anew(struct conn *c)
{
	struct call *old = c->listening;
	struct buf params = {0};
	int r;

	if (c->lists.n == 0 && c->uris.n == 0)
		return 0;
	r = buf_printf(&params, "{\"%s\":{%.*s%s", mcp_filter, (int)c->lists.n, c->lists.p, c->lists.n > 0 && c->uris.n > 0 ? "," : "");
	if (c->uris.n > 0)
		r |= buf_printf(&params, "\"%s\":%.*s", mcp_uris, (int)c->uris.n, c->uris.p);
	r |= buf_add_string(&params, "}}");
	if (r == 0)
		c->listening = put_out(c, CALL_LISTEN, slice_of("\"subscriptions/listen\""), buf_slice(&params), NULL);
	buf_free(&params);
	if (r < 0 || !c->listening)
		return -1;
	/* Notifications of the old one are still forwarded: twice is better than not at all. */
	return old ? frame_cancel(c->mcp->frame, old) : 0;
}

/* resources/subscribe and resources/unsubscribe, which the newest protocol does not have. */
static int
subscribe(struct conn *c, const struct msg *m, struct slice uri, bool on)
{
	struct buf uris = {0};
	int r = listen_put_uris(buf_slice(&c->uris), uri, on, &uris);

	buf_free(&c->uris);
	c->uris = uris;
	if (r == 0)
		r = listen_anew(c);
	return r == 0 ? conn_reply(c, m->id, mcp_result, slice_of("{}")) : r;
}

/* --- */

static int
send_older(struct conn *c, const struct msg *m)
{
	struct slice uri = mcp_string(m->params, mcp_uri);
	bool on = json_string_is(m->method, mcp_subscribe);

	if (json_string_is(m->method, mcp_ping))
		return conn_reply(c, m->id, mcp_result, slice_of("{}"));
	if (c->proven && uri.p && (on || json_string_is(m->method, mcp_unsubscribe)))
		return subscribe(c, m, uri, on);
	if (!json_string_is(m->method, mcp_initialize))
		return ask(c, CALL_MESSAGE, m->method, m->params, m);
	c->hello.n = 0;
	if (json_type(m->params) == JSON_OBJECT && buf_add_slice(&c->hello, m->params) < 0)
		return -1;
	return ask(c, CALL_DISCOVER, slice_of("\"server/discover\""), slice(NULL, 0), m);
}

static int
send_to_chain(struct conn *c, const struct msg *m)
{
	if (m->kind == MSG_NOTIFICATION)
		return !c->modern && json_string_is(m->method, mcp_initialized) ? listen_anew(c) : 0;
	c->modern = is_modern(m);
	if (!c->modern)
		return send_older(c, m);
	return ask(c, json_string_is(m->method, mcp_discover) ? CALL_PROBE : CALL_MESSAGE, m->method, m->params, m);
}

/* Responds to the agent's MCP initialize with the provider's result of server/discover. */
static int
welcome(struct conn *c, const struct call *call, struct slice found)
{
	struct slice hello = c->hello.n ? buf_slice(&c->hello) : slice_of("{}"), version = json_get(hello, acp_protocol_version);
	struct slice capabilities = mcp_object(found, mcp_capabilities), info = mcp_object(mcp_object(found, mcp_meta), mcp_key_server);
	struct slice help = json_type(found) == JSON_OBJECT ? json_get(found, "instructions") : slice(NULL, 0);
	struct buf text = {0};
	int r = buf_printf(&text, "{\"%s\":", acp_protocol_version);

	if (json_type(version) == JSON_STRING)
		r |= buf_add_slice(&text, version);
	else
		r |= buf_printf(&text, "\"%s\"", mcp_handshake);
	r |= buf_printf(&text, ",\"%s\":", mcp_capabilities);
	r |= buf_add_slice(&text, capabilities.p ? capabilities : slice_of("{\"tools\":{}}"));
	r |= buf_add_string(&text, ",\"serverInfo\":");
	if (info.p)
		r |= buf_add_slice(&text, info);
	else
		r |= buf_printf(&text, "{\"name\":%.*s,\"version\":\"0\"}", (int)c->server->name.n, c->server->name.p);
	if (json_type(help) == JSON_STRING) {
		r |= buf_add_string(&text, ",\"instructions\":");
		r |= buf_add_slice(&text, help);
	}
	r |= buf_add(&text, "}", 1);
	c->lists.n = 0;
	r |= listen_put_lists(capabilities, slice(NULL, 0), &c->lists);
	if (r == 0)
		r = conn_reply(c, buf_slice(&call->id), mcp_result, buf_slice(&text));
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

static int
pass_result(struct conn *c, struct slice id, struct slice result)
{
	struct slice type = mcp_string(result, "resultType");
	struct buf room = {0};
	int r;

	if (!c->modern && type.p && json_string_is(type, "input_required"))
		return conn_reply_error(c, id, ACP_ERR_INTERNAL,
			"acp-mcp: the server wants input, which an older MCP client cannot be asked for");
	r = c->modern ? listen_rename(&result, id, &room) : meta_strip_result(&result, &room);
	if (r == 0)
		r = conn_reply(c, id, mcp_result, result);
	buf_free(&room);
	return r;
}

static int
call_response(struct conn *c, struct call *call, const struct msg *answer)
{
	struct slice id = buf_slice(&call->id), result = slice(NULL, 0), error = answer->error;
	int r;

	if (call->kind == CALL_LISTEN) {
		/* It was refused, has ended, or was replaced. */
		c->listening = c->listening == call ? NULL : c->listening;
		return 0;
	}
	if (error.p && !c->proven && c->mcp->options->dialect == DIALECT_DECLARED && unknown_form(error)) {
		c->older = true;
		return conn_connect(c, true);
	}
	c->proven = c->proven || !error.p;
	c->first.n = 0;
	if (json_type(answer->result) == JSON_OBJECT) {
		result = json_get(answer->result, mcp_result);
		error = json_get(answer->result, mcp_error);
	}
	if (answer->error.p)
		r = conn_call_failed(c, call, error);
	else if (error.p)
		r = conn_reply(c, id, mcp_error, error);
	else if (!result.p)
		r = conn_reply_error(c, id, ACP_ERR_INTERNAL, "acp-mcp: a response with neither result nor error");
	else if (call->kind == CALL_DISCOVER)
		r = welcome(c, call, result);
	else
		r = pass_result(c, id, result);
	conn_resume(c);
	return r;
}

/* No requests were sent to the agent's MCP client, so its responses are ignored. */
static int
peer_response(struct conn *c, struct ask *a, const struct msg *m)
{
	(void)c;
	(void)a;
	(void)m;
	return 0;
}

const struct form form_newest = {.send = send_to_chain, .response = call_response, .peer_response = peer_response};
