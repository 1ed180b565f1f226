/* A client's TCP connection: finds out which protocol the client speaks, holds its exchanges, and ends when nothing comes. */
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-http/server.h"

enum {
	REQUEST = 10 * 1000 * 1000,    /* us for the head of a request, and between bytes of its body */
	BETWEEN = 60 * 1000 * 1000,    /* us that a channel without a request is kept */
	PROGRESS = 4096,               /* bytes of a response that its client has to read in the time REQUEST */
};
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* --- TLS --- */

static ssize_t
tls_result(SSL *ssl, int n)
{
	int error = SSL_get_error(ssl, n);

	if (n > 0)
		return n;
	ERR_clear_error();
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
	return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static ssize_t
tls_read(void *ssl, void *to, size_t n)
{
	return tls_result(ssl, SSL_read(ssl, to, (int)n));
}

static ssize_t
tls_write(void *ssl, const void *from, size_t n)
{
	return tls_result(ssl, SSL_write(ssl, from, (int)n));
}

static void
tls_finish(void *ssl)
{
	SSL_shutdown(ssl);
	ERR_clear_error();
}

/* --- what comes --- */

/* Chooses the version of HTTP: ALPN tells it, or else the first bytes of the client. */
static void
choose(struct channel *ch)
{
	const unsigned char *name = NULL;
	unsigned length = 0;
	size_t n = ch->in.n < sizeof(preface) - 1 ? ch->in.n : sizeof(preface) - 1;

	if (ch->tls.arg)
		SSL_get0_alpn_selected(ch->tls.arg, &name, &length);
	if (memcmp(ch->in.p, preface, n) != 0 || (name && length != 2)) {
		ch->kind = CHANNEL_H1;
		ch->respond = h1_respond;
	} else if (n == sizeof(preface) - 1 || length == 2) {
		ch->respond = h2_respond;
		if (h2_open(ch) < 0)
			endpoint_abort(&ch->far);
		else
			ch->kind = CHANNEL_H2;
	}
}

static bool
received(void *arg, enum input_got got, const struct line *line)
{
	struct channel *ch = arg;
	struct slice bytes = line->text;

	ch->read += bytes.n;
	if (ch->far.finishing)
		return true;
	if (ch->kind == CHANNEL_NEW || ch->kind == CHANNEL_H1) {
		if (buf_add_slice(&ch->in, bytes) < 0)
			endpoint_abort(&ch->far);
		else if (ch->kind == CHANNEL_NEW)
			choose(ch);
		if (ch->kind == CHANNEL_H1)
			h1_receive(ch);
		bytes = buf_slice(&ch->in);
	}
	if (ch->kind == CHANNEL_LINES && ch->conn)
		link_line(&ch->conn->link, got, line);
	else if (ch->kind == CHANNEL_WS && ch->conn)
		ws_receive(&ch->conn->ws, bytes);
	else if (ch->kind == CHANNEL_H2)
		h2_receive(ch, bytes);
	if (ch->kind > CHANNEL_H1)
		buf_free(&ch->in);
	return true;
}

/* --- time --- */

/*
 * Starts the timer that ends the channel. A client has to send a head in time, and the rest of a body after a response; another
 * body has to make progress. A channel without a request is kept for a while. A client that waits for nothing from an agent has to
 * read its responses; a client with an event stream may read when it likes.
 */
static void
time_out(struct channel *ch)
{
	bool head = ch->kind == CHANNEL_NEW || (ch->kind == CHANNEL_H1 && ch->in.n > 0 && !ch->exchanges), body = false, served = false;
	struct loop *loop = ch->server->service.loop;
	const struct exchange *late = NULL, *unread = NULL;
	struct exchange *x;
	unsigned phase;
	uint64_t progress;

	if (ch->phase == PHASE_END)
		return;
	DL_FOREACH (ch->exchanges, x) {
		if (!late && (!x->headed || (x->responded && !x->flow && !x->complete)))
			late = x;
		if (!unread && x->responded && !x->streams)
			unread = x;
		body = body || !x->complete;
		served = served || x->streams || x->conn;
	}
	if (!late && !served)
		late = unread;
	head = head || late;
	phase = head ? PHASE_HEAD : body ? PHASE_BODY : ch->exchanges || ch->kind >= CHANNEL_WS ? PHASE_BUSY : PHASE_IDLE;
	progress = phase == PHASE_BODY ? ch->read : late ? late->sent / PROGRESS : 0;
	if (phase == ch->phase && late == ch->late && progress == ch->progress)
		return;
	ch->phase = phase;
	ch->late = late;
	ch->progress = progress;
	if (phase == PHASE_BUSY)
		loop_remove_timer(loop, &ch->timer);
	else
		loop_add_timer(loop, &ch->timer, phase == PHASE_IDLE ? BETWEEN : REQUEST);
}

static void
expired(void *arg)
{
	struct channel *ch = arg;

	if (ch->kind == CHANNEL_H2 && ch->phase == PHASE_IDLE && !ch->far.finishing) {
		ch->phase = PHASE_END;
		loop_add_timer(ch->server->service.loop, &ch->timer, REQUEST);
		if (nghttp2_session_terminate_session(ch->h2, NGHTTP2_NO_ERROR) < 0)
			endpoint_abort(&ch->far);
		channel_wake(ch);
	} else {
		endpoint_abort(&ch->far);
	}
}

/* --- the channel --- */

static void
work(void *arg)
{
	struct channel *ch = arg;

	if (ch->far.finishing)
		return;
	if (ch->kind == CHANNEL_H1)
		h1_send(ch);
	else if (ch->kind == CHANNEL_H2)
		h2_send(ch);
	time_out(ch);
	if (ch->conn)
		conn_wake(ch->conn);
}

static void
happened(void *arg, enum endpoint_event event)
{
	struct channel *ch = arg;

	if (event == ENDPOINT_ENDED) {
		channel_free(ch);
	} else if (event == ENDPOINT_CLOSED && ch->far.out.error) {
		/* The client has gone; the bytes that it sent before are still read. */
		(ch->far.paused ? endpoint_abort : endpoint_drain)(&ch->far);
	} else if (event == ENDPOINT_CLOSED) {
		loop_add_timer(ch->server->service.loop, &ch->timer, LINGER);
		if (ch->conn)
			conn_wake(ch->conn);
	} else {
		work(ch);
	}
}

void
channel_new(struct server *s, int fd)
{
	const struct options *o = s->options;
	bool full = s->nchannels >= s->max_channels || (o->plain && (s->service.leaving || s->nconns >= o->max_connections));
	struct channel *ch = full ? NULL : calloc(1, sizeof(*ch));
	SSL *ssl = ch && s->tls ? SSL_new(s->tls) : NULL;

	if (!ch || (s->tls && (!ssl || SSL_set_fd(ssl, fd) != 1))) {
		report_verbose(&s->service, NULL, "refused: too many connections");
		SSL_free(ssl);
		free(ch);
		close(fd);
		return;
	}
	if (ssl)
		SSL_set_accept_state(ssl);
	ch->server = s;
	ch->tls = (struct io_layer){.read = tls_read, .write = tls_write, .finish = tls_finish, .arg = ssl};
	ch->far = (struct endpoint){.line = received, .event = happened, .arg = ch, .layer = ssl ? &ch->tls : NULL};
	ch->task = (struct loop_task){.run = work, .arg = ch};
	ch->timer = (struct loop_timer){.expired = expired, .arg = ch};
	DL_APPEND(s->channels, ch);
	s->nchannels++;
	loop_add_timer(s->service.loop, &ch->timer, REQUEST);
	if (endpoint_open(&ch->far, s->service.loop, fd, fd, o->plain ? o->limit : 0) < 0) {
		channel_free(ch);
	} else if (o->plain && !(ch->conn = conn_new(s, PROFILE_TCP))) {
		channel_free(ch);
	} else if (o->plain) {
		ch->kind = CHANNEL_LINES;
		ch->conn->channel = ch;
		loop_remove_timer(s->service.loop, &ch->timer);
	}
}

void
channel_free(struct channel *ch)
{
	struct server *s = ch->server;
	struct conn *c = ch->conn;

	DL_DELETE(s->channels, ch);
	s->nchannels--;
	loop_remove_timer(s->service.loop, &ch->timer);
	loop_remove_task(s->service.loop, &ch->task);
	if (c) {
		report_verbose(&s->service, c->label, "disconnected, code %u", c->ws.close_code);
		ws_close(&c->ws);
		c->channel = NULL;
		conn_leave(c, "the connection was lost");
	}
	while (ch->exchanges)
		exchange_free(ch->exchanges);
	nghttp2_session_del(ch->h2);
	endpoint_close(&ch->far);
	SSL_free(ch->tls.arg);
	buf_free(&ch->in);
	free(ch);
}
