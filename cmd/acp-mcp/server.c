/* The servers that the agent sees, and their sockets. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/run/directory.h"
#include "lib/run/socket.h"

/* us until shims are accepted again, after descriptors had run out. */
enum { RETRY = 200 * 1000 };

/* The use of a server by a session that is open, or by a request that opens one. */
struct use {
	struct use *next;
	struct server *server;
	struct buf request; /* the id of the request that declares the server; empty: the request has its response */
	struct buf session; /* a JSON string; empty: not known */
	bool prompted;      /* the agent has accepted a prompt of this session */
};

/* --- the directory of the sockets --- */

static const char template[] = "acp-mcp.XXXXXX";
/* The bytes of the template before its X's. */
enum { PREFIX = sizeof(template) - sizeof("XXXXXX") };
/* The bytes of a socket's path after --socket-dir; how often to try to make a directory, which another process may remove. */
enum { SOCKET_ROOM = sizeof(template) + sizeof("/1234567890"), TRIES = 100 };

/* Locks a directory. Returns its descriptor; -1 if another process has locked it, or it is not this user's. */
static int
lock_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	/* Another process may have removed the directory before it was locked. */
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
		return fd;
	close(fd);
	return -1;
}

/* Removes a directory of sockets whose acp-mcp has died, and no other. */
static void
remove_stale(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;
	char **inside;
	int fd;

	if (strlen(name) != strlen(template) || strncmp(name, template, PREFIX) != 0 || (fd = lock_directory(path)) < 0)
		return;
	inside = directory_paths(path);
	for (size_t i = 0; inside && inside[i]; i++)
		if (lstat(inside[i], &st) == 0 && S_ISSOCK(st.st_mode))
			unlink(inside[i]);
	directory_free(inside);
	rmdir(path);
	close(fd);
}

static int
make_in(struct socket_dir *d, const char *in)
{
	char **paths = directory_paths(in);

	for (size_t i = 0; paths && paths[i]; i++)
		remove_stale(paths[i]);
	directory_free(paths);
	for (int tries = 0; tries < TRIES; tries++) {
		d->path = bytes_printf("%s/%s", in, template);
		if (!d->path || !mkdtemp(d->path))
			break;
		d->lock = lock_directory(d->path);
		if (d->lock >= 0)
			return 0;
		/* Another process has removed the directory as stale; or there are no descriptors left. */
		rmdir(d->path);
		free(d->path);
		d->path = NULL;
	}
	free(d->path);
	d->path = NULL;
	return -1;
}

/*
 * Makes the directory, if there is none, with access for this user only: in --socket-dir, else in $XDG_RUNTIME_DIR, else in /tmp,
 * or if a socket's path would be too long, in /tmp. Removes stale directories from the same place. 0, or -1 with a message in why.
 */
static int
have_socket_dir(struct mcp *m, struct buf *why)
{
	const char *wanted = m->options->socket_dir, *own = getenv("XDG_RUNTIME_DIR");
	const char *places[] = {wanted ? wanted : own && *own ? own : "/tmp", wanted ? NULL : "/tmp"};
	bool fits;
	char *real;

	for (size_t i = 0; !m->sockets.path && i < 2 && places[i]; i++) {
		real = realpath(places[i], NULL);
		fits = real && strlen(real) + SOCKET_ROOM <= socket_path_size;
		why->n = 0;
		if (!real || make_in(&m->sockets, fits ? real : "/tmp") < 0)
			buf_printf(why, "%s: %s", real && !fits ? "/tmp" : places[i], strerror(errno));
		else if (!fits && wanted)
			frame_warn(m->frame, "%s: too long for the path of a socket: %s is used", wanted, m->sockets.path);
		free(real);
	}
	return m->sockets.path ? 0 : -1;
}

/* --- the sockets --- */

static void
listen_again(void *arg)
{
	struct mcp *m = arg;
	struct server *s;

	LL_FOREACH(m->servers, s)
		loop_set_events(frame_loop(m->frame), &s->watch, POLLIN);
}

static void
note_used(struct server *s)
{
	s->used = true;
	loop_remove_timer(frame_loop(s->mcp->frame), &s->unused_timer);
}

static void
unused_expired(void *arg)
{
	struct server *s = arg;

	if (!s->used)
		frame_warn(s->mcp->frame, "server %.*s: the agent has not started its command: an agent on another machine needs \"acp-mcp --\" "
			"before it there", (int)s->name.n, s->name.p);
	/* A server is reported only once. */
	note_used(s);
}

static void
accept_ready(void *arg, short revents)
{
	struct server *s = arg;
	struct mcp *m = s->mcp;
	int fd = socket_accept(s->listener);

	(void)revents;
	if (fd >= 0) {
		note_used(s);
		m->accept(m, s, fd);
	} else if (errno == EPERM) {
		frame_warn(m->frame, "%s: a process of another user was refused", s->path);
	} else if (errno != EAGAIN) {
		frame_warn(m->frame, "%s: %s", s->path, strerror(errno));
		/* Probably no descriptors are left: stops accepting for a while; new shims wait. */
		LL_FOREACH(m->servers, s)
			loop_set_events(frame_loop(m->frame), &s->watch, LOOP_PAUSED);
		m->accept_timer = (struct loop_timer){.expired = listen_again, .arg = m};
		loop_add_timer(frame_loop(m->frame), &m->accept_timer, RETRY);
	}
}

/* Removes the socket: no more shims can connect. */
static void
retire(struct server *s)
{
	loop_remove_fd(frame_loop(s->mcp->frame), &s->watch);
	loop_remove_timer(frame_loop(s->mcp->frame), &s->unused_timer);
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
	if (s->path)
		unlink(s->path);
}

/* Removes the socket if no session uses the server, and frees the server if no connection does, either. */
static void
free_unused(struct server *s)
{
	if (s->nuses > 0)
		return;
	retire(s);
	if (s->nconns > 0)
		return;
	LL_DELETE(s->mcp->servers, s);
	free(s->path);
	free(s);
}

void
server_unref(struct server *s)
{
	s->nconns--;
	free_unused(s);
}

/* --- sessions that use servers --- */

static int
use(struct server *s, const struct msg *request)
{
	struct use *u = calloc(1, sizeof(*u));

	if (!u || buf_add_slice(&u->request, request->id) < 0) {
		free(u);
		return -1;
	}
	u->server = s;
	LL_PREPEND(s->mcp->uses, u);
	s->nuses++;
	return 0;
}

static void
use_end(struct mcp *m, struct use *u)
{
	LL_DELETE(m->uses, u);
	u->server->nuses--;
	free_unused(u->server);
	buf_free(&u->request);
	buf_free(&u->session);
	free(u);
}

void
server_opened(struct mcp *m, const struct message *response)
{
	struct use *u, *next;

	LL_FOREACH_SAFE(m->uses, u, next) {
		if (u->request.n == 0 || !msg_same_id(buf_slice(&u->request), response->request->id))
			continue;
		if (response->msg.error.p) {
			use_end(m, u);
			continue;
		}
		u->request.n = 0;
		mcp_check(m, buf_add_slice(&u->session, message_session(response)));
		if (!u->server->used && !u->server->unused_timer.added)
			loop_add_timer(frame_loop(m->frame), &u->server->unused_timer, m->options->timeout);
	}
}

void
server_turn(struct mcp *m, struct slice session, bool response)
{
	struct use *u;

	LL_FOREACH(m->uses, u) {
		if (!json_string_eq(buf_slice(&u->session), session))
			continue;
		u->prompted |= response;
		if (u->prompted && response != m->v2)
			unused_expired(u->server);
	}
}

void
server_closed(struct mcp *m, struct slice session)
{
	struct use *u, *next;

	LL_FOREACH_SAFE(m->uses, u, next)
		if (json_string_eq(buf_slice(&u->session), session))
			use_end(m, u);
}

void
server_end_all(struct mcp *m)
{
	loop_remove_timer(frame_loop(m->frame), &m->accept_timer);
	while (m->uses)
		use_end(m, m->uses);
	if (!m->sockets.path)
		return;
	rmdir(m->sockets.path);
	close(m->sockets.lock);
	free(m->sockets.path);
	m->sockets.path = NULL;
}

/* --- declarations --- */

static struct server *
make(struct mcp *m, struct slice name, struct slice id, bool by_server_id, struct buf *why)
{
	struct server *s = calloc(1, sizeof(*s) + name.n + id.n);
	char *room = (char *)(s + 1);

	if (!s)
		goto fail;
	*s = (struct server){.mcp = m, .name = slice_keep(&room, name), .listener = -1, .by_server_id = by_server_id};
	s->id = slice_keep(&room, id);
	s->unused_timer = (struct loop_timer){.expired = unused_expired, .arg = s};
	LL_PREPEND(m->servers, s);
	if (have_socket_dir(m, why) < 0 || !(s->path = bytes_printf("%s/%" PRIu64, m->sockets.path, ++m->nsockets)))
		goto fail;
	s->listener = socket_listen(s->path);
	if (s->listener < 0) {
		buf_printf(why, "%s: %s", s->path, strerror(errno));
		goto fail;
	}
	s->watch = (struct loop_fd){.fd = s->listener, .events = POLLIN, .ready = accept_ready, .arg = s};
	loop_add_fd(frame_loop(m->frame), &s->watch);
	return s;
fail:
	if (why->n == 0)
		buf_add_string(why, strerror(errno));
	if (s)
		free_unused(s);
	return NULL;
}

struct server *
server_declared(struct mcp *m, const struct msg *request, struct slice declaration, struct buf *why)
{
	struct slice name = json_get(declaration, "name"), id = json_get(declaration, "id");
	bool by_server_id = json_type(id) != JSON_STRING;
	struct server *s;

	if (by_server_id)
		id = json_get(declaration, acp_server_id);
	if (json_type(name) != JSON_STRING || json_type(id) != JSON_STRING) {
		buf_add_string(why, "it has no name, or no id");
		return NULL;
	}
	LL_FOREACH(m->servers, s)
		if (s->listener >= 0 && s->by_server_id == by_server_id && json_string_eq(s->id, id)
			&& json_string_eq(s->name, name))
			break;
	if (!s)
		s = make(m, name, id, by_server_id, why);
	if (s && use(s, request) < 0) {
		buf_add_string(why, "out of memory");
		free_unused(s);
		return NULL;
	}
	return s;
}

int
server_put_stdio(const struct server *s, struct buf *to)
{
	int r = buf_add_string(to, s->mcp->v2 ? "{\"type\":\"stdio\"" : "{");

	r |= json_add_member(to, acp_server_name, s->name);
	r |= buf_add_string(to, ",\"command\":");
	r |= json_quote(slice_of(s->mcp->self), to);
	r |= buf_add_string(to, ",\"args\":[\"--connect\",");
	r |= json_quote(slice_of(s->path), to);
	r |= buf_add_string(to, "],\"env\":[]}");
	return r;
}
