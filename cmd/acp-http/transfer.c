/* Runs libcurl's transfers in the loop: libcurl says what to watch, and when to call it. Also: a client's end, and its cookies. */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>
#include <time.h>

#include "cmd/acp-http/client.h"
#include "lib/run/replace.h"
#include "lib/run/system.h"

void
client_over(struct client *c, const char *why, ...)
{
	va_list args;

	if (c->over)
		return;
	c->over = true;
	if (why) {
		va_start(args, why);
		vsnprintf(c->why, sizeof(c->why), why, args);
		va_end(args);
	}
	c->in_order = !*c->why;
	link_down(&c->link, c->in_order ? "the connection was closed" : c->why);
	loop_add_task(c->service.loop, &c->task);
}

/* --- cookies: a line "NAME=VALUE" each, kept in a file from one connection to the next --- */

/* Do the attributes of a cookie say that it has expired? Max-Age counts before Expires (RFC 6265). */
static bool
is_over(const char *attributes)
{
	const char *age = strcasestr(attributes, "max-age="), *expires = strcasestr(attributes, "expires=");
	char date[64];
	time_t when;

	if (age || !expires)
		return age && strtol(age + 8, NULL, 10) <= 0;
	snprintf(date, sizeof(date), "%.*s", (int)strcspn(expires + 8, ";"), expires + 8);
	when = curl_getdate(date, NULL);
	return when != -1 && when <= time(NULL);
}

/* Stores the cookie of a Set-Cookie header's value. 0, or -1 with errno. */
static int
cookies_set(struct buf *jar, const char *header)
{
	const char *name = header + strspn(header, " ");
	size_t n = strcspn(name, ";"), equals = strcspn(name, "=; ");
	struct slice left = buf_slice(jar), line;
	struct buf made = {0};
	int r = 0;

	if (name[equals] != '=' || equals == 0 || memchr(name, '\n', n))
		return 0;
	/* Keeps the cookies with other names, without the oldest, which are first, if there is no room. */
	while (r == 0 && line_next(&left, &line))
		if ((line.n <= equals || memcmp(line.p, name, equals + 1) != 0) &&
			left.n + line.n + n + made.n + 2 <= COOKIES_MOST)
			r = buf_printf(&made, "%.*s\n", (int)line.n, line.p);
	if (r == 0 && n + 2 <= COOKIES_MOST && !is_over(name + n))
		r = buf_printf(&made, "%.*s\n", (int)n, name);
	buf_free(r == 0 ? jar : &made);
	if (r == 0)
		*jar = made;
	return r;
}

void
client_cookie(struct client *c, const char *value)
{
	const char *path = c->options->cookies;
	struct replace file = {0};
	char *why = NULL;
	int r = value ? cookies_set(&c->cookies, value) : 0;

	if (!value && path && c->new_cookies) {
		r = replace_open(&file, path, NULL, &why) < 0 ? -1 : replace_with(&file, 0600, buf_slice(&c->cookies));
		replace_close(&file);
		free(why);
	}
	c->new_cookies = value;
	if (r < 0)
		report(&c->service, NULL, "--cookies %s: %s", path ? path : "", strerror(errno));
}

/* --- the loop --- */

struct watched {
	struct client *client;
	struct loop_fd fd;
	struct watched *prev, *next;
};

/* Tells owners that their transfers have ended. An owner may end its transfer, and any other. */
static void
reap(void *arg)
{
	struct client *c = arg;
	struct transfer *t;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		t->done(t->arg, m->data.result);
	}
	c->changed(c);
}

static void
act(struct client *c, curl_socket_t fd, int events)
{
	uint64_t before = c->received;
	int running;

	c->looks++;
	c->looking = true;
	curl_multi_socket_action(c->multi, fd, events, &running);
	c->looking = false;
	loop_add_task(c->service.loop, &c->task);
	if (c->received != before)
		transfers_again(c);
}

static void
on_again(void *arg)
{
	struct client *c = arg;

	if (c->watched)
		act(c, c->watched->fd.fd, CURL_CSELECT_IN);
}

uint64_t
transfers_unread(const struct client *c)
{
	const struct watched *w;
	uint64_t n = 0;

	DL_FOREACH(c->watched, w)
		n += (uint64_t)system_unread(w->fd.fd);
	return n;
}

void
transfers_again(struct client *c)
{
	loop_add_timer(c->service.loop, &c->again, 0);
}

static void
on_ready(void *arg, short revents)
{
	struct watched *w = arg;

	act(w->client, w->fd.fd, (revents & (POLLIN | POLLHUP) ? CURL_CSELECT_IN : 0) | (revents & POLLOUT ? CURL_CSELECT_OUT : 0) |
		(revents & POLLERR ? CURL_CSELECT_ERR : 0));
}

static void
on_due(void *arg)
{
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *of)
{
	struct client *c = arg;
	struct watched *w = of;
	short events = (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			loop_remove_fd(c->service.loop, &w->fd);
			DL_DELETE(c->watched, w);
		}
		free(w);
		curl_multi_assign(c->multi, fd, NULL);
	} else if (w) {
		loop_set_events(c->service.loop, &w->fd, events);
	} else if ((w = calloc(1, sizeof(*w)))) {
		w->client = c;
		w->fd = (struct loop_fd){.fd = fd, .events = events, .ready = on_ready, .arg = w};
		loop_add_fd(c->service.loop, &w->fd);
		DL_PREPEND(c->watched, w);
		curl_multi_assign(c->multi, fd, w);
	} else {
		return -1;
	}
	return 0;
}

static int
set_timer(CURLM *multi, long ms, void *arg)
{
	struct client *c = arg;

	(void)multi;
	if (ms < 0)
		loop_remove_timer(c->service.loop, &c->due);
	else
		loop_add_timer(c->service.loop, &c->due, (uint64_t)ms * 1000);
	return 0;
}

int
transfers_open(struct client *c)
{
	c->due = (struct loop_timer){.expired = on_due, .arg = c};
	c->task = (struct loop_task){.run = reap, .arg = c};
	c->again = (struct loop_timer){.expired = on_again, .arg = c};
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(c->multi = curl_multi_init()))
		return -1;
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, watch);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	/* Each session has a stream. With libcurl's own bound, 100, a transfer beyond it may never begin. The server's bound counts. */
	curl_multi_setopt(c->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)INT32_MAX);
	return 0;
}

void
transfers_close(struct client *c)
{
	if (!c->multi)
		return;
	curl_multi_cleanup(c->multi);
	loop_remove_timer(c->service.loop, &c->due);
	loop_remove_timer(c->service.loop, &c->again);
	loop_remove_task(c->service.loop, &c->task);
	curl_global_cleanup();
}

/* --- one transfer --- */

void
transfer_header(struct transfer *t, const char *format, ...)
{
	struct curl_slist *more;
	char *text;
	va_list args;

	va_start(args, format);
	text = bytes_vprintf(format, args);
	va_end(args);
	more = text ? curl_slist_append(t->headers, text) : NULL;
	free(text);
	t->failed |= !more;
	t->headers = more ? more : t->headers;
}

CURL *
transfer_new(struct client *c, struct transfer *t, void (*done)(void *arg, CURLcode), void *arg)
{
	const struct options *o = c->options;
	struct slice left = buf_slice(&c->cookies), line;
	SCOPED struct buf cookies = {0};
	CURL *e = curl_easy_init();
	size_t n;

	*t = (struct transfer){.easy = e, .done = done, .arg = arg};
	while (line_next(&left, &line))
		if (line.n > 0)
			t->failed |= buf_printf(&cookies, "%s%.*s", cookies.n ? "; " : "", (int)line.n, line.p) < 0;
	for (const char *const *h = o->headers; h && *h; h++) {
		/* libcurl sends a header without a value only where a semicolon stands for the colon. */
		n = strcspn(*h, ":");
		if (c->profile == PROFILE_HTTP && slice_is_blank(slice_of(*h + n + 1)))
			transfer_header(t, "%.*s;", (int)n, *h);
		else
			transfer_header(t, "%s", *h);
	}
	if (o->token.p)
		transfer_header(t, "Authorization: Bearer %.*s", (int)o->token.n, o->token.p);
	if (cookies.n > 0)
		transfer_header(t, "Cookie: %.*s", (int)cookies.n, cookies.p);
	curl_easy_setopt(e, CURLOPT_URL, c->url);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(o->timeout / 1000));
	curl_easy_setopt(e, CURLOPT_USERAGENT, "acp-http/" VERSION);
	if (o->ca)
		curl_easy_setopt(e, CURLOPT_CAINFO, o->ca);
	return e;
}

void
transfer_start(struct client *c, struct transfer *t)
{
	if (t->failed || curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) != CURLE_OK ||
		curl_multi_add_handle(c->multi, t->easy) != CURLM_OK) {
		transfer_end(c, t);
		client_over(c, "out of memory");
	}
}

void
transfer_end(struct client *c, struct transfer *t)
{
	if (t->easy) {
		curl_multi_remove_handle(c->multi, t->easy);
		curl_easy_cleanup(t->easy);
	}
	t->easy = NULL;
	curl_slist_free_all(t->headers);
	t->headers = NULL;
}

unsigned
transfer_status(const struct transfer *t)
{
	long status = 0;

	if (t->easy)
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned)status;
}

const char *
transfer_reason(const struct transfer *t, CURLcode code)
{
	return t->error[0] ? t->error : curl_easy_strerror(code);
}
