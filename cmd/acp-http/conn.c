/* A connection of the protocol: its agent, and a client with a WebSocket, plain lines, or event streams (exchange.c). */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/acp-http/server.h"

enum { AFTER_TERM = 2 * 1000 * 1000 };

static void
idle_expired(void *arg)
{
	struct conn *c = arg;

	if (!c->finished)
		report(&c->server->service, c->label, "no stream and no message for a long time: closing the connection");
	conn_leave(c, "the client is silent");
}

/* --- to the client --- */

/* Sends the response to initialize as the response of the POST, with "connectionId" in its result. */
static void
send_initialized(struct conn *c, const struct message *m)
{
	const char *headers[] = {"acp-connection-id", c->id, NULL};
	struct exchange *x = c->waiting;
	SCOPED struct buf text = {0}, member = {0};
	struct splices splices = {0};
	struct slice result = m->msg.result;

	buf_free(&c->initialize);
	if (!result.p) {
		exchange_respond(x, 200, NULL, "application/json", m->line);
		conn_leave(c, "initialize failed");
	} else {
		if (json_type(result) == JSON_OBJECT && !json_get(result, acp_connection_id).p &&
			buf_printf(&member, "\"connectionId\":\"%s\"%s", c->id, json_is_empty(result) ? "" : ",") == 0)
			splice_value(&splices, slice(result.p + 1, 0), buf_slice(&member));
		if (splice_write(m->line, splices.at, splices.n, &text) < 0)
			endpoint_abort(&x->channel->far);
		HASH_ADD_STR(c->server->by_id, id, c);
		exchange_respond(x, 200, headers, "application/json", buf_slice(&text));
		conn_touch(c);
		if (c->server->options->ping)
			loop_add_timer(c->server->service.loop, &c->beat, c->server->options->ping);
	}
	conn_forget(x);
}

static void
send_message(void *arg, const struct message *m)
{
	struct conn *c = arg;

	/* The client that waited for the response to initialize has left since the loop last ran its tasks. */
	if (c->initialize.p && !c->waiting) {
		conn_leave(c, "the client has left");
		return;
	}
	if (c->initialize.p && m->msg.kind == MSG_RESPONSE && msg_same_id(m->msg.id, buf_slice(&c->initialize)))
		send_initialized(c, m);
	else if (c->profile == PROFILE_HTTP)
		flow_send(c, m);
	else if (c->channel && c->profile == PROFILE_WS)
		ws_send(&c->ws, m->line);
	else if (c->channel && endpoint_put_line(&c->channel->far, NULL, m->line, false) < 0)
		report(&c->server->service, c->label, "out of memory");
	conn_wake(c);
}

/* --- the end --- */

void
conn_free(struct conn *c)
{
	struct server *s = c->server;
	struct loop *loop = s->service.loop;
	struct flow *f, *next;
	struct exchange *x;

	DL_DELETE(s->conns, c);
	s->nconns--;
	conn_leave(c, "the connection was closed");
	loop_remove_timer(loop, &c->exit_timer);
	loop_remove_timer(loop, &c->idle);
	loop_remove_timer(loop, &c->beat);
	if (c->child.pid > 0) {
		/* Leaves no process of the agent's group running. The number of the group stays valid until the agent is reaped. */
		proc_signal(c->child.pid, c->agent == AGENT_ENDED ? SIGTERM : SIGKILL);
		proc_guardian_remove(&s->guardian, c->child.pid);
		loop_reap(loop, &c->child);
	}
	if (c->channel) {
		ws_close(&c->ws);
		c->channel->conn = NULL;
		if (endpoint_can_write(&c->channel->far)) /* else all is sent, and the channel ends by itself */
			endpoint_abort(&c->channel->far);
	}
	while ((x = c->waiting)) {
		conn_forget(x);
		exchange_refuse(x, 503, "the agent has ended");
	}
	HASH_ITER (hh, c->flows, f, next)
		flow_free(f);
	buf_free(&c->initialize);
	endpoint_close(&c->errors.in);
	buf_free(&c->errors.tail);
	link_close(&c->link);
	loop_remove_task(loop, &c->task);
	free(c);
	if (s->service.leaving && !s->conns)
		loop_stop(loop);
}

void
conn_leave(struct conn *c, const char *why)
{
	if (c->gone)
		return;
	c->gone = true;
	if (c->profile == PROFILE_HTTP && c->hh.tbl)
		HASH_DEL(c->server->by_id, c);
	loop_remove_timer(c->server->service.loop, &c->idle);
	loop_remove_timer(c->server->service.loop, &c->beat);
	link_down(&c->link, why);
	conn_wake(c);
}

void
conn_end(struct conn *c)
{
	if (c->profile == PROFILE_WS && c->channel)
		ws_finish(&c->ws, WS_GOING_AWAY, "the server is going away");
	else
		conn_leave(c, "the server is going away");
	loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
}

/* The grace period is over, and the agent has not ended; or it has ended, and its pipes are still open. */
static void
exit_timer_expired(void *arg)
{
	struct conn *c = arg;
	struct loop *loop = c->server->service.loop;

	if (c->server->service.leaving && c->channel)
		endpoint_abort(&c->channel->far);
	if (c->agent == AGENT_RUNS && c->link.local.out.n > 0 && c->link.local.out.written > c->last_written) {
		/* The agent still reads the messages that its client has left. */
		c->last_written = c->link.local.out.written;
		loop_add_timer(loop, &c->exit_timer, c->server->options->grace);
	} else if (c->agent < AGENT_ENDED) {
		if (c->agent == AGENT_RUNS)
			report(&c->server->service, c->label, "the agent did not end within the grace period: sending it SIGTERM");
		proc_signal(c->child.pid, c->agent == AGENT_STOPPED ? SIGKILL : SIGTERM);
		c->agent = AGENT_STOPPED;
		loop_add_timer(loop, &c->exit_timer, AFTER_TERM);
	} else if (c->link.local.paused && !c->link.down) {
		/* The agent's output is still open because the remote peer is slow to read it. */
		loop_add_timer(loop, &c->exit_timer, c->server->options->grace);
	} else {
		c->agent = AGENT_OVERDUE;
		endpoint_drain(&c->link.local);
		endpoint_drain(&c->errors.in);
	}
}

/* The agent has ended: ends the connection with the reason, after the messages that wait for the client. */
static void
finish(struct conn *c)
{
	char room[64], why[128];

	c->finished = true;
	snprintf(why, sizeof(why), "the agent ended with %s", proc_describe(c->status, room, sizeof(room)));
	if (c->status != 0 && !c->gone)
		report(&c->server->service, c->label, "%s", why);
	if (c->channel && c->profile == PROFILE_WS)
		ws_finish(&c->ws, c->status == 0 ? WS_NORMAL : WS_FAILED, why);
	else if (c->channel)
		endpoint_finish(&c->channel->far);
	else if (c->status != 0 && !c->gone && c->own->reader)
		flow_put(c->own, &c->own->bytes, ":", slice_of(why));
	conn_touch(c);
}

/* --- the state --- */

/* Decides which peers are read and which POSTs get their response, and ends what is over. */
static void
update(void *arg)
{
	struct conn *c = arg;
	struct loop *loop = c->server->service.loop;
	struct exchange *x;

	/* Nobody waits for the response to initialize any more. */
	if (c->initialize.p && !c->waiting)
		conn_leave(c, "the client has left");
	flow_steer(c);
	link_steer(&c->link, c->channel ? c->channel->far.out.queued : c->queued, c->channel ? QUEUE_HIGH : c->server->options->queue);
	if (c->channel)
		endpoint_pause(&c->channel->far, !link_wants(&c->link) && !c->channel->far.finishing);
	/* An agent whose output is not read may not read its input, either: then its client must not wait, but read. */
	while (!c->initialize.p && (!c->link.local.out.full || c->link.remote_full) && (x = c->waiting)) {
		conn_forget(x);
		exchange_respond(x, 202, NULL, NULL, slice(NULL, 0));
	}
	if (c->link.local_ended) {
		/* The agent can respond to nothing any more. */
		link_fail(&c->link, "the agent has ended");
		endpoint_finish(&c->link.local);
		if (c->agent >= AGENT_ENDED && !c->finished)
			finish(c);
	}
	if (c->link.local.finishing && !c->exit_timer.added && c->agent == AGENT_RUNS) {
		c->last_written = c->link.local.out.written;
		loop_add_timer(loop, &c->exit_timer, c->server->options->grace);
	}
	/* A WebSocket ends with its close frames; other connections end when all has been sent. */
	if (c->finished && (c->profile == PROFILE_HTTP ? c->queued == 0
			: c->profile == PROFILE_TCP && (!c->channel || !endpoint_can_write(&c->channel->far))))
		conn_leave(c, "the agent has ended");
	if (c->gone && (c->child.pid <= 0 || (c->agent >= AGENT_ENDED && c->link.local_ended && !endpoint_can_read(&c->errors.in))))
		conn_free(c);
}

/* --- the beginning --- */

static void
agent_ended(void *arg, int status)
{
	struct conn *c = arg;

	c->agent = AGENT_ENDED;
	c->status = status;
	/* The agent's children may hold its pipes open. */
	loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
	conn_wake(c);
}

struct conn *
conn_new(struct server *s, enum profile profile)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct proc_spec spec = {.argv = s->options->command, .death_signal = SIGKILL, .guardian = &s->guardian};
	unsigned char bytes[ID_BYTES];
	int ours[3];

	if (!c)
		return NULL;
	*c = (struct conn){.server = s, .profile = profile, .errors = {.changed = conn_wake, .arg = c}, .child = {.ended = agent_ended, .arg = c},
		.exit_timer = {.expired = exit_timer_expired, .arg = c}, .idle = {.expired = idle_expired, .arg = c},
		.beat = {.expired = flow_beat, .arg = c}, .task = {.run = update, .arg = c}};
	c->link = (struct link){.service = &s->service, .name = c->label, .remote = ACP_CLIENT, .send = send_message,
		.changed = conn_wake, .arg = c};
	DL_APPEND(s->conns, c);
	s->nconns++;
	if (getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			snprintf(c->id + 2 * i, 3, "%02x", bytes[i]);
		snprintf(c->label, sizeof(c->label), "%.*s", LABEL, c->id);
		snprintf(c->prefix, sizeof(c->prefix), "%s: %s", tool_name, c->label);
		c->child.pid = proc_start_piped(&spec, 3, ours, NULL);
	}
	if (c->child.pid > 0) {
		loop_add_child(s->service.loop, &c->child);
		if ((link_open(&c->link, ours[1], ours[0]) | report_source_open(&c->errors, &s->service.report, c->prefix, ours[2])) == 0 &&
			(c->own = flow_of(c, slice("", 0))))
			return c;
	}
	report(&s->service, NULL, "%s: %s", s->options->command[0], errno == ENOENT ? "command not found" : strerror(errno));
	conn_free(c);
	return NULL;
}
