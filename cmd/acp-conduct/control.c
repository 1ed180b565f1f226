#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "guest.h"
#include "lib/json.h"
#include "lib/rendezvous.h"
#include "lib/socket.h"
#include "look.h"
#include "watch.h"

enum {
	CONNECTIONS = 32,         /* at once; others wait until they are let in */
	REQUEST_LIMIT = 64 * 1024,
	PATIENCE = 5 * 1000000,   /* us for the whole of a connection */
	RETRY = 200 * 1000,       /* us until the next try, where there were no descriptors left */
	PIPE = 1024 * 1024,       /* bytes of a watcher's, where the system allows it */
	WATCHERS = 100,           /* and guests: a chain that restarts its components needs descriptors, too */
};

/* Somebody who asks. */
struct conn {
	struct control *control;
	int fd;
	struct loop_fd watch;
	struct loop_timer patience;
	struct buf in, out; /* what was asked, and what is answered */
	size_t sent;
	int pass;           /* the descriptor that goes with the answer; -1: none */
	struct conn *prev, *next;
};

struct control {
	struct chain *chain;
	struct watch *watch;
	size_t hop;
	char *path, *link; /* link: NULL where the socket itself is in the directory */
	int listener;
	struct loop_fd knock;
	struct loop_timer again;
	struct conn *conns;
	size_t n;
};

/* --- connections --- */

static void
listen_on(struct control *c)
{
	loop_watch(c->chain->loop, &c->knock, c->n < CONNECTIONS && !c->again.added ? POLLIN : LOOP_PAUSED);
}

static void
hang_up(struct conn *c)
{
	struct control *ctl = c->control;

	loop_remove_fd(ctl->chain->loop, &c->watch);
	loop_remove_timer(ctl->chain->loop, &c->patience);
	close(c->fd);
	if (c->pass >= 0)
		close(c->pass);
	buf_free(&c->in);
	buf_free(&c->out);
	DL_DELETE(ctl->conns, c);
	ctl->n--;
	free(c);
	listen_on(ctl);
}

static void
impatient(void *arg)
{
	hang_up(arg);
}

/* Sends what finds room. Who has gone is not missed: his pipe tells that too. */
static void
answer(struct conn *c)
{
	ssize_t r = socket_send(c->fd, slice(c->out.p + c->sent, c->out.n - c->sent), c->pass);

	if (r < 0 && errno != EAGAIN) {
		hang_up(c);
		return;
	}
	if (r > 0 && c->pass >= 0) {
		close(c->pass);
		c->pass = -1;
	}
	c->sent += r > 0 ? (size_t)r : 0;
	if (c->sent == c->out.n)
		hang_up(c);
	else
		loop_watch(c->control->chain->loop, &c->watch, POLLOUT);
}

/* --- hops --- */

static bool
is_number(struct slice text)
{
	size_t i;

	for (i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
		;
	return text.n > 0 && text.n < 10 && i == text.n;
}

ssize_t
control_hop(char *const *names, size_t n, struct slice text)
{
	size_t i, number = 0;

	for (i = 0; i < n; i++)
		if (slice_is(text, names[i]))
			return (ssize_t)i;
	if (!is_number(text))
		return -1;
	for (i = 0; i < text.n; i++)
		number = number * 10 + (size_t)(text.p[i] - '0');
	return number < n ? (ssize_t)number : -1;
}

static bool
is_relayed(const struct control *c, size_t hop)
{
	const struct port *near = route_hop(c->chain->route, hop);

	return near && !port_is_bypassed(near);
}

/* --- what is answered: all append, and return 0, or -1 out of memory --- */

static int
put_text(struct buf *to, const char *before, const char *text)
{
	return buf_add_string(to, before) == 0 ? json_quote(slice_of(text), to) : -1;
}

static int
put_error(struct buf *to, const char *text)
{
	return put_text(to, "{\"error\":", text) == 0 ? buf_add_string(to, "}\n") : -1;
}

static int
put_no_hop(const struct control *c, const char *wanted, struct buf *to)
{
	char *const *names = watch_names(c->watch);
	struct buf text = {0};
	size_t i, n = 0;
	int r = buf_printf(&text, "hop `%.64s' is not relayed; these are: ", wanted);

	for (i = 0; r == 0 && names[i]; i++)
		if (is_relayed(c, i))
			r = buf_printf(&text, "%s%zu (%s)", n++ ? ", " : "", i, names[i]);
	if (r == 0)
		r = buf_string(&text) ? put_error(to, text.p) : -1;
	buf_free(&text);
	return r;
}

static int
put_component(const struct component *c, bool first, struct buf *to)
{
	if (put_text(to, first ? "{\"name\":" : ",{\"name\":", c->name) < 0 || put_text(to, ",\"kind\":", chain_kind(c->kind)) < 0)
		return -1;
	return buf_printf(to, ",\"pid\":%ld}", c->life == LIFE_RUNS ? (long)c->pid : 0);
}

static int
put_list(const struct control *c, struct buf *to)
{
	const struct chain *ch = c->chain;
	char *const *names = watch_names(c->watch);
	size_t i, n = 0;
	int r = buf_printf(to, "{\"pid\":%ld,\"version\":\"" VERSION "\",\"started\":%.3f,\"components\":[", (long)getpid(),
		watch_started(c->watch));

	for (i = 0; r == 0 && i < ch->n; i++)
		r = put_component(&ch->components[i], i == 0, to);
	if (r == 0)
		r = buf_add_string(to, "],\"hops\":[");
	for (i = 0; r == 0 && names[i]; i++)
		if (is_relayed(c, i) && (r = buf_printf(to, "%s{\"hop\":%zu", n++ ? "," : "", i)) == 0 &&
			(r = put_text(to, ",\"name\":", names[i])) == 0)
			r = buf_add(to, "}", 1);
	if (r < 0)
		return -1;
	return buf_printf(to, "],\"sessions\":%zu,\"messages\":{\"down\":%" PRIu64 ",\"up\":%" PRIu64 "}}\n",
		watch_sessions(c->watch, c->hop), watch_messages(c->watch, c->hop, LANE_DOWN),
		watch_messages(c->watch, c->hop, LANE_UP));
}

static int
put_hop(const struct control *c, size_t hop, struct buf *to)
{
	if (buf_printf(to, "{\"hop\":%zu", hop) < 0 || put_text(to, ",\"name\":", watch_names(c->watch)[hop]) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

/* --- what is asked --- */

/* The descriptor for a new watcher, or for a guest. -1 with errno. */
static int
let_in(struct control *c, size_t hop, bool guest)
{
	struct route *r = c->chain->route;
	int ends[2], done;

	if ((guest ? socket_pair(ends) : pipe2(ends, O_CLOEXEC)) < 0)
		return -1;
	if (guest) {
		done = guest_join(r, c->watch, hop, ends[1]);
	} else {
		/* A wish: where it is not granted he may only lose records sooner. */
		(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE);
		done = watch_add(c->watch, hop, ends[1]) ? 0 : -1;
	}
	if (done == 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Watch or join: the answer, and what goes with it. */
static int
attach(struct conn *q, struct slice where, bool guest)
{
	struct control *c = q->control;
	struct buf text = {0};
	ssize_t hop = (ssize_t)c->hop;
	int r = 0;

	if (where.p) {
		r = json_type(where) == JSON_STRING ? json_unescape(where, &text) : buf_add_slice(&text, where);
		hop = control_hop(watch_names(c->watch), watch_hops(c->watch), buf_slice(&text));
	} else {
		r = buf_add_string(&text, watch_names(c->watch)[hop]);
	}
	if (r == 0 && buf_string(&text)) {
		if (hop < 0 || !is_relayed(c, (size_t)hop))
			r = put_no_hop(c, text.p, &q->out);
		else if (watch_count(c->watch) >= WATCHERS)
			r = put_error(&q->out, "too many are attached already");
		else if ((q->pass = let_in(c, (size_t)hop, guest)) < 0)
			r = put_error(&q->out, strerror(errno));
		else
			r = put_hop(c, (size_t)hop, &q->out);
	}
	buf_free(&text);
	return r;
}

static int
understand(struct conn *q, struct slice line)
{
	static const struct json_keys keys = {2, {"want", "hop"}};
	struct slice values[2], want = {NULL, 0};
	struct json_error error;

	if (json_members(line, JSON_DEPTH, &keys, values, &error) == JSON_OBJECT && json_type(values[0]) == JSON_STRING)
		want = values[0];
	if (!want.p)
		return put_error(&q->out, "not a request: {\"want\":\"list\"}, or \"watch\" or \"join\" with a \"hop\"");
	if (json_string_is(want, "list"))
		return put_list(q->control, &q->out);
	if (json_string_is(want, "watch") || json_string_is(want, "join"))
		return attach(q, values[1], json_string_is(want, "join"));
	return put_error(&q->out, "what is wanted is not one of list, watch, join");
}

/* Reads until there is a line. */
static void
ask(struct conn *q)
{
	int gift = -1, r;
	ssize_t n = socket_receive(q->fd, &q->in, &gift);
	char *newline;

	if (gift >= 0)
		close(gift);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		hang_up(q);
		return;
	}
	newline = memchr(q->in.p + q->in.n - n, '\n', (size_t)n);
	if (newline)
		r = understand(q, slice_between(q->in.p, newline));
	else if (q->in.n > REQUEST_LIMIT)
		r = put_error(&q->out, "a request that is too long");
	else
		return;
	if (r < 0) {
		hang_up(q);
		return;
	}
	buf_free(&q->in);
	answer(q);
}

static void
ready(void *arg, short revents)
{
	struct conn *q = arg;
	struct route *r = q->control->chain->route;

	(void)revents;
	if (q->out.n)
		answer(q);
	else
		ask(q);
	/* What a newcomer is told first. */
	route_flush(r);
}

/* --- the door --- */

static void
listen_again(void *arg)
{
	listen_on(arg);
}

static struct conn *
conn_new(struct control *c, int fd)
{
	struct conn *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	*q = (struct conn){.control = c, .fd = fd, .pass = -1};
	q->watch = (struct loop_fd){.fd = fd, .events = POLLIN, .ready = ready, .arg = q};
	q->patience = (struct loop_timer){.expired = impatient, .arg = q};
	DL_APPEND(c->conns, q);
	c->n++;
	return q;
}

static void
knock(void *arg, short revents)
{
	struct control *c = arg;
	struct conn *q = NULL;
	int fd = socket_accept(c->listener), error = errno;

	(void)revents;
	if (fd < 0 && error == EPERM)
		report_say(&c->chain->report, "%s: another user was refused", c->path);
	if (fd < 0 && (error == EPERM || error == EAGAIN))
		return;
	if (fd >= 0 && !(q = conn_new(c, fd)))
		close(fd);
	if (q && (loop_add_fd(c->chain->loop, &q->watch) < 0 || loop_add_timer(c->chain->loop, &q->patience, PATIENCE) < 0)) {
		hang_up(q);
		q = NULL;
	}
	/* Others have to end first; who comes waits. */
	if (!q)
		loop_add_timer(c->chain->loop, &c->again, RETRY);
	listen_on(c);
}

/* In the directory where it is looked for; a chain that is not found there can be attached to all the same. */
static void
make_link(struct control *c)
{
	char *directory = rendezvous_directory(), *whole = realpath(c->path, NULL);
	const char *why = NULL;

	if (!directory || !whole || asprintf(&c->link, "%s/%ld", directory, (long)getpid()) < 0) {
		c->link = NULL;
		why = strerror(ENOMEM);
	} else if (rendezvous_check(directory, true, &why) == 0 && rendezvous_link(whole, c->link) < 0) {
		why = strerror(errno);
	}
	if (why) {
		report_say(&c->chain->report, "--list will not find this chain: %s: %s", directory ? directory : "?", why);
		free(c->link);
		c->link = NULL;
	}
	free(directory);
	free(whole);
}

/* The path of the socket. NULL, and *why. */
static char *
make_path(const char *path, char **why)
{
	char *directory, *own = NULL;
	const char *what;

	if (strcmp(path, "auto") != 0)
		return strdup(path);
	directory = rendezvous_directory();
	if (directory && rendezvous_check(directory, true, &what) < 0) {
		if (asprintf(why, "--control auto: %s: %s", directory, what) < 0)
			*why = NULL;
	} else if (directory && asprintf(&own, "%s/%ld", directory, (long)getpid()) < 0) {
		own = NULL;
	}
	free(directory);
	return own;
}

static const char *
words(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another one listens there";
	case EEXIST:
		return "it is there already, and is no socket";
	case ENAMETOOLONG:
		return "the path is too long for a socket";
	default:
		return strerror(error);
	}
}

static void
control_free(struct control *c)
{
	if (c->listener >= 0)
		close(c->listener);
	free(c->path);
	free(c->link);
	free(c);
}

struct control *
control_open(struct chain *ch, const char *path, size_t hop, char **why)
{
	struct control *c = calloc(1, sizeof(*c));

	*why = NULL;
	if (!c)
		return NULL;
	*c = (struct control){.chain = ch, .watch = look_watch(ch->route->look), .hop = hop, .listener = -1};
	c->path = make_path(path, why);
	if (c->path && (c->listener = rendezvous_listen(c->path)) < 0 &&
		asprintf(why, "--control %s: %s", c->path, words(errno)) < 0)
		*why = NULL;
	if (c->listener < 0) {
		control_free(c);
		return NULL;
	}
	if (strcmp(path, "auto") != 0)
		make_link(c);
	c->again = (struct loop_timer){.expired = listen_again, .arg = c};
	c->knock = (struct loop_fd){.fd = c->listener, .events = POLLIN, .ready = knock, .arg = c};
	if (loop_add_fd(ch->loop, &c->knock) == 0)
		return c;
	control_close(c);
	return NULL;
}

void
control_close(struct control *c)
{
	struct conn *q, *next;

	if (!c)
		return;
	loop_remove_fd(c->chain->loop, &c->knock);
	loop_remove_timer(c->chain->loop, &c->again);
	unlink(c->path);
	if (c->link)
		unlink(c->link);
	DL_FOREACH_SAFE(c->conns, q, next)
		hang_up(q);
	guest_free_all(c->chain->route);
	control_free(c);
}
