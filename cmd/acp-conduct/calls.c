#include "calls.h"

#include <stdlib.h>
#include <utlist.h>

#include "memory.h"
#include "port.h"

static struct slice
keep(char **to, struct slice s)
{
	struct slice copy = slice(s.p ? *to : NULL, s.n);

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

static void
enter(struct call *c)
{
	struct port *to = c->to;
	struct call **near;

	c->id = ++to->last_id;
	near = &to->by_id.near[c->id % CALLS_NEAR];
	c->next_near = *near;
	*near = c;
	DL_APPEND2(to->calls, c, prev_open, next_open);
}

static void
leave(struct call *c)
{
	struct call **at = &c->to->by_id.near[c->id % CALLS_NEAR];

	while (*at != c)
		at = &(*at)->next_near;
	*at = c->next_near;
	DL_DELETE2(c->to->calls, c, prev_open, next_open);
}

struct call *
call_new(struct port *from, struct port *to, enum acp_direction dir, const struct msg *m)
{
	struct slice session = msg_session(m), params = to->memory && memory_wants(m) ? m->params : slice(NULL, 0);
	struct call *c = calloc(1, sizeof(*c));
	char *p;

	if (!c)
		return NULL;
	c->bytes = p = malloc(m->id.n + m->method.n + session.n + params.n + 1);
	c->to = to;
	if (!p) {
		free(c);
		return NULL;
	}
	enter(c);
	c->dir = dir;
	c->what = m->what;
	c->origin = keep(&p, m->id);
	c->method = keep(&p, m->method);
	c->session = keep(&p, session);
	c->params = keep(&p, params);
	c->from = from;
	if (from)
		DL_APPEND(from->asked, c);
	if (to->kind == PORT_PROXY || to->twin) {
		c->alone = true;
		DL_APPEND2(to->alone, c, prev_alone, next_alone);
	}
	return c;
}

struct call *
call_find(const struct port *to, struct slice id)
{
	uint64_t n;

	return json_type(id) == JSON_NUMBER && json_u64(id, &n) ? call_open(to, n) : NULL;
}

/* Open requests are few, and cancelling one is rare: a walk will do. */
struct call *
call_named(const struct port *from, struct slice id)
{
	struct buf wanted = {0}, key = {0};
	struct call *c = NULL;

	if (msg_id_key(id, &wanted) == 0) {
		DL_FOREACH(from->asked, c) {
			key.n = 0;
			if (msg_id_key(c->origin, &key) == 0 && slice_eq(buf_slice(&key), buf_slice(&wanted)))
				break;
		}
	}
	buf_free(&wanted);
	buf_free(&key);
	return c;
}

static bool
same(const struct call *a, const struct call *b)
{
	if (a->dir != b->dir || a->what != b->what || !slice_eq(a->session, b->session))
		return false;
	return a->what != ACP_OTHER || json_string_eq(a->method, b->method);
}

static void
leave_alone(struct call *c)
{
	if (c->alone)
		DL_DELETE2(c->to->alone, c, prev_alone, next_alone);
	c->alone = false;
}

void
call_join(struct call *c, struct call *parent)
{
	leave_alone(parent);
	parent->child = c;
	c->parent = parent;
	pieces_drop(&parent->text);
	port_settled(parent->to, parent);
}

/* A filter keeps the ids; a message that a proxy forwards is recognized by its kind. */
void
call_match(struct call *c)
{
	struct port *from = c->from;
	struct call *u;

	if (from && from->twin) {
		u = call_find(from->twin, c->origin);
		if (u && u->alone)
			call_join(c, u);
	} else if (from && from->kind == PORT_PROXY) {
		DL_FOREACH2(from->alone, u, next_alone) {
			if (same(u, c)) {
				call_join(c, u);
				return;
			}
		}
	}
}

void
call_renew(struct call *c)
{
	leave(c);
	c->end = 0;
	enter(c);
}

void
call_abandon(struct call *c)
{
	if (c->from)
		DL_DELETE(c->from->asked, c);
	c->from = NULL;
}

void
call_orphan(struct call *c)
{
	call_abandon(c);
	if (c->parent)
		c->parent->child = NULL;
	c->parent = NULL;
}

void
call_free(struct call *c)
{
	struct port *to = c->to;

	leave_alone(c);
	call_orphan(c);
	if (c->child)
		c->child->parent = NULL;
	if (c->placed)
		to->places--;
	leave(c);
	port_settled(to, c);
	pieces_drop(&c->text);
	pieces_drop(&c->kept);
	free(c->bytes);
	free(c);
}

void
calls_free(struct port *p)
{
	while (p->calls)
		call_free(p->calls);
}
