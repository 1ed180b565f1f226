/* Streamable HTTP as a client: each message is a POST; the server's messages come on event streams. Lost streams are reopened. */
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

#include "cmd/acp-http/client.h"

enum {
	SOON = 100 * 1000, LATEST = 5 * 1000 * 1000, /* us before a stream is opened again; after more than LATEST: at once */
	AT_ONCE = 32,     /* POSTs that may be under way */
	SHOWN = 8 * 1024, /* the most bytes that are kept of the response to a POST */
};

/* An event stream: of a session, or of the connection (empty name). POSTs for the session wait until the stream is open. */
struct stream {
	struct client *client;
	struct transfer get;
	bool wanted;                  /* the stream is to be opened */
	bool open;                    /* the server has accepted the stream */
	bool closed;                  /* the server has closed the stream in order, and nothing was said about that */
	bool paused, ended;           /* the local peer has no room; the session is closed */
	bool blocked;                 /* while POSTs are started: a POST for the session is under way, or waits */
	struct buf line, data;        /* the beginning of a line; the data of an event */
	bool has_data;
	uint64_t pause;               /* us before the stream is opened again */
	struct loop_timer again, deadline;
	bool opening;                 /* the deadline is that of the opening, not that of the requests of a lost stream */
	uint64_t opened, lost;        /* the times when the stream was last opened, and last lost */
	UT_hash_handle hh;
	char name[];
};

struct post {
	struct post *prev, *next;
	struct client *client;
	struct transfer put;
	struct stream *stream; /* NULL: initialize */
	struct buf text, reply;
	size_t sent;           /* bytes of `text` that libcurl has */
};

/* Makes a transfer (transfer_new) for a session, or for the connection (empty name). */
static CURL *
posts_transfer(struct client *c, struct transfer *t, const char *session, void (*done)(void *arg, CURLcode), void *arg)
{
	struct posts *p = &c->posts;
	CURL *e = transfer_new(c, t, done, arg);

	if (p->id)
		transfer_header(t, "Acp-Connection-Id: %s", p->id);
	if (*session)
		transfer_header(t, "Acp-Session-Id: %s", session);
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
	/* libcurl 7.88 fails with prior knowledge where there is a connection already. */
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)(p->http1 ? CURL_HTTP_VERSION_1_1
		: strncmp(c->url, "https:", 6) == 0 ? CURL_HTTP_VERSION_2TLS
		: p->known ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
	p->known = true;
	return e;
}

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

/* Fails the POSTs that wait for a stream. */
static void
fail_waiting(struct stream *s, const char *why)
{
	struct post *post, *next;

	DL_FOREACH_SAFE (s->client->posts.queue, post, next)
		if (post->stream == s && !post->put.easy) {
			fail_post(post, why, slice(NULL, 0));
			post_free(post);
		}
}

static void
report_lost(struct stream *s, const char *why)
{
	report(&s->client->service, NULL, "the event stream%s%s was lost%s%s: messages may be missing", *s->name ? " of session " : "", s->name,
		*why ? ": " : "", why);
}

/* The server still has the connection, or cannot be asked: then the stream that it has closed counts as lost. */
static void
report_closed(struct stream *s)
{
	if (s->closed)
		report_lost(s, "");
	s->closed = false;
}

/* Fails the requests that were open when the stream was lost, for their responses may be lost, too, and the POSTs that wait for it. */
static void
deadline_expired(void *arg)
{
	struct stream *s = arg;
	struct link *l = &s->client->link;
	struct request *next;

	for (struct request *r = requests_next(l->requests, NULL); r; r = next) {
		next = requests_next(l->requests, r);
		if (r->from == ACP_CLIENT && r->t <= s->lost &&
			(*s->name ? json_string_is(r->session, s->name) : !r->session.p || r->what == ACP_SESSION_LOAD))
			link_fail_request(l, r, "the event stream was lost, and the response may have been lost with it", slice(NULL, 0));
	}
	if (!s->open && !*s->name) {
		client_over(s->client, s->lost ? "the event stream was lost" : "the server did not open the event stream within --timeout");
	} else if (!s->open) {
		fail_waiting(s, "the server did not open the session's event stream within --timeout");
		report_closed(s);
		/* A server that does not respond is asked again, so that the next message has a deadline, too. */
		s->wanted |= s->get.easy != NULL;
		transfer_end(s->client, &s->get);
	}
	s->client->changed(s->client);
}

/* Finds or makes the stream of a session, or of the connection (empty name), but does not open the stream. NULL out of memory. */
static struct stream *
stream_of(struct client *c, struct slice name)
{
	struct stream *s;

	HASH_FIND(hh, c->posts.streams, name.p, name.n, s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s) + name.n + 1);
	if (!s)
		return NULL;
	s->client = c;
	s->again = (struct loop_timer){.expired = c->changed, .arg = c};
	s->deadline = (struct loop_timer){.expired = deadline_expired, .arg = s};
	memcpy(s->name, name.p, name.n);
	HASH_ADD(hh, c->posts.streams, name[0], name.n, s);
	return s;
}

/* The server refuses a stream: the POSTs that wait for the stream fail; without the connection's own stream, the client is over. */
static void
refuse_stream(struct client *c, struct stream *s, unsigned status)
{
	char why[80];

	snprintf(why, sizeof(why), "the event stream was refused with HTTP status %u", status);
	if (!*s->name) {
		client_over(c, "%s", why);
		return;
	}
	report(&c->service, NULL, "session %s: %s", s->name, why);
	fail_waiting(s, why);
	if (s->opening)
		loop_remove_timer(c->service.loop, &s->deadline);
}

/* --- messages --- */

/* Learns from a message that there is a session, whose stream is to be opened, or that a session is closed. */
static void
look_at(struct client *c, const struct msg *m)
{
	struct request *r = m->kind == MSG_RESPONSE && m->result.p ? requests_find(c->link.requests, ACP_CLIENT, m->id) : NULL;
	bool closed = r && (r->what == ACP_SESSION_CLOSE || r->what == ACP_SESSION_DELETE);
	SCOPED struct buf room = {0};
	struct slice session = closed ? r->session : r ? json_get_string(m->result, acp_session_id)
		: m->what == ACP_SESSION_UPDATE ? json_path(m->params, "update.sessionId") : slice(NULL, 0); /* of a sub-agent */
	struct slice name = session.p ? json_text(session, &room) : slice(NULL, 0);
	struct stream *s = name.n > 0 ? stream_of(c, name) : NULL;

	if (json_type(session) == JSON_STRING && (!name.p || (name.n > 0 && !s)))
		report(&c->service, NULL, "out of memory");
	if (!s)
		return;
	s->ended = closed;
	s->closed = s->closed && !closed;
	s->wanted = !closed; /* the task opens the stream, for libcurl calls this function */
	loop_add_task(c->service.loop, &c->task);
}

static void
stream_message(struct client *c, struct buf *text)
{
	struct msg m;

	if (msg_scan(buf_slice(text), &m, NULL) != MSG_NOISE)
		look_at(c, &m);
	if (!link_receive(&c->link, text))
		report(&c->service, NULL, "agent: a message that is not UTF-8: not forwarded");
}

/* Reads a line of a stream, without the bytes that end the line. An empty line ends an event. 0, or -1 out of memory. */
static int
stream_line(struct stream *s, struct slice line)
{
	const char *p = line.p, *end = line.p + line.n;

	if (line.n == 0) {
		if (s->has_data)
			stream_message(s->client, &s->data);
		s->has_data = false;
		s->data.n = 0;
		if (s->data.cap > QUEUE_HIGH)
			buf_free(&s->data);
		return 0;
	}
	if (!bytes_skip(&p, end, "data:"))
		return 0;
	bytes_skip(&p, end, " ");
	if (s->has_data && buf_add(&s->data, "\n", 1) < 0)
		return -1;
	s->has_data = true;
	return buf_add_slice(&s->data, slice_between(p, end));
}

/* Reads bytes of a stream. Lines end with LF or CR LF. (No server ends a line with CR alone, as the standard allows.) 0, or -1. */
static int
stream_receive(struct stream *s, struct slice bytes)
{
	const char *p = bytes.p, *end = p + bytes.n, *stop;
	struct slice line;
	size_t n;

	for (; p < end; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		line = slice_between(p, stop ? stop : end);
		if (s->line.n + s->data.n + line.n > s->client->options->limit + 16) {
			report(&s->client->service, NULL, "agent: a message longer than --max-line: the event stream is opened again");
			return -1;
		}
		if ((!stop || s->line.n > 0) && buf_add_slice(&s->line, line) < 0)
			return -1;
		if (!stop)
			break;
		if (s->line.n > 0)
			line = buf_slice(&s->line);
		n = s->has_data ? 0 : line.n + 1;
		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		if (stream_line(s, line) < 0)
			return -1;
		s->client->posts.comments += s->has_data ? 0 : n;
		s->line.n = 0;
		if (s->line.cap > QUEUE_HIGH)
			buf_free(&s->line);
	}
	return 0;
}

static size_t
stream_bytes(char *from, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;

	if (transfer_status(&s->get) != 200)
		return size * n;
	if (!link_wants(&s->client->link)) {
		s->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	s->client->received += size * n;
	return stream_receive(s, slice(from, size * n)) < 0 ? 0 : size * n;
}

/* --- a stream --- */

static void
stream_done(void *arg, CURLcode code)
{
	struct stream *s = arg;
	struct client *c = s->client;
	unsigned status = transfer_status(&s->get);
	bool was_open = s->open;
	const char *of = *s->name ? " of session " : "";
	char why[CURL_ERROR_SIZE];

	snprintf(why, sizeof(why), "%s", transfer_reason(&s->get, code));
	transfer_end(c, &s->get);
	s->open = s->paused = s->has_data = false;
	s->line.n = s->data.n = 0;
	if (c->finishing || s->ended || c->over)
		return;
	if (was_open) {
		/* A server that has closed the whole connection in order has sent everything: the next response shows that. */
		s->closed = code == CURLE_OK;
		if (!s->closed)
			report_lost(s, why);
		s->lost = loop_now(c->service.loop);
		c->posts.known = c->posts.known && (code == CURLE_OK || *s->name);
		c->in_order = code == CURLE_OK;
		if (c->options->timeout && !s->deadline.added) {
			loop_add_timer(c->service.loop, &s->deadline, c->options->timeout);
			s->opening = false;
		}
	} else if (status == 404) {
		client_over(c, c->in_order ? NULL : "the server does not know the connection any more");
		return;
	} else {
		report_closed(s);
		if (status >= 300 && status != 409 && status < 500) {
			refuse_stream(c, s, status);
			return;
		}
		report_verbose(&c->service, NULL, "no event stream%s%s: %s", of, s->name, why);
	}
	s->pause = was_open && s->lost - s->opened > LATEST ? 0 : s->pause * 2 > LATEST ? LATEST : s->pause ? s->pause * 2 : SOON;
	s->wanted = true;
	loop_add_timer(c->service.loop, &s->again, s->pause);
}

/* Reads a line of the head of the response. The empty line ends the head: POSTs that wait for the stream may go. */
static size_t
stream_head(char *from, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;

	if (!s->open && slice_is_blank(slice(from, size * n > 0 ? size * n - 1 : 0)) && transfer_status(&s->get) == 200) {
		report_closed(s);
		s->open = true;
		if (s->opening)
			loop_remove_timer(s->client->service.loop, &s->deadline);
		s->opened = loop_now(s->client->service.loop);
		loop_add_task(s->client->service.loop, &s->client->task);
	}
	return size * n;
}

static void
stream_steer(struct stream *s)
{
	struct client *c = s->client;
	CURL *e;

	if (s->paused && s->get.easy && link_wants(&c->link)) {
		s->paused = false;
		curl_easy_pause(s->get.easy, CURLPAUSE_CONT);
		transfers_again(c);
	}
	if (s->ended && s->get.easy)
		transfer_end(c, &s->get);
	if (!s->wanted || s->get.easy || s->again.added || s->ended || c->over || c->finishing)
		return;
	s->wanted = false;
	e = posts_transfer(c, &s->get, s->name, stream_done, s);
	transfer_header(&s->get, "Accept: text/event-stream");
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, stream_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, stream_head);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, s);
	transfer_start(c, &s->get);
	if (c->options->timeout && !s->deadline.added) {
		loop_add_timer(c->service.loop, &s->deadline, c->options->timeout);
		s->opening = true;
	}
}

/* --- POSTs --- */

/* Removes the member connectionId, which acp-http --listen adds to the result, with one of the commas beside it. */
static void
remove_connection_id(struct splices *splices, struct slice result, const char *id)
{
	struct json_iter members = {.in = result};
	struct slice key, value;
	const char *before = NULL, *end, *comma;

	for (; json_next(&members, &key, &value); before = end) {
		end = value.p + value.n;
		if (!json_string_is(key, acp_connection_id) || !json_string_is(value, id))
			continue;
		for (comma = end; byte_is_space(*comma); comma++)
			;
		if (!before && *comma == ',')
			end = comma + 1;
		splice_value(splices, slice_between(before ? before : key.p, end), slice("", 0));
		return;
	}
}

/* Forwards the response to initialize, without the member that acp-http --listen adds to the result. */
static void
deliver_initialized(struct post *post, const char *id)
{
	SCOPED struct buf text = {0};
	struct splices splices = {0};
	struct msg m;

	if (msg_scan(buf_slice(&post->reply), &m, NULL) == MSG_RESPONSE && json_type(m.result) == JSON_OBJECT)
		remove_connection_id(&splices, m.result, id);
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
		snprintf(c->posts.wrong, sizeof(c->posts.wrong), "cannot connect: the response to initialize is not valid: %s", wrong);
		client_hurry(c);
		posts_finish(c);
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
	CURL *e = posts_transfer(post->client, t, post->stream ? post->stream->name : "", post_done, post);

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
		post->stream->ended = false;
	}
	loop_add_task(c->service.loop, &c->task);
}

size_t
posts_steer(struct client *c)
{
	struct posts *p = &c->posts;
	struct stream *s, *next;

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
	client_over(c, *c->posts.wrong ? "%s" : NULL, c->posts.wrong);
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
		client_over(c, c->posts.queue ? client_no_response : NULL);
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
		transfer_end(c, &s->get);
		loop_remove_timer(c->service.loop, &s->again);
		loop_remove_timer(c->service.loop, &s->deadline);
		buf_free(&s->line);
		buf_free(&s->data);
		free(s);
	}
	free(p->id);
}
