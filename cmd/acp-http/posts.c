/* Streamable HTTP as a client: each message is a POST. What the server sends comes on event streams (streams.c). */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-http/client.h"

enum {
	AT_ONCE = 32,     /* POSTs */
	SHOWN = 8 * 1024, /* bytes of a response that is an error */
};

struct post {
	struct post *prev, *next;
	struct client *client;
	struct transfer put;
	struct stream *stream; /* NULL: initialize */
	struct buf text, id, reply;
	enum msg_kind kind;
};

/* --- what becomes of a POST --- */

static void
fail_post(struct post *post, const char *why, struct slice data)
{
	struct client *c = post->client;
	struct request *r = post->kind == MSG_REQUEST ? requests_find(c->link.requests, ACP_CLIENT, buf_slice(&post->id)) : NULL;

	if (r)
		link_fail_request(&c->link, r, why, data);
	else
		report(&c->service, NULL, "a message was lost: %s", why);
}

static void
post_free(struct post *post)
{
	struct posts *p = &post->client->posts;

	p->queued -= post->text.n;
	DL_DELETE(p->queue, post);
	transfer_end(post->client, &post->put);
	buf_free(&post->text);
	buf_free(&post->id);
	buf_free(&post->reply);
	free(post);
}

/* A stream cannot be had: what was to be posted for it is not. */
static void
refuse(struct client *c, struct stream *s)
{
	struct post *post, *next;
	char why[80];

	snprintf(why, sizeof(why), "the event stream was refused with HTTP status %u", s->refused);
	s->refused = 0;
	if (!*s->name) {
		client_over(c, "%s", why);
		return;
	}
	report(&c->service, NULL, "session %s: %s", s->name, why);
	DL_FOREACH_SAFE (c->posts.queue, post, next)
		if (post->stream == s && !post->put.easy) {
			fail_post(post, why, slice(NULL, 0));
			post_free(post);
		}
}

/* Takes out the member that our own server adds to the result. */
static void
deliver_initialized(struct post *post, const char *id)
{
	SCOPED struct buf text = {0}, member = {0};
	struct splices splices = {0};
	struct msg m;

	if (msg_scan(buf_slice(&post->reply), &m, NULL) == MSG_RESPONSE && m.result.p &&
		buf_printf(&member, "{\"connectionId\":\"%s\"", id) == 0 && m.result.n > member.n &&
		memcmp(m.result.p, member.p, member.n) == 0)
		splice_value(&splices, slice(m.result.p + 1, member.n - 1 + (m.result.p[member.n] == ',')), slice("", 0));
	if (splice_write(buf_slice(&post->reply), splices.at, splices.n, &text) == 0)
		stream_message(post->client, &text);
}

static void
initialized(struct post *post, unsigned status, const char *why)
{
	struct client *c = post->client;
	struct curl_header *h;
	struct stream *own;

	if (status == 0) {
		client_over(c, "%s", why);
	} else if (status != 200) {
		client_over(c, "the server refused with HTTP status %u", status);
	} else if (curl_easy_header(post->put.easy, "acp-connection-id", 0, CURLH_HEADER, -1, &h) != CURLHE_OK) {
		stream_message(c, &post->reply);
		client_over(c, "the server has not made a connection");
	} else if (!(c->posts.id = strdup(h->value)) || !(own = stream_of(c, slice("", 0)))) {
		client_over(c, "out of memory");
	} else {
		deliver_initialized(post, h->value);
		report_verbose(&c->service, NULL, "connected");
		own->wanted = true;
	}
}

static void
refused(struct post *post, unsigned status)
{
	struct client *c = post->client;
	SCOPED struct buf data = {0};
	char why[80];

	snprintf(why, sizeof(why), "the server refused with HTTP status %u", status);
	if (buf_printf(&data, "{\"status\":%u,\"body\":", status) < 0 || json_quote(buf_slice(&post->reply), &data) < 0 ||
		buf_add(&data, "}", 1) < 0)
		data.n = 0;
	fail_post(post, why, buf_slice(&data));
	if (status == 404 || status == 410)
		client_over(c, "the server does not know the connection any more");
}

/* Could the server not make sense of HTTP/2 without an upgrade? */
static bool
wants_http1(struct client *c, const struct post *post, CURLcode code, unsigned status)
{
	return !post->stream && !c->posts.http1 && strncmp(c->url, "http:", 5) == 0 && status == 0 && code != CURLE_OK &&
		code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_OPERATION_TIMEDOUT;
}

static void
post_done(void *arg, CURLcode code)
{
	struct post *post = arg;
	struct client *c = post->client;
	unsigned status = transfer_status(&post->put);
	const char *why = transfer_reason(&post->put, code);
	struct curl_header *h;

	c->received++;
	if (wants_http1(c, post, code, status)) {
		c->posts.http1 = true;
		c->posts.known = false;
		transfer_end(c, &post->put);
		return;
	}
	for (size_t i = 0; curl_easy_header(post->put.easy, "set-cookie", i, CURLH_HEADER, -1, &h) == CURLHE_OK; i++)
		client_cookie(c, h->value);
	client_cookie(c, NULL);
	if (!post->stream)
		initialized(post, code ? 0 : status, why);
	else if (code == CURLE_OK && status >= 300)
		refused(post, status);
	else if (code != CURLE_OK)
		fail_post(post, why, slice(NULL, 0));
	post_free(post);
}

static size_t
reply_bytes(char *from, size_t size, size_t n, void *arg)
{
	struct post *post = arg;
	size_t most = post->stream ? SHOWN : post->client->options->limit, room = most - post->reply.n;

	return buf_add(&post->reply, from, size * n < room ? size * n : room) < 0 ? 0 : size * n;
}

/* --- to the server --- */

static void
start_post(struct post *post)
{
	struct transfer *t = &post->put;
	CURL *e = posts_transfer(post->client, t, post->stream ? post->stream->name : "", post_done, post);

	transfer_header(t, "Content-Type: application/json");
	transfer_header(t, "Expect:");
	curl_easy_setopt(e, CURLOPT_POSTFIELDS, post->text.p);
	curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->text.n);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, reply_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, post);
	transfer_start(post->client, t);
}

/* In order, one at a time for each session, when its stream is open. Nothing goes before initialize has its response. */
static void
start(struct client *c)
{
	struct posts *p = &c->posts;
	struct post *post;
	size_t running = 0;

	if (!p->id) {
		if (p->queue && !p->queue->put.easy && !c->over)
			start_post(p->queue);
		return;
	}
	DL_FOREACH (p->queue, post) {
		post->stream->blocked = false;
		running += post->put.easy != NULL;
	}
	DL_FOREACH (p->queue, post) {
		struct stream *s = post->stream;

		if (!post->put.easy && !s->blocked && running < AT_ONCE && !c->over) {
			if (s->open) {
				start_post(post);
				running++;
			} else {
				s->wanted = true;
			}
		}
		s->blocked = true;
	}
}

/* May it stand in a header? */
static bool
name_fits(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f)
			return false;
	return true;
}

/* A cancellation goes after the request that it names, and so to the same session. */
static struct slice
session_of(struct client *c, const struct message *m)
{
	struct request *r;

	if (m->msg.kind != MSG_NOTIFICATION || m->msg.what != ACP_CANCEL_REQUEST)
		return link_session(&m->msg, m->request);
	r = requests_find(c->link.requests, ACP_CLIENT, json_get(m->msg.params, acp_request_id));
	return r ? r->session : slice(NULL, 0);
}

void
posts_send(struct client *c, const struct message *m)
{
	struct posts *p = &c->posts;
	struct post *post = calloc(1, sizeof(*post));
	SCOPED struct buf room = {0};
	struct slice session = session_of(c, m), name = session.p ? json_text(session, &room) : slice("", 0);
	bool first = m->msg.kind == MSG_REQUEST && m->msg.what == ACP_INITIALIZE && !p->id && !p->queue;
	const char *why = NULL;

	if (!post || buf_add_slice(&post->text, m->line) < 0 || buf_add_slice(&post->id, m->msg.id) < 0) {
		client_over(c, "out of memory");
		free(post);
		return;
	}
	post->client = c;
	post->kind = m->msg.kind;
	p->queued += post->text.n;
	DL_APPEND(p->queue, post);
	if (!first && !p->id && p->queue == post)
		why = "initialize has to come first";
	else if (!name_fits(name))
		why = "the session's id does not fit in a header";
	else if (!first && !(post->stream = stream_of(c, name)))
		why = "out of memory";
	if (why) {
		fail_post(post, why, slice(NULL, 0));
		post_free(post);
	} else if (post->stream) {
		post->stream->ended = false;
	}
	loop_add_task(c->service.loop, &c->task);
}

size_t
posts_steer(struct client *c)
{
	struct posts *p = &c->posts;
	struct stream *s, *next;

	HASH_ITER (hh, p->streams, s, next)
		if (s->refused)
			refuse(c, s);
	start(c);
	HASH_ITER (hh, p->streams, s, next)
		stream_steer(s);
	return p->queued;
}

/* --- the end --- */

static void
deleted(void *arg, CURLcode code)
{
	struct client *c = arg;

	(void)code;
	transfer_end(c, &c->posts.delete);
	client_over(c, NULL);
}

static size_t
ignore(char *from, size_t size, size_t n, void *arg)
{
	(void)from;
	(void)arg;
	return size * n;
}

void
posts_finish(struct client *c)
{
	struct transfer *t = &c->posts.delete;
	CURL *e;

	if (c->posts.queue && !c->hurried)
		return;
	c->finishing = true;
	if (!c->posts.id) {
		client_over(c, NULL);
		return;
	}
	e = posts_transfer(c, t, "", deleted, c);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "DELETE");
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, ignore);
	transfer_start(c, t);
}

void
posts_close(struct client *c)
{
	struct posts *p = &c->posts;
	struct stream *s, *next;

	while (p->queue)
		post_free(p->queue);
	transfer_end(c, &p->delete);
	HASH_ITER (hh, p->streams, s, next) {
		HASH_DEL(p->streams, s);
		stream_free(s);
	}
	free(p->id);
}
