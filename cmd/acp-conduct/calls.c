#include "calls.h"

#include <stdlib.h>
#include <utlist.h>

#include "memory.h"
#include "port.h"

static struct slice
copy_slice(char **to, struct slice s)
{
	struct slice copy = slice(s.p ? *to : NULL, s.n);

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

static void
index_add(struct call *c)
{
	struct port *to = c->to;
	struct call **bucket;

	c->id = ++to->last_id;
	bucket = &to->by_id.buckets[c->id % CALLS_BUCKETS];
	c->next_in_bucket = *bucket;
	*bucket = c;
	DL_APPEND2(to->calls, c, prev_open, next_open);
}

static void
index_remove(struct call *c)
{
	struct call **at = &c->to->by_id.buckets[c->id % CALLS_BUCKETS];

	while (*at != c)
		at = &(*at)->next_in_bucket;
	*at = c->next_in_bucket;
	DL_DELETE2(c->to->calls, c, prev_open, next_open);
}

struct call *
call_new(struct port *from, struct port *to, enum acp_direction dir, const struct msg *m)
{
	struct slice session = msg_session(m), params = to->memory && memory_needs_params(m) ? m->params : slice(NULL, 0);
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
	index_add(c);
	c->dir = dir;
	c->what = m->what;
	c->origin = copy_slice(&p, m->id);
	c->method = copy_slice(&p, m->method);
	c->session = copy_slice(&p, session);
	c->params = copy_slice(&p, params);
	c->from = from;
	if (from)
		DL_APPEND(from->sent_calls, c);
	if (to->kind == PORT_PROXY || to->other_side) {
		c->unforwarded = true;
		DL_APPEND2(to->unforwarded, c, prev_unforwarded, next_unforwarded);
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
call_find_origin(const struct port *from, struct slice id)
{
	SCOPED struct buf wanted = {0}, key = {0};
	struct call *c = NULL;

	if (msg_id_key(id, &wanted) == 0) {
		DL_FOREACH(from->sent_calls, c) {
			key.n = 0;
			if (msg_id_key(c->origin, &key) == 0 && slice_eq(buf_slice(&key), buf_slice(&wanted)))
				break;
		}
	}
	return c;
}

static bool
is_same_request(const struct call *a, const struct call *b)
{
	if (a->dir != b->dir || a->what != b->what || !slice_eq(a->session, b->session))
		return false;
	return a->what != ACP_OTHER || json_string_eq(a->method, b->method);
}

static void
mark_forwarded(struct call *c)
{
	if (c->unforwarded)
		DL_DELETE2(c->to->unforwarded, c, prev_unforwarded, next_unforwarded);
	c->unforwarded = false;
}

void
call_join(struct call *c, struct call *parent)
{
	mark_forwarded(parent);
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

	if (from && from->other_side) {
		u = call_find(from->other_side, c->origin);
		if (u && u->unforwarded)
			call_join(c, u);
	} else if (from && from->kind == PORT_PROXY) {
		DL_FOREACH2(from->unforwarded, u, next_unforwarded) {
			/* What a restarted proxy asks in order to initialize it needs at once, not in its turn. */
			if (!u->own && is_same_request(u, c)) {
				call_join(c, u);
				return;
			}
		}
	}
}

void
call_new_id(struct call *c)
{
	index_remove(c);
	c->end = 0;
	index_add(c);
}

void
call_abandon(struct call *c)
{
	if (c->from)
		DL_DELETE(c->from->sent_calls, c);
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

	mark_forwarded(c);
	call_orphan(c);
	if (c->child)
		c->child->parent = NULL;
	if (c->has_place)
		to->places--;
	index_remove(c);
	port_settled(to, c);
	pieces_drop(&c->text);
	pieces_drop(&c->child_response);
	free(c->bytes);
	free(c);
}

void
calls_free(struct port *p)
{
	while (p->calls)
		call_free(p->calls);
}
