#include "cmd/acp-mcp/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-mcp/names.h"
#include "cmd/acp-mcp/server.h"
#include "lib/run/proc.h"

enum { QUOTED = 200 }; /* bytes of a line that is not a message */

static void
checked(struct conn *c, int r)
{
	if (r < 0)
		mcp_fail(c->mcp, "out of memory");
}

static void
start_timer(struct conn *c, struct loop_timer *t, void (*expired)(void *), uint64_t us)
{
	t->expired = expired;
	t->arg = c;
	checked(c, loop_add_timer(frame_loop(c->mcp->frame), t, us));
}

static void
stop_timer(struct conn *c, struct loop_timer *t)
{
	loop_remove_timer(frame_loop(c->mcp->frame), t);
}

static void
warn(struct conn *c, const char *what, struct slice why)
{
	const struct buf *name = c->server ? &c->server->name : &c->command.what->name;

	frame_warn(c->mcp->frame, "server %.*s: %s%.*s", (int)name->n, name->p, what, (int)(why.n < 512 ? why.n : 512), why.p);
}

/* --- the peer --- */

static void
peer_message(void *arg, const struct msg *m)
{
	struct conn *c = arg;

	if (!c->over && !c->ended)
		checked(c, conn_receive(c, m));
}

static void
report_repeated(struct conn *c)
{
	char digits[SLICE_DIGITS];

	if (c->repeated > 0)
		warn(c, "repetitions of the last line: ", slice_digits(c->repeated, digits));
	c->repeated = 0;
}

static void
peer_noise(void *arg, const char *why, struct slice text)
{
	struct buf line = {0};
	struct conn *c = arg;

	text.n = text.n < QUOTED ? text.n : QUOTED;
	if (c->noise.p && slice_eq(buf_slice(&c->noise), text)) {
		c->repeated++;
		return;
	}
	report_repeated(c);
	c->noise.n = 0;
	checked(c, buf_add_slice(&c->noise, text) | buf_printf(&line, "%s: %.*s", why, (int)text.n, text.p));
	warn(c, c->server ? "a line of the agent is not a message: " : "a line of the command is not a message: ", buf_slice(&line));
	buf_free(&line);
}

int
conn_end(struct conn *c)
{
	int r;

	if (c->ended)
		return 0;
	c->ended = true;
	stop_timer(c, &c->stall_timer);
	conn_drop_calls(c);
	conn_refuse_asks(c, MCP_ERR_UNAVAILABLE, "acp-mcp: the connection has ended");
	r = conn_disconnect(c);
	peer_finish(&c->peer);
	/* Reading goes on, to notice its end. */
	conn_resume(c);
	return r;
}

/* A line that is not a message was meant to be a request or a response: responds with an error where one is due. */
static void
peer_lost(void *arg, enum msg_kind meant, struct slice id)
{
	struct conn *c = arg;
	struct ask *a = meant == MSG_RESPONSE ? conn_find_ask(c, id) : NULL;

	if (c->over || c->ended)
		return;
	if (meant == MSG_REQUEST)
		checked(c, conn_reply_error(c, id, ACP_ERR_INVALID_REQUEST, "acp-mcp: the request is not a message, or longer than --max-line"));
	else if (a)
		checked(c, conn_refuse(c, a, ACP_ERR_INTERNAL, "acp-mcp: the response is not a message, or longer than --max-line"));
}

static void
peer_ended(void *arg)
{
	struct conn *c = arg;

	if (c->server) {
		checked(c, conn_end(c));
		c->over = true;
		return;
	}
	c->ended = true;
	stop_timer(c, &c->response_timer);
	stop_timer(c, &c->stall_timer);
	conn_drop_calls(c);
	/* Later requests for it are refused until the other side disconnects. */
	conn_refuse_asks(c, MCP_ERR_BACKEND, "acp-mcp: the server has ended");
	peer_finish(&c->peer);
	command_finish(&c->command, false);
	c->over = c->id.n == 0;
}

static void
peer_moved(void *arg)
{
	struct conn *c = arg;

	conn_update_all(c->mcp);
}

static struct conn *
conn_new(struct mcp *m, enum acp_direction dir, const struct form *form)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mcp = m;
	c->dir = dir;
	c->form = form;
	c->peer = (struct peer){.message = peer_message, .noise = peer_noise, .lost = peer_lost, .ended = peer_ended,
		 .moved = peer_moved, .arg = c};
	return c;
}

static void
list(struct conn *c)
{
	c->next = c->mcp->conns;
	c->mcp->conns = c;
}

/* --- a shim --- */

static void
pace(struct conn *c)
{
	endpoint_pause(&c->peer.end, c->awaiting || c->blocked);
}

void
conn_resume(struct conn *c)
{
	stop_timer(c, &c->response_timer);
	c->awaiting = false;
	pace(c);
}

int
conn_retry_first(struct conn *c)
{
	struct buf text = c->first;
	struct json_error error;
	struct msg m;
	int r = 0;

	c->first = (struct buf){0};
	if (text.n > 0 && msg_scan(buf_slice(&text), &m, &error) == MSG_REQUEST)
		r = conn_receive(c, &m);
	buf_free(&text);
	return r;
}

int
conn_refuse_all(struct conn *c, struct slice error)
{
	int r = buf_add_slice(&c->refusal, error);

	warn(c, "no connection: ", error);
	if (r == 0)
		r = conn_retry_first(c);
	conn_resume(c);
	return r;
}

static void
response_expired(void *arg)
{
	static const char error[] = "{\"code\":-33001,\"message\":\"acp-mcp: the server's provider does not respond\"}";
	struct conn *c = arg;

	conn_drop_calls(c);
	checked(c, conn_refuse_all(c, slice_of(error)));
	conn_update_all(c->mcp);
}

void
conn_await(struct conn *c, enum call_kind kind)
{
	c->awaiting = true;
	pace(c);
	/* The agent decides how long to wait for the responses to its own requests. */
	if (kind != CALL_MESSAGE)
		start_timer(c, &c->response_timer, response_expired, c->mcp->options->timeout);
}

int
conn_connect(struct conn *c, bool by_server_id)
{
	const struct buf *id = &c->server->id;
	struct buf params = {0};
	struct call *call = NULL;

	c->form = &form_first;
	if (buf_printf(&params, "{\"%s\":%.*s}", by_server_id ? acp_server_id : acp_acp_id, (int)id->n, id->p) == 0)
		call = conn_call(c, CALL_CONNECT, ACP_MCP_CONNECT, buf_slice(&params), NULL);
	buf_free(&params);
	if (call)
		conn_await(c, CALL_CONNECT);
	return call ? 0 : -1;
}

int
conn_accept(struct mcp *m, struct server *s, int fd)
{
	enum dialect d = m->options->dialect;
	struct conn *c = conn_new(m, ACP_UP, &form_newest);

	if (!c)
		close(fd);
	if (!c || peer_open(&c->peer, frame_loop(m->frame), fd, fd, m->options->frame.limit) < 0) {
		free(c);
		return -1;
	}
	c->server = s;
	server_ref(s);
	list(c);
	if (d == DIALECT_DECLARED)
		d = s->by_server_id ? DIALECT_NEWEST : DIALECT_ACP_ID;
	if (d != DIALECT_NEWEST)
		checked(c, conn_connect(c, d == DIALECT_SERVER_ID));
	return 0;
}

/* --- a command --- */

static void
command_ended(void *arg)
{
	struct conn *c = arg;

	/* Its last output may not be read yet; peer_ended is called after that. */
	if (c->ended && c->id.n == 0)
		c->over = true;
	conn_update_all(c->mcp);
}

static int
pipes(int theirs[2], int ours[2])
{
	int down[2], up[2], error;

	if (proc_pipe(down) < 0)
		return -1;
	if (proc_pipe(up) < 0) {
		error = errno;
		close(down[0]);
		close(down[1]);
		errno = error;
		return -1;
	}
	theirs[0] = down[0];
	theirs[1] = up[1];
	ours[0] = up[0];
	ours[1] = down[1];
	return 0;
}

struct conn *
conn_start(struct mcp *m, const struct provided *p, const struct form *form)
{
	struct conn *c = conn_new(m, ACP_DOWN, form);
	int theirs[2], ours[2], started;

	if (!c) {
		mcp_fail(m, "out of memory");
		return NULL;
	}
	c->command = (struct command){.mcp = m, .what = p, .input = -1, .ended = command_ended, .arg = c};
	if (pipes(theirs, ours) < 0) {
		warn(c, "it cannot be started: ", slice_of(strerror(errno)));
		free(c);
		return NULL;
	}
	started = command_start(&c->command, theirs[0], theirs[1]);
	close(theirs[0]);
	close(theirs[1]);
	if (started < 0) {
		close(ours[0]);
		close(ours[1]);
		free(c);
		return NULL;
	}
	list(c);
	if (peer_open(&c->peer, frame_loop(m->frame), ours[0], ours[1], m->options->frame.limit) < 0)
		mcp_fail(m, strerror(errno));
	return c;
}

void
conn_finish(struct conn *c)
{
	c->id.n = 0;
	c->ended = true;
	conn_drop_calls(c);
	conn_refuse_asks(c, MCP_ERR_UNAVAILABLE, "acp-mcp: disconnected");
	peer_finish(&c->peer);
	command_finish(&c->command, true);
	c->over = true;
}

/* --- all of them --- */

struct conn *
conn_find(struct mcp *m, enum acp_direction dir, struct slice id)
{
	struct conn *c;

	for (c = m->conns; c; c = c->next)
		if (c->id.n > 0 && dir != c->dir && json_string_eq(buf_slice(&c->id), id))
			return c;
	return NULL;
}

struct conn *
conn_serving(struct mcp *m, const struct provided *p)
{
	struct conn *c;

	for (c = m->conns; c; c = c->next)
		if (!c->ended && c->command.what == p && c->form == &form_newest_offer)
			return c;
	return NULL;
}

static void
conn_free(struct conn *c)
{
	stop_timer(c, &c->response_timer);
	stop_timer(c, &c->stall_timer);
	report_repeated(c);
	peer_close(&c->peer);
	conn_drop_calls(c);
	conn_refuse_asks(c, MCP_ERR_UNAVAILABLE, "acp-mcp: the connection has ended");
	if (c->server)
		server_unref(c->server);
	buf_free(&c->id);
	buf_free(&c->noise);
	buf_free(&c->refusal);
	buf_free(&c->first);
	buf_free(&c->hello);
	buf_free(&c->lists);
	buf_free(&c->uris);
	free(c);
}

/* A command has to end first. */
static bool
is_done(const struct conn *c)
{
	return c->over && !c->command.runs;
}

/* Does what conn_update_all has scheduled: no function of a connection is running now. */
static void
update_expired(void *arg)
{
	struct mcp *m = arg;
	struct conn **at = &m->conns, *c;

	while ((c = *at)) {
		if (is_done(c)) {
			*at = c->next;
			conn_free(c);
			continue;
		}
		if (c->blocked && !frame_full(m->frame, c->dir)) {
			c->blocked = false;
			pace(c);
		}
		at = &c->next;
	}
	conn_update_all(m);
}

/* --- peers that do not read --- */

static bool
is_backlogged(const struct conn *c)
{
	return !c->peer.end.out.error && c->peer.end.out.queued > c->mcp->options->frame.limit;
}

static void
stall_expired(void *arg)
{
	struct conn *c = arg;

	if (c->peer.end.out.written > c->last_written) {
		c->last_written = c->peer.end.out.written;
		start_timer(c, &c->stall_timer, stall_expired, c->mcp->options->timeout);
		return;
	}
	warn(c, c->server ? "the agent does not read: " : "the command does not read: ", slice_of("closing the connection"));
	output_fail(&c->peer.end.out, EPIPE);
	peer_ended(c);
	conn_update_all(c->mcp);
}

/*
 * Stops each direction in which more than --max-line bytes wait for a peer, and starts a timer for such peers, which closes the
 * connection of one that has read nothing.
 */
static void
stop_directions(struct mcp *m)
{
	/* A proxy has one pipe for both: initialize's response has to be read. */
	bool stop[ACP_DIRECTIONS] = {m->early_bytes > m->options->frame.limit && !frame_is_shared(m->frame), false};
	struct conn *c;
	enum acp_direction dir;

	for (c = m->conns; c; c = c->next) {
		if (is_backlogged(c))
			stop[c->dir == ACP_UP ? ACP_DOWN : ACP_UP] = true;
		if (!is_backlogged(c)) {
			stop_timer(c, &c->stall_timer);
		} else if (!c->stall_timer.added) {
			c->last_written = c->peer.end.out.written;
			start_timer(c, &c->stall_timer, stall_expired, m->options->timeout);
		}
	}
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (m->stopped[dir] != stop[dir])
			frame_pause(m->frame, dir, m->stopped[dir] = stop[dir]);
}

void
conn_update_all(struct mcp *m)
{
	struct conn *c;
	bool due = false;

	for (c = m->conns; c; c = c->next) {
		if (!c->blocked && frame_full(m->frame, c->dir)) {
			c->blocked = true;
			pace(c);
		}
		due = due || is_done(c) || (c->blocked && !frame_full(m->frame, c->dir));
	}
	stop_directions(m);
	if (!due || m->update_timer.added)
		return;
	m->update_timer = (struct loop_timer){.expired = update_expired, .arg = m};
	if (loop_add_timer(frame_loop(m->frame), &m->update_timer, 0) < 0)
		mcp_fail(m, "out of memory");
}

void
conn_close_all(struct mcp *m)
{
	struct conn *c;

	loop_remove_timer(frame_loop(m->frame), &m->update_timer);
	for (c = m->conns; c; c = c->next) {
		if (c->server)
			checked(c, conn_disconnect(c));
		peer_close(&c->peer);
	}
}

void
conn_free_all(struct mcp *m)
{
	struct conn *c;

	while ((c = m->conns)) {
		m->conns = c->next;
		conn_free(c);
	}
	conn_free_calls(m);
}
