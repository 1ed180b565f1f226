/*
 * The newest form, at a shim: there is no connection, and each request is complete by itself, in the protocol of 2026-07-28. With
 * an agent's MCP client of an older protocol, acp-mcp does the handshake; a client of this protocol gets the provider's responses.
 */
#include <inttypes.h>

#include "cmd/acp-mcp/conn.h"

/* Sends to the provider {"serverId":X,"requestId":R,"method":M,"params":P}. m: the peer's request, or NULL. NULL out of memory. */
static struct call *
put_out(struct conn *c, enum call_kind kind, struct slice method, struct slice params, const struct msg *m)
{
	struct slice hello = buf_slice(&c->hello), capabilities = mcp_object(hello, mcp_capabilities);
	uint64_t number = ++c->mcp->nrequests;
	SCOPED struct buf id = {0}, meta = {0}, with = {0};
	struct call *call;
	int r = buf_printf(&id, "\"%" PRIu64 "\"", number);

	if (!c->modern) {
		/* The members of _meta that each request must have, from the initialize of the agent's MCP client. */
		r |= buf_printf(&meta, "\"%s\":\"%s\"", mcp_key_version, mcp_newest);
		r |= json_add_member(&meta, mcp_key_capabilities, capabilities.p ? capabilities : slice_of("{}"));
		r |= json_add_member(&meta, mcp_key_client, mcp_object(hello, mcp_client_info));
		r |= meta_put(params, buf_slice(&meta), &with);
		params = buf_slice(&with);
	}
	mcp_check(c->mcp, r);
	call = conn_call(c, kind, (struct json_member[]){{acp_server_id, c->server->id}, {acp_request_id, buf_slice(&id)},
		{mcp_method, method}, {mcp_params, params}, {0}}, m);
	if (call)
		call->number = number;
	return call;
}

static void
ask(struct conn *c, enum call_kind kind, struct slice method, struct slice params, const struct msg *m)
{
	SCOPED struct buf with = {0};

	/*
	 * The first response shows whether the provider knows this form; until then there is only one request. It is server/discover,
	 * because the response to another may take long.
	 */
	if (!c->proven && kind == CALL_MESSAGE) {
		mcp_check(c->mcp, json_add_object(&with, (struct json_member[]){{mcp_meta, json_get(params, mcp_meta)}, {0}}));
		kind = CALL_FORM;
		method = slice_of("\"server/discover\"");
		params = buf_slice(&with);
	}
	if (!put_out(c, kind, method, params, kind == CALL_FORM ? NULL : m) || c->proven)
		return;
	conn_await(c);
	mcp_check(c->mcp, buf_add_slice(&c->first, m->text));
}

/* --- notifications for an older client --- */

/* Opens a new subscription, which replaces the earlier one. */
static void
renew_subscription(struct conn *c)
{
	struct call *old = c->listening;
	SCOPED struct buf params = {0};
	int r;

	if (c->lists.n == 0 && c->uris.n == 0)
		return;
	r = buf_printf(&params, "{\"%s\":{%.*s", mcp_filter, (int)c->lists.n, c->lists.p);
	r |= json_add_member(&params, mcp_uris, buf_slice(&c->uris));
	r |= buf_add_string(&params, "}}");
	mcp_check(c->mcp, r);
	c->listening = put_out(c, CALL_LISTEN, slice_of("\"subscriptions/listen\""), buf_slice(&params), NULL);
	/* Notifications of the old subscription are still forwarded: twice is better than not at all. */
	if (old)
		mcp_check(c->mcp, frame_cancel(c->mcp->frame, old));
}

static void
send_older(struct conn *c, const struct msg *m)
{
	struct slice uri = json_get_string(m->params, mcp_uri);
	bool on = json_string_is(m->method, "resources/subscribe");
	struct buf uris = {0};

	if (json_string_is(m->method, mcp_ping)) {
		conn_reply(c, m->id, slice_of("{}"));
	} else if (c->proven && uri.p && (on || json_string_is(m->method, "resources/unsubscribe"))) {
		/* The newest protocol replaces these two requests by subscriptions. */
		mcp_check(c->mcp, listen_put_uris(buf_slice(&c->uris), uri, on, &uris));
		buf_free(&c->uris);
		c->uris = uris;
		renew_subscription(c);
		conn_reply(c, m->id, slice_of("{}"));
	} else if (json_string_is(m->method, "initialize")) {
		c->hello.n = 0;
		mcp_check(c->mcp, buf_add_slice(&c->hello, m->params));
		ask(c, CALL_DISCOVER, slice_of("\"server/discover\""), slice(NULL, 0), m);
	} else {
		ask(c, CALL_MESSAGE, m->method, m->params, m);
	}
}

static void
send_to_chain(struct conn *c, const struct msg *m)
{
	if (m->kind == MSG_NOTIFICATION) {
		if (!c->modern && json_string_is(m->method, "notifications/initialized"))
			renew_subscription(c);
		return;
	}
	/* Does the request have the member of _meta that the newest protocol requires? */
	c->modern = json_get(json_get(m->params, mcp_meta), mcp_key_version).p;
	if (c->modern)
		ask(c, json_string_is(m->method, mcp_discover) ? CALL_PROBE : CALL_MESSAGE, m->method, m->params, m);
	else
		send_older(c, m);
}

/* Responds to the agent's MCP initialize with the provider's result of server/discover. */
static void
welcome(struct conn *c, const struct call *call, struct slice found)
{
	struct slice version = json_get_string(buf_slice(&c->hello), acp_protocol_version), capabilities = mcp_object(found, mcp_capabilities);
	struct slice info = mcp_object(json_get(found, mcp_meta), mcp_key_server);
	SCOPED struct buf text = {0}, unnamed = {0};
	int r = buf_printf(&unnamed, "{\"name\":%.*s,\"version\":\"0\"}", (int)c->server->name.n, c->server->name.p);

	r |= json_add_object(&text, (struct json_member[]){{acp_protocol_version, version.p ? version : slice_of(mcp_handshake)},
		{mcp_capabilities, capabilities.p ? capabilities : slice_of("{\"tools\":{}}")},
		{mcp_server_info, info.p ? info : buf_slice(&unnamed)},
		{mcp_instructions, json_get_string(found, mcp_instructions)}, {0}});
	c->lists.n = 0;
	r |= listen_put_lists(capabilities, slice(NULL, 0), &c->lists);
	mcp_check(c->mcp, r);
	conn_reply(c, call->id, buf_slice(&text));
}

static void
call_response(struct conn *c, struct call *call, const struct msg *response)
{
	struct slice id = call->id, code = json_get(response->error, "code");
	struct slice result = json_get(response->result, mcp_result), error = json_get(response->result, mcp_error);
	SCOPED struct buf room = {0};

	if (call->kind == CALL_LISTEN) {
		/* The subscription was refused, has ended, or was replaced. */
		c->listening = c->listening == call ? NULL : c->listening;
		return;
	}
	/* A provider that does not know this form is asked in the first form. */
	if (!c->proven && c->mcp->options->dialect == DIALECT_DECLARED && (slice_is(code, "-32601") || slice_is(code, "-32602"))) {
		c->older = true;
		form_first_connect(c, true);
		return;
	}
	if (call->kind == CALL_FORM) {
		c->proven = true;
		conn_retry_first(c);
		conn_resume(c);
		return;
	}
	c->proven = c->proven || !response->error.p;
	c->first.n = 0;
	if (response->error.p) {
		conn_call_failed(c, call, response->error);
	} else if (error.p) {
		conn_reply_failure(c, id, error);
	} else if (!result.p) {
		conn_reply_error(c, id, ACP_ERR_INTERNAL, "acp-mcp: a response with neither result nor error");
	} else if (call->kind == CALL_DISCOVER) {
		welcome(c, call, result);
	} else if (!c->modern && json_string_is(json_get(result, "resultType"), "input_required")) {
		conn_reply_error(c, id, ACP_ERR_INTERNAL, "acp-mcp: the server wants input, which an older MCP client cannot be asked for");
	} else {
		mcp_check(c->mcp, c->modern ? 0 : meta_strip_result(&result, &room));
		conn_reply(c, id, result);
	}
	conn_resume(c);
}

const struct form form_newest = {.send = send_to_chain, .response = call_response};
