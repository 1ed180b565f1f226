/* The event streams of Streamable HTTP: opens them, reads their messages, and opens again what is lost. */
#include <stdlib.h>

#include "cmd/acp-http/client.h"

/* How long to wait before a stream is opened again; one that has lasted so long is at once. */
enum { SOON = 100 * 1000, LATEST = 5 * 1000 * 1000 };

CURL *
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

/* --- messages --- */

/* A message says that there is a session, whose stream is to be opened, or that one is closed. */
static void
look_at(struct client *c, const struct msg *m)
{
	struct request *r = m->kind == MSG_RESPONSE && m->result.p ? requests_find(c->link.requests, ACP_CLIENT, m->id) : NULL;
	bool closed = r && (r->what == ACP_SESSION_CLOSE || r->what == ACP_SESSION_DELETE);
	SCOPED struct buf room = {0};
	struct slice session = closed ? r->session : r ? json_get_string(m->result, acp_session_id)
		: m->what == ACP_SESSION_UPDATE ? json_path(m->params, "update.sessionId") : slice(NULL, 0); /* a sub-agent's */
	struct slice name = session.p ? json_text(session, &room) : slice(NULL, 0);
	struct stream *s = name.n > 0 ? stream_of(c, name) : NULL;

	if (!s)
		return;
	s->ended = closed;
	s->wanted = !closed; /* not from here: libcurl has called */
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

/* A line of a stream without its end. An empty one ends an event. 0, or -1 out of memory. */
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

/* Lines end with LF or CR LF. (A CR alone, which the standard allows as well, no server sends.) */
int
stream_receive(struct stream *s, struct slice bytes)
{
	const char *p = bytes.p, *end = p + bytes.n, *stop;
	struct slice line;

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
		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		if (stream_line(s, line) < 0)
			return -1;
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

/* The requests that were open when the stream was lost, and whose responses may have been lost with it. */
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
	if (!s->open && !*s->name)
		client_over(s->client, "the event stream was lost");
	s->client->changed(s->client);
}

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
		report(&c->service, NULL, "the event stream%s%s was lost%s%s: messages may be missing", of, s->name, code ? ": " : "", code ? why : "");
		s->lost = loop_now(c->service.loop);
		c->posts.known = c->posts.known && (code == CURLE_OK || *s->name);
		c->in_order = code == CURLE_OK;
		if (c->options->timeout && !s->deadline.added)
			loop_add_timer(c->service.loop, &s->deadline, c->options->timeout);
	} else if (status == 404) {
		client_over(c, c->in_order ? NULL : "the server does not know the connection any more");
		return;
	} else if (status >= 300 && status != 409 && status < 500) {
		s->refused = status;
		return;
	} else {
		report_verbose(&c->service, NULL, "no event stream%s%s: %s", of, s->name, why);
	}
	s->pause = was_open && s->lost - s->opened > LATEST ? 0 : s->pause * 2 > LATEST ? LATEST : s->pause ? s->pause * 2 : SOON;
	s->wanted = true;
	loop_add_timer(c->service.loop, &s->again, s->pause);
}

/* The head of the response has come: what was to be posted may go. */
static size_t
stream_head(char *from, size_t size, size_t n, void *arg)
{
	struct stream *s = arg;

	if (!s->open && slice_is_blank(slice(from, size * n > 0 ? size * n - 1 : 0)) && transfer_status(&s->get) == 200) {
		s->open = true;
		s->opened = loop_now(s->client->service.loop);
		loop_add_task(s->client->service.loop, &s->client->task);
	}
	return size * n;
}

static void
stream_open(struct stream *s)
{
	CURL *e = posts_transfer(s->client, &s->get, s->name, stream_done, s);

	s->wanted = false;
	transfer_header(&s->get, "Accept: text/event-stream");
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, stream_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, stream_head);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, s);
	transfer_start(s->client, &s->get);
}

void
stream_steer(struct stream *s)
{
	struct client *c = s->client;

	if (s->paused && s->get.easy && link_wants(&c->link)) {
		s->paused = false;
		curl_easy_pause(s->get.easy, CURLPAUSE_CONT);
	}
	if (s->ended && s->get.easy)
		transfer_end(c, &s->get);
	if (s->wanted && !s->get.easy && !s->again.added && !s->ended && !c->over && !c->finishing)
		stream_open(s);
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

void
stream_free(struct stream *s)
{
	transfer_end(s->client, &s->get);
	loop_remove_timer(s->client->service.loop, &s->again);
	loop_remove_timer(s->client->service.loop, &s->deadline);
	buf_free(&s->line);
	buf_free(&s->data);
	free(s);
}
