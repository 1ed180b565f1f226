/* A connection's end in the chain: acp-mcp's requests into the chain (calls), and the chain's requests to the peer (asks). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-mcp/conn.h"

void
conn_warn(struct conn *c, const char *what, struct slice why)
{
	struct slice name = c->server ? c->server->name : buf_slice(&c->command.what->name);

	frame_warn(c->mcp->frame, "server %.*s: %s%.*s", (int)name.n, name.p, what, (int)(why.n < 512 ? why.n : 512), why.p);
}

/* --- messages to the peer --- */

/* Sends a line to the peer, unless the peer has ended. r: 0, or -1 if there was no memory for the text. */
static void
send(struct conn *c, const struct buf *text, int r)
{
	if (r == 0 && !c->ended)
		r = endpoint_put_line(&c->peer, NULL, buf_slice(text), false);
	mcp_check(c->mcp, r);
}

void
conn_send(struct conn *c, struct slice id, struct slice method, struct slice params)
{
	const struct json_member members[] = {{"jsonrpc", slice_of("\"2.0\"")}, {"id", id}, {mcp_method, method}, {mcp_params, params}, {0}};
	SCOPED struct buf text = {0};

	send(c, &text, json_add_object(&text, members));
}

void
conn_reply(struct conn *c, struct slice id, struct slice result)
{
	SCOPED struct buf text = {0}, room = {0};

	mcp_check(c->mcp, listen_rename(&result, id, &room));
	send(c, &text, msg_make_result(&text, id, result));
}

void
conn_reply_failure(struct conn *c, struct slice id, struct slice error)
{
	SCOPED struct buf text = {0};

	send(c, &text, msg_make_failure(&text, id, error));
}

void
conn_reply_error(struct conn *c, struct slice id, int code, const char *message)
{
	SCOPED struct buf text = {0};

	send(c, &text, msg_make_error(&text, id, code, message, slice(NULL, 0)));
}

/* --- calls --- */

struct call *
conn_call(struct conn *c, enum call_kind kind, const struct json_member *params, const struct msg *of)
{
	enum acp_method method = kind == CALL_CONNECT ? ACP_MCP_CONNECT : kind == CALL_DISCONNECT ? ACP_MCP_DISCONNECT : ACP_MCP_MESSAGE;
	struct slice id = of ? of->id : slice(NULL, 0);
	struct call *call = calloc(1, sizeof(*call) + id.n);
	char *room = (char *)(call + 1);
	SCOPED struct buf text = {0};

	if (call) {
		*call = (struct call){.conn = kind == CALL_DISCONNECT ? NULL : c, .kind = kind, .id = slice_keep(&room, id)};
		LL_PREPEND(c->mcp->calls, call);
		if (json_add_object(&text, params) == 0 &&
			frame_request(c->mcp->frame, c->dir, acp_name(method, ACP_PLAIN), buf_slice(&text), call) == 0)
			return call;
		LL_DELETE(c->mcp->calls, call);
	}
	free(call);
	mcp_check(c->mcp, -1);
	return NULL;
}

void
call_free(struct mcp *m, struct call *call)
{
	LL_DELETE(m->calls, call);
	buf_free(&call->subscription);
	free(call);
}

void
conn_drop_calls(struct conn *c)
{
	struct call *call;

	LL_FOREACH(c->mcp->calls, call) {
		if (call->conn != c)
			continue;
		/* mcp/connect is not cancelled: its response has the id for mcp/disconnect. */
		if (call->kind != CALL_CONNECT)
			mcp_check(c->mcp, frame_cancel(c->mcp->frame, call));
		call->conn = NULL;
	}
	c->listening = NULL;
}

void
conn_disconnect(struct conn *c)
{
	if (c->id.n > 0)
		conn_call(c, CALL_DISCONNECT, (struct json_member[]){{acp_connection_id, buf_slice(&c->id)}, {0}}, NULL);
	c->id.n = 0;
}

void
conn_response(struct mcp *m, struct call *call, const struct msg *response)
{
	struct slice id = json_get_string(response->result, acp_connection_id);

	if (call->conn && call->cancelled)
		conn_call_failed(call->conn, call, response->error);
	else if (call->conn)
		call->conn->form->response(call->conn, call, response);
	else if (call->kind == CALL_CONNECT && id.p) /* the connection has ended meanwhile */
		conn_call(&(struct conn){.mcp = m, .dir = ACP_UP}, CALL_DISCONNECT, (struct json_member[]){{acp_connection_id, id}, {0}}, NULL);
	call_free(m, call);
}

void
conn_call_failed(struct conn *c, const struct call *call, struct slice error)
{
	struct slice code = json_get(error, "code");
	bool gone = c->server && (slice_is(code, "-33001") || slice_is(code, "-33002"));
	const struct call *open;

	/* The end of the connection drops the other calls: their requests get the same error. */
	LL_FOREACH(c->mcp->calls, open)
		if ((open == call || (gone && open->conn == c && open->id.n > 0)) && !open->cancelled && !(gone && open->kind == CALL_PROBE))
			conn_reply_failure(c, open->id, error);
	if (gone)
		conn_end(c);
}

void
conn_notify(struct conn *c, const struct json_member *params)
{
	SCOPED struct buf text = {0};

	mcp_check(c->mcp, json_add_object(&text, params));
	mcp_check(c->mcp, frame_notify(c->mcp->frame, c->dir, acp_name(ACP_MCP_MESSAGE, ACP_PLAIN), buf_slice(&text)));
}

/* Cancels the call that forwards the request which the peer has cancelled. */
static void
cancel_call(struct conn *c, struct slice params)
{
	struct slice id = json_get(params, acp_request_id);
	struct call *call;

	LL_FOREACH(c->mcp->calls, call) {
		if (call->conn != c || call->id.n == 0 || !msg_same_id(call->id, id))
			continue;
		call->cancelled = true;
		mcp_check(c->mcp, frame_cancel(c->mcp->frame, call));
	}
}

/* Sends a notification about a call to the peer. The peer's request id replaces the subscription id; an older client, which has no
 * such request, does not get the acknowledgement. */
static void
notify_of_call(const struct call *call, struct slice method, struct slice params)
{
	SCOPED struct buf with = {0};

	if (call->id.n > 0)
		mcp_check(call->conn->mcp, listen_rename(&params, call->id, &with));
	if (call->id.n > 0 || !json_string_is(method, "notifications/subscriptions/acknowledged"))
		conn_send(call->conn, slice(NULL, 0), method, params);
}

/*
 * Finds the call of the subscription that a notification of the first form names, or NULL. The provider names subscriptions by its
 * own ids. Its first notification for each subscription is the acknowledgement; these come in the order of the requests.
 */
static struct call *
subscription_call(struct conn *c, struct slice name)
{
	struct call *call, *oldest = NULL;

	LL_FOREACH(c->mcp->calls, call) {
		if (call->conn != c || call->kind != CALL_LISTEN)
			continue;
		if (slice_eq(buf_slice(&call->subscription), name))
			return call;
		if (call->subscription.n == 0)
			oldest = call;
	}
	if (oldest)
		mcp_check(c->mcp, buf_add_slice(&oldest->subscription, name));
	return oldest;
}

bool
conn_forward_notification(struct mcp *m, struct slice server_id, const struct msg *msg)
{
	struct slice id = json_get(msg->params, acp_request_id), method = json_get_string(msg->params, mcp_method);
	const struct call *call;
	char number[24];

	LL_FOREACH(m->calls, call) {
		if (call->number == 0 || !call->conn || !json_string_eq(call->conn->server->id, server_id))
			continue;
		snprintf(number, sizeof(number), "%" PRIu64, call->number);
		if (!json_string_is(id, number))
			continue;
		if (method.p)
			notify_of_call(call, method, json_get(msg->params, mcp_params));
		return true;
	}
	return false;
}

/* --- asks --- */

/* Frees an ask that has its response. r: 0, or -1 if there was no memory for the response. */
static void
ask_free(struct conn *c, struct ask *a, int r)
{
	mcp_check(c->mcp, r);
	LL_DELETE(c->asks, a);
	frame_release(c->mcp->frame, a->held, VERDICT_DROP, slice(NULL, 0));
	free(a);
}

void
conn_respond(struct conn *c, struct ask *a, struct slice result, struct slice error)
{
	ask_free(c, a, error.p ? frame_reply_error_object(c->mcp->frame, a->held, error) : frame_reply(c->mcp->frame, a->held, result));
}

void
conn_refuse(struct conn *c, struct ask *a, int code, const char *why)
{
	ask_free(c, a, frame_reply_error(c->mcp->frame, a->held, code, why));
}

void
conn_refuse_asks(struct conn *c, int code, const char *why)
{
	while (c->asks)
		conn_refuse(c, c->asks, code, why);
}

/* Cancels an ask, and frees it. Responds at once, because a peer need not respond to a cancelled request. */
static void
cancel_ask(struct conn *c, struct ask *a, const char *why)
{
	SCOPED struct buf params = {0};

	mcp_check(c->mcp, buf_printf(&params, "{\"%s\":%" PRIu64 "}", acp_request_id, a->number));
	if (a->sent && !a->listens)
		conn_send(c, slice(NULL, 0), slice_of("\"notifications/cancelled\""), buf_slice(&params));
	conn_refuse(c, a, ACP_ERR_CANCELLED, why);
}

void
conn_client_left(struct mcp *m)
{
	struct conn *c;

	LL_FOREACH(m->conns, c)
		while (c->dir == ACP_UP && c->asks)
			cancel_ask(c, c->asks, "acp-mcp: the client has left");
}

void
conn_send_ask(struct conn *c, struct ask *a, struct slice params)
{
	char id[SLICE_DIGITS];

	a->sent = true;
	conn_send(c, slice_digits(a->number, id), json_get(a->msg.params, mcp_method), params);
}

enum verdict
conn_deliver(struct conn *c, const struct message *s)
{
	const struct msg *m = &s->msg;
	struct slice method = json_get_string(m->params, mcp_method), params = json_get(m->params, mcp_params), name;
	struct call *call;
	struct ask *a;

	if (!method.p)
		return mcp_refuse(c->mcp, m, ACP_ERR_PARAMS, "acp-mcp: mcp/message without a method");
	if (c->ended)
		return mcp_refuse(c->mcp, m, MCP_ERR_UNAVAILABLE, "acp-mcp: the server has ended");
	if (m->kind == MSG_NOTIFICATION) {
		/* In the first form a notification may belong to a subscription. */
		name = listen_name(params);
		call = c->server && name.p ? subscription_call(c, name) : NULL;
		if (call)
			notify_of_call(call, method, params);
		else
			conn_send(c, slice(NULL, 0), method, params);
		return VERDICT_DROP;
	}
	/* Replies before the message is held: the frame must not release a message while the filter is still called with it. */
	if (c->form->reply_locally && c->form->reply_locally(c, method))
		return VERDICT_DROP;
	a = calloc(1, sizeof(*a));
	if (!a || !(a->held = frame_hold(c->mcp->frame, NULL))) {
		free(a);
		mcp_fail(c->mcp, "out of memory");
		return VERDICT_DROP;
	}
	msg_scan(frame_held_text(a->held), &a->msg, NULL);
	a->request_id = json_get_string(a->msg.params, acp_request_id);
	a->number = ++c->last;
	LL_APPEND(c->asks, a);
	c->form->deliver(c, a);
	return VERDICT_HOLD;
}

struct ask *
conn_find_ask(const struct conn *c, struct slice id)
{
	struct ask *a = c->asks;
	uint64_t number;

	if (!json_u64(id, &number))
		return NULL;
	while (a && !(a->sent && a->number == number))
		a = a->next;
	return a;
}

bool
conn_cancel_any(struct mcp *m, enum acp_direction dir, struct slice id)
{
	struct conn *c;
	struct ask *a;

	LL_FOREACH(m->conns, c) {
		if (dir == c->dir)
			continue;
		LL_FOREACH(c->asks, a) {
			if (!msg_same_id(a->msg.id, id))
				continue;
			cancel_ask(c, a, "Request cancelled");
			return true;
		}
	}
	return false;
}

/* --- messages from the peer --- */

void
conn_receive(struct conn *c, const struct msg *m)
{
	if (m->kind == MSG_RESPONSE) {
		if (c->form->peer_response)
			c->form->peer_response(c, conn_find_ask(c, m->id), m);
	} else if (m->kind == MSG_NOTIFICATION && json_string_is(m->method, "notifications/cancelled")) {
		cancel_call(c, m->params);
	} else if (c->refusal.n == 0) {
		c->form->send(c, m);
	} else if (m->kind == MSG_REQUEST) {
		conn_reply_failure(c, m->id, buf_slice(&c->refusal));
		conn_end(c);
	}
}

/* --- when the peer is read --- */

void
conn_await(struct conn *c)
{
	c->awaiting = true;
	endpoint_pause(&c->peer, true);
	loop_add_timer(frame_loop(c->mcp->frame), &c->response_timer, c->mcp->options->timeout);
}

void
conn_resume(struct conn *c)
{
	loop_remove_timer(frame_loop(c->mcp->frame), &c->response_timer);
	c->awaiting = false;
	endpoint_pause(&c->peer, frame_full(c->mcp->frame, c->dir));
}

void
conn_retry_first(struct conn *c)
{
	struct buf text = c->first;
	struct msg m;

	c->first = (struct buf){0};
	if (text.n > 0 && msg_scan(buf_slice(&text), &m, NULL) == MSG_REQUEST)
		conn_receive(c, &m);
	buf_free(&text);
}

void
conn_refuse_all(struct conn *c, struct slice error)
{
	mcp_check(c->mcp, buf_add_slice(&c->refusal, error));
	conn_warn(c, "no connection: ", error);
	conn_retry_first(c);
	conn_resume(c);
}

void
conn_stop(struct conn *c, int code, const char *why)
{
	c->ended = true;
	loop_remove_timer(frame_loop(c->mcp->frame), &c->stall_timer);
	conn_drop_calls(c);
	conn_refuse_asks(c, code, why);
	endpoint_finish(&c->peer);
}

void
conn_end(struct conn *c)
{
	if (c->ended)
		return;
	conn_stop(c, MCP_ERR_UNAVAILABLE, "acp-mcp: the connection has ended");
	conn_disconnect(c);
	/* The shim is still read, to notice its end. */
	conn_resume(c);
}
