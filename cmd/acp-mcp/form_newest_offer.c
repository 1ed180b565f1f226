/*
 * The newest form, at a command of --provide. Each request of the agent's side is complete by itself, in the protocol 2026-07-28.
 * acp-mcp tries the handshake of an older protocol: a command that accepts it gets that protocol, another the requests unchanged.
 */
#include <utlist.h>

#include "cmd/acp-mcp/conn.h"

/* Sends initialize to the command, with the client's data from the first request. */
static void
greet(struct conn *c, struct slice params)
{
	struct slice client = mcp_object(json_get(params, mcp_meta), mcp_key_client);
	SCOPED struct buf hello = {0};

	c->greeted = true;
	/* A client has capabilities for the requests of a server, and this form does not have such requests. */
	mcp_check(c->mcp, json_add_object(&hello, (struct json_member[]){{acp_protocol_version, slice_of(mcp_handshake)},
		{mcp_capabilities, slice_of("{}")},
		{mcp_client_info, client.p ? client : slice_of("{\"name\":\"acp-mcp\",\"version\":\"" VERSION "\"}")}, {0}}));
	conn_send(c, slice_of("0"), slice_of("\"initialize\""), buf_slice(&hello));
}

/* Has the command accepted the handshake? */
static bool
has_handshake(const struct conn *c)
{
	return json_get(buf_slice(&c->hello), acp_protocol_version).p;
}

/* Appends a response to server/discover, made from the result of the handshake. 0, or -1 out of memory. */
static int
put_discovered(const struct conn *c, struct buf *to)
{
	struct slice hello = buf_slice(&c->hello), capabilities = mcp_object(hello, mcp_capabilities);
	struct slice info = mcp_object(hello, mcp_server_info);
	int r = buf_printf(to, "{\"result\":{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"supportedVersions\":[\"%s\"]",
		mcp_newest);

	r |= json_add_member(to, mcp_capabilities, capabilities.p ? capabilities : slice_of("{}"));
	r |= json_add_member(to, mcp_instructions, json_get_string(hello, mcp_instructions));
	if (info.p) {
		r |= buf_printf(to, ",\"%s\":{", mcp_meta);
		r |= json_add_member(to, mcp_key_server, info);
		r |= buf_add(to, "}", 1);
	}
	return r | buf_add_string(to, "}}");
}

static bool
reply_locally(struct conn *c, struct slice method)
{
	SCOPED struct buf text = {0};

	/* After a handshake the result of server/discover is known. */
	if (!has_handshake(c) || !json_string_is(method, mcp_discover))
		return false;
	mcp_check(c->mcp, put_discovered(c, &text));
	mcp_check(c->mcp, frame_reply(c->mcp->frame, NULL, buf_slice(&text)));
	return true;
}

/* --- subscriptions --- */

/* Sends a notification about one of the chain's requests into the chain. */
static void
notify_asker(struct conn *c, const struct ask *a, struct slice method, struct slice params)
{
	conn_notify(c, (struct json_member[]){{acp_server_id, buf_slice(&c->command.what->id)}, {acp_request_id, a->request_id},
		{mcp_method, method}, {mcp_params, params}, {0}});
}

/* Sends a notification of a subscription, with the id of the subscription. */
static void
notify_subscriber(struct conn *c, const struct ask *a, struct slice method, struct slice params)
{
	SCOPED struct buf with = {0};

	mcp_check(c->mcp, listen_put_params(params, a->request_id, &with));
	notify_asker(c, a, method, buf_slice(&with));
}

/* Acknowledges a subscription, whose request stays open, and subscribes to its resources, until the command ends. */
static void
begin_listening(struct conn *c, struct ask *a, struct slice params)
{
	struct slice capabilities = mcp_object(buf_slice(&c->hello), mcp_capabilities), filter = mcp_object(params, mcp_filter);
	struct json_iter uris = {.in = json_get(filter, mcp_uris)};
	SCOPED struct buf text = {0};
	char id[SLICE_DIGITS];
	struct slice uri;
	int r;

	a->sent = a->listens = true;
	if (json_type(uris.in) != JSON_ARRAY || json_type(json_path(capabilities, "resources.subscribe")) != JSON_TRUE)
		uris.in = slice(NULL, 0);
	r = buf_printf(&text, "{\"%s\":{", mcp_filter);
	r |= listen_put_lists(capabilities, filter.p ? filter : slice_of("{}"), &text);
	r |= json_add_member(&text, mcp_uris, uris.in);
	r |= buf_add_string(&text, "}}");
	mcp_check(c->mcp, r);
	notify_subscriber(c, a, slice_of("\"notifications/subscriptions/acknowledged\""), buf_slice(&text));
	while (json_item(&uris, &uri)) {
		text.n = 0;
		mcp_check(c->mcp, buf_printf(&text, "{\"%s\":%.*s}", mcp_uri, (int)uri.n, uri.p));
		conn_send(c, slice_digits(++c->last, id), slice_of("\"resources/subscribe\""), buf_slice(&text));
	}
}

/* --- requests --- */

static void
deliver(struct conn *c, struct ask *a)
{
	struct slice method = json_get(a->msg.params, mcp_method), params = json_get(a->msg.params, mcp_params);
	SCOPED struct buf text = {0};

	if (c->hello.n == 0) {
		if (!c->greeted)
			greet(c, params);
	} else if (has_handshake(c) && json_string_is(method, mcp_listen) && a->request_id.n > 0) {
		begin_listening(c, a, params);
	} else if (has_handshake(c) && json_string_is(method, mcp_discover)) {
		mcp_check(c->mcp, put_discovered(c, &text));
		conn_respond(c, a, buf_slice(&text), slice(NULL, 0));
	} else {
		if (has_handshake(c))
			mcp_check(c->mcp, meta_strip_envelope(&params, &text));
		conn_send_ask(c, a, params);
	}
}

/* Handles the response to acp-mcp's initialize. A command that refuses it may know the newest protocol only. */
static void
greeted(struct conn *c, const struct msg *m)
{
	struct ask *a, *next;

	if (c->hello.n > 0 || !slice_is(m->id, "0"))
		return;
	mcp_check(c->mcp, buf_add_slice(&c->hello, json_type(m->result) == JSON_OBJECT ? m->result : slice_of("{}")));
	if (m->result.p)
		conn_send(c, slice(NULL, 0), slice_of("\"notifications/initialized\""), slice(NULL, 0));
	LL_FOREACH_SAFE(c->asks, a, next)
		deliver(c, a);
}

/* Members that a result of 2026-07-28 must have and an older result lacks: its type, and how long it may be cached. */
static const struct {
	const char *name, *value;
} due[] = {{"resultType", "\"complete\""}, {"ttlMs", "0"}, {"cacheScope", "\"private\""}};

static int
put_result(struct buf *to, struct slice result, bool cacheable)
{
	int r = buf_add(to, "{", 1);

	if (json_type(result) != JSON_OBJECT)
		return r | buf_add_string(to, "}");
	for (size_t i = 0; i < (cacheable ? 3 : 1); i++)
		if (!json_get(result, due[i].name).p)
			r |= json_add_member(to, due[i].name, slice_of(due[i].value));
	if (to->p[to->n - 1] != '{' && !json_is_empty(result))
		r |= buf_add(to, ",", 1);
	return r | buf_add_slice(to, slice(result.p + 1, result.n - 1));
}

static void
peer_response(struct conn *c, struct ask *a, const struct msg *m)
{
	static const char *const cacheable[] = {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
		NULL};
	struct slice result = m->result;
	SCOPED struct buf text = {0}, made = {0}, room = {0};
	int r;

	if (!a) {
		greeted(c, m);
		return;
	}
	r = listen_rename(&result, a->request_id, &room);
	if (!m->error.p)
		r |= put_result(&made, result, json_string_in(json_get(a->msg.params, mcp_method), cacheable));
	r |= json_add_object(&text, (struct json_member[]){{mcp_error, m->error}, {mcp_result, buf_slice(&made)}, {0}});
	mcp_check(c->mcp, r);
	conn_respond(c, a, buf_slice(&text), slice(NULL, 0));
}

/* Finds the request that a notification of the command belongs to, by its progress token, or as the only one; else NULL. */
static const struct ask *
ask_of_notification(const struct conn *c, struct slice params)
{
	struct slice token = json_get(params, "progressToken");
	const struct ask *a, *only = NULL;
	size_t n = 0;

	LL_FOREACH(c->asks, a) {
		if (token.p && slice_eq(token, json_path(a->msg.params, "params._meta.progressToken")))
			return a;
		if (!a->listens) {
			only = a;
			n++;
		}
	}
	return n == 1 ? only : NULL;
}

/* Forwards a notification of the command. In this form a command has no requests to the chain: they get an error. */
static void
send_to_chain(struct conn *c, const struct msg *m)
{
	const struct ask *subscription, *a;

	if (m->kind == MSG_REQUEST) {
		if (json_string_is(m->method, mcp_ping))
			conn_reply(c, m->id, slice_of("{}"));
		else
			conn_reply_error(c, m->id, ACP_ERR_METHOD, "acp-mcp: the client cannot be asked in this form of MCP over ACP");
		return;
	}
	subscription = conn_find_ask(c, listen_name(m->params));
	a = ask_of_notification(c, m->params);
	if (subscription) {
		notify_subscriber(c, subscription, m->method, m->params);
	} else if (has_handshake(c) && listen_brings(m->method)) {
		/* Each subscription whose filter includes the notification gets it. */
		LL_FOREACH(c->asks, a)
			if (a->listens && listen_wants(json_path(a->msg.params, "params.notifications"), m->method, m->params))
				notify_subscriber(c, a, m->method, m->params);
	} else if (a && a->request_id.n > 0) {
		notify_asker(c, a, m->method, m->params);
	}
}

const struct form form_newest_offer = {.send = send_to_chain, .reply_locally = reply_locally, .deliver = deliver,
	.peer_response = peer_response};
