#include "cmd/acp-mcp/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-mcp/conn.h"
#include "cmd/acp-mcp/provide.h"
#include "lib/socket.h"

/* --- the sockets --- */

static void
knock(void *arg, short revents)
{
	struct server *s = arg;
	struct mcp *m = s->mcp;
	int fd = socket_accept(s->listener);

	(void)revents;
	if (fd < 0) {
		if (errno == EAGAIN)
			return;
		frame_say(m->frame, "%s: %s", s->path, errno == EPERM ? "another user was refused" : strerror(errno));
		/* Most likely there are no descriptors left: others have to end first. */
		if (errno != EPERM)
			s->watch.events = LOOP_PAUSED;
	} else if (s->provided) {
		provide_serve(m, s->provided, fd);
	} else if (conn_accept(m, s, fd) < 0) {
		frame_say(m->frame, "%s: %s", s->path, strerror(errno));
	}
	frame_settle(m->frame);
}

void
server_listen_all(struct mcp *m)
{
	struct server *s;

	for (s = m->servers; s; s = s->next)
		s->watch.events = POLLIN;
}

/* Where the sockets are: only this user may enter (mkdtemp). */
static int
make_directory(struct mcp *m)
{
	const char *in = m->options->socket_dir;
	struct buf path = {0};

	if (m->dir)
		return 0;
	if (!in)
		in = getenv("XDG_RUNTIME_DIR");
	if (!in || !*in)
		in = "/tmp";
	if (buf_printf(&path, "%s/acp-mcp-XXXXXX", in) < 0 || !buf_string(&path) || !mkdtemp(path.p)) {
		buf_free(&path);
		return -1;
	}
	m->dir = path.p;
	return 0;
}

static int
listen_at(struct server *s, const char **why)
{
	struct mcp *m = s->mcp;
	struct buf path = {0};

	if (make_directory(m) < 0 || buf_printf(&path, "%s/%llu", m->dir, (unsigned long long)++m->nsockets) < 0
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

static void
server_free(struct server *s)
{
	loop_remove_fd(frame_loop(s->mcp->frame), &s->watch);
	if (s->listener >= 0)
		close(s->listener);
	if (s->path)
		unlink(s->path);
	free(s->path);
	buf_free(&s->name);
	buf_free(&s->id);
	free(s);
}

void
server_end_all(struct mcp *m)
{
	struct server *s;

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

	while (s && !(s->by_server_id == by_server_id && json_string_eq(buf_slice(&s->id), id)
		&& json_string_eq(buf_slice(&s->name), name)))
		s = s->next;
	return s;
}

struct server *
server_declared(struct mcp *m, struct slice declaration, const char **why)
{
	struct slice name = json_get(declaration, "name"), id = json_get(declaration, "id");
	bool by_server_id = json_type(id) != JSON_STRING;
	struct server *s;

	*why = NULL;
	if (by_server_id)
		id = json_get(declaration, acp_server_id);
	if (json_type(name) != JSON_STRING || json_type(id) != JSON_STRING) {
		*why = "a declaration without a name or an id";
		return NULL;
	}
	s = find(m, name, id, by_server_id);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		goto fail;
	*s = (struct server){.mcp = m, .listener = -1, .by_server_id = by_server_id, .provided = provide_by_id(m, id)};
	if (buf_add_slice(&s->name, name) == 0 && buf_add_slice(&s->id, id) == 0 && listen_at(s, why) == 0) {
		s->next = m->servers;
		m->servers = s;
		return s;
	}
fail:
	if (!s || !*why)
		*why = strerror(errno);
	if (s)
		server_free(s);
	return NULL;
}

int
server_put_stdio(const struct server *s, struct buf *to)
{
	return buf_add_string(to, s->mcp->v2 ? "{\"type\":\"stdio\",\"name\":" : "{\"name\":") | buf_add(to, s->name.p, s->name.n)
		| buf_add_string(to, ",\"command\":") | json_quote(slice_of(s->mcp->self), to)
		| buf_add_string(to, ",\"args\":[\"--connect\",") | json_quote(slice_of(s->path), to)
		| buf_add_string(to, "],\"env\":[]}");
}
