/* The server: each connection gets an agent of its own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-ws/ws.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"

enum {
	AFTER_TERM = 2 * 1000 * 1000,
	STDERR_LINE = 16 * 1024,    /* of an agent; longer ones come in pieces, a line each */
	RETRY_ACCEPT = 500 * 1000,
	ID_BYTES = 8,
};

struct conn {
	struct conn *prev, *next;
	struct server *server;
	struct link link;
	struct endpoint err;       /* the agent's standard error */
	struct loop_child child;
	struct loop_timer exit_timer;
	char id[2 * ID_BYTES + 1];
	char why[128];             /* the WebSocket is closed */
	bool started, ended;       /* the agent */
	bool stopped;              /* by acp-ws, after the grace period */
	bool overdue;              /* its pipes were still open after the grace period */
	int status;                /* as waitpid has it */
	uint64_t last_written;     /* bytes that had been written to it when exit_timer was last started */
};

struct server {
	struct service service;
	const struct options *options;
	struct proc_guardian guardian;
	struct loop_fd listener;
	struct loop_timer retry;
	struct conn *conns;
	size_t n;
};

/* --- the end of a connection --- */

static bool
agent_is_done(const struct conn *c)
{
	return !c->started || (c->ended && c->link.local_ended && !endpoint_can_read(&c->err));
}

static void
conn_free(struct conn *c)
{
	struct server *s = c->server;

	DL_DELETE(s->conns, c);
	s->n--;
	loop_remove_timer(s->service.loop, &c->exit_timer);
	if (c->started) {
		/* Nothing of it is left running: its group lives as long as it is not buried. */
		proc_signal(c->child.pid, c->ended && !c->overdue ? SIGTERM : SIGKILL);
		proc_guardian_remove(&s->guardian, c->child.pid);
		loop_reap(s->service.loop, &c->child);
	}
	endpoint_close(&c->err);
	link_close(&c->link);
	free(c);
	if (s->service.leaving && !s->conns)
		s->service.over = true;
}

/* The connection is closed, and the agent has not ended; or it has, and its pipes are still open. */
static void
exit_timer_expired(void *arg)
{
	struct conn *c = arg;

	if (c->server->service.leaving)
		link_abort(&c->link);
	if (!c->ended && !c->stopped && c->link.local.out.n > 0 && c->link.local.out.written > c->last_written) {
		/* It still reads the messages that its client has left. */
		c->last_written = c->link.local.out.written;
		loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
	} else if (!c->ended) {
		if (!c->stopped)
			report(&c->server->service, c->id, "the agent did not end within the grace period: sending it SIGTERM");
		proc_signal(c->child.pid, c->stopped ? SIGKILL : SIGTERM);
		c->stopped = true;
		loop_add_timer(c->server->service.loop, &c->exit_timer, AFTER_TERM);
	} else if (c->link.local.paused && !c->link.down) {
		/* The remote peer is slow to read the agent's output, not the agent to write it. */
		loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
	} else {
		c->overdue = true;
		endpoint_drain(&c->link.local);
		endpoint_drain(&c->err);
	}
}

/* The agent has ended: closes the connection with the reason. */
static void
end_websocket(struct conn *c)
{
	char room[64];

	if (c->link.closing || c->link.down)
		return;
	snprintf(c->why, sizeof(c->why), "the agent ended with %s", proc_describe(c->status, room, sizeof(room)));
	if (c->status != 0)
		report(&c->server->service, c->id, "%s", c->why);
	link_finish(&c->link, c->status == 0 ? LWS_CLOSE_STATUS_NORMAL : LWS_CLOSE_STATUS_UNEXPECTED_CONDITION, c->why);
}

/* Updates the state of a connection after each event. May free it. */
static void
conn_changed(void *arg)
{
	struct conn *c = arg;
	if (c->link.local_ended) {
		/* It can answer nothing any more. */
		link_fail(&c->link, "the agent has ended");
		if (c->ended)
			end_websocket(c);
	}
	if (c->link.local_ended)
		endpoint_finish(&c->link.local);
	if (c->link.local.finishing && !c->exit_timer.added && !c->stopped && !c->overdue)
		loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
	if (c->link.down && agent_is_done(c))
		conn_free(c);
}

/* --- the beginning of one --- */

static bool
relay_stderr(void *arg, enum input_got got, const struct line *line)
{
	struct conn *c = arg;
	struct slice text = line->text;

	if (got == INPUT_PIECE && text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	report(&c->server->service, c->id, "%.*s", (int)text.n, text.p);
	return true;
}

static void
err_event(void *arg, enum endpoint_event event)
{
	(void)event;
	conn_changed(arg);
}

static void
agent_ended(void *arg, int status)
{
	struct conn *c = arg;

	c->ended = true;
	c->status = status;
	/* Its children may hold its pipes open. */
	loop_add_timer(c->server->service.loop, &c->exit_timer, c->server->options->grace);
	conn_changed(c);
}

/* 0, or -1 with errno. */
static int
start_agent(struct conn *c)
{
	struct server *s = c->server;
	int theirs[3], ours[3], i, error;
	struct proc_fd fds[3];
	struct proc_spec spec = {.argv = s->options->command, .fds = fds, .nfds = 3, .death_signal = SIGKILL, .guardian = &s->guardian};

	if (proc_pipes(3, theirs, ours) < 0)
		return -1;
	for (i = 0; i < 3; i++)
		fds[i] = (struct proc_fd){theirs[i], i};
	c->child = (struct loop_child){.pid = proc_start(&spec, NULL), .ended = agent_ended, .arg = c};
	error = errno;
	for (i = 0; i < 3; i++)
		close(theirs[i]);
	c->started = c->child.pid >= 0;
	c->err = (struct endpoint){.line = relay_stderr, .event = err_event, .arg = c};
	if ((link_open(&c->link, ours[1], ours[0]) | endpoint_open(&c->err, s->service.loop, ours[2], -1, STDERR_LINE)) < 0)
		return -1;
	errno = error;
	if (!c->started)
		return -1;
	loop_add_child(s->service.loop, &c->child);
	return 0;
}

/* 0, or -1 with errno. */
static int
make_id(struct conn *c)
{
	unsigned char bytes[ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(c->id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* NULL with errno. */
static struct conn *
conn_new(struct server *s)
{
	struct conn *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return NULL;
	c->server = s;
	c->link = (struct link){.service = &s->service, .name = c->id, .remote = ACP_CLIENT, .changed = conn_changed, .arg = c};
	c->exit_timer = (struct loop_timer){.expired = exit_timer_expired, .arg = c};
	DL_APPEND(s->conns, c);
	s->n++;
	if (make_id(c) == 0 && start_agent(c) == 0)
		return c;
	error = errno;
	conn_free(c);
	errno = error;
	return NULL;
}

/* --- requests --- */

/* A request for an upgrade: 0 goes on with it. */
static int
admit(struct server *s, struct lws *wsi)
{
	const char *why = NULL;
	unsigned status = handshake_check(wsi, s->options, &why);
	struct conn *c;

	if (!status && (s->service.leaving || s->n >= s->options->max_connections)) {
		status = HTTP_STATUS_SERVICE_UNAVAILABLE;
		why = s->service.leaving ? "the server is going away" : "too many connections";
	}
	if (status) {
		report_verbose(&s->service, NULL, "refused with %u: %s", status, why);
		return handshake_refuse(wsi, status, why);
	}
	c = conn_new(s);
	if (!c) {
		report(&s->service, NULL, "%s: %s", s->options->command[0], errno == ENOENT ? "command not found" : strerror(errno));
		return handshake_refuse(wsi, HTTP_STATUS_INTERNAL_SERVER_ERROR, "the agent could not be started");
	}
	c->link.wsi = wsi;
	lws_set_opaque_user_data(wsi, c);
	return 0;
}

static int
add_id(const struct conn *c, struct lws *wsi, struct lws_process_html_args *args)
{
	unsigned char *p = (unsigned char *)args->p;

	if (lws_add_http_header_by_name(wsi, (const unsigned char *)"Acp-Connection-Id:", (const unsigned char *)c->id,
			(int)strlen(c->id), &p, p + args->max_len))
		return -1;
	args->p = (char *)p;
	return 0;
}

static int
callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct conn *c;
	const char *why = NULL;
	unsigned status;

	(void)user;
	switch (reason) {
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return admit(service_of(wsi)->owner, wsi);
	case LWS_CALLBACK_HTTP:
		status = handshake_check(wsi, service_of(wsi)->options, &why);
		return status ? handshake_refuse(wsi, status, why) : -1;
	case LWS_CALLBACK_ADD_HEADERS:
	case LWS_CALLBACK_ESTABLISHED:
	case LWS_CALLBACK_RECEIVE:
	case LWS_CALLBACK_RECEIVE_PONG:
	case LWS_CALLBACK_SERVER_WRITEABLE:
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
	case LWS_CALLBACK_TIMER:
	case LWS_CALLBACK_WSI_DESTROY:
		break;
	default:
		return 0;
	}
	c = lws_get_opaque_user_data(wsi);
	if (!c)
		return 0;
	if (reason == LWS_CALLBACK_ADD_HEADERS)
		return add_id(c, wsi, in);
	if (reason == LWS_CALLBACK_ESTABLISHED) {
		report_verbose(&c->server->service, c->id, "connected");
		link_up(&c->link, wsi);
	} else if (reason == LWS_CALLBACK_WSI_DESTROY) {
		report_verbose(&c->server->service, c->id, "disconnected, code %d", c->link.close_code);
		link_down(&c->link, NULL);
	} else {
		return link_callback(&c->link, reason, in, len);
	}
	return 0;
}

/* --- the listening socket --- */

static void
accept_again(void *arg)
{
	struct server *s = arg;

	loop_watch(s->service.loop, &s->listener, POLLIN);
}

static void
accept_one(void *arg, short revents)
{
	struct server *s = arg;
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)revents;
	if (fd >= 0) {
		lws_adopt_socket(s->service.lws, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* It stays ready: not to be asked again at once. */
		report(&s->service, NULL, "a connection has to wait: %s", strerror(errno));
		loop_watch(s->service.loop, &s->listener, LOOP_PAUSED);
		loop_add_timer(s->service.loop, &s->retry, RETRY_ACCEPT);
	}
}

/* A listening socket, or -1 with errno. */
static int
listen_at(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol), on = 1, error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void
say_where(struct server *s)
{
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
	bool six;

	if (getsockname(s->listener.fd, (struct sockaddr *)&at, &size) < 0 ||
		getnameinfo((struct sockaddr *)&at, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	six = at.ss_family == AF_INET6;
	report(&s->service, NULL, "listening at ws://%s%s%s:%s%s", six ? "[" : "", host, six ? "]" : "", port, s->options->path);
}

/* 0, or the exit status. */
static int
open_listener(struct server *s)
{
	static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	const char *address = s->options->address ? s->options->address : "127.0.0.1";
	struct addrinfo *found;
	int fd = -1, error = getaddrinfo(address, s->options->port, &hints, &found);

	if (error) {
		cli_warn(tool_name, "--listen %s:%s: %s", address, s->options->port, gai_strerror(error));
		return EXIT_USAGE;
	}
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
		fd = listen_at(a);
	freeaddrinfo(found);
	if (fd < 0) {
		cli_warn(tool_name, "--listen %s:%s: %s", address, s->options->port, strerror(errno));
		return EXIT_FAILED;
	}
	s->listener = (struct loop_fd){.fd = fd, .events = POLLIN, .ready = accept_one, .arg = s};
	s->retry = (struct loop_timer){.expired = accept_again, .arg = s};
	loop_add_fd(s->service.loop, &s->listener);
	return 0;
}

/* --- the server --- */

/* The first signal: as if all clients had left. */
static void
leave(void *arg)
{
	struct server *s = arg;
	struct conn *c, *next;

	s->service.over = !s->conns;
	DL_FOREACH_SAFE(s->conns, c, next) {
		link_finish(&c->link, LWS_CLOSE_STATUS_GOINGAWAY, "the server is going away");
		loop_add_timer(c->server->service.loop, &c->exit_timer, s->options->grace);
	}
}

int
listen_run(const struct options *o)
{
	struct server s = {.options = o, .listener.fd = -1, .guardian.fd = -1};
	struct conn *c, *next;
	int status;

	s.service = (struct service){.options = o, .leave = leave, .owner = &s};
	if (proc_guardian_start(&s.guardian) < 0 || service_open(&s.service, callback, NULL) < 0) {
		cli_warn(tool_name, "%s", strerror(errno));
		status = EXIT_FAILED;
	} else {
		status = open_listener(&s);
	}
	if (status == 0) {
		say_where(&s);
		if (service_run(&s.service) < 0) {
			cli_warn(tool_name, "%s", strerror(errno));
			status = EXIT_FAILED;
		}
	}
	DL_FOREACH_SAFE(s.conns, c, next) {
		if (c->link.wsi)
			lws_set_opaque_user_data(c->link.wsi, NULL);
		proc_signal(c->child.pid, SIGTERM);
		conn_free(c);
	}
	service_close(&s.service);
	proc_close(s.listener.fd);
	proc_guardian_stop(&s.guardian);
	return s.service.signal ? 128 + s.service.signal : status;
}
