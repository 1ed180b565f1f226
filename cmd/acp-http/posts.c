/* Streamable HTTP as a client, from initialize to the DELETE: each message is a POST. (Its event streams are in streams.c.) */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-http/client.h"

enum {
	AT_ONCE = 32,     /* POSTs that may be under way */
	SHOWN = 8 * 1024, /* the most bytes that are kept of the response to a POST */
};

struct post {
	struct post *prev, *next;
	struct client *client;
	struct transfer put;
	struct stream *stream; /* NULL: initialize */
	struct buf text, reply;
	size_t sent;           /* bytes of `text` that libcurl has */
};

/* --- the end of a POST --- */

static void
fail_post(struct post *post, const char *why, struct slice data)
{
	struct client *c = post->client;
	struct msg m;
	bool asks = msg_scan(buf_slice(&post->text), &m, NULL) == MSG_REQUEST;
	struct request *r = asks ? requests_find(c->link.requests, ACP_CLIENT, m.id) : NULL;

	if (r)
		link_fail_request(&c->link, r, why, data);
	else if (!asks) /* else the request has its response already */
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
	buf_free(&post->reply);
	free(post);
}

/* --- POSTs --- */

/* Forwards the response to initialize without the member connectionId, which acp-http --listen adds, and one of the commas beside it. */
static void
deliver_initialized(struct post *post, const char *id)
{
	SCOPED struct buf text = {0};
	struct splices splices = {0};
	struct json_iter members = {0};
	struct slice key, value;
	const char *before = NULL, *end, *comma;
	struct msg m;

	msg_scan(buf_slice(&post->reply), &m, NULL);
	for (members.in = m.result; json_next(&members, &key, &value); before = end) {
		end = value.p + value.n;
		if (!json_string_is(key, acp_connection_id) || !json_string_is(value, id))
			continue;
		for (comma = end; byte_is_space(*comma); comma++)
			;
		if (!before && *comma == ',')
			end = comma + 1;
		splice_value(&splices, slice_between(before ? before : key.p, end), slice("", 0));
		break;
	}
	if (splice_write(buf_slice(&post->reply), splices.at, splices.n, &text) == 0)
		stream_message(post->client, &text);
	else
		client_over(post->client, "out of memory");
}

/* Why the reply to a POST is not the response to its request; NULL: it is. */
static const char *
wrong_response(const struct post *post)
{
	struct json_error error;
	struct msg asked, m;

	if (post->reply.n > post->client->options->limit)
		return "longer than --max-line";
	if (msg_scan(buf_slice(&post->reply), &m, &error) == MSG_NOISE)
		return error.what;
	msg_scan(buf_slice(&post->text), &asked, NULL);
	return m.kind == MSG_RESPONSE && msg_same_id(m.id, asked.id) ? NULL : "it is no response to this request";
}

static void
initialized(struct post *post, unsigned status, const char *why)
{
	struct client *c = post->client;
	const char *wrong = wrong_response(post);
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
	} else if (wrong) {
		/* The server has the connection, and an agent for it. */
		snprintf(c->why, sizeof(c->why), "cannot connect: the response to initialize is not valid: %s", wrong);
		c->left = c->hurried = true;
		loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
		posts_finish(c);
	} else {
		deliver_initialized(post, h->value);
		report_verbose(&c->service, NULL, "connected");
		own->state = STREAM_WANTED;
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

static void
post_done(void *arg, CURLcode code)
{
	struct post *post = arg;
	struct client *c = post->client;
	unsigned status = transfer_status(&post->put);
	const char *why = code == CURLE_SEND_FAIL_REWIND ? "the connection was lost, and the message may have been lost with it"
		: transfer_reason(&post->put, code);
	struct curl_header *h;

	c->received++;
	/* The server may not understand HTTP/2 without an upgrade: tries HTTP/1.1. */
	if (!post->stream && !c->posts.http1 && strncmp(c->url, "http:", 5) == 0 && status == 0 && code != CURLE_OK &&
		code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_OPERATION_TIMEDOUT) {
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
	size_t most = post->stream ? SHOWN : post->client->options->limit + 1, room = most - post->reply.n;

	post->client->received += size * n;
	return buf_add(&post->reply, from, size * n < room ? size * n : room) < 0 ? 0 : size * n;
}

/* --- to the server --- */

static size_t
post_bytes(char *to, size_t size, size_t n, void *arg)
{
	struct post *post = arg;
	size_t left = post->text.n - post->sent;

	n = size * n < left ? size * n : left;
	memcpy(to, post->text.p + post->sent, n);
	post->sent += n;
	post->client->posts.sent += n;
	return n;
}

/*
 * When a connection that was used before ends without a response, libcurl would send the body again. But the agent may have the
 * message already: a message is sent only once.
 */
static int
post_again(void *arg, curl_off_t offset, int origin)
{
	struct post *post = arg;

	return post->sent == 0 && offset == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void
start_post(struct post *post)
{
	struct transfer *t = &post->put;
	CURL *e = streams_transfer(post->client, t, post->stream ? post->stream->name : "", post_done, post);

	transfer_header(t, "Content-Type: application/json");
	transfer_header(t, "Expect:");
	post->sent = 0;
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, post_bytes);
	curl_easy_setopt(e, CURLOPT_READDATA, post);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, post_again);
	curl_easy_setopt(e, CURLOPT_SEEKDATA, post);
	curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->text.n);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, reply_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, post);
	transfer_start(post->client, t);
}

/* Starts POSTs in order, one at a time for each session, when its stream is open. They wait for the response to initialize. */
static void
start(struct client *c)
{
	struct posts *p = &c->posts;
	struct post *post, *next;
	struct stream *s;
	size_t running = 0;

	if (!p->id) {
		if (p->queue && !p->queue->put.easy && !c->over)
			start_post(p->queue);
		return;
	}
	DL_FOREACH_SAFE (p->queue, post, next) {
		s = post->stream;
		s->blocked = false;
		if (post->put.easy) {
			running++;
		} else if (s->state != STREAM_OPEN && *s->why) {
			fail_post(post, s->why, slice(NULL, 0));
			post_free(post);
		}
	}
	DL_FOREACH (p->queue, post) {
		s = post->stream;
		if (!post->put.easy && !s->blocked && running < AT_ONCE && !c->over) {
			if (s->state == STREAM_OPEN) {
				start_post(post);
				running++;
			} else if (s->state == STREAM_IDLE) {
				s->state = STREAM_WANTED;
			}
		}
		s->blocked = true;
	}
}

/* May the id of a session stand in a header? */
static bool
name_fits(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || name.p[i] == 0x7f)
			return false;
	return true;
}

/* The session of a message. A cancellation has the session of the request that it names, for it has to come after the request. */
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

	if (!post || buf_add_slice(&post->text, m->line) < 0) {
		client_over(c, "out of memory");
		free(post);
		return;
	}
	post->client = c;
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
		*post->stream->why = '\0';
	}
	loop_add_task(c->service.loop, &c->task);
}

size_t
posts_steer(struct client *c)
{
	start(c);
	streams_steer(c);
	return c->posts.queued;
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

void
posts_finish(struct client *c)
{
	struct transfer *t = &c->posts.delete;
	CURL *e;

	if (c->posts.queue && !c->hurried)
		return;
	c->finishing = true;
	if (!c->posts.id) {
		client_over(c, c->posts.queue ? client_no_response : NULL);
		return;
	}
	e = streams_transfer(c, t, "", deleted, c);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "DELETE");
	curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	transfer_start(c, t);
}

void
posts_close(struct client *c)
{
	while (c->posts.queue)
		post_free(c->posts.queue);
	transfer_end(c, &c->posts.delete);
	streams_close(c);
	free(c->posts.id);
}
