/* Event streams as a client: one for the connection, and one for each session. A stream that is lost is opened again. */
#include <stdlib.h>

#include "cmd/acp-http/client.h"

enum { SOON = 100 * 1000, LATEST = 5 * 1000 * 1000 }; /* us before a stream is opened again; after more than LATEST: at once */

CURL *
streams_transfer(struct client *c, struct transfer *t, const char *session, void (*done)(void *arg, CURLcode), void *arg)
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

/* --- loss --- */

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

/* The stream cannot be opened now: the POSTs that wait for it fail. Without the connection's own stream, the client is over. */
static void
give_up(struct stream *s, const char *why)
{
	if (!*s->name) {
		client_over(s->client, "%s", why);
		return;
	}
	report_closed(s);
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* Fails the requests that were open when the stream was lost, for their responses may be lost, too. */
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
	if (s->state != STREAM_OPEN) {
		give_up(s, *s->name ? "the server did not open the session's event stream within --timeout"
			: s->lost ? "the event stream was lost" : "the server did not open the event stream within --timeout");
		/* A server that does not respond is asked again, so that the next message has a deadline, too. */
		if (s->state == STREAM_OPENING)
			s->state = STREAM_WANTED;
	}
	s->client->changed(s->client);
}

struct stream *
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
	/* The task opens or ends the stream, for libcurl calls this function. */
	if (closed || s->state == STREAM_IDLE)
		s->state = closed ? STREAM_IDLE : STREAM_WANTED;
	s->closed = s->closed && !closed;
	loop_add_task(c->service.loop, &c->task);
}

void
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

	if (line.n == 0 && s->data.n > 0) {
		stream_message(s->client, &s->data);
		s->data.n = 0;
		if (s->data.cap > QUEUE_HIGH)
			buf_free(&s->data);
	}
	/* HTTP has no code for the end of a connection: acp-http as a server says in a comment that the agent has failed. */
	if (!*s->name && !s->client->finishing && bytes_skip(&p, end, ":the agent ended with "))
		snprintf(s->client->why, sizeof(s->client->why), "%.*s", (int)line.n - 1, line.p + 1);
	if (!bytes_skip(&p, end, "data:"))
		return 0;
	bytes_skip(&p, end, " ");
	if (s->data.n > 0 && buf_add(&s->data, "\n", 1) < 0)
		return -1;
	return buf_add_slice(&s->data, slice_between(p, end));
}

/* Reads bytes of a stream. Lines end with LF or CR LF. (No server ends a line with CR alone, as the standard allows.) 0, or -1. */
static int
stream_receive(struct stream *s, struct slice bytes)
{
	const char *end = bytes.p + bytes.n;
	size_t before = s->data.n;
	struct slice line;
	bool whole;

	while (line_next(&bytes, &line)) {
		whole = line.p + line.n < end;
		if (s->line.n + s->data.n + line.n > s->client->options->limit + 16) {
			report(&s->client->service, NULL, "agent: a message longer than --max-line: the event stream is opened again");
			return -1;
		}
		if ((!whole || s->line.n > 0) && buf_add_slice(&s->line, line) < 0)
			return -1;
		if (!whole)
			break;
		if (s->line.n > 0)
			line = buf_slice(&s->line);
		if (stream_line(s, slice(line.p, line.n > 0 && line.p[line.n - 1] == '\r' ? line.n - 1 : line.n)) < 0)
			return -1;
		if (before == 0 && s->data.n == 0)
			s->client->posts.comments += line.n + 1;
		before = s->data.n;
		s->line.n = 0;
		if (s->line.cap > QUEUE_HIGH)
			buf_free(&s->line);
	}
	return 0;
}

/*
 * Must the stream wait? The response to session/load is on the connection's stream, and comes after the updates on the session's: the
 * server sends them in this order, but libcurl delivers one stream after the other.
 */
static bool
must_wait(const struct stream *own)
{
	struct client *c = own->client;
	struct request *r = NULL;
	struct stream *s;

	while (!*own->name && (r = requests_next(c->link.requests, r)))
		for (s = r->what == ACP_SESSION_LOAD ? c->posts.streams : NULL; s; s = s->hh.next)
			if (s->state == STREAM_OPEN && json_string_is(r->session, s->name) &&
				(c->looking || s->paused || s->last == c->looks || own->last == c->looks))
				return true;
	return false;
}

static size_t
stream_bytes(char *from, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;

	if (transfer_status(&s->get) != 200)
		return size * n;
	s->paused = !link_wants(&s->client->link) || must_wait(s);
	s->last = s->client->looks;
	if (s->paused) {
		transfers_again(s->client);
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
	bool was_open = s->state == STREAM_OPEN;
	char why[CURL_ERROR_SIZE];

	snprintf(why, sizeof(why), "%s", transfer_reason(&s->get, code));
	transfer_end(c, &s->get);
	if (c->finishing || s->state == STREAM_IDLE || c->over)
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
			snprintf(why, sizeof(why), "the event stream was refused with HTTP status %u", status);
			if (*s->name)
				report(&c->service, NULL, "session %s: %s", s->name, why);
			if (s->opening)
				loop_remove_timer(c->service.loop, &s->deadline);
			s->state = STREAM_IDLE;
			give_up(s, why);
			return;
		}
		report_verbose(&c->service, NULL, "no event stream%s%s: %s", *s->name ? " of session " : "", s->name, why);
	}
	s->pause = was_open && s->lost - s->opened > LATEST ? 0 : s->pause * 2 > LATEST ? LATEST : s->pause ? s->pause * 2 : SOON;
	s->state = STREAM_WANTED;
	loop_add_timer(c->service.loop, &s->again, s->pause);
}

/* Reads a line of the head of the response. The empty line ends the head: POSTs that wait for the stream may go. */
static size_t
stream_head(char *from, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;

	if (s->state == STREAM_OPENING && slice_is_blank(slice(from, size * n > 0 ? size * n - 1 : 0)) && transfer_status(&s->get) == 200) {
		report_closed(s);
		s->state = STREAM_OPEN;
		if (s->opening)
			loop_remove_timer(s->client->service.loop, &s->deadline);
		s->opened = loop_now(s->client->service.loop);
		loop_add_task(s->client->service.loop, &s->client->task);
	}
	return size * n;
}

void
streams_steer(struct client *c)
{
	struct stream *s, *next;
	CURL *e;

	HASH_ITER (hh, c->posts.streams, s, next) {
		if (s->paused && s->state == STREAM_OPEN && link_wants(&c->link) && !must_wait(s)) {
			s->paused = false;
			curl_easy_pause(s->get.easy, CURLPAUSE_CONT);
			transfers_again(c);
		}
		if (s->state < STREAM_OPENING)
			transfer_end(c, &s->get);
		if (s->state != STREAM_WANTED || s->again.added || c->over || c->finishing)
			continue;
		s->state = STREAM_OPENING;
		s->paused = false;
		s->line.n = s->data.n = 0;
		e = streams_transfer(c, &s->get, s->name, stream_done, s);
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
}

void
streams_close(struct client *c)
{
	struct stream *s, *next;

	HASH_ITER (hh, c->posts.streams, s, next) {
		HASH_DEL(c->posts.streams, s);
		transfer_end(c, &s->get);
		loop_remove_timer(c->service.loop, &s->again);
		loop_remove_timer(c->service.loop, &s->deadline);
		buf_free(&s->line);
		buf_free(&s->data);
		free(s);
	}
}
