/* A remote agent as a command: stdin and stdout here, a server there. */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "cmd/acp-http/client.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

/* --- the end --- */

/* Bytes that the remote end has accepted, and that it has sent. */
static uint64_t
moved(const struct client *c)
{
	return c->received + (c->profile == PROFILE_WS && c->up ? ws_acked(&c->ws) : c->far.out.written);
}

static void
client_changed(void *arg)
{
	struct client *c = arg;
	struct link *l = &c->link;

	if (c->over) {
		if (!endpoint_can_write(&l->local))
			loop_stop(c->service.loop);
		return;
	}
	link_steer(l, c->profile == PROFILE_HTTP ? posts_steer(c) : c->up ? c->far.out.queued : c->early.n, QUEUE_HIGH);
	endpoint_pause(&c->far, c->up && !link_wants(l) && !c->far.finishing);
	if (l->local_ended && !c->left) {
		c->left = true;
		loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
	}
	/* A client that has closed its output may still read: waits for the responses to its requests. */
	if (!c->finishing && !c->over &&
		(!endpoint_can_write(&l->local) || (c->left && (c->hurried || link_open_requests(l, ACP_CLIENT) == 0))))
		(c->profile == PROFILE_HTTP ? posts_finish : far_finish)(c);
}

static void
exit_timer_expired(void *arg)
{
	struct client *c = arg;
	uint64_t now = moved(c);

	if (c->hurried)
		client_over(c, NULL);
	c->hurried = now == c->last_moved;
	c->last_moved = now;
	loop_add_timer(c->service.loop, &c->exit_timer, c->options->grace);
	client_changed(c);
}

static void
leave(void *arg)
{
	struct client *c = arg;

	endpoint_close_in(&c->link.local);
	c->link.local_ended = true;
	client_changed(c);
}

static void
send_message(void *arg, const struct message *m)
{
	struct client *c = arg;

	if (c->profile == PROFILE_HTTP)
		posts_send(c, m);
	else
		far_send(c, m->line);
}

/* --- the URL --- */

static bool
has_part(CURLU *u, CURLUPart what)
{
	char *text = NULL;
	bool has = curl_url_get(u, what, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static const struct scheme {
	const char *name, *http;
	enum profile profile;
} schemes[] = {
	{"ws", "http", PROFILE_WS}, {"wss", "https", PROFILE_WS}, {"http", "http", PROFILE_HTTP}, {"https", "https", PROFILE_HTTP},
	{"tcp", "http", PROFILE_TCP},
};

/* NULL; or what is wrong. */
static const char *
read_url(struct client *c, CURLU *u)
{
	static const char expected[] = "expected http://HOST[:PORT][/PATH], https://..., ws://..., wss://... or tcp://HOST:PORT";
	size_t i = 0, n = strcspn(c->options->url, ":");
	const struct scheme *s;
	const char *wrong = NULL;
	char *port = NULL;

	while (i < sizeof(schemes) / sizeof(*schemes) && (strlen(schemes[i].name) != n || strncasecmp(schemes[i].name, c->options->url, n) != 0))
		i++;
	s = &schemes[i];
	if (i == sizeof(schemes) / sizeof(*schemes) || strncmp(c->options->url + n, "://", 3) != 0 ||
		curl_url_set(u, CURLUPART_URL, c->options->url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		return expected;
	if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
		return "a user name and a password do not belong there: see --token-file and --header";
	if (curl_url_get(u, CURLUPART_PORT, &port, 0) == CURLUE_OK ? atoi(port) == 0 : s->profile == PROFILE_TCP)
		wrong = expected;
	curl_free(port);
	if (wrong || has_part(u, CURLUPART_FRAGMENT) ||
		curl_url_set(u, CURLUPART_SCHEME, s->http, 0) != CURLUE_OK || curl_url_get(u, CURLUPART_URL, &c->url, 0) != CURLUE_OK)
		return expected;
	c->profile = c->options->profile == PROFILE_AUTO || s->profile == PROFILE_TCP ? s->profile : (enum profile)c->options->profile;
	return NULL;
}

/* --- the client --- */

/* The exit status, once all is over. */
static int
outcome(const struct client *c)
{
	if (c->service.signal)
		return 128 + c->service.signal;
	if (c->in_order && (c->finishing || c->link.failed == 0))
		return 0;
	cli_warn(tool_name, "%s: %s", c->options->url, c->why[0] ? c->why : "the connection was closed while requests were open");
	return EXIT_NEGATIVE;
}

static int
run(struct client *c)
{
	int in = proc_claim(STDIN_FILENO), out = proc_claim(STDOUT_FILENO), status = EXIT_FAILED;

	c->service = (struct service){.options = c->options, .leave = leave, .owner = c};
	c->link = (struct link){.service = &c->service, .remote = ACP_AGENT, .send = send_message, .changed = client_changed, .arg = c};
	c->changed = client_changed;
	c->exit_timer = (struct loop_timer){.expired = exit_timer_expired, .arg = c};
	if (in >= 0 && out >= 0 && service_open(&c->service) == 0 && link_open(&c->link, in, out) == 0 && transfers_open(c) == 0) {
		if (c->profile != PROFILE_HTTP)
			far_open(c);
		client_changed(c);
		if (loop_run(c->service.loop) == 0)
			status = outcome(c);
	}
	if (status == EXIT_FAILED)
		cli_warn(tool_name, "%s", strerror(errno));
	c->over = true;
	posts_close(c);
	ws_close(&c->ws);
	endpoint_close(&c->far);
	transfer_end(c, &c->connect);
	transfers_close(c);
	link_close(&c->link);
	service_close(&c->service);
	return status;
}

int
connect_run(const struct options *o)
{
	struct client c = {.options = o};
	CURLU *u = curl_url();
	const char *wrong = u ? read_url(&c, u) : strerror(ENOMEM);
	/* A password may be in the URL. */
	bool secret = strchr(o->url, '@');
	int status = EXIT_USAGE;

	curl_url_cleanup(u);
	if (wrong) {
		cli_warn(tool_name, "--connect%s%s: %s", secret ? "" : " ", secret ? "" : o->url, wrong);
	} else if (o->cookies && cookies_read(&c.cookies, o->cookies) < 0) {
		cli_warn(tool_name, "--cookies %s: %s", o->cookies, strerror(errno));
	} else {
		cli_waits(tool_name, STDIN_FILENO, "a client's messages");
		status = run(&c);
	}
	buf_free(&c.head);
	buf_free(&c.early);
	buf_free(&c.cookies);
	curl_free(c.url);
	return status;
}
