#include "cmd/acp-mcp/conn.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/provide.h"
#include "cmd/acp-mcp/server.h"
#include "lib/proc.h"

/* How long a command may take to end, before and after SIGTERM. */
enum { END_PATIENCE = 2 * 1000 * 1000 };

static enum lane
other_lane(enum lane lane)
{
	return lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
}

/* --- calls: our requests into the chain --- */

struct call *
conn_call(struct conn *c, enum call_kind kind, enum acp_method method, struct slice params, const struct msg *of)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call || (of && of->id.p && buf_add_slice(&call->id, of->id) < 0)) {
		free(call);
		return NULL;
	}
	*call = (struct call){.next = c->mcp->calls, .conn = c, .kind = kind, .id = call->id, .number = c->last};
	c->mcp->calls = call;
	if (frame_request(c->mcp->frame, c->lane, acp_name(method, ACP_PLAIN), params, call) == 0)
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
	buf_free(&call->text);
	free(call);
}

/* {"connectionId":C} */
static int
put_connection(struct buf *params, struct slice id)
{
	return buf_printf(params, "{\"%s\":", acp_connection_id) | buf_add_slice(params, id) | buf_add(params, "}", 1);
}

/* Nobody waits for the answer. */
static int
disconnect(struct conn *c, struct slice id)
{
	struct buf params = {0};
	struct call *call = NULL;

	if (put_connection(&params, id) == 0)
		call = conn_call(c, CALL_DISCONNECT, ACP_MCP_DISCONNECT, buf_slice(&params), NULL);
	if (call)
		call->conn = NULL;
	buf_free(&params);
	return call ? 0 : -1;
}

/* An answer to mcp/connect that nobody waits for any more. */
static int
connected_late(struct mcp *m, const struct msg *answer)
{
	struct conn gone = {.mcp = m, .lane = LANE_UP};
	struct slice id = answer->result.p ? json_get(answer->result, acp_connection_id) : slice(NULL, 0);

	return json_type(id) == JSON_STRING ? disconnect(&gone, id) : 0;
}

void
conn_answered(struct mcp *m, struct call *call, const struct msg *answer)
{
	int r = 0;

	if (call->conn)
		r = call->conn->form->answered(call->conn, call, answer);
	else if (call->kind == CALL_CONNECT)
		r = connected_late(m, answer);
	call_free(m, call);
	if (r < 0)
		mcp_fail(m, "out of memory");
}

int
conn_notify(struct conn *c, struct slice params)
{
	return frame_notify(c->mcp->frame, c->lane, acp_name(ACP_MCP_MESSAGE, ACP_PLAIN), params);
}

/* The peer's cancellation names its own id: the chain's is cancelled in its place. */
static bool
cancelled_by_peer(struct conn *c, const struct msg *m)
{
	struct slice id;
	struct buf a = {0}, b = {0};
	struct call *call;

	if (m->kind != MSG_NOTIFICATION || !json_string_is(m->method, mcp_cancelled) || json_type(m->params) != JSON_OBJECT)
		return false;
	id = json_get(m->params, mcp_request_id);
	if (!id.p || msg_id_key(id, &a) < 0)
		return true;
	for (call = c->mcp->calls; call; call = call->next) {
		b.n = 0;
		if (call->conn == c && call->id.n && msg_id_key(buf_slice(&call->id), &b) == 0
			&& slice_eq(buf_slice(&a), buf_slice(&b)))
			frame_cancel(c->mcp->frame, call);
	}
	buf_free(&a);
	buf_free(&b);
	return true;
}

/* --- asks: the chain's requests to the peer --- */

static void
ask_free(struct conn *c, struct ask *a)
{
	struct ask **at = &c->asks;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	frame_release(c->mcp->frame, a->held, VERDICT_DROP, slice(NULL, 0));
	buf_free(&a->request_id);
	buf_free(&a->token);
	free(a);
}

static void
refuse_asks(struct conn *c, int code, const char *why)
{
	while (c->asks) {
		if (frame_refuse(c->mcp->frame, c->asks->held, code, why, slice(NULL, 0)) < 0)
			mcp_fail(c->mcp, "out of memory");
		ask_free(c, c->asks);
	}
}

/* The newest form's members of a request, which its answer and its notifications need. */
static int
note_newest(struct ask *a, struct slice params)
{
	struct slice id = json_get(params, acp_request_id), token = json_path(params, "params._meta.progressToken");
	int r = 0;

	if (json_type(id) == JSON_STRING)
		r = buf_add_slice(&a->request_id, id);
	if (r == 0 && token.p)
		r = buf_add_slice(&a->token, token);
	return r;
}

static struct ask *
ask_new(struct conn *c, const struct seen *s)
{
	struct ask *a = calloc(1, sizeof(*a)), **at = &c->asks;

	if (!a)
		return NULL;
	a->number = ++c->last;
	if (note_newest(a, s->msg.params) == 0 && (a->held = frame_hold(c->mcp->frame))) {
		while (*at)
			at = &(*at)->next;
		*at = a;
		return a;
	}
	buf_free(&a->request_id);
	buf_free(&a->token);
	free(a);
	return NULL;
}

int
conn_hand(struct conn *c, struct ask *a, struct slice method, struct slice params)
{
	char id[24];

	a->sent = true;
	return conn_tell(c, slice(id, (size_t)snprintf(id, sizeof(id), "%" PRIu64, a->number)), method, params);
}

/* A message of the chain's, once it is in a shape that the peer can have. */
static int
hand_over(struct conn *c, struct ask *a)
{
	struct json_error error;
	struct slice method, params;
	struct msg m;

	msg_scan(frame_held_text(a->held), &m, &error);
	method = json_get(m.params, mcp_method);
	params = json_get(m.params, mcp_params);
	return c->form->hand(c, a, method, params);
}

int
conn_hand_waiting(struct conn *c)
{
	struct ask *a, *next;
	int r = 0;

	for (a = c->asks; a && r == 0; a = next) {
		next = a->next;
		if (!a->sent)
			r = hand_over(c, a);
	}
	return r;
}

/* Why nothing reaches the peer. */
static enum verdict
refuse(struct conn *c, const struct seen *s, int code, const char *why)
{
	if (s->msg.kind == MSG_REQUEST && frame_refuse(c->mcp->frame, NULL, code, why, slice(NULL, 0)) < 0)
		mcp_fail(c->mcp, "out of memory");
	return VERDICT_DROP;
}

enum verdict
conn_take(struct conn *c, const struct seen *s)
{
	struct slice method = json_get(s->msg.params, mcp_method);
	struct ask *a;
	int r;

	if (json_type(method) != JSON_STRING)
		return refuse(c, s, ACP_ERR_PARAMS, "acp-mcp: mcp/message without a method");
	if (c->refusal.n > 0)
		return refuse(c, s, MCP_ERR_UNAVAILABLE, "acp-mcp: the server has ended");
	if (s->msg.kind == MSG_NOTIFICATION) {
		if (conn_tell(c, slice(NULL, 0), method, json_get(s->msg.params, mcp_params)) < 0)
			mcp_fail(c->mcp, "out of memory");
		return VERDICT_DROP;
	}
	a = ask_new(c, s);
	r = a ? hand_over(c, a) : -1;
	if (r < 0)
		mcp_fail(c->mcp, "out of memory");
	return a ? VERDICT_HOLD : VERDICT_DROP;
}

/* The one with this id, which the chain knows it by. */
static int
find_ask(struct conn *c, struct slice key, struct ask **found)
{
	struct json_error error;
	struct buf own = {0};
	struct ask *a;
	struct msg m;
	int r = 0;

	*found = NULL;
	for (a = c->asks; r == 0 && a && !*found; a = a->next) {
		own.n = 0;
		if (msg_scan(frame_held_text(a->held), &m, &error) == MSG_REQUEST && (r = msg_id_key(m.id, &own)) == 0
			&& slice_eq(key, buf_slice(&own)))
			*found = a;
	}
	buf_free(&own);
	return r;
}

/* A server need not answer what has been cancelled: that is done here. */
static int
cancel(struct conn *c, struct ask *a)
{
	struct buf params = {0};
	int r;

	r = buf_printf(&params, "{\"%s\":%" PRIu64 "}", mcp_request_id, a->number);
	if (r == 0 && a->sent)
		r = conn_tell(c, slice(NULL, 0), slice_of("\"notifications/cancelled\""), buf_slice(&params));
	r |= frame_refuse(c->mcp->frame, a->held, ACP_ERR_CANCELLED, "Request cancelled", slice(NULL, 0));
	ask_free(c, a);
	buf_free(&params);
	return r;
}

bool
conn_cancel_any(struct mcp *m, enum lane lane, struct slice id)
{
	struct ask *found = NULL;
	struct buf key = {0};
	struct conn *c;
	int r = msg_id_key(id, &key);

	for (c = m->conns; r == 0 && c && !found; c = c->next) {
		if (lane != other_lane(c->lane))
			continue;
		r = find_ask(c, buf_slice(&key), &found);
		if (found)
			r = cancel(c, found);
	}
	buf_free(&key);
	if (r < 0)
		mcp_fail(m, "out of memory");
	return found != NULL;
}

bool
conn_tell_about(struct mcp *m, struct slice server_id, const struct msg *msg)
{
	struct slice id = json_get(msg->params, acp_request_id), method = json_get(msg->params, mcp_method);
	const struct call *call;
	char number[32];

	for (call = m->calls; call; call = call->next) {
		snprintf(number, sizeof(number), "%" PRIu64, call->number);
		if (!call->conn || !call->conn->server || !json_string_eq(buf_slice(&call->conn->server->id), server_id)
			|| json_type(id) != JSON_STRING || !json_string_is(id, number) || json_type(method) != JSON_STRING)
			continue;
		if (conn_tell(call->conn, slice(NULL, 0), method, json_get(msg->params, mcp_params)) < 0)
			mcp_fail(m, "out of memory");
		return true;
	}
	return false;
}

/* --- the peer --- */

int
conn_tell(struct conn *c, struct slice id, struct slice method, struct slice params)
{
	struct buf text = {0};
	int r;

	r = buf_add_string(&text, "{\"jsonrpc\":\"2.0\"");
	if (id.p)
		r |= buf_add_string(&text, ",\"id\":") | buf_add_slice(&text, id);
	r |= buf_add_string(&text, ",\"method\":") | buf_add_slice(&text, method);
	if (params.p)
		r |= buf_add_string(&text, ",\"params\":") | buf_add_slice(&text, params);
	r |= buf_add(&text, "}", 1);
	if (r == 0)
		r = peer_send(&c->peer, buf_slice(&text));
	buf_free(&text);
	return r;
}

int
conn_reply(struct conn *c, struct slice id, const char *member, struct slice value)
{
	struct buf text = {0};
	int r;

	r = buf_add_string(&text, "{\"jsonrpc\":\"2.0\",\"id\":") | buf_add_slice(&text, id)
		| buf_printf(&text, ",\"%s\":", member) | buf_add_slice(&text, value) | buf_add(&text, "}", 1);
	if (r == 0)
		r = peer_send(&c->peer, buf_slice(&text));
	buf_free(&text);
	return r;
}

int
conn_reply_error(struct conn *c, struct slice id, int code, const char *message)
{
	struct buf text = {0};
	int r = msg_make_error(&text, id, code, message, slice(NULL, 0));

	if (r == 0)
		r = peer_send(&c->peer, buf_slice(&text));
	buf_free(&text);
	return r;
}

int
conn_settle_ask(struct conn *c, struct ask *a, struct slice result)
{
	int r = frame_answer(c->mcp->frame, a->held, result);

	ask_free(c, a);
	return r;
}

int
conn_settle_error(struct conn *c, struct ask *a, struct slice error)
{
	int r = frame_refuse_with(c->mcp->frame, a->held, error);

	ask_free(c, a);
	return r;
}

static int
take_answer(struct conn *c, const struct msg *m)
{
	struct ask *a = c->asks;
	uint64_t number;

	if (json_type(m->id) != JSON_NUMBER || !json_u64(m->id, &number))
		return 0;
	while (a && !(a->sent && a->number == number))
		a = a->next;
	if (!a)
		return c->form->reply(c, NULL, m);
	return c->form->reply(c, a, m);
}

static void
peer_message(void *arg, const struct msg *m)
{
	struct conn *c = arg;
	int r = 0;

	if (c->over)
		return;
	if (m->kind == MSG_RESPONSE)
		r = take_answer(c, m);
	else if (c->refusal.n > 0)
		r = m->kind == MSG_REQUEST ? conn_reply(c, m->id, "error", buf_slice(&c->refusal)) : 0;
	else if (!cancelled_by_peer(c, m))
		r = c->form->say(c, m);
	if (r < 0)
		mcp_fail(c->mcp, "out of memory");
}

void
conn_say(struct conn *c, const char *what, struct slice why)
{
	const struct buf *name = c->server ? &c->server->name : &c->provided->name;

	frame_say(c->mcp->frame, "server %.*s: %s%.*s", (int)name->n, name->p, what, (int)why.n, why.p);
}

static void
peer_noise(void *arg, const struct json_error *error)
{
	struct conn *c = arg;

	conn_say(c, c->server ? "the agent sent a line that is no message: " : "the command wrote a line that is no message: ",
		slice_of(error->what));
}

static void
drop_calls(struct conn *c)
{
	struct call *call;

	for (call = c->mcp->calls; call; call = call->next) {
		if (call->conn != c)
			continue;
		if (call->kind != CALL_CONNECT && frame_cancel(c->mcp->frame, call) < 0)
			mcp_fail(c->mcp, "out of memory");
		call->conn = NULL;
	}
}

/* The agent has no more use for a server: so the provider is told. */
static void
shim_ended(struct conn *c)
{
	drop_calls(c);
	refuse_asks(c, MCP_ERR_UNAVAILABLE, "acp-mcp: the agent has closed the connection");
	if (c->id.n > 0 && disconnect(c, buf_slice(&c->id)) < 0)
		mcp_fail(c->mcp, "out of memory");
	c->over = true;
}

static void
command_ended(struct conn *c)
{
	drop_calls(c);
	refuse_asks(c, MCP_ERR_BACKEND, "acp-mcp: the server has ended");
	peer_finish(&c->peer);
	/* What still comes for it is refused until the other side disconnects; in the newest form it is started anew. */
	if (c->form == &form_newest_offer)
		c->over = !c->running;
	if (c->refusal.n == 0 && buf_add_string(&c->refusal, "{}") < 0)
		mcp_fail(c->mcp, "out of memory");
}

static void
peer_ended(void *arg)
{
	struct conn *c = arg;

	if (c->server)
		shim_ended(c);
	else
		command_ended(c);
}

static void
peer_moved(void *arg)
{
	struct conn *c = arg;

	frame_settle(c->mcp->frame);
}

static struct conn *
conn_new(struct mcp *m, enum lane lane, const struct form *form)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mcp = m;
	c->lane = lane;
	c->form = form;
	c->peer = (struct peer){.message = peer_message, .noise = peer_noise, .ended = peer_ended, .moved = peer_moved, .arg = c};
	c->patience.arg = c;
	c->next = m->conns;
	m->conns = c;
	return c;
}

void
conn_wait(struct conn *c, bool waits)
{
	c->waits = waits;
	if (!waits)
		loop_remove_timer(frame_loop(c->mcp->frame), &c->patience);
	peer_pause(&c->peer, c->waits || c->crowded);
}

/* --- a shim --- */

static void
no_connection(void *arg)
{
	struct conn *c = arg;

	conn_say(c, "no answer to ", slice_of(acp_name(ACP_MCP_CONNECT, ACP_PLAIN)));
	drop_calls(c);
	if (buf_printf(&c->refusal, "{\"code\":%d,\"message\":\"acp-mcp: no answer to mcp/connect\"}", MCP_ERR_UNAVAILABLE) < 0)
		mcp_fail(c->mcp, "out of memory");
	conn_wait(c, false);
	frame_settle(c->mcp->frame);
}

int
conn_connect(struct conn *c, bool by_server_id)
{
	const struct buf *id = &c->server->id;
	struct buf params = {0};
	struct call *call = NULL;

	c->form = &form_first;
	c->patience.expired = no_connection;
	conn_wait(c, true);
	if ((buf_printf(&params, "{\"%s\":", by_server_id ? acp_server_id : acp_acp_id) | buf_add(&params, id->p, id->n)
		| buf_add(&params, "}", 1)) == 0)
		call = conn_call(c, CALL_CONNECT, ACP_MCP_CONNECT, buf_slice(&params), NULL);
	buf_free(&params);
	return call && loop_add_timer(frame_loop(c->mcp->frame), &c->patience, c->mcp->options->timeout) == 0 ? 0 : -1;
}

int
conn_accept(struct mcp *m, const struct server *s, int fd)
{
	enum dialect d = m->options->dialect;
	struct conn *c = conn_new(m, LANE_UP, &form_newest);
	int writes;

	if (!c || (writes = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
		if (c)
			c->over = true;
		close(fd);
		return -1;
	}
	c->server = s;
	if (peer_open(&c->peer, frame_loop(m->frame), fd, writes, m->options->frame.limit) < 0) {
		c->over = true;
		return -1;
	}
	if (d == DIALECT_DECLARED)
		d = s->by_server_id ? DIALECT_NEWEST : DIALECT_ACP_ID;
	return d == DIALECT_NEWEST ? 0 : conn_connect(c, d == DIALECT_SERVER_ID);
}

/* --- a command --- */

static void
command_died(void *arg, int status)
{
	struct conn *c = arg;
	char text[64];

	c->running = false;
	loop_bury(frame_loop(c->mcp->frame), &c->child);
	loop_remove_timer(frame_loop(c->mcp->frame), &c->patience);
	if (status != 0 && c->peer.open)
		conn_say(c, "the command has ended: ", slice_of(proc_describe(status, text, sizeof(text))));
	if (!c->peer.open && (c->form == &form_newest_offer || c->id.n == 0))
		c->over = true;
	frame_settle(c->mcp->frame);
}

struct conn *
conn_start(struct mcp *m, const struct provided *p, const struct form *form)
{
	struct conn *c = conn_new(m, LANE_DOWN, form);
	int in = -1, out = -1;
	pid_t pid;

	if (!c)
		return NULL;
	c->provided = p;
	pid = provide_start(m, p, &in, &out);
	if (pid < 0) {
		c->over = true;
		return NULL;
	}
	c->running = true;
	c->child = (struct loop_child){.pid = pid, .ended = command_died, .arg = c};
	if ((loop_add_child(frame_loop(m->frame), &c->child)
		| peer_open(&c->peer, frame_loop(m->frame), out, in, m->options->frame.limit)) == 0)
		return c;
	mcp_fail(m, "out of memory");
	return NULL;
}

static void
out_of_patience(void *arg)
{
	struct conn *c = arg;

	proc_signal(c->child.pid, c->warned ? SIGKILL : SIGTERM);
	if (!c->warned)
		loop_add_timer(frame_loop(c->mcp->frame), &c->patience, END_PATIENCE);
	c->warned = true;
}

void
conn_finish(struct conn *c)
{
	c->id.n = 0;
	drop_calls(c);
	refuse_asks(c, MCP_ERR_UNAVAILABLE, "acp-mcp: disconnected");
	peer_finish(&c->peer);
	if (c->running) {
		c->patience.expired = out_of_patience;
		if (loop_add_timer(frame_loop(c->mcp->frame), &c->patience, END_PATIENCE) < 0)
			mcp_fail(c->mcp, "out of memory");
	} else {
		c->over = true;
	}
}

/* --- all of them --- */

struct conn *
conn_find(struct mcp *m, enum lane lane, struct slice id)
{
	struct conn *c;

	for (c = m->conns; c; c = c->next)
		if (!c->over && c->id.n > 0 && lane == other_lane(c->lane) && json_string_eq(buf_slice(&c->id), id))
			return c;
	return NULL;
}

struct conn *
conn_serving(struct mcp *m, const struct provided *p)
{
	struct conn *c;

	for (c = m->conns; c; c = c->next)
		if (!c->over && c->provided == p && c->form == &form_newest_offer && c->refusal.n == 0)
			return c;
	return NULL;
}

static void
conn_free(struct conn *c)
{
	struct loop *l = frame_loop(c->mcp->frame);

	loop_remove_timer(l, &c->patience);
	peer_close(&c->peer);
	drop_calls(c);
	buf_free(&c->id);
	buf_free(&c->refusal);
	buf_free(&c->hello);
	buf_free(&c->again);
	free(c);
}

/* What has been put off until nobody stands in a function of a connection any more. */
static void
look(void *arg)
{
	struct mcp *m = arg;
	struct conn **at = &m->conns, *c;

	while ((c = *at)) {
		if (c->over && !c->running) {
			*at = c->next;
			conn_free(c);
			continue;
		}
		if (c->crowded && !frame_full(m->frame, c->lane)) {
			c->crowded = false;
			peer_pause(&c->peer, c->waits);
		}
		at = &c->next;
	}
	server_listen_all(m);
	frame_settle(m->frame);
}

/* A peer that does not read stops the lane that its messages come in before they take more room than one of them may. */
static void
owe(struct mcp *m)
{
	bool much[LANES] = {false, false};
	struct conn *c;
	size_t i;

	for (c = m->conns; c; c = c->next)
		if (!c->peer.out.error && c->peer.out.queued > m->options->frame.limit)
			much[other_lane(c->lane)] = true;
	for (i = 0; i < LANES; i++)
		if (m->crowded[i] != much[i])
			frame_owe(m->frame, (enum lane)i, (m->crowded[i] = much[i]) ? FRAME_OWES_FULL : FRAME_EVEN);
}

void
conn_look(struct mcp *m)
{
	struct conn *c;
	bool due = false;

	for (c = m->conns; c; c = c->next) {
		if (!c->crowded && frame_full(m->frame, c->lane)) {
			c->crowded = true;
			peer_pause(&c->peer, true);
		}
		due = due || (c->over && !c->running) || (c->crowded && !frame_full(m->frame, c->lane));
	}
	owe(m);
	if (due && !m->look.added) {
		m->look.expired = look;
		m->look.arg = m;
		if (loop_add_timer(frame_loop(m->frame), &m->look, 0) < 0)
			mcp_fail(m, "out of memory");
	}
}

void
conn_end_all(struct mcp *m)
{
	struct conn *c;

	loop_remove_timer(frame_loop(m->frame), &m->look);
	for (c = m->conns; c; c = c->next) {
		peer_close(&c->peer);
		if (c->running)
			provide_end(&c->child);
	}
	while ((c = m->conns)) {
		if (c->running)
			provide_bury(m, &c->child);
		m->conns = c->next;
		conn_free(c);
	}
	while (m->calls)
		call_free(m, m->calls);
}
