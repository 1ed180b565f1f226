/*
 * The newest form, at a command that we offer. Each request of the agent's side comes by itself, in the protocol of
 * 2026-07-28. A command that takes the handshake of an older protocol, which is made here, is spoken to in that; one
 * that refuses it gets the requests as they come.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/listen.h"
#include "cmd/acp-mcp/meta.h"
#include "cmd/acp-mcp/names.h"

/* Sends initialize to the command, with the client's data from the first request. */
static int
greet(struct conn *c, struct slice params)
{
	struct slice client = mcp_object(mcp_object(params, mcp_meta), mcp_key_client);
	struct buf hello = {0};
	int r;

	c->greeted = true;
	/* The client's capabilities are for servers that ask it something, which this form does not have. */
	r = buf_printf(&hello, "{\"%s\":\"%s\",\"%s\":{},\"clientInfo\":", acp_protocol_version, mcp_handshake, mcp_capabilities);
	if (client.p)
		r |= buf_add_slice(&hello, client);
	else
		r |= buf_printf(&hello, "{\"name\":\"%s\",\"version\":\"%s\"}", tool_name, VERSION);
	r |= buf_add(&hello, "}", 1);
	if (r == 0)
		r = conn_send(c, slice_of("0"), slice_of("\"initialize\""), buf_slice(&hello));
	buf_free(&hello);
	return r;
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
		r = conn_send(c, slice(NULL, 0), slice_of("\"notifications/initialized\""), slice(NULL, 0));
	return r < 0 ? -1 : conn_send_waiting_asks(c);
}

/* Has the command accepted the handshake? */
static bool
is_old(const struct conn *c)
{
	return c->hello.n > 0 && json_get(buf_slice(&c->hello), acp_protocol_version).p;
}

/* Is it a request whose result is known from the handshake? */
static bool
is_discover(const struct conn *c, struct slice method)
{
	return is_old(c) && json_string_is(method, mcp_discover);
}

/* The answer to server/discover, from the result of the handshake. */
static int
put_discovered(const struct conn *c, struct buf *to)
{
	struct slice hello = buf_slice(&c->hello), capabilities = mcp_object(hello, mcp_capabilities),
		info = mcp_object(hello, "serverInfo"), help = json_get(hello, "instructions");
	int r = buf_printf(to, "{\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"supportedVersions\":[\"%s\"],\"%s\":",
		mcp_newest, mcp_capabilities);

	r |= buf_add_slice(to, capabilities.p ? capabilities : slice_of("{}"));
	if (json_type(help) == JSON_STRING) {
		r |= buf_add_string(to, ",\"instructions\":");
		r |= buf_add_slice(to, help);
	}
	if (info.p) {
		r |= buf_printf(to, ",\"%s\":{\"%s\":", mcp_meta, mcp_key_server);
		r |= buf_add_slice(to, info);
		r |= buf_add(to, "}", 1);
	}
	return r | buf_add_string(to, "}}");
}

static int
reply_locally(struct conn *c, struct slice method)
{
	struct buf text = {0};
	int r;

	if (!is_discover(c, method))
		return 0;
	r = put_discovered(c, &text);
	if (r == 0)
		r = frame_reply(c->mcp->frame, NULL, buf_slice(&text));
	buf_free(&text);
	return r < 0 ? -1 : 1;
}

/* --- subscriptions --- */

/* A notification for one of the chain's requests. */
static int
notify_asker(struct conn *c, const struct ask *a, struct slice method, struct slice params)
{
	const struct buf *id = &c->command.what->id;
	struct buf text = {0};
	int r = buf_printf(&text, "{\"%s\":%.*s,\"%s\":%.*s,\"method\":", acp_server_id, (int)id->n, id->p, acp_request_id,
		(int)a->request_id.n, a->request_id.p);

	r |= buf_add_slice(&text, method);
	if (params.p) {
		r |= buf_add_string(&text, ",\"params\":");
		r |= buf_add_slice(&text, params);
	}
	r |= buf_add(&text, "}", 1);
	if (r == 0)
		r = conn_notify(c, buf_slice(&text));
	buf_free(&text);
	return r;
}

/* Sends a notification of a subscription, with the id of the subscription. */
static int
notify_subscriber(struct conn *c, const struct ask *a, struct slice method, struct slice params)
{
	struct buf with = {0};
	int r = listen_put_params(params, buf_slice(&a->request_id), &with);

	if (r == 0)
		r = notify_asker(c, a, method, buf_slice(&with));
	buf_free(&with);
	return r;
}

/* Subscribes the command to these resources. It is never unsubscribed. */
static int
subscribe(struct conn *c, struct slice uris)
{
	struct json_iter i = {.in = uris};
	struct slice key, uri;
	struct buf params = {0};
	char id[24];
	int r = 0;

	while (r == 0 && json_type(uris) == JSON_ARRAY && json_next(&i, &key, &uri)) {
		params.n = 0;
		r = buf_printf(&params, "{\"%s\":%.*s}", mcp_uri, (int)uri.n, uri.p);
		if (r == 0)
			r = conn_send(c, slice(id, (size_t)snprintf(id, sizeof(id), "%" PRIu64, ++c->last)),
				slice_of("\"resources/subscribe\""), buf_slice(&params));
	}
	buf_free(&params);
	return r;
}

/* Acknowledges a subscription, whose request stays open. */
static int
begin_listening(struct conn *c, struct ask *a, struct slice params)
{
	struct slice capabilities = mcp_object(buf_slice(&c->hello), mcp_capabilities), filter = mcp_object(params, mcp_filter);
	struct slice resources = mcp_object(capabilities, "resources"), uris = filter.p ? json_get(filter, mcp_uris) : filter;
	struct buf text = {0};
	size_t empty;
	int r;

	a->sent = a->listens = true;
	if (!resources.p || json_type(json_get(resources, "subscribe")) != JSON_TRUE)
		uris = slice(NULL, 0);
	r = buf_printf(&text, "{\"%s\":{", mcp_filter);
	empty = text.n;
	r |= listen_put_lists(capabilities, filter.p ? filter : slice_of("{}"), &text);
	if (json_type(uris) == JSON_ARRAY)
		r |= buf_printf(&text, "%s\"%s\":%.*s", text.n > empty ? "," : "", mcp_uris, (int)uris.n, uris.p);
	r |= buf_add_string(&text, "}}");
	if (r == 0)
		r = notify_subscriber(c, a, slice_of("\"notifications/subscriptions/acknowledged\""), buf_slice(&text));
	buf_free(&text);
	return r == 0 ? subscribe(c, uris) : r;
}

/* Sends a notification of the command to each subscription whose filter includes it. */
static int
notify_subscribers(struct conn *c, const struct msg *m)
{
	struct json_error error;
	const struct ask *a;
	struct msg asked;
	int r = 0;

	for (a = c->asks; r == 0 && a; a = a->next) {
		if (!a->listens)
			continue;
		msg_scan(frame_held_text(a->held), &asked, &error);
		if (listen_wants(json_path(asked.params, "params.notifications"), m->method, m->params))
			r = notify_subscriber(c, a, m->method, m->params);
	}
	return r;
}

/* --- requests --- */

static int
deliver(struct conn *c, struct ask *a, struct slice method, struct slice params)
{
	struct buf text = {0};
	int r;

	if (c->hello.n == 0)
		return c->greeted ? 0 : greet(c, params);
	if (!is_old(c))
		return conn_send_ask(c, a, method, params);
	if (json_string_is(method, mcp_listen) && a->request_id.n > 0)
		return begin_listening(c, a, params);
	if (is_discover(c, method)) {
		r = put_discovered(c, &text);
		if (r == 0)
			r = conn_respond(c, a, buf_slice(&text));
	} else {
		r = meta_strip_envelope(&params, &text);
		if (r == 0)
			r = conn_send_ask(c, a, method, params);
	}
	buf_free(&text);
	return r;
}

/* Members that a result of 2026-07-28 must have and an older result lacks: its type, and how long it may be cached. */
static const struct {
	const char *name, *value;
} due[] = {{"resultType", "\"complete\""}, {"ttlMs", "0"}, {"cacheScope", "\"private\""}};

/* Is this a method whose results may be cached? */
static bool
is_cacheable(struct slice request)
{
	static const char *const methods[] = {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"};
	struct json_error error;
	struct msg m;
	size_t i;

	msg_scan(request, &m, &error);
	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (json_string_is(json_get(m.params, mcp_method), methods[i]))
			return true;
	return false;
}

static int
put_result(struct buf *to, struct slice result, bool cacheable)
{
	struct json_iter members = {.in = result};
	struct slice key, value;
	size_t i;
	int r = buf_add(to, "{", 1);

	if (json_type(result) != JSON_OBJECT)
		return r | buf_add_string(to, "}");
	for (i = 0; i < (cacheable ? 3 : 1); i++)
		if (!json_get(result, due[i].name).p)
			r |= buf_printf(to, "%s\"%s\":%s", to->p[to->n - 1] == '{' ? "" : ",", due[i].name, due[i].value);
	if (to->p[to->n - 1] != '{' && json_next(&members, &key, &value))
		r |= buf_add(to, ",", 1);
	return r | buf_add_slice(to, slice(result.p + 1, result.n - 1));
}

static int
peer_response(struct conn *c, struct ask *a, const struct msg *m)
{
	struct slice result = m->result;
	struct buf text = {0}, room = {0};
	int r;

	if (!a)
		return greeted(c, m);
	if (m->error.p) {
		r = buf_add_string(&text, "{\"error\":");
		r |= buf_add_slice(&text, m->error);
	} else {
		r = buf_add_string(&text, "{\"result\":");
		r |= listen_rename(&result, buf_slice(&a->request_id), &room);
		r |= put_result(&text, result, is_cacheable(frame_held_text(a->held)));
	}
	r |= buf_add(&text, "}", 1);
	if (r == 0)
		r = conn_respond(c, a, buf_slice(&text));
	buf_free(&text);
	buf_free(&room);
	return r;
}

/* The request that a notification of the command's belongs to: by its progress token, or the only one. */
static const struct ask *
about(const struct conn *c, struct slice params)
{
	struct slice token = json_type(params) == JSON_OBJECT ? json_get(params, "progressToken") : slice(NULL, 0);
	const struct ask *a, *only = NULL;
	size_t n = 0;

	for (a = c->asks; a; a = a->next) {
		if (token.p && slice_eq(token, buf_slice(&a->token)))
			return a;
		if (!a->listens) {
			only = a;
			n++;
		}
	}
	return n == 1 ? only : NULL;
}

static int
send_to_chain(struct conn *c, const struct msg *m)
{
	const struct ask *a;

	if (m->kind == MSG_REQUEST && json_string_is(m->method, mcp_ping))
		return conn_reply(c, m->id, mcp_result, slice_of("{}"));
	if (m->kind == MSG_REQUEST)
		return conn_reply_error(c, m->id, ACP_ERR_METHOD, "acp-mcp: the client cannot be asked in this form of MCP over ACP");
	a = conn_find_ask(c, listen_name(m->params));
	if (a)
		return notify_subscriber(c, a, m->method, m->params);
	if (is_old(c) && listen_brings(m->method))
		return notify_subscribers(c, m);
	a = about(c, m->params);
	return a && a->request_id.n > 0 ? notify_asker(c, a, m->method, m->params) : 0;
}

/* A command asks the chain nothing. */
static int
call_response(struct conn *c, struct call *call, const struct msg *m)
{
	(void)c;
	(void)call;
	(void)m;
	return 0;
}

const struct form form_newest_offer = {.send = send_to_chain, .response = call_response, .reply_locally = reply_locally, .deliver = deliver, .peer_response = peer_response};
