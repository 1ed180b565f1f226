#include "cmd/acp-check/connection.h"

#include <stdlib.h>

#include "lib/json/json.h"

int
connection_open(struct connection *c)
{
	*c = (struct connection){.requests = requests_new()};
	return c->requests ? 0 : -1;
}

static void
call_drop(struct connection *c, struct session *s, struct call *call)
{
	HASH_DEL(s->calls, call);
	s->open_calls -= !call->finished;
	c->ncalls--;
	c->call_bytes -= call->keylen;
	free(call);
}

void
session_drop(struct connection *c, struct session *s)
{
	while (s->calls)
		call_drop(c, s, s->calls);
	HASH_DEL(c->sessions, s);
	c->session_bytes -= s->keylen;
	free(s);
}

void
connection_close(struct connection *c)
{
	struct request *r;

	while (c->sessions)
		session_drop(c, c->sessions);
	while (c->requests && (r = requests_next(c->requests, NULL))) {
		requests_take(c->requests, r);
		free(r->owner);
		requests_done(r);
	}
	requests_free(c->requests);
	for (size_t i = 0; i < sizeof(c->capabilities) / sizeof(*c->capabilities); i++)
		buf_free(&c->capabilities[i]);
	buf_free(&c->initialize_params);
	buf_free(&c->text);
}

bool
connection_knows(const struct connection *c)
{
	return c->initialized && !c->partial && c->heard[ACP_CLIENT] && c->heard[ACP_AGENT];
}

/* --- sessions --- */

struct session *
session_find(struct connection *c, struct slice id)
{
	struct slice key = json_text(id, &c->text);
	struct session *s = NULL;

	if (key.p)
		HASH_FIND(hh, c->sessions, key.p, key.n, s);
	return s;
}

struct session *
session_add(struct connection *c, struct slice id)
{
	struct session *s = session_find(c, id);
	struct slice key = json_text(id, &c->text);

	if (s)
		return s;
	s = key.p ? calloc(1, sizeof(*s) + key.n) : NULL;
	if (!s)
		return NULL;
	memcpy(s->key, key.p, key.n);
	s->keylen = key.n;
	HASH_ADD(hh, c->sessions, key, key.n, s);
	if (!s->hh.tbl) {
		free(s);
		return NULL;
	}
	c->session_bytes += key.n;
	/* The first in the table is the oldest. */
	while (c->sessions != s && (HASH_COUNT(c->sessions) > CONNECTION_SESSIONS || c->session_bytes > CONNECTION_IDS)) {
		session_drop(c, c->sessions);
		c->forgot_session = true;
	}
	return s;
}

/* --- tool calls --- */

struct call *
call_find(struct connection *c, const struct session *s, struct slice id)
{
	struct slice key = json_text(id, &c->text);
	struct call *call = NULL;

	if (key.p)
		HASH_FIND(hh, s->calls, key.p, key.n, call);
	return call;
}

/* The oldest call of the oldest session that has one besides `new`. */
static void
forget_oldest(struct connection *c, const struct call *new)
{
	struct session *s = c->sessions;

	while (!s->calls || s->calls == new)
		s = s->hh.next;
	call_drop(c, s, s->calls);
	c->forgot_call = true;
}

struct call *
call_add(struct connection *c, struct session *s, struct slice id)
{
	struct slice key = json_text(id, &c->text);
	struct call *call = key.p ? calloc(1, sizeof(*call) + key.n) : NULL;

	if (!call)
		return NULL;
	memcpy(call->key, key.p, key.n);
	call->keylen = key.n;
	HASH_ADD(hh, s->calls, key, key.n, call);
	if (!call->hh.tbl) {
		free(call);
		return NULL;
	}
	s->open_calls++;
	c->ncalls++;
	c->call_bytes += key.n;
	while (c->ncalls > 1 && (c->ncalls > CONNECTION_CALLS || c->call_bytes > CONNECTION_IDS))
		forget_oldest(c, call);
	return call;
}

void
call_finish(struct session *s, struct call *call)
{
	s->open_calls -= !call->finished;
	call->finished = true;
}
