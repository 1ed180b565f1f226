/* A connection's end in the chain: requests that acp-mcp has sent there (calls), and requests from there to the peer (asks). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/listen.h"
#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/server.h"

static enum acp_direction
other_direction(enum acp_direction dir)
{
	return dir == ACP_DOWN ? ACP_UP : ACP_DOWN;
}

/* --- calls --- */

struct call *
conn_call(struct conn *c, enum call_kind kind, enum acp_method method, struct slice params, const struct msg *of)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call || (of && buf_add_slice(&call->id, of->id) < 0)) {
		free(call);
		return NULL;
	}
	call->conn = c;
	call->kind = kind;
	call->next = c->mcp->calls;
	c->mcp->calls = call;
	if (frame_request(c->mcp->frame, c->dir, acp_name(method, ACP_PLAIN), params, call) == 0)
		return call;
	c->mcp->calls = call->next;
	buf_free(&call->id);
	free(call);
	return NULL;
}

static void
call_free(struct mcp *m, struct call *call)
{
	struct call **at = &m->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	buf_free(&call->id);
	buf_free(&call->subscription);
	free(call);
}

void
conn_free_calls(struct mcp *m)
{
	while (m->calls)
		call_free(m, m->calls);
}

void
conn_drop_calls(struct conn *c)
{
	struct call *call;

	for (call = c->mcp->calls; call; call = call->next) {
		if (call->conn != c)
			continue;
		/* mcp/connect is not cancelled: its response has the id to disconnect. */
		if (call->kind != CALL_CONNECT && frame_cancel(c->mcp->frame, call) < 0)
			mcp_fail(c->mcp, "out of memory");
		call->conn = NULL;
	}
	c->listening = NULL;
}

static int
disconnect(struct conn *c, struct slice id)
{
	struct buf params = {0};
	struct call *call = NULL;

	if (buf_printf(&params, "{\"%s\":%.*s}", acp_connection_id, (int)id.n, id.p) == 0)
		call = conn_call(c, CALL_DISCONNECT, ACP_MCP_DISCONNECT, buf_slice(&params), NULL);
	if (call)
		call->conn = NULL;
	buf_free(&params);
	return call ? 0 : -1;
}

int
conn_disconnect(struct conn *c)
{
	int r = c->id.n > 0 ? disconnect(c, buf_slice(&c->id)) : 0;

	c->id.n = 0;
	return r;
}

/* Disconnects after a response to mcp/connect whose connection has ended. */
static int
disconnect_unclaimed(struct mcp *m, const struct msg *answer)
{
	struct conn gone = {.mcp = m, .dir = ACP_UP};
	struct slice id = mcp_string(answer->result, acp_connection_id);

	return id.p ? disconnect(&gone, id) : 0;
}

void
conn_response(struct mcp *m, struct call *call, const struct msg *answer)
{
	int r = 0;

	if (call->conn && call->cancelled)
		r = conn_call_failed(call->conn, call, answer->error);
	else if (call->conn)
		r = call->conn->form->response(call->conn, call, answer);
	else if (call->kind == CALL_CONNECT)
		r = disconnect_unclaimed(m, answer);
	call_free(m, call);
	if (r < 0)
		mcp_fail(m, "out of memory");
}

int
conn_call_failed(struct conn *c, const struct call *call, struct slice error)
{
	struct slice code = json_type(error) == JSON_OBJECT ? json_get(error, "code") : slice(NULL, 0);
	bool gone = c->server && (slice_is(code, "-33001") || slice_is(code, "-33002"));
	int r = 0;

	if (!call->cancelled && !(gone && call->kind == CALL_PROBE))
		r = conn_reply(c, buf_slice(&call->id), mcp_error, error);
	return gone ? r | conn_end(c) : r;
}

int
conn_notify(struct conn *c, struct slice params)
{
	return frame_notify(c->mcp->frame, c->dir, acp_name(ACP_MCP_MESSAGE, ACP_PLAIN), params);
}

/* Cancels the call that forwards the request which the peer has cancelled. */
static int
cancel_call(struct conn *c, struct slice params)
{
	struct slice id = json_type(params) == JSON_OBJECT ? json_get(params, mcp_request_id) : slice(NULL, 0);
	struct buf named = {0}, its = {0};
	struct call *call;
	int r;

	if (!id.p)
		return 0;
	r = msg_id_key(id, &named);
	for (call = c->mcp->calls; r == 0 && call; call = call->next) {
		if (call->conn != c || call->id.n == 0)
			continue;
		its.n = 0;
		r = msg_id_key(buf_slice(&call->id), &its);
		if (r < 0 || !slice_eq(buf_slice(&named), buf_slice(&its)))
			continue;
		call->cancelled = true;
		r = frame_cancel(c->mcp->frame, call);
	}
	buf_free(&named);
	buf_free(&its);
	return r;
}

/* Sends a notification about a call to the peer. The peer's request id replaces the subscription id; an older client, which has no such
 * request, does not get the acknowledgement. */
static int
notify_of_call(const struct call *call, struct slice method, struct slice params)
{
	struct buf with = {0};
	int r;

	if (call->id.n == 0)
		return json_string_is(method, mcp_acknowledged) ? 0 : conn_send(call->conn, slice(NULL, 0), method, params);
	r = listen_rename(&params, buf_slice(&call->id), &with);
	if (r == 0)
		r = conn_send(call->conn, slice(NULL, 0), method, params);
	buf_free(&with);
	return r;
}

/*
 * The request of the peer's that a notification of the first form belongs to, where it is about a subscription; or NULL. The
 * provider names a subscription by an id of its own. The first notification of each acknowledges it, in the order of the requests.
 */
static struct call *
subscription_call(struct conn *c, struct slice name)
{
	struct call *call, *oldest = NULL;

	for (call = c->mcp->calls; call; call = call->next) {
		if (call->conn != c || call->kind != CALL_LISTEN)
			continue;
		if (slice_eq(buf_slice(&call->subscription), name))
			return call;
		if (call->subscription.n == 0)
			oldest = call;
	}
	if (oldest && buf_add_slice(&oldest->subscription, name) < 0)
		mcp_fail(c->mcp, "out of memory");
	return oldest;
}

/* Sends a notification of the first form to the peer. It may belong to a subscription. */
static int
notify_peer(struct conn *c, struct slice method, struct slice params)
{
	struct slice name = listen_name(params);
	struct call *call = c->server && name.p ? subscription_call(c, name) : NULL;

	return call ? notify_of_call(call, method, params) : conn_send(c, slice(NULL, 0), method, params);
}

/* A provider that sends a notification about a request knows its form: there is no need to wait for its response. */
static void
mark_proven(struct conn *c)
{
	if (c->proven)
		return;
	c->proven = true;
	c->first.n = 0;
	conn_resume(c);
}

bool
conn_forward_notification(struct mcp *m, struct slice server_id, const struct msg *msg)
{
	struct slice id = mcp_string(msg->params, acp_request_id), method = mcp_string(msg->params, mcp_method);
	const struct call *call;
	char number[24];

	for (call = m->calls; call; call = call->next) {
		if (call->number == 0 || !call->conn || !json_string_eq(buf_slice(&call->conn->server->id), server_id))
			continue;
		snprintf(number, sizeof(number), "%" PRIu64, call->number);
		if (!id.p || !json_string_is(id, number))
			continue;
		if (method.p && notify_of_call(call, method, json_get(msg->params, mcp_params)) < 0)
			mcp_fail(m, "out of memory");
		mark_proven(call->conn);
		return true;
	}
	return false;
}

/* --- asks --- */

static void
ask_discard(struct ask *a)
{
	buf_free(&a->id);
	buf_free(&a->request_id);
	buf_free(&a->token);
	free(a);
}

static void
ask_free(struct conn *c, struct ask *a)
{
	struct ask **at = &c->asks;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	frame_release(c->mcp->frame, a->held, VERDICT_DROP, slice(NULL, 0));
	ask_discard(a);
}

int
conn_refuse(struct conn *c, struct ask *a, int code, const char *why)
{
	int r = frame_reply_error(c->mcp->frame, a->held, code, why, slice(NULL, 0));

	ask_free(c, a);
	return r;
}

void
conn_refuse_asks(struct conn *c, int code, const char *why)
{
	while (c->asks)
		if (conn_refuse(c, c->asks, code, why) < 0)
			mcp_fail(c->mcp, "out of memory");
}

/* Copies the members of the newest form that the response and the notifications of a request need. */
static int
note_newest(struct ask *a, struct slice params)
{
	struct slice id = mcp_string(params, acp_request_id), token = json_path(params, "params._meta.progressToken");
	int r = 0;

	if (id.p)
		r = buf_add_slice(&a->request_id, id);
	if (r == 0 && token.p)
		r = buf_add_slice(&a->token, token);
	return r;
}

static struct ask *
ask_new(struct conn *c, const struct msg *m)
{
	struct ask *a = calloc(1, sizeof(*a)), **at = &c->asks;

	if (!a)
		return NULL;
	a->number = ++c->last;
	if (buf_add_slice(&a->id, m->id) == 0 && note_newest(a, m->params) == 0 && (a->held = frame_hold(c->mcp->frame))) {
		while (*at)
			at = &(*at)->next;
		*at = a;
		return a;
	}
	ask_discard(a);
	return NULL;
}

int
conn_send_ask(struct conn *c, struct ask *a, struct slice method, struct slice params)
{
	char id[24];

	a->sent = true;
	return conn_send(c, slice(id, (size_t)snprintf(id, sizeof(id), "%" PRIu64, a->number)), method, params);
}

static int
deliver_ask(struct conn *c, struct ask *a)
{
	struct json_error error;
	struct msg m;

	msg_scan(frame_held_text(a->held), &m, &error);
	return c->form->deliver(c, a, json_get(m.params, mcp_method), json_get(m.params, mcp_params));
}

int
conn_send_waiting_asks(struct conn *c)
{
	struct ask *a, *next;
	int r = 0;

	for (a = c->asks; a && r == 0; a = next) {
		next = a->next;
		if (!a->sent)
			r = deliver_ask(c, a);
	}
	return r;
}

static enum verdict
failed(struct conn *c, enum verdict v)
{
	mcp_fail(c->mcp, "out of memory");
	return v;
}

/* Discards a message for the peer; a request gets an error. */
static enum verdict
refuse(struct conn *c, const struct msg *m, int code, const char *why)
{
	if (m->kind == MSG_REQUEST && frame_reply_error(c->mcp->frame, NULL, code, why, slice(NULL, 0)) < 0)
		return failed(c, VERDICT_DROP);
	return VERDICT_DROP;
}

enum verdict
conn_deliver(struct conn *c, const struct message *s)
{
	const struct msg *m = &s->msg;
	struct slice method = mcp_string(m->params, mcp_method);
	struct ask *a;
	int r;

	if (!method.p)
		return refuse(c, m, ACP_ERR_PARAMS, "acp-mcp: mcp/message without a method");
	if (c->ended)
		return refuse(c, m, MCP_ERR_UNAVAILABLE, "acp-mcp: the server has ended");
	if (m->kind == MSG_NOTIFICATION) {
		r = notify_peer(c, method, json_get(m->params, mcp_params));
		return r < 0 ? failed(c, VERDICT_DROP) : VERDICT_DROP;
	}
	/* Before it is held: the frame must not release a message while the filter is still called with it. */
	r = c->form->reply_locally ? c->form->reply_locally(c, method) : 0;
	if (r)
		return r < 0 ? failed(c, VERDICT_DROP) : VERDICT_DROP;
	a = ask_new(c, m);
	if (!a)
		return failed(c, VERDICT_DROP);
	return deliver_ask(c, a) < 0 ? failed(c, VERDICT_HOLD) : VERDICT_HOLD;
}

struct ask *
conn_find_ask(const struct conn *c, struct slice id)
{
	struct ask *a = c->asks;
	uint64_t number;

	if (json_type(id) != JSON_NUMBER || !json_u64(id, &number))
		return NULL;
	while (a && !(a->sent && a->number == number))
		a = a->next;
	return a;
}

/* Finds the ask with this id in the chain. */
static int
find_ask(struct conn *c, struct slice key, struct ask **found)
{
	struct buf own = {0};
	struct ask *a;
	int r = 0;

	*found = NULL;
	for (a = c->asks; r == 0 && a && !*found; a = a->next) {
		own.n = 0;
		r = msg_id_key(buf_slice(&a->id), &own);
		if (r == 0 && slice_eq(key, buf_slice(&own)))
			*found = a;
	}
	buf_free(&own);
	return r;
}

/* Responds at once, because a server need not respond to a cancelled request. */
static int
cancel_ask(struct conn *c, struct ask *a)
{
	struct buf params = {0};
	int r = buf_printf(&params, "{\"%s\":%" PRIu64 "}", mcp_request_id, a->number);

	if (r == 0 && a->sent && !a->listens)
		r = conn_send(c, slice(NULL, 0), slice_of("\"notifications/cancelled\""), buf_slice(&params));
	buf_free(&params);
	return conn_refuse(c, a, ACP_ERR_CANCELLED, "Request cancelled") | r;
}

bool
conn_cancel_any(struct mcp *m, enum acp_direction dir, struct slice id)
{
	struct ask *found = NULL;
	struct buf key = {0};
	struct conn *c;
	int r = msg_id_key(id, &key);

	for (c = m->conns; r == 0 && c && !found; c = c->next) {
		if (dir != other_direction(c->dir))
			continue;
		r = find_ask(c, buf_slice(&key), &found);
		if (found)
			r = cancel_ask(c, found);
	}
	buf_free(&key);
	if (r < 0)
		mcp_fail(m, "out of memory");
	return found != NULL;
}

int
conn_respond(struct conn *c, struct ask *a, struct slice result)
{
	int r = frame_reply(c->mcp->frame, a->held, result);

	ask_free(c, a);
	return r;
}

int
conn_respond_error(struct conn *c, struct ask *a, struct slice error)
{
	int r = frame_reply_error_object(c->mcp->frame, a->held, error);

	ask_free(c, a);
	return r;
}

/* --- messages from the peer --- */

int
conn_receive(struct conn *c, const struct msg *m)
{
	if (m->kind == MSG_RESPONSE)
		return c->form->peer_response(c, conn_find_ask(c, m->id), m);
	if (m->kind == MSG_NOTIFICATION && json_string_is(m->method, mcp_cancelled))
		return cancel_call(c, m->params);
	if (c->refusal.n > 0 && m->kind == MSG_REQUEST)
		return conn_reply(c, m->id, mcp_error, buf_slice(&c->refusal)) | conn_end(c);
	if (c->refusal.n > 0)
		return 0;
	return c->form->send(c, m);
}

/* --- messages to the peer --- */

static int
send(struct conn *c, struct buf *text, int r)
{
	if (r == 0)
		r = peer_send(&c->peer, buf_slice(text));
	buf_free(text);
	return r < 0 ? -1 : 0;
}

int
conn_send(struct conn *c, struct slice id, struct slice method, struct slice params)
{
	struct buf text = {0};
	int r = buf_add_string(&text, "{\"jsonrpc\":\"2.0\"");

	if (id.p) {
		r |= buf_add_string(&text, ",\"id\":");
		r |= buf_add_slice(&text, id);
	}
	r |= buf_add_string(&text, ",\"method\":");
	r |= buf_add_slice(&text, method);
	if (params.p) {
		r |= buf_add_string(&text, ",\"params\":");
		r |= buf_add_slice(&text, params);
	}
	r |= buf_add(&text, "}", 1);
	return send(c, &text, r);
}

int
conn_reply(struct conn *c, struct slice id, const char *member, struct slice value)
{
	struct buf text = {0};
	int r = buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":", (int)id.n, id.p, member);

	r |= buf_add_slice(&text, value);
	r |= buf_add(&text, "}", 1);
	return send(c, &text, r);
}

int
conn_reply_error(struct conn *c, struct slice id, int code, const char *message)
{
	struct buf text = {0};

	return send(c, &text, msg_make_error(&text, id, code, message, slice(NULL, 0)));
}
