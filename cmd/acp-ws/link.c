/* One connection: messages between a WebSocket and the lines of a local peer, with backpressure both ways. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-ws/ws.h"
#include "lib/json/json.h"

enum {
	QUEUE_HIGH = OUTPUT_HIGH, QUEUE_LOW = OUTPUT_LOW,
	SHOWN = 200,           /* bytes of a message in a line on stderr */
	KEEP = 256 * 1024,     /* of the buffer for messages that come in pieces */
};

/* A message for the remote peer: libwebsockets wants room before it. */
struct frame {
	struct frame *prev, *next;
	size_t n;
	unsigned char room[LWS_PRE]; /* the text follows without a gap */
	unsigned char text[];
};

static const char no_memory[] = "out of memory";

static enum acp_side
local_side(const struct link *l)
{
	return acp_other_side(l->remote);
}

/* --- flow --- */

/* Pauses or resumes reading of both peers. */
static void
steer(struct link *l)
{
	bool pause;

	if (l->queued > QUEUE_HIGH)
		l->full = true;
	else if (l->queued <= QUEUE_LOW)
		l->full = l->remote_unanswered = false;
	l->local_unanswered = l->local_unanswered && l->local.out.full;
	endpoint_pause(&l->local, l->full || l->local_unanswered);
	pause = l->local.out.full || l->remote_unanswered;
	if (l->up && pause != l->paused)
		lws_rx_flow_control(l->wsi, !pause);
	l->paused = pause;
}

static void
changed(struct link *l)
{
	steer(l);
	l->changed(l->arg);
}

/* --- to the local peer --- */

static void
put_local(struct link *l, struct slice text)
{
	if (endpoint_put_line(&l->local, NULL, text, false) < 0) {
		report(l->service, l->name, "%s", no_memory);
		link_abort(l);
	}
}

/* --- to the remote peer --- */

static void
send_text(struct link *l, struct slice text)
{
	struct frame *f;

	if (l->down)
		return;
	f = malloc(sizeof(*f) + text.n);
	if (!f) {
		report(l->service, l->name, "%s", no_memory);
		link_abort(l);
		return;
	}
	f->n = text.n;
	memcpy(f->text, text.p, text.n);
	DL_APPEND(l->out, f);
	l->queued += f->n;
	if (l->up)
		lws_callback_on_writable(l->wsi);
}

static void
drop_first(struct link *l)
{
	struct frame *f = l->out;

	DL_DELETE(l->out, f);
	l->queued -= f->n;
	free(f);
}

/* --- requests --- */

static void
send_error(struct link *l, enum acp_side to, struct slice id, int code, const char *why)
{
	SCOPED struct buf text = {0};

	if (msg_make_error(&text, id, code, why, slice(NULL, 0)) < 0)
		report(l->service, l->name, "%s", no_memory);
	else if (to == l->remote)
		send_text(l, buf_slice(&text));
	else
		put_local(l, buf_slice(&text));
}

/* A peer that goes on sending but does not read its error responses is not read until it does. */
static void
refuse_request(struct link *l, enum acp_side from, struct slice id, int code, const char *why)
{
	send_error(l, from, id, code, why);
	if (from == l->remote)
		l->remote_unanswered = l->full || l->queued > QUEUE_HIGH;
	else
		l->local_unanswered = l->local.out.full;
}

static void
end_request(struct link *l, struct request *r)
{
	requests_take(l->requests, r);
	requests_done(r);
}

/* 0, or -1 out of memory. */
static int
note(struct link *l, enum acp_side from, const struct msg *m)
{
	struct request *r = NULL;

	if (m->kind == MSG_REQUEST)
		return requests_open(l->requests, from, 0, m) ? 0 : -1;
	if (m->kind == MSG_RESPONSE && !(m->error.p && msg_null_id(m)))
		r = requests_find(l->requests, acp_other_side(from), m->id);
	if (r)
		end_request(l, r);
	return 0;
}

static size_t
fail_requests(struct link *l, enum acp_side from, const char *why)
{
	struct request *next;
	size_t n = 0;

	for (struct request *r = requests_next(l->requests, NULL); r; r = next) {
		next = requests_next(l->requests, r);
		if (r->from != from)
			continue;
		send_error(l, from, r->id, ACP_ERR_INTERNAL, why);
		end_request(l, r);
		n++;
	}
	return n;
}

size_t
link_open_requests(const struct link *l, enum acp_side from)
{
	const struct request *r = NULL;
	size_t n = 0;

	while ((r = requests_next(l->requests, r)))
		n += r->from == from;
	return n;
}

/* Nothing more is forwarded: the local peer's open requests get an error, and its input ends. why NULL: the reason the link knows. */
static void
end_local(struct link *l, const char *why)
{
	char text[80];

	if (!why) {
		if (l->close_code)
			snprintf(text, sizeof(text), "the %s closed the connection with code %u", acp_side_name(l->remote), l->close_code);
		else
			snprintf(text, sizeof(text), "the connection was %s", l->closed_by_us ? "closed" : "lost");
	}
	l->up = false;
	l->failed += fail_requests(l, local_side(l), why ? why : text);
	endpoint_finish(&l->local);
}

/* Discards a line that is not a message. If it was meant to be a request or a response, an error is sent where one is due. */
static void
discard(struct link *l, enum acp_side from, uint64_t number, struct slice text, const char *why)
{
	static const char invalid[] = "the response was not valid and could not be forwarded";
	struct slice id;
	enum msg_kind meant = msg_noise_meant(text, &id);
	struct request *r = meant == MSG_RESPONSE ? requests_find(l->requests, acp_other_side(from), id) : NULL;
	char line[32] = "";

	if (number)
		snprintf(line, sizeof(line), "line %" PRIu64 ": ", number);
	report(l->service, l->name, "%s: %s%s: not forwarded: %.*s", acp_side_name(from), line, why,
		(int)(text.n < SHOWN ? text.n : SHOWN), text.p);
	if (r) {
		send_error(l, r->from, r->id, ACP_ERR_INTERNAL, invalid);
		end_request(l, r);
	} else if (meant == MSG_REQUEST) {
		refuse_request(l, from, id, ACP_ERR_INVALID_REQUEST, why);
	}
}

/* --- the queue --- */

static int
write_frames(struct link *l)
{
	/* libwebsockets does not report a pong that is empty. */
	unsigned char ping[LWS_PRE + 3] = {[LWS_PRE] = 'a', 'c', 'p'};

	if (l->ping_due && lws_write(l->wsi, ping + LWS_PRE, sizeof(ping) - LWS_PRE, LWS_WRITE_PING) < 0)
		return -1;
	l->ping_due = false;
	for (; l->out && !lws_send_pipe_choked(l->wsi); drop_first(l))
		if (lws_write(l->wsi, l->out->text, l->out->n, LWS_WRITE_TEXT) < 0)
			return -1;
	l->remote_busy = l->out || lws_partial_buffered(l->wsi);
	if (l->out) {
		lws_callback_on_writable(l->wsi);
	} else if (l->closing && !l->remote_busy) {
		lws_close_reason(l->wsi, (enum lws_close_status)l->close_with, (unsigned char *)(size_t)l->close_why,
			strlen(l->close_why));
		l->closed_by_us = true;
		end_local(l, NULL);
		return -1;
	}
	return 0;
}

/* --- from the local peer --- */

/* A piece of a line that is too long. Its id may come last, so the report waits for its end. */
static void
long_piece(struct link *l, const struct line *piece)
{
	struct outline whole;

	outline_add(&l->outline, piece->text);
	if (!piece->last)
		return;
	whole = l->outline;
	l->outline = (struct outline){0};
	discard(l, local_side(l), piece->number, buf_slice(&whole.text), "longer than --max-line");
	buf_free(&whole.text);
}

static bool
local_line(void *arg, enum input_got got, const struct line *line)
{
	struct link *l = arg;
	struct json_error error;
	struct msg m;

	if (l->down)
		return true;
	if (got == INPUT_PIECE) {
		long_piece(l, line);
	} else if (line_is_blank(line)) {
		return true;
	} else if (msg_scan(line->text, &m, &error) == MSG_NOISE) {
		discard(l, local_side(l), line->number, line->text, got == INPUT_TORN ? "the line was cut off" : error.what);
	} else {
		if (note(l, local_side(l), &m) < 0)
			report(l->service, l->name, "%s", no_memory);
		send_text(l, line->text);
	}
	steer(l);
	return true;
}

static void
local_event(void *arg, enum endpoint_event event)
{
	struct link *l = arg;

	if (event == ENDPOINT_ENDED)
		l->local_ended = true;
	changed(l);
}

/* --- from the remote peer --- */

static int
refuse_message(struct link *l, uint16_t code, const char *why)
{
	report(l->service, l->name, "%s: %s: closing the connection", acp_side_name(l->remote), why);
	lws_close_reason(l->wsi, (enum lws_close_status)code, (unsigned char *)(size_t)why, strlen(why));
	end_local(l, NULL);
	return -1;
}

/* A message has come whole. A line break in it can only be white space: a blank takes its place on the line. */
static int
deliver(struct link *l)
{
	struct json_error error;
	struct slice text;
	struct msg m;

	while (l->in.n > 0 && l->in.p[l->in.n - 1] == '\n')
		l->in.n--;
	for (char *p = l->in.p; (p = memchr(p, '\n', l->in.n - (size_t)(p - l->in.p))); p++)
		*p = ' ';
	text = buf_slice(&l->in);
	if (line_is_blank(&(struct line){.text = text}))
		return 0;
	if (msg_scan(text, &m, &error) == MSG_NOISE) {
		if (!json_utf8(text))
			return refuse_message(l, LWS_CLOSE_STATUS_INVALID_PAYLOAD, "a message that is not UTF-8");
		discard(l, l->remote, 0, text, error.what);
		return 0;
	}
	if (l->failing && m.kind == MSG_REQUEST) {
		refuse_request(l, l->remote, m.id, ACP_ERR_INTERNAL, l->failing);
		return 0;
	}
	if (note(l, l->remote, &m) < 0)
		report(l->service, l->name, "%s", no_memory);
	put_local(l, text);
	return 0;
}

static int
receive(struct link *l, struct slice piece)
{
	bool last = lws_is_final_fragment(l->wsi);
	int r = 0;

	l->received += piece.n;
	if (lws_is_first_fragment(l->wsi))
		l->skipping = lws_frame_is_binary(l->wsi);
	if (l->skipping) {
		if (last)
			report(l->service, l->name, "%s: a binary message: ignored", acp_side_name(l->remote));
		l->skipping = !last;
		return 0;
	}
	if (piece.n > l->service->options->limit - l->in.n)
		return refuse_message(l, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "a message longer than --max-line");
	if (buf_add_slice(&l->in, piece) < 0)
		return refuse_message(l, LWS_CLOSE_STATUS_UNEXPECTED_CONDITION, no_memory);
	if (!last)
		return 0;
	if (l->in.n > 0)
		r = deliver(l);
	l->in.n = 0;
	if (l->in.cap > KEEP)
		buf_free(&l->in);
	return r;
}

/* --- the connection --- */

/*
 * A peer that has sent nothing and read nothing since the last ping is dead. Data that has arrived unread counts: a ping of a peer
 * that does not read now is a sign of life, and libwebsockets does not report it. Such a peer has an interval more, for its ping may be due
 * as ours is. One that we do not read because the local peer is slow cannot be judged.
 */
static void
beat(struct link *l)
{
	uint64_t interval = l->service->options->ping, acked = acked_bytes(lws_get_socket_fd(l->wsi));
	uint64_t arrived = arrived_bytes(lws_get_socket_fd(l->wsi));

	if (l->heard || arrived != l->last_arrived || l->local.out.full || (l->remote_busy && acked != l->last_acked))
		l->silent = 0;
	else
		l->silent++;
	if (l->silent > (l->remote_busy ? 1 : 0)) {
		report(l->service, l->name, "%s: no sign of life for %" PRIu64 " ms: closing the connection", acp_side_name(l->remote),
			(l->silent + 1) * interval / 1000);
		link_abort(l);
		return;
	}
	l->heard = false;
	l->last_acked = acked;
	l->last_arrived = arrived;
	l->ping_due = true;
	lws_callback_on_writable(l->wsi);
	lws_set_timer_usecs(l->wsi, (lws_usec_t)interval);
}

bool
link_update_progress(struct link *l)
{
	uint64_t before = l->moved;

	if (!l->up || (!l->out && !l->remote_busy && l->in.n == 0))
		return false;
	l->moved = acked_bytes(lws_get_socket_fd(l->wsi)) + l->received;
	return l->moved != before;
}

void
link_up(struct link *l, struct lws *wsi)
{
	l->wsi = wsi;
	l->up = l->heard = true;
	l->paused = false;
	if (l->service->options->ping)
		lws_set_timer_usecs(wsi, (lws_usec_t)l->service->options->ping);
	lws_callback_on_writable(wsi);
	changed(l);
}

void
link_down(struct link *l, const char *why)
{
	l->down = true;
	l->wsi = NULL;
	while (l->out)
		drop_first(l);
	end_local(l, why);
	changed(l);
}

int
link_callback(struct link *l, enum lws_callback_reasons reason, void *in, size_t len)
{
	const unsigned char *code = in;
	int r = 0;

	switch (reason) {
	case LWS_CALLBACK_RECEIVE:
	case LWS_CALLBACK_CLIENT_RECEIVE:
		l->heard = true;
		r = l->up ? receive(l, slice(in, len)) : 0;
		break;
	case LWS_CALLBACK_RECEIVE_PONG:
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
		l->heard = true;
		break;
	case LWS_CALLBACK_SERVER_WRITEABLE:
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		r = l->up ? write_frames(l) : 0;
		break;
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		l->close_code = (uint16_t)(len >= 2 ? code[0] << 8 | code[1] : LWS_CLOSE_STATUS_NO_STATUS);
		end_local(l, NULL);
		break;
	case LWS_CALLBACK_TIMER:
		beat(l);
		break;
	default:
		break;
	}
	changed(l);
	return r;
}

void
link_fail(struct link *l, const char *why)
{
	l->failing = why;
	fail_requests(l, l->remote, why);
}

void
link_finish(struct link *l, uint16_t code, const char *why)
{
	if (l->closing)
		return;
	l->closing = true;
	l->close_with = code;
	l->close_why = why;
	if (l->up)
		lws_callback_on_writable(l->wsi);
}

void
link_abort(struct link *l)
{
	if (l->wsi)
		lws_set_timeout(l->wsi, 1, LWS_TO_KILL_ASYNC);
}

int
link_open(struct link *l, int in, int out)
{
	l->local = (struct endpoint){.line = local_line, .event = local_event, .arg = l};
	l->requests = requests_new();
	return endpoint_open(&l->local, l->service->loop, in, out, l->service->options->limit) < 0 || !l->requests ? -1 : 0;
}

void
link_close(struct link *l)
{
	while (l->out)
		drop_first(l);
	endpoint_close(&l->local);
	requests_free(l->requests);
	buf_free(&l->in);
	buf_free(&l->outline.text);
}
