#include "preface.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/recording.h"

/* What is remembered of sessions that nobody closes: beyond it the one that was silent for longest is forgotten. */
enum { SESSIONS = 10000, SESSION_BYTES = 4 * 1024 * 1024 };

struct session {
	char *id;        /* its text */
	size_t n;
	struct said context;
	UT_hash_handle hh;
};

static bool
skip(struct slice *text, const char *what, size_t n)
{
	if (text->n < n || memcmp(text->p, what, n) != 0)
		return false;
	*text = slice(text->p + n, text->n - n);
	return true;
}

static bool
skip_name(struct slice *text, const char *name)
{
	return skip(text, "\"", 1) && skip(text, name, strlen(name)) && skip(text, "\":", 2);
}

/*
 * The kind of an update that is written as nearly all are: {"sessionId":ID,"update":{"sessionUpdate":KIND, without a blank
 * or an escape. Nothing but bytes is compared, for it is asked of each piece of a text that streams.
 */
static bool
usual_kind(struct slice params, struct slice *kind)
{
	const char *end;

	if (!skip(&params, "{", 1) || !skip_name(&params, acp_session_id) || !skip(&params, "\"", 1) ||
		!(end = memchr(params.p, '"', params.n)))
		return false;
	params = slice_between(end + 1, params.p + params.n);
	if (!skip(&params, ",", 1) || !skip_name(&params, acp_update) || !skip(&params, "{", 1) ||
		!skip_name(&params, acp_update_kind) || params.n < 2 || params.p[0] != '"' ||
		!(end = memchr(params.p + 1, '"', params.n - 1)))
		return false;
	*kind = slice_between(params.p, end + 1);
	return !memchr(kind->p, '\\', kind->n);
}

/* Looks no further than the kind of the update, which as a rule comes first. */
static bool
tells_context(struct slice params)
{
	struct json_iter it = {.in = params}, update;
	struct slice key;

	if (usual_kind(params, &key))
		return acp_tells_context(key);
	while (json_step(&it, &key)) {
		if (!json_string_is(key, acp_update)) {
			json_value(&it);
			continue;
		}
		if (!json_enter(&it, &update))
			return false;
		while (json_step(&update, &key)) {
			if (json_string_is(key, acp_update_kind))
				return acp_tells_context(json_value(&update));
			json_value(&update);
		}
		return false;
	}
	return false;
}

bool
preface_wants(const struct msg *m)
{
	switch (m->what) {
	case ACP_SESSION_UPDATE:
		return json_type(m->params) == JSON_OBJECT && tells_context(m->params);
	case ACP_INITIALIZE:
	case ACP_PROXY_INITIALIZE:
		return true;
	case ACP_SESSION_NEW:
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
	case ACP_SESSION_FORK:
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
		return m->kind == MSG_RESPONSE && m->result.p;
	default:
		return false;
	}
}

static void
remember(struct said *s, struct slice text, uint64_t t)
{
	s->text.n = 0;
	s->t = t;
	/* Without memory it is as if it had not been said. */
	(void)buf_add_slice(&s->text, text);
}

/* --- sessions --- */

static void
forget(struct preface *p, struct session *s)
{
	HASH_DEL(p->sessions, s);
	p->bytes -= s->context.text.n;
	buf_free(&s->context.text);
	free(s->id);
	free(s);
}

static struct session *
find(const struct preface *p, struct slice id)
{
	struct session *s = NULL;

	if (p->sessions)
		HASH_FIND(hh, p->sessions, id.p, id.n, s);
	return s;
}

/* The session of this name; one that is new, where there is none. It becomes the last. NULL out of memory. */
static struct session *
hear_of(struct preface *p, struct slice id)
{
	struct session *s = find(p, id);

	if (s) {
		HASH_DEL(p->sessions, s);
	} else {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->id = strndup(id.p, id.n);
		s->n = id.n;
	}
	if (s->id)
		HASH_ADD_KEYPTR(hh, p->sessions, s->id, s->n, s);
	if (s->id && s->hh.tbl)
		return s;
	p->bytes -= s->context.text.n;
	buf_free(&s->context.text);
	free(s->id);
	free(s);
	return NULL;
}

static void
trim(struct preface *p)
{
	while (p->sessions && (p->bytes > SESSION_BYTES || HASH_COUNT(p->sessions) > SESSIONS))
		forget(p, p->sessions);
}

static void
closed(struct preface *p, struct slice id)
{
	struct session *s = find(p, id);

	if (s)
		forget(p, s);
}

static void
see_context(struct preface *p, struct slice id, struct slice text, uint64_t t)
{
	struct session *s = hear_of(p, id);

	if (!s)
		return;
	p->bytes -= s->context.text.n;
	remember(&s->context, text, t);
	p->bytes += s->context.text.n;
	trim(p);
}

static void
see_session(struct preface *p, struct slice name, uint64_t t, struct slice text, const struct msg *m)
{
	struct buf id = {0};

	if (json_type(name) != JSON_STRING || json_unescape(name, &id) < 0) {
		buf_free(&id);
		return;
	}
	if (m->what == ACP_SESSION_UPDATE)
		see_context(p, buf_slice(&id), text, t);
	else if (!acp_opens_session(m->what))
		closed(p, buf_slice(&id));
	else if (hear_of(p, buf_slice(&id)))
		trim(p);
	buf_free(&id);
}

void
preface_see(struct preface *p, enum lane lane, uint64_t t, struct slice text, const struct msg *m, struct slice session)
{
	struct slice own = msg_session(m);

	if (m->what != ACP_INITIALIZE && m->what != ACP_PROXY_INITIALIZE) {
		see_session(p, own.p ? own : session, t, text, m);
	} else if (lane == LANE_DOWN && m->kind == MSG_REQUEST) {
		remember(&p->question, text, t);
		p->answer.text.n = 0;
	} else if (lane == LANE_UP && m->kind == MSG_RESPONSE) {
		remember(&p->answer, text, t);
	}
}

/* --- telling --- */

static int
put(const struct said *s, int at, enum acp_side from, struct buf *to)
{
	return s->text.n ? recording_put_message(to, s->t, at, from, buf_slice(&s->text)) : 0;
}

int
preface_put(const struct preface *p, int at, struct buf *to)
{
	const struct session *s;

	if (put(&p->question, at, ACP_CLIENT, to) < 0 || put(&p->answer, at, ACP_AGENT, to) < 0)
		return -1;
	for (s = p->sessions; s; s = s->hh.next)
		if (put(&s->context, at, ACP_AGENT, to) < 0)
			return -1;
	return 0;
}

size_t
preface_sessions(const struct preface *p)
{
	return HASH_COUNT(p->sessions);
}

void
preface_free(struct preface *p)
{
	while (p->sessions)
		forget(p, p->sessions);
	buf_free(&p->question.text);
	buf_free(&p->answer.text);
}
