/* The socket: a program that connects sends one line and gets one, with a descriptor to watch or join. Nothing here blocks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-share/share.h"
#include "lib/base/cli.h"
#include "lib/run/endpoint.h"
#include "lib/run/proc.h"
#include "lib/run/socket.h"
#include "lib/run/system.h"

enum {
	CONNECTIONS = 32,         /* at the same time; further ones wait */
	REQUEST_LIMIT = 64 * 1024,
	CONNECTION_TIME = 5 * 1000000, /* us, for a whole connection */
	RETRY = 200 * 1000,       /* us until the next try, if no descriptor was left */
	PIPE = 1024 * 1024,       /* bytes of a watching guest's pipe, if the system allows it */
};

struct conn {
	struct share *share;
	struct endpoint peer;
	struct loop_timer timeout_timer;
	struct conn *prev, *next;
};

/* --- connections --- */

static void
listen_on(void *arg)
{
	struct share *s = arg;

	loop_set_events(frame_loop(s->frame), &s->listener, s->nconns < CONNECTIONS && !s->accept_timer.added ? POLLIN : LOOP_PAUSED);
}

static void
hang_up(void *arg)
{
	struct conn *c = arg;
	struct share *s = c->share;

	endpoint_close(&c->peer);
	loop_remove_timer(frame_loop(s->frame), &c->timeout_timer);
	DL_DELETE(s->conns, c);
	s->nconns--;
	free(c);
	listen_on(s);
}

/* --- replies: 0, or -1 out of memory --- */

static int
put_error(struct buf *to, const char *why)
{
	return json_format(to, "{\"error\":%j}\n", slice_of(why));
}

static int
put_list(const struct share *s, struct buf *to)
{
	char *cwd = getcwd(NULL, 0);
	bool failed = buf_printf(to, "{\"pid\":%ld,\"version\":\"" VERSION "\"", (long)getpid())
		|| buf_printf(to, ",\"started\":%.3f", frame_started(s->frame))
		|| json_format(to, ",\"name\":%j,\"cwd\":%j,", slice_of(s->name), slice_of(cwd ? cwd : "?"))
		|| preface_put_list(&s->preface, to)
		|| buf_printf(to, ",\"answers\":%s,\"guests\":%zu", s->answers ? "true" : "false", s->nguests)
		|| buf_printf(to, ",\"messages\":{\"down\":%" PRIu64, s->messages[ACP_DOWN])
		|| buf_printf(to, ",\"up\":%" PRIu64 "}}\n", s->messages[ACP_UP]);

	free(cwd);
	return failed ? -1 : 0;
}

/* Makes the descriptor for a new guest. -1 with errno. */
static int
new_guest(struct share *s, enum attach_want want)
{
	int ends[2];

	if ((want == ATTACH_WATCH ? proc_pipe(ends) : socket_pair(ends)) < 0)
		return -1;
	/* If the system refuses this size, copies are only lost sooner. */
	if (want == ATTACH_WATCH)
		system_set_pipe_size(ends[1], PIPE);
	if (guest_add(s, ends[1], want) == 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Sends the reply that lets a guest in, with its descriptor, at once: nothing is queued before it. 0, or -1: it cannot be sent. */
static int
attach(struct conn *c, struct slice hop, enum attach_want want, struct buf *to)
{
	struct share *s = c->share;
	SCOPED struct buf why = {0};
	int fd, r = 0;

	if (hop.p && !slice_is(hop, "0") && !json_string_is(hop, "0") && !json_string_is(hop, s->name))
		r = buf_printf(&why, "there is one hop here: 0 (%s)", s->name);
	else if (want == ATTACH_ANSWER && !s->answers)
		r = buf_add_string(&why, "guests may not respond to the agent here: acp-share was started without --answers");
	else if (s->nguests >= GUESTS)
		r = buf_printf(&why, "%d guests are attached, and that is the limit", GUESTS);
	if (r < 0 || why.n)
		return r < 0 || !buf_string(&why) ? -1 : put_error(to, why.p);
	fd = new_guest(s, want);
	if (fd < 0)
		return put_error(to, strerror(errno));
	r = json_format(to, "{\"hop\":0,\"name\":%j,\"guest\":%u}\n", slice_of(s->name), s->ever);
	if (r == 0 && socket_send(c->peer.out.io.fd, buf_slice(to), fd) != (ssize_t)to->n)
		r = -1;
	close(fd);
	to->n = 0;
	return r;
}

/* --- requests --- */

/* Appends the reply to a request. 0, or -1: there is none. */
static int
handle_request(struct conn *c, struct slice line, struct buf *to)
{
	static const struct json_keys keys = {2, {"want", "hop"}};
	struct slice values[2];
	struct json_error error;

	if (json_members(line, JSON_DEPTH, &keys, values, &error) != JSON_OBJECT || json_type(values[0]) != JSON_STRING)
		return put_error(to, "not a request: {\"want\":\"list\"}, or \"watch\", \"join\" or \"answer\"");
	if (json_string_is(values[0], "list"))
		return put_list(c->share, to);
	for (int want = 0; want < ATTACH_WANTS; want++)
		if (json_string_is(values[0], attach_words[want]))
			return attach(c, values[1], (enum attach_want)want, to);
	return put_error(to, "the value of want is not list, watch, join or answer");
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct conn *c = arg;
	SCOPED struct buf reply = {0};
	bool failed;

	if (got == INPUT_TORN)
		return true;
	failed = (got == INPUT_LINE ? handle_request(c, line->text, &reply) : put_error(&reply, "a request that is too long"))
		|| endpoint_put(&c->peer, NULL, buf_slice(&reply));
	endpoint_finish(&c->peer);
	endpoint_close_in(&c->peer);
	if (failed)
		endpoint_close(&c->peer);
	return true;
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct conn *c = arg;

	/* The other side has left without a request, or the reply is sent, or it cannot be sent. */
	if (event == ENDPOINT_ENDED || !endpoint_can_write(&c->peer))
		hang_up(c);
}

/* --- the door --- */

static struct conn *
conn_new(struct share *s, int fd)
{
	struct loop *loop = frame_loop(s->frame);
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	*c = (struct conn){.share = s, .peer = {.line = on_line, .event = on_event, .arg = c}};
	c->timeout_timer = (struct loop_timer){.expired = hang_up, .arg = c};
	DL_APPEND(s->conns, c);
	s->nconns++;
	loop_add_timer(loop, &c->timeout_timer, CONNECTION_TIME);
	if (endpoint_open(&c->peer, loop, fd, fd, REQUEST_LIMIT) == 0)
		return c;
	hang_up(c);
	return NULL;
}

static void
accept_ready(void *arg, short revents)
{
	struct share *s = arg;
	/* A connection takes two descriptors, so one is kept free for it. */
	int spare = fcntl(s->at.fd, F_DUPFD_CLOEXEC, 0), fd = spare < 0 ? -1 : socket_accept(s->at.fd), error = errno;

	(void)revents;
	if (spare >= 0)
		close(spare);
	errno = error;
	if (fd < 0 && errno == EPERM)
		frame_warn(s->frame, "%s: a process of another user was refused", s->at.path);
	if (fd < 0 && (errno == EPERM || errno == EAGAIN))
		return;
	/* No descriptor is left: new connections wait. */
	if (fd < 0 || !conn_new(s, fd))
		loop_add_timer(frame_loop(s->frame), &s->accept_timer, RETRY);
	listen_on(s);
}

void
door_open(struct share *s)
{
	s->accept_timer = (struct loop_timer){.expired = listen_on, .arg = s};
	s->listener = (struct loop_fd){.fd = s->at.fd, .events = POLLIN, .ready = accept_ready, .arg = s};
	loop_add_fd(frame_loop(s->frame), &s->listener);
}

void
door_close(struct share *s)
{
	struct conn *c, *next;

	DL_FOREACH_SAFE(s->conns, c, next)
		hang_up(c);
	loop_remove_fd(frame_loop(s->frame), &s->listener);
	loop_remove_timer(frame_loop(s->frame), &s->accept_timer);
	rendezvous_close(&s->at);
}
