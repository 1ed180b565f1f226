#include "cmd/acp-mcp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/provide.h"
#include "lib/socket.h"

/* When to try again where there were no descriptors left (us). */
enum { RETRY = 200 * 1000 };

/* A session has been told of a server, or is about to be. */
struct use {
	struct use *next;
	struct server *server;
	struct buf request; /* the id's key of the request that declares it; empty: it has been answered */
	struct buf session; /* a JSON string; empty: not known */
};

/* --- the sockets --- */

static void
listen_again(void *arg)
{
	struct mcp *m = arg;
	struct server *s;

	for (s = m->servers; s; s = s->next)
		loop_watch(frame_loop(m->frame), &s->watch, POLLIN);
}

/* Most likely there are no descriptors left: others have to end first, and who has come waits. */
static void
pause_listening(struct mcp *m)
{
	struct server *s;

	for (s = m->servers; s; s = s->next)
		loop_watch(frame_loop(m->frame), &s->watch, LOOP_PAUSED);
	m->knock = (struct loop_timer){.expired = listen_again, .arg = m};
	if (loop_add_timer(frame_loop(m->frame), &m->knock, RETRY) < 0)
		mcp_fail(m, "out of memory");
}

static void
knock(void *arg, short revents)
{
	struct server *s = arg;
	struct mcp *m = s->mcp;
	/* A connection takes two descriptors: nobody is let in for whom there is only one. */
	int spare = fcntl(s->listener, F_DUPFD_CLOEXEC, 3), fd = spare < 0 ? -1 : socket_accept(s->listener), error = errno;

	(void)revents;
	if (spare >= 0)
		close(spare);
	errno = error;
	if (fd < 0 && errno == EPERM) {
		frame_say(m->frame, "%s: another user was refused", s->path);
	} else if (fd < 0 && errno != EAGAIN) {
		frame_say(m->frame, "%s: %s", s->path, strerror(errno));
		pause_listening(m);
	} else if (fd >= 0 && s->provided) {
		provide_serve(m, s->provided, fd);
	} else if (fd >= 0 && conn_accept(m, s, fd) < 0) {
		frame_say(m->frame, "%s: %s", s->path, strerror(errno));
	}
	frame_settle(m->frame);
}

/* Only this user may enter (mkdtemp). */
static int
make_directory(struct mcp *m, const char *in)
{
	struct buf path = {0};

	if (!in || !*in)
		return -1;
	if (buf_printf(&path, "%s/acp-mcp-XXXXXX", in) < 0 || !buf_string(&path) || !mkdtemp(path.p)) {
		buf_free(&path);
		return -1;
	}
	m->dir = path.p;
	return 0;
}

/* Where the sockets are. */
static int
find_directory(struct mcp *m)
{
	if (m->dir)
		return 0;
	if (m->options->socket_dir)
		return make_directory(m, m->options->socket_dir);
	return make_directory(m, getenv("XDG_RUNTIME_DIR")) == 0 ? 0 : make_directory(m, "/tmp");
}

static int
listen_at(struct server *s, const char **why)
{
	struct mcp *m = s->mcp;
	struct buf path = {0};

	if (find_directory(m) < 0 || buf_printf(&path, "%s/%llu", m->dir, (unsigned long long)++m->nsockets) < 0
		|| !buf_string(&path))
		return -1;
	s->path = path.p;
	s->listener = socket_listen(path.p);
	if (s->listener < 0) {
		*why = errno == ENAMETOOLONG ? "the path of its socket would be too long (--socket-dir names a shorter place)" : strerror(errno);
		return -1;
	}
	s->watch = (struct loop_fd){.fd = s->listener, .events = POLLIN, .ready = knock, .arg = s};
	return loop_add_fd(frame_loop(m->frame), &s->watch);
}

/* Nobody can come any more. */
static void
retire(struct server *s)
{
	loop_remove_fd(frame_loop(s->mcp->frame), &s->watch);
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
	if (s->path)
		unlink(s->path);
}

static void
server_free(struct server *s)
{
	retire(s);
	free(s->path);
	buf_free(&s->name);
	buf_free(&s->id);
	free(s);
}

/* Where nobody needs it. */
static void
let_go(struct server *s)
{
	struct server **at = &s->mcp->servers;

	if (s->nuses > 0)
		return;
	retire(s);
	if (s->nconns > 0)
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	server_free(s);
}

void
server_hold(struct server *s)
{
	s->nconns++;
}

void
server_drop(struct server *s)
{
	s->nconns--;
	let_go(s);
}

/* --- who uses them --- */

static int
use(struct server *s, const struct msg *request)
{
	struct use *u = calloc(1, sizeof(*u));

	if (!u || msg_id_key(request->id, &u->request) < 0) {
		free(u);
		return -1;
	}
	u->server = s;
	u->next = s->mcp->uses;
	s->mcp->uses = u;
	s->nuses++;
	return 0;
}

static void
use_end(struct use **at)
{
	struct use *u = *at;

	*at = u->next;
	u->server->nuses--;
	let_go(u->server);
	buf_free(&u->request);
	buf_free(&u->session);
	free(u);
}

int
server_opened(struct mcp *m, const struct seen *answer)
{
	struct use **at = &m->uses, *u;
	struct slice session = seen_session(answer);
	struct buf key = {0};
	int r = msg_id_key(answer->request->id, &key);

	while (r == 0 && (u = *at)) {
		if (u->request.n == 0 || !slice_eq(buf_slice(&u->request), buf_slice(&key))) {
			at = &u->next;
			continue;
		}
		if (answer->msg.error.p) {
			use_end(at);
			continue;
		}
		u->request.n = 0;
		if (json_type(session) == JSON_STRING)
			r = buf_add_slice(&u->session, session);
		at = &u->next;
	}
	buf_free(&key);
	return r;
}

void
server_closed(struct mcp *m, struct slice session)
{
	struct use **at = &m->uses;

	while (*at)
		if ((*at)->session.n > 0 && json_type(session) == JSON_STRING && json_string_eq(buf_slice(&(*at)->session), session))
			use_end(at);
		else
			at = &(*at)->next;
}

void
server_end_all(struct mcp *m)
{
	struct server *s;

	loop_remove_timer(frame_loop(m->frame), &m->knock);
	while (m->uses)
		use_end(&m->uses);
	while ((s = m->servers)) {
		m->servers = s->next;
		server_free(s);
	}
	if (m->dir)
		rmdir(m->dir);
	free(m->dir);
	m->dir = NULL;
}

/* --- declarations --- */

static struct server *
find(struct mcp *m, struct slice name, struct slice id, bool by_server_id)
{
	struct server *s = m->servers;

	while (s && !(s->listener >= 0 && s->by_server_id == by_server_id && json_string_eq(buf_slice(&s->id), id)
		&& json_string_eq(buf_slice(&s->name), name)))
		s = s->next;
	return s;
}

static struct server *
make(struct mcp *m, struct slice name, struct slice id, bool by_server_id, const char **why)
{
	struct server *s = calloc(1, sizeof(*s));

	if (s) {
		*s = (struct server){.mcp = m, .listener = -1, .by_server_id = by_server_id, .provided = provide_by_id(m, id)};
		if (buf_add_slice(&s->name, name) == 0 && buf_add_slice(&s->id, id) == 0 && listen_at(s, why) == 0) {
			s->next = m->servers;
			m->servers = s;
			return s;
		}
	}
	if (!*why)
		*why = strerror(errno);
	if (s)
		server_free(s);
	return NULL;
}

struct server *
server_declared(struct mcp *m, const struct msg *request, struct slice declaration, const char **why)
{
	struct slice name = json_get(declaration, "name"), id = json_get(declaration, "id");
	bool by_server_id = json_type(id) != JSON_STRING;
	struct server *s;

	*why = NULL;
	if (by_server_id)
		id = json_get(declaration, acp_server_id);
	if (json_type(name) != JSON_STRING || json_type(id) != JSON_STRING) {
		*why = "it has no name, or no id";
		return NULL;
	}
	s = find(m, name, id, by_server_id);
	if (!s)
		s = make(m, name, id, by_server_id, why);
	if (s && use(s, request) < 0) {
		*why = "out of memory";
		let_go(s);
		return NULL;
	}
	return s;
}

int
server_put_stdio(const struct server *s, struct buf *to)
{
	int r = buf_add_string(to, s->mcp->v2 ? "{\"type\":\"stdio\",\"name\":" : "{\"name\":");

	r |= buf_add_slice(to, buf_slice(&s->name));
	r |= buf_add_string(to, ",\"command\":");
	r |= json_quote(slice_of(s->mcp->self), to);
	r |= buf_add_string(to, ",\"args\":[\"--connect\",");
	r |= json_quote(slice_of(s->path), to);
	r |= buf_add_string(to, "],\"env\":[]}");
	return r;
}
