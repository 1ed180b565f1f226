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
call_drop(struct connection *c, struct call *call)
{
	HASH_DEL(c->calls, call);
	c->call_bytes -= call->keylen;
	free(call);
}

void
session_drop(struct connection *c, struct session *s)
{
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
	while (c->calls)
		call_drop(c, c->calls);
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

/* The text of an id, without escapes. */
static struct slice
plain(struct connection *c, struct slice string)
{
	if (!memchr(string.p, '\\', string.n))
		return slice(string.p + 1, string.n - 2);
	c->text.n = 0;
	return json_unescape(string, &c->text) < 0 ? slice(string.p, string.n) : buf_slice(&c->text);
}

struct session *
session_find(struct connection *c, struct slice id)
{
	struct slice key = plain(c, id);
	struct session *s;

	HASH_FIND(hh, c->sessions, key.p, key.n, s);
	return s;
}

struct session *
session_add(struct connection *c, struct slice id)
{
	struct session *s = session_find(c, id);
	struct slice key = plain(c, id);

	if (s)
		return s;
	s = calloc(1, sizeof(*s) + key.n);
	if (!s)
		return NULL;
	memcpy(s->key, key.p, key.n);
	s->keylen = key.n;
	s->serial = ++c->serial;
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

static struct slice
call_key(struct connection *c, const struct session *s, struct slice id)
{
	c->text.n = 0;
	if (buf_add(&c->text, &s->serial, sizeof(s->serial)) < 0 || json_unescape(id, &c->text) < 0)
		return slice(NULL, 0);
	return buf_slice(&c->text);
}

struct call *
call_find(struct connection *c, const struct session *s, struct slice id)
{
	struct slice key = call_key(c, s, id);
	struct call *call = NULL;

	if (key.p)
		HASH_FIND(hh, c->calls, key.p, key.n, call);
	return call;
}

static void
forget_oldest(struct connection *c)
{
	struct call *oldest = c->calls;
	uint64_t serial;

	memcpy(&serial, oldest->key, sizeof(serial));
	for (struct session *s = oldest->finished ? NULL : c->sessions; s; s = s->hh.next)
		if (s->serial == serial)
			s->open_calls--;
	call_drop(c, oldest);
	c->forgot_call = true;
}

struct call *
call_add(struct connection *c, struct session *s, struct slice id)
{
	struct slice key = call_key(c, s, id);
	struct call *call = key.p ? calloc(1, sizeof(*call) + key.n) : NULL;

	if (!call)
		return NULL;
	memcpy(call->key, key.p, key.n);
	call->keylen = key.n;
	HASH_ADD(hh, c->calls, key, key.n, call);
	if (!call->hh.tbl) {
		free(call);
		return NULL;
	}
	s->open_calls++;
	c->call_bytes += key.n;
	while (c->calls != call && (HASH_COUNT(c->calls) > CONNECTION_CALLS || c->call_bytes > CONNECTION_IDS))
		forget_oldest(c);
	return call;
}

void
call_finish(struct session *s, struct call *call)
{
	s->open_calls -= !call->finished;
	call->finished = true;
}

struct call *
call_next_open(struct connection *c, const struct session *s, struct call *call)
{
	for (call = call ? call->hh.next : c->calls; call; call = call->hh.next)
		if (!call->finished && memcmp(call->key, &s->serial, sizeof(s->serial)) == 0)
			break;
	return call;
}

struct slice
call_id(const struct call *call)
{
	return slice(call->key + sizeof(uint64_t), call->keylen - sizeof(uint64_t));
}
