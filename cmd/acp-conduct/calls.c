#include "calls.h"

#include <stdlib.h>
#include <utlist.h>

#include "read.h"

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
add(struct call *c)
{
	struct calls *to = &c->to->calls;
	struct call **bucket;

	c->id = ++to->last_id;
	bucket = &to->buckets[c->id % CALLS_BUCKETS];
	c->next_in_bucket = *bucket;
	*bucket = c;
	DL_APPEND(to->open, c);
}

static void
take_out(struct call *c)
{
	struct call **at = &c->to->calls.buckets[c->id % CALLS_BUCKETS];

	while (*at != c)
		at = &(*at)->next_in_bucket;
	*at = c->next_in_bucket;
	DL_DELETE(c->to->calls.open, c);
}

struct call *
call_new(struct port *from, struct port *to, enum acp_direction dir, const struct msg *m)
{
	struct slice session = msg_session(m);
	struct call *c = malloc(sizeof(*c) + m->id.n + session.n);
	char *p;

	if (!c)
		return NULL;
	*c = (struct call){.to = to, .from = from, .dir = dir, .what = m->what};
	p = c->bytes;
	c->origin = copy_slice(&p, m->id);
	c->session = copy_slice(&p, session);
	add(c);
	if (from)
		DL_APPEND2(from->calls.sent, c, prev_sent, next_sent);
	return c;
}

struct call *
call_find(const struct port *to, struct slice id)
{
	struct call *c;
	uint64_t n;

	if (json_type(id) != JSON_NUMBER || !json_u64(id, &n))
		return NULL;
	for (c = to->calls.buckets[n % CALLS_BUCKETS]; c && c->id != n; c = c->next_in_bucket)
		;
	return c;
}

/* Is there no other way to spell this id? */
static bool
is_plain(struct slice id)
{
	if (json_type(id) == JSON_STRING)
		return !memchr(id.p, '\\', id.n);
	for (size_t i = 0; i < id.n; i++)
		if (!byte_is_digit(id.p[i]))
			return false;
	return true;
}

/* Open requests are mostly few, and cancelling one is rare: a search will do. */
struct call *
call_find_origin(const struct port *from, struct slice id)
{
	bool plain = is_plain(id);
	struct call *c;

	DL_FOREACH2(from->calls.sent, c, next_sent)
		if (slice_eq(c->origin, id) || (!(plain && is_plain(c->origin)) && msg_same_id(c->origin, id)))
			break;
	return c;
}

void
call_new_id(struct call *c)
{
	take_out(c);
	add(c);
}

void
call_orphan(struct call *c)
{
	if (c->from)
		DL_DELETE2(c->from->calls.sent, c, prev_sent, next_sent);
	c->from = NULL;
}

void
call_free(struct call *c)
{
	call_orphan(c);
	take_out(c);
	free(c);
}
