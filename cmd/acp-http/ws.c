/* WebSocket over an endpoint: frames become messages of a link, and messages frames. */
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include "cmd/acp-http/http.h"
#include "lib/run/system.h"

enum { OP_CONTINUATION, OP_TEXT, OP_BINARY, OP_CLOSE = 8, OP_PING, OP_PONG };
enum {
	FIN = 0x80, RESERVED = 0x70, MASKED = 0x80, HEAD_MOST = 14,
	CONTROL = 125,        /* the most bytes of a control frame's payload */
	KEEP = 256 * 1024,    /* bytes of the buffer for messages that are kept for the next message */
	PONGS_WAIT = 64 * 1024, /* bytes: a peer that reads nothing gets no more pongs */
	CLOSING = 2 * 1000 * 1000, /* us for the peer to reply to a close frame */
};

/* --- writing --- */

static void
mask_bytes(char *p, size_t n, const unsigned char key[4], size_t at)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)((unsigned char)p[i] ^ key[(at + i) % 4]);
}

static void
put_frame(struct ws *ws, unsigned opcode, struct slice payload)
{
	struct block *b = block_new(HEAD_MOST + payload.n);
	unsigned char *p = b ? (unsigned char *)b->data : NULL, *mask;
	unsigned length = payload.n < 126 ? (unsigned)payload.n : payload.n < 65536 ? 126 : 127;

	if (!b) {
		endpoint_abort(ws->far);
		return;
	}
	*p++ = (unsigned char)(FIN | opcode);
	*p++ = (unsigned char)(length | (ws->client ? MASKED : 0));
	for (int shift = length == 127 ? 56 : length == 126 ? 8 : -8; shift >= 0; shift -= 8)
		*p++ = (unsigned char)((uint64_t)payload.n >> shift);
	mask = p;
	p += ws->client ? 4 : 0;
	if (payload.n > 0)
		memcpy(p, payload.p, payload.n);
	if (ws->client && getrandom(mask, 4, 0) == 4)
		mask_bytes((char *)p, payload.n, mask, 0);
	else if (ws->client)
		endpoint_abort(ws->far);
	if (endpoint_put(ws->far, b, slice_between(b->data, (char *)p + payload.n)) < 0)
		endpoint_abort(ws->far);
	if (opcode >= OP_CLOSE)
		ws->control_bytes += (size_t)((char *)p - b->data) + payload.n;
	block_drop(b);
}

void
ws_send(struct ws *ws, struct slice text)
{
	if (!ws->close_sent)
		put_frame(ws, OP_TEXT, text);
}

static void
send_close(struct ws *ws, uint16_t code, const char *why)
{
	char payload[CONTROL];
	size_t n = strnlen(why, sizeof(payload) - 2);

	if (ws->close_sent)
		return;
	payload[0] = (char)(code >> 8);
	payload[1] = (char)code;
	memcpy(payload + 2, why, n);
	put_frame(ws, OP_CLOSE, slice(payload, code == WS_NO_STATUS ? 0 : n + 2));
	ws->close_sent = true;
}

void
ws_finish(struct ws *ws, uint16_t code, const char *why)
{
	if (ws->close_sent)
		return;
	ws->closed_by_us = true;
	send_close(ws, code, why);
	loop_add_timer(ws->link->service->loop, &ws->beat, CLOSING);
}

/* Ends the output: the remote peer has to close its end in time. */
static void
finish(struct ws *ws)
{
	endpoint_finish(ws->far);
	loop_add_timer(ws->link->service->loop, &ws->beat, LINGER);
}

/* Closes the connection because the remote peer has broken a rule. */
static void
fail(struct ws *ws, uint16_t code, const char *why)
{
	report(ws->link->service, ws->link->name, "%s: %s: closing the connection", acp_side_name(ws->link->remote), why);
	send_close(ws, code, why);
	finish(ws);
	link_down(ws->link, "the connection was lost");
}

/* --- reading --- */

static void
receive_close(struct ws *ws)
{
	const unsigned char *p = (const unsigned char *)ws->control.p;
	unsigned code = ws->ready >= 2 ? (unsigned)(p[0] << 8 | p[1]) : WS_NO_STATUS;
	bool known = (code >= 3000 && code <= 4999) || (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006);
	char why[64];

	if (ws->ready == 1 || (ws->ready >= 2 && !known) || (ws->ready > 2 && !json_utf8(slice((const char *)p + 2, ws->ready - 2)))) {
		fail(ws, WS_PROTOCOL, "an invalid close frame");
		return;
	}
	ws->close_code = (uint16_t)code;
	send_close(ws, (uint16_t)code, "");
	finish(ws);
	snprintf(why, sizeof(why), "the %s closed the connection with code %u", acp_side_name(ws->link->remote), code);
	link_down(ws->link, ws->closed_by_us ? "the connection was closed" : why);
}

static void
end_frame(struct ws *ws)
{
	unsigned opcode = ws->head[0] & 15;
	bool fin = ws->head[0] & FIN;

	if (opcode >= OP_CLOSE)
		ws->control_bytes += ws->nhead + ws->ready;
	ws->nhead = 0;
	if (opcode == OP_CLOSE) {
		receive_close(ws);
	} else if (opcode == OP_PING) {
		if (!ws->close_sent && ws->far->out.queued < PONGS_WAIT + QUEUE_HIGH)
			put_frame(ws, OP_PONG, buf_slice(&ws->control));
	} else if (opcode < OP_CLOSE && fin) {
		ws->open = false;
		if (ws->binary)
			report(ws->link->service, ws->link->name, "%s: a binary message: ignored", acp_side_name(ws->link->remote));
		else if (!ws->link->down && !link_receive(ws->link, &ws->message))
			fail(ws, WS_NOT_UTF8, "a message that is not UTF-8");
		ws->message.n = 0;
		if (ws->message.cap > KEEP)
			buf_free(&ws->message);
	}
}

/* NULL, or the rule that the first two bytes of a frame break. */
static const char *
broken_rule(const struct ws *ws)
{
	unsigned opcode = ws->head[0] & 15, length = ws->head[1] & 127;

	if (ws->head[0] & RESERVED)
		return "a reserved bit is set";
	if (ws->client == !!(ws->head[1] & MASKED))
		return ws->client ? "a masked frame of a server" : "an unmasked frame of a client";
	if (opcode > OP_PONG || (opcode > OP_BINARY && opcode < OP_CLOSE))
		return "an unknown opcode";
	if (opcode >= OP_CLOSE && (length > CONTROL || !(ws->head[0] & FIN)))
		return "a control frame that is too long, or in fragments";
	if (opcode < OP_CLOSE && ws->open != (opcode == OP_CONTINUATION))
		return ws->open ? "a message inside a message" : "a continuation of nothing";
	return NULL;
}

/* The bytes of a frame's header; 2 while its first two bytes, which tell the length, have not come. */
static size_t
head_size(const struct ws *ws)
{
	unsigned length = ws->nhead < 2 ? 0 : ws->head[1] & 127;

	return ws->nhead < 2 ? 2 : 2u + (length == 127 ? 8u : length == 126 ? 2u : 0u) + (ws->client ? 0u : 4u);
}

/* The whole header of a frame has come. */
static void
begin_frame(struct ws *ws)
{
	unsigned opcode = ws->head[0] & 15, length = ws->head[1] & 127;
	size_t n = length == 127 ? 8 : length == 126 ? 2 : 0;

	ws->left = n ? 0 : length;
	for (size_t i = 0; i < n; i++)
		ws->left = ws->left << 8 | ws->head[2 + i];
	ws->ready = ws->control.n = 0;
	if (opcode == OP_TEXT || opcode == OP_BINARY) {
		ws->open = true;
		ws->binary = opcode == OP_BINARY;
	}
	if (ws->left >> 63)
		fail(ws, WS_PROTOCOL, "a frame of 2^63 bytes or more");
	else if (ws->left == 0)
		end_frame(ws);
}

static void
add_payload(struct ws *ws, struct slice piece)
{
	struct buf *to = (ws->head[0] & 15) >= OP_CLOSE ? &ws->control : ws->binary || ws->link->down ? NULL : &ws->message;

	if (to == &ws->message && piece.n > ws->link->service->options->limit - to->n) {
		fail(ws, WS_TOO_LONG, "a message longer than --max-line");
		return;
	}
	if (to && buf_add_slice(to, piece) < 0) {
		fail(ws, WS_FAILED, "out of memory");
		return;
	}
	if (to && !ws->client)
		mask_bytes(to->p + to->n - piece.n, piece.n, ws->head + ws->nhead - 4, ws->ready % 4);
	ws->ready += piece.n;
	ws->left -= piece.n;
	if (ws->left == 0)
		end_frame(ws);
}

void
ws_receive(struct ws *ws, struct slice in)
{
	const char *why;
	size_t n;

	ws->heard = true;
	while (in.n > 0 && !ws->far->finishing && endpoint_can_read(ws->far)) {
		if (ws->nhead < head_size(ws) || ws->left == 0) {
			ws->head[ws->nhead++] = (unsigned char)*in.p++;
			in.n--;
			why = ws->nhead == 2 ? broken_rule(ws) : NULL;
			if (why)
				fail(ws, WS_PROTOCOL, why);
			else if (ws->nhead >= 2 && ws->nhead == head_size(ws))
				begin_frame(ws);
			continue;
		}
		n = in.n < ws->left ? in.n : (size_t)ws->left;
		add_payload(ws, slice(in.p, n));
		in = slice(in.p + n, in.n - n);
	}
}

/* --- signs of life --- */

/*
 * Sends a ping. A peer that has sent nothing and acknowledged nothing since the last ping is dead. A peer that does not read cannot
 * reply to a ping: it has an interval more, to send its own. A peer that is not read, as the local peer is slow, cannot be judged.
 */
static void
beat(void *arg)
{
	struct ws *ws = arg;
	uint64_t interval = ws->link->service->options->ping, acked = ws_acked(ws);
	bool busy = ws->far->out.queued > 0;

	if (!endpoint_can_write(ws->far)) {
		endpoint_abort(ws->far); /* the peer takes long to close its end */
		return;
	}
	if (ws->close_sent && !busy) {
		finish(ws); /* the peer takes long to reply to the close frame */
		return;
	}
	if (ws->heard || ws->far->paused || (busy && acked != ws->last_acked))
		ws->silent = 0;
	else
		ws->silent++;
	if (ws->silent > (busy ? 1 : 0)) {
		report(ws->link->service, ws->link->name, "%s: no sign of life for %" PRIu64 " ms: closing the connection",
			acp_side_name(ws->link->remote), (ws->silent + 1) * interval / 1000);
		endpoint_abort(ws->far);
		return;
	}
	ws->heard = false;
	ws->last_acked = acked;
	if (!ws->close_sent)
		put_frame(ws, OP_PING, slice_of("acp"));
	loop_add_timer(ws->link->service->loop, &ws->beat, interval ? interval : CLOSING);
}

uint64_t
ws_acked(const struct ws *ws)
{
	return ws->far->out.written - (uint64_t)system_unread(ws->far->out.io.fd);
}

void
ws_open(struct ws *ws, struct endpoint *far, struct link *l)
{
	*ws = (struct ws){.far = far, .link = l, .client = l->remote == ACP_AGENT, .heard = true, .beat = {.expired = beat, .arg = ws}};
	if (ws->link->service->options->ping)
		loop_add_timer(ws->link->service->loop, &ws->beat, ws->link->service->options->ping);
}

void
ws_close(struct ws *ws)
{
	if (ws->link)
		loop_remove_timer(ws->link->service->loop, &ws->beat);
	buf_free(&ws->message);
	buf_free(&ws->control);
}

void
ws_accept_of(const char *key, char accept[29])
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	char text[64];

	snprintf(text, sizeof(text), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	SHA1((unsigned char *)text, strlen(text), digest);
	EVP_EncodeBlock((unsigned char *)accept, digest, sizeof(digest));
}
