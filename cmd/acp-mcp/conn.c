#include "cmd/acp-mcp/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

enum { QUOTED = 200 }; /* the most bytes that a report shows of a line that is not a message */

/* --- the peer --- */

static void
report_repeated(struct conn *c)
{
	char digits[SLICE_DIGITS];

	if (c->repeated > 0)
		conn_warn(c, "repetitions of the last line: ", slice_digits(c->repeated, digits));
	c->repeated = 0;
}

static void
report_noise(struct conn *c, const char *why, struct slice text)
{
	SCOPED struct buf line = {0};

	text.n = text.n < QUOTED ? text.n : QUOTED;
	if (c->noise.p && slice_eq(buf_slice(&c->noise), text)) {
		c->repeated++;
		return;
	}
	report_repeated(c);
	c->noise.n = 0;
	mcp_check(c->mcp, -(buf_add_slice(&c->noise, text) || buf_printf(&line, "%s: %.*s", why, (int)text.n, text.p)));
	conn_warn(c, c->server ? "a line of the agent is not a message: " : "a line of the command is not a message: ", buf_slice(&line));
}

/* Responds with an error to a line that is not a message, if it was meant to be a request of the peer or a response to an ask. */
static void
respond_to_noise(struct conn *c, struct slice line)
{
	struct slice id, item;
	enum msg_kind meant = msg_guess_kind(line, &id);
	struct ask *a = meant == MSG_RESPONSE ? conn_find_ask(c, id) : NULL, *in_array;
	bool responded = false;
	struct msg m;

	if (c->over || c->ended)
		return;
	/* The requests and responses of an array: MCP 2025-03-26 had batches. */
	for (struct json_iter it = {.in = line}; meant == MSG_REQUEST && json_item(&it, &item);) {
		msg_scan(item, &m, NULL);
		if (m.kind == MSG_REQUEST)
			conn_reply_error(c, m.id, ACP_ERR_INVALID_REQUEST, "acp-mcp: a request in an array");
		if (m.kind == MSG_RESPONSE && (in_array = conn_find_ask(c, m.id)))
			conn_refuse(c, in_array, ACP_ERR_INTERNAL, "acp-mcp: the response is in an array");
		responded |= m.kind == MSG_REQUEST || m.kind == MSG_RESPONSE;
	}
	if (meant == MSG_REQUEST && !responded)
		conn_reply_error(c, id, ACP_ERR_INVALID_REQUEST, "acp-mcp: the request is not a message, or longer than --max-line");
	else if (a)
		conn_refuse(c, a, ACP_ERR_INTERNAL, "acp-mcp: the response is not a message, or longer than --max-line");
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct conn *c = arg;
	struct json_error error;
	struct msg m;

	if (got != INPUT_PIECE) {
		if (line_is_blank(line))
			return true;
		if (msg_scan(line->text, &m, &error) == MSG_NOISE) {
			report_noise(c, error.what, line->text);
			respond_to_noise(c, line->text);
		} else if (!c->over && !c->ended) {
			conn_receive(c, &m);
		}
		return true;
	}
	/* A part of a line that is too long. */
	if (line->first)
		report_noise(c, "it is too long", line->text);
	outline_add(&c->outline, line->text);
	if (line->last) {
		if (!c->outline.failed)
			respond_to_noise(c, buf_slice(&c->outline.text));
		buf_free(&c->outline.text);
		c->outline = (struct outline){0};
	}
	return true;
}

static void
peer_ended(struct conn *c)
{
	if (c->server) {
		conn_end(c);
		c->over = true;
		return;
	}
	/* Later requests for the command are refused until the other side disconnects. */
	conn_stop(c, MCP_ERR_BACKEND, "acp-mcp: the server has ended");
	command_finish(&c->command, false);
	c->over = c->id.n == 0;
}

/* A failed write to the peer needs no handling: a peer that has gone is noticed when its output ends. */
static void
on_event(void *arg, enum endpoint_event event)
{
	struct conn *c = arg;

	if (event == ENDPOINT_ENDED)
		peer_ended(c);
	conn_update_all(c->mcp);
}

static void
response_expired(void *arg)
{
	static const char error[] = "{\"code\":-33001,\"message\":\"acp-mcp: the server's provider does not respond\"}";
	struct conn *c = arg;

	conn_drop_calls(c);
	conn_refuse_all(c, slice_of(error));
	conn_update_all(c->mcp);
}

static void
stall_expired(void *arg)
{
	struct conn *c = arg;

	if (c->peer.out.written > c->last_written) {
		c->last_written = c->peer.out.written;
		loop_add_timer(frame_loop(c->mcp->frame), &c->stall_timer, c->mcp->options->timeout);
		return;
	}
	conn_warn(c, c->server ? "the agent does not read: " : "the command does not read: ", slice_of("closing the connection"));
	output_fail(&c->peer.out, EPIPE);
	if (!c->server)
		command_finish(&c->command, true);
	peer_ended(c);
	conn_update_all(c->mcp);
}

static struct conn *
conn_new(struct mcp *m, enum acp_direction dir, const struct form *form)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct conn){.mcp = m, .dir = dir, .form = form, .peer = {.line = on_line, .event = on_event, .arg = c},
		.response_timer = {.expired = response_expired, .arg = c}, .stall_timer = {.expired = stall_expired, .arg = c}};
	return c;
}

/* --- a shim --- */

int
conn_accept(struct mcp *m, struct server *s, int fd)
{
	enum dialect d = m->options->dialect;
	struct conn *c = conn_new(m, ACP_UP, &form_newest);

	if (!c)
		close(fd);
	if (!c || endpoint_open(&c->peer, frame_loop(m->frame), fd, fd, m->options->frame.limit) < 0) {
		free(c);
		return -1;
	}
	c->server = s;
	s->nconns++;
	LL_PREPEND(m->conns, c);
	if (d == DIALECT_DECLARED)
		d = s->by_server_id ? DIALECT_NEWEST : DIALECT_ACP_ID;
	if (d != DIALECT_NEWEST)
		form_first_connect(c, d == DIALECT_SERVER_ID);
	return 0;
}

/* --- a command --- */

static void
command_ended(void *arg)
{
	struct conn *c = arg;

	/*
	 * The last output of the command may not be read yet: peer_ended is called after that output, though processes that the command
	 * has left may still hold the pipe.
	 */
	endpoint_drain(&c->peer);
	if (c->ended && c->id.n == 0)
		c->over = true;
	conn_update_all(c->mcp);
}

struct conn *
conn_start(struct mcp *m, const struct provided *p, const struct form *form, const struct msg *msg)
{
	struct conn *c;
	int ours[2];

	if (!provide_may_start(m, p)) {
		mcp_refuse(m, msg, MCP_ERR_LIMIT, "acp-mcp: too many connections");
		return NULL;
	}
	c = conn_new(m, ACP_DOWN, form);
	if (!c) {
		mcp_fail(m, "out of memory");
		return NULL;
	}
	c->command = (struct command){.mcp = m, .what = p, .input = -1, .ended = command_ended, .arg = c};
	if (command_start(&c->command, ours) < 0) {
		mcp_refuse(m, msg, MCP_ERR_BACKEND, "acp-mcp: the server could not be started");
		free(c);
		return NULL;
	}
	LL_PREPEND(m->conns, c);
	if (endpoint_open(&c->peer, frame_loop(m->frame), ours[1], ours[0], m->options->frame.limit) < 0)
		mcp_fail(m, strerror(errno));
	return c;
}

void
conn_finish(struct conn *c)
{
	c->id.n = 0;
	conn_stop(c, MCP_ERR_UNAVAILABLE, "acp-mcp: disconnected");
	command_finish(&c->command, true);
	c->over = true;
}

/* --- all of them --- */

struct conn *
conn_find(struct mcp *m, enum acp_direction dir, struct slice id)
{
	struct conn *c;

	LL_FOREACH(m->conns, c)
		if (c->id.n > 0 && dir != c->dir && json_string_eq(buf_slice(&c->id), id))
			return c;
	return NULL;
}

struct conn *
conn_serving(struct mcp *m, const struct provided *p)
{
	struct conn *c;

	LL_FOREACH(m->conns, c)
		if (!c->ended && c->command.what == p && c->form == &form_newest_offer)
			return c;
	return NULL;
}

static void
conn_free(struct conn *c)
{
	LL_DELETE(c->mcp->conns, c);
	loop_remove_timer(frame_loop(c->mcp->frame), &c->response_timer);
	loop_remove_timer(frame_loop(c->mcp->frame), &c->stall_timer);
	report_repeated(c);
	endpoint_close(&c->peer);
	buf_free(&c->outline.text);
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

/* --- peers that do not read --- */

/*
 * Stops each direction in which more than --max-line bytes wait for a peer, and starts the peer's timer, which closes the
 * connection if the peer has read nothing.
 */
static void
stop_directions(struct mcp *m)
{
	const size_t limit = m->options->frame.limit;
	/* A proxy reads both directions from one pipe, on which the response to initialize still has to come. */
	bool stop[ACP_DIRECTIONS] = {m->early_bytes > limit && !frame_is_shared(m->frame), false};
	struct conn *c;

	LL_FOREACH(m->conns, c) {
		if (c->peer.out.error || c->peer.out.queued <= limit) {
			loop_remove_timer(frame_loop(c->mcp->frame), &c->stall_timer);
			continue;
		}
		stop[acp_back(c->dir)] = true;
		if (!c->stall_timer.added) {
			c->last_written = c->peer.out.written;
			loop_add_timer(frame_loop(c->mcp->frame), &c->stall_timer, m->options->timeout);
		}
	}
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (m->stopped[dir] != stop[dir])
			frame_pause(m->frame, dir, m->stopped[dir] = stop[dir]);
}

static void
update(void *arg)
{
	struct mcp *m = arg;
	struct conn *c, *next;

	LL_FOREACH_SAFE(m->conns, c, next) {
		/* A command has to end before its connection is freed. */
		if (c->over && !c->command.runs)
			conn_free(c);
		else
			endpoint_pause(&c->peer, c->awaiting || frame_full(m->frame, c->dir));
	}
	stop_directions(m);
}

void
conn_update_all(struct mcp *m)
{
	m->update.run = update;
	m->update.arg = m;
	loop_add_task(frame_loop(m->frame), &m->update);
}

void
conn_close_all(struct mcp *m)
{
	struct conn *c;

	loop_remove_task(frame_loop(m->frame), &m->update);
	LL_FOREACH(m->conns, c) {
		if (c->server)
			conn_disconnect(c);
		endpoint_close(&c->peer);
	}
}

void
conn_free_all(struct mcp *m)
{
	while (m->conns)
		conn_free(m->conns);
	while (m->calls)
		call_free(m, m->calls);
}
