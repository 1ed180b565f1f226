/* Messages, requests, connections and sessions. */
#include <stdlib.h>
#include <utlist.h>

#include "lib/acp/shape.h"
#include "lib/session/session_parts.h"

void
session_emit(struct sessions *c, struct session_event e)
{
	e.t = c->now;
	e.message = c->message;
	c->event(c->arg, &e);
}

static void
happened(struct sessions *c, enum session_event_kind kind, struct session *s)
{
	session_emit(c, (struct session_event){.kind = kind, .session = s});
}

/* --- sessions --- */

struct session *
session_root(const struct session *s)
{
	while (s->parent)
		s = s->parent;
	return (struct session *)s;
}

struct session_turn *
session_turn_of(const struct session *s)
{
	struct session_turn *t = session_root(s)->turn;

	return !s->parent || (t && t->serial == s->starter) ? t : NULL;
}

bool
session_is_replayed(const struct session *s)
{
	while (s && !s->history)
		s = s->parent;
	return s;
}

struct session *
sessions_find(const struct sessions *c, struct slice id)
{
	struct session *s = NULL;

	if (c->last && c->last->n == id.n && memcmp(c->last->id, id.p, id.n) == 0)
		return c->last;
	HASH_FIND(hh, c->all, id.p, id.n, s);
	return s;
}

struct session *
sessions_next(const struct sessions *c, const struct session *s)
{
	return s ? s->hh.next : c->all;
}

static void
free_session(struct sessions *c, struct session *s, bool limit)
{
	struct session_request *r;
	struct session_question *q;

	session_abandon(c, s);
	session_calls_free(c, s);
	session_emit(c, (struct session_event){.kind = SESSION_FORGOTTEN, .session = s, .limit = limit});
	while ((r = s->requests)) {
		DL_DELETE2(s->requests, r, before, after);
		r->session = NULL;
	}
	DL_FOREACH2(c->questions, q, after)
		q->session = q->session == s ? NULL : q->session;
	if (s->parent)
		s->parent->children--;
	for (struct session *child = s->children ? c->all : NULL; child; child = child->hh.next)
		child->parent = child->parent == s ? NULL : child->parent;
	c->last = c->last == s ? NULL : c->last;
	c->session_bytes -= s->n;
	HASH_DEL(c->all, s);
	free(s);
}

/* Returns NULL out of memory. */
static struct session *
new_session(struct sessions *c, struct slice id)
{
	struct session *s = calloc(1, sizeof(*s) + id.n + 1), *oldest;

	if (!s)
		return NULL;
	memcpy(s->id, id.p, id.n);
	s->n = id.n;
	s->number = ++c->number;
	HASH_ADD_KEYPTR(hh, c->all, s->id, s->n, s);
	if (!s->hh.tbl) {
		free(s);
		return NULL;
	}
	c->session_bytes += id.n;
	/* Keeps the session of the current message. */
	while ((oldest = c->all == c->seen.session ? c->all->hh.next : c->all) != s &&
		(HASH_COUNT(c->all) > c->limits.sessions || c->session_bytes > c->limits.bytes))
		free_session(c, oldest, true);
	return s;
}

static void
set_parent(struct session *s, struct session *parent)
{
	s->parent = parent;
	parent->children++;
}

/*
 * Notes that a message names a known session or (s NULL) one with this id. Emits SESSION_BEGAN for a new one, SESSION_OPENED if the
 * message opens it. Returns NULL out of memory.
 */
static struct session *
note_session(struct sessions *c, struct session *s, struct slice id, enum session_how how, struct session *parent)
{
	bool fresh = !s;

	if (fresh && (!id.p || !(s = new_session(c, id))))
		return NULL;
	c->last = s;
	s->plain |= !c->seen.enveloped;
	if (fresh || s->closed || (s->how == SESSION_NAMED && how != SESSION_NAMED)) {
		s->how = how;
		s->closed = false;
		if (fresh && parent)
			set_parent(s, parent);
		happened(c, fresh ? SESSION_BEGAN : SESSION_OPENED, s);
	}
	return s;
}

static int
adopt(struct sessions *c, struct session *parent, struct slice update)
{
	struct slice id = json_get_string(update, acp_session_id), state = json_get(update, acp_state), plain = json_text(id, &c->text);
	struct session *child = plain.p ? sessions_find(c, plain) : NULL;
	bool fresh = !child, joins = fresh || (!child->parent && session_root(parent) != child);
	struct session_turn *t;

	if (!id.p)
		return 0;
	child = note_session(c, child, plain, SESSION_CHILD, fresh ? parent : NULL);
	if (!child)
		return -1;
	if (joins && !fresh) {
		set_parent(child, parent);
		happened(c, SESSION_ADOPTED, child);
	}
	if (joins || (child->parent == parent && child->idles && json_string_is(json_get(state, acp_state), "running"))) {
		t = session_turn_of(parent);
		child->starter = t ? t->serial : 0;
		child->idles = false;
	}
	return json_type(state) == JSON_OBJECT ? session_state(c, child, state) : 0;
}

/* --- requests --- */

static void
free_answered(struct sessions *c)
{
	if (!c->answered)
		return;
	requests_done(c->answered->request);
	free(c->answered);
	c->answered = NULL;
}

static void
end_prompt(struct sessions *c, struct session_turn *t, const struct msg *m)
{
	if (m && session_accepts(m->result, c->v2)) {
		t->accepted = true;
		return;
	}
	t->failed = m && m->error.p;
	t->error = m ? m->error : slice(NULL, 0);
	t->stop = m ? json_get_string(m->result, acp_stop_reason) : slice(NULL, 0);
	t->unfinished = !m;
	session_turn_end(c, t);
}

/* Handles a response (m NULL: there is none) to a request that begins or ends a connection or session. 0, or -1 out of memory. */
static int
handle_result(struct sessions *c, struct session_request *r, const struct msg *m)
{
	static const enum session_how hows[] = {[ACP_SESSION_NEW] = SESSION_NEW, [ACP_SESSION_FORK] = SESSION_FORKED,
		[ACP_NES_START] = SESSION_NES};
	enum acp_method what = r->request->what;
	struct slice id = m ? json_get_string(m->result, acp_session_id) : slice(NULL, 0), plain;
	uint64_t version;

	switch (what) {
	case ACP_INITIALIZE:
	case ACP_PROXY_INITIALIZE:
		if (m && m->result.p && (!r->enveloped || !c->plain))
			c->v2 = json_u64(json_get(m->result, acp_protocol_version), &version) && version == 2;
		return 0;
	case ACP_SESSION_NEW:
	case ACP_SESSION_FORK:
	case ACP_NES_START:
		c->opening--;
		if (!id.p)
			return 0;
		plain = json_text(id, &c->text);
		c->seen.session = note_session(c, plain.p ? sessions_find(c, plain) : NULL, plain, hows[what], NULL);
		return c->seen.session ? 0 : -1;
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
		if (r->session && r->session->history && --r->session->history == 0)
			session_emit(c, (struct session_event){.kind = SESSION_HISTORY_ENDED, .session = r->session, .request = r});
		return 0;
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
	case ACP_NES_CLOSE:
		if (!r->session || !m || !m->result.p || r->session->closed)
			return 0;
		r->session->closed = true;
		happened(c, SESSION_CLOSED, r->session);
		return 0;
	default:
		return 0;
	}
}

/* Removes a request from the table; the next message frees it. m: its response, or NULL: there is none. 0, or -1 out of memory. */
static int
close_request(struct sessions *c, struct session_request *r, const struct msg *m)
{
	int e = 0;

	requests_remove(c->requests, r->request);
	free_answered(c);
	c->answered = r;
	session_emit(c, (struct session_event){.kind = SESSION_RESPONDED, .session = r->session, .turn = r->turn, .question = r->question,
		.request = r, .unanswered = !m});
	if (r->question)
		session_answer(c, r, !m);
	if (!r->copy)
		e = handle_result(c, r, m);
	if (r->session)
		DL_DELETE2(r->session->requests, r, before, after);
	if (r->turn)
		end_prompt(c, r->turn, m);
	/* Version 2 has only accepted the prompt: the turn goes on without its request. */
	if (r->turn)
		r->turn->request = NULL;
	r->turn = NULL;
	return e;
}

/* --- after a loss --- */

void
sessions_lost(struct sessions *c)
{
	struct session_request *r = NULL;
	struct session_turn *t;

	c->lossy = true;
	while ((r = sessions_request(c, r)))
		r->doubtful = true;
	for (struct session *s = c->all; s; s = s->hh.next)
		LL_FOREACH(s->turn, t)
			t->doubtful = true;
}

/* Gives up doubtful requests: the questions of a turn, the questions about a tool call, all of a session's family (NULL: of none). */
static void
give_up_doubtful(struct sessions *c, const struct session_turn *turn, const struct session_call *call, const struct session *s)
{
	struct request *next = c->lossy && (turn || call || s) ? requests_next(c->requests, NULL) : NULL;
	const struct session_question *q;
	struct session_request *r;
	bool concerned;

	while (next) {
		r = next->owner;
		q = r->question;
		next = requests_next(c->requests, next);
		concerned = s && r->session && (r->session == s || session_root(r->session) == s);
		concerned |= q && ((turn && q->turn == turn) || (call && q->call == call));
		if (r->doubtful && concerned)
			close_request(c, r, NULL);
	}
}

/* --- responses and requests --- */

/* Can this be the response to a prompt? */
static bool
is_of_prompt(const struct msg *m)
{
	return m->error.p || json_get(m->result, acp_stop_reason).p || json_get(m->result, "messageId").p ||
		json_get(m->result, "usage").p || json_get(m->result, "_meta").p;
}

static int
handle_response(struct sessions *c, struct session_message *seen)
{
	struct message *s = &seen->message;
	struct request *r = s->msg.error.p && msg_null_id(&s->msg) ? NULL : requests_find(c->requests, acp_other_side(s->from), s->msg.id), *other;

	s->request = r;
	/* Where the sender is not known, both sides may have an open request with this id. */
	if (r && s->from == ACP_UNKNOWN && r->what == ACP_SESSION_PROMPT && !is_of_prompt(&s->msg)) {
		other = requests_find(c->requests, ACP_AGENT, s->msg.id);
		s->request = r = other ? other : r;
	}
	if (!r)
		return 0;
	if (s->from == ACP_UNKNOWN)
		s->from = acp_other_side(r->from);
	seen->request = r->owner;
	seen->enveloped = seen->request->enveloped;
	seen->copy = seen->request->copy;
	seen->role = seen->enveloped ? acp_other_side(s->from) : s->from;
	seen->session = seen->request->session;
	if (!session_accepts(s->msg.result, c->v2))
		give_up_doubtful(c, seen->request->turn, NULL, NULL);
	return close_request(c, seen->request, &s->msg);
}

/* Begins the turn of a prompt. The older turns in which messages were lost end. 0, or -1 out of memory. */
static int
begin_prompt(struct sessions *c, struct session *s, struct session_request *r)
{
	give_up_doubtful(c, NULL, NULL, s);
	while (s->turn && s->turn->doubtful) {
		s->turn->unfinished = true;
		session_turn_end(c, s->turn);
	}
	return session_turn_new(c, s, r) ? 0 : -1;
}

static int
handle_request(struct sessions *c, struct session_message *seen)
{
	const struct message *m = &seen->message;
	struct request *old = m->from ? requests_find(c->requests, m->from, m->msg.id) : NULL;
	struct session *s = seen->session;
	struct session_request *r;

	if (!old && requests_count(c->requests) >= c->limits.requests)
		old = requests_next(c->requests, NULL);
	if (old && close_request(c, old->owner, NULL) < 0)
		return -1;
	r = calloc(1, sizeof(*r));
	if (!r || !(r->request = requests_open(c->requests, m->from, c->now, &m->msg))) {
		free(r);
		return -1;
	}
	r->request->owner = seen->request = r;
	r->session = s;
	r->enveloped = seen->enveloped;
	r->copy = seen->copy;
	r->dialect = seen->dialect;
	if (s)
		DL_APPEND2(s->requests, r, before, after);
	if (!r->copy)
		c->opening += m->msg.what == ACP_SESSION_NEW || m->msg.what == ACP_SESSION_FORK || m->msg.what == ACP_NES_START;
	session_emit(c, (struct session_event){.kind = SESSION_REQUESTED, .session = s, .request = r});
	if (r->copy)
		return 0;
	if (m->msg.what == ACP_REQUEST_PERMISSION || m->msg.what == ACP_ELICITATION_CREATE)
		return session_ask(c, r, m->msg.params);
	if (s && m->msg.what == ACP_SESSION_PROMPT)
		return begin_prompt(c, s, r);
	if (s && (m->msg.what == ACP_SESSION_LOAD || m->msg.what == ACP_SESSION_RESUME) && s->history++ == 0)
		session_emit(c, (struct session_event){.kind = SESSION_HISTORY_BEGAN, .session = s, .request = r});
	return 0;
}

void
sessions_give_up(struct sessions *c, enum acp_side from, struct slice id)
{
	struct request *next, *r = id.p ? requests_find(c->requests, from, id) : requests_next(c->requests, NULL);

	for (; r; r = next) {
		next = id.p ? NULL : requests_next(c->requests, r);
		if (id.p || r->from == from)
			close_request(c, r->owner, NULL);
	}
}

struct session_request *
sessions_request(const struct sessions *c, const struct session_request *r)
{
	struct request *next = requests_next(c->requests, r ? r->request : NULL);

	return next ? next->owner : NULL;
}

/* --- connections --- */

static void
end_connection(struct sessions *c)
{
	struct request *r;
	struct session *s, *next;

	if (!c->connected)
		return;
	c->message = NULL;
	while ((r = requests_next(c->requests, NULL)))
		close_request(c, r->owner, NULL);
	/* These turns have no request: version 2 has accepted their prompts, or they began without one. */
	for (s = c->all; s; s = s->hh.next)
		session_abandon(c, s);
	HASH_ITER(hh, c->all, s, next) {
		session_calls_free(c, s);
		s->history = 0;
		s->turns = s->idle = 0;
		s->closed = true;
		s->plain = false;
		if (!c->limits.keep)
			free_session(c, s, false);
	}
	c->connected = c->plain = c->v2 = c->lossy = false;
	session_emit(c, (struct session_event){.kind = SESSION_DISCONNECTED});
}

static void
connect(struct sessions *c, const struct session_message *seen)
{
	bool begins = seen->message.msg.kind == MSG_REQUEST && seen->role != ACP_AGENT &&
		(seen->message.msg.what == ACP_INITIALIZE || seen->message.msg.what == ACP_PROXY_INITIALIZE);

	/* A proxy passes initialize on, in an envelope, before it responds to its own. */
	begins = begins && !(seen->enveloped && c->plain);
	if (begins)
		end_connection(c);
	c->message = seen;
	if (c->connected)
		return;
	c->connected = true;
	c->plain = begins && !seen->enveloped;
	session_emit(c, (struct session_event){.kind = SESSION_CONNECTED});
}

/* --- notifications --- */

/* Can an update of this kind change a session, a turn or a call? */
static bool
may_change_sessions(struct slice kind)
{
	static const char *const kinds[] = {"tool_call", "tool_call_update", acp_state_update, "subagent_update", "compaction_update", NULL};

	/* Most updates are chunks. */
	return kind.n < 9 || memcmp(kind.p + kind.n - 7, "_chunk\"", 7) != 0 ? json_string_in(kind, kinds) : false;
}

/* Finds the session, the kind and, if that matters, the update in the params of a session/update. Reads no texts of other updates. */
static struct slice
read_update(struct slice params, struct session_message *seen)
{
	struct json_iter it = {.in = params}, in;
	struct slice key, session = {NULL, 0}, value;

	while (!(session.p && seen->kind.p) && json_step(&it, &key)) {
		if (json_string_is(key, acp_session_id)) {
			session = json_value(&it);
		} else if (!seen->kind.p && json_string_is(key, acp_update) && json_enter(&it, &in)) {
			seen->members = in.in;
			while (!seen->kind.p && json_step(&in, &key)) {
				value = json_value(&in);
				seen->kind = json_string_is(key, acp_update_kind) ? value : seen->kind;
			}
			if (!session.p)
				json_value(&it);
		} else {
			json_value(&it);
		}
	}
	if (json_type(seen->kind) != JSON_STRING)
		seen->kind = slice(NULL, 0);
	else if (may_change_sessions(seen->kind))
		seen->update = json_get(params, acp_update);
	return json_type(session) == JSON_STRING ? session : slice(NULL, 0);
}

static int
handle_update(struct sessions *c, struct session *s, struct slice kind, struct slice update)
{
	if (json_string_is(kind, "tool_call") || json_string_is(kind, "tool_call_update")) {
		give_up_doubtful(c, NULL, c->lossy ? session_call_find(c, s, json_get_string(update, "toolCallId")) : NULL, NULL);
		return session_call_update(c, s, update, json_string_is(kind, "tool_call"));
	}
	if (json_string_is(kind, acp_state_update)) {
		if (json_string_is(json_get_string(update, acp_state), acp_idle))
			give_up_doubtful(c, session_is_replayed(s) ? NULL : s->turn, NULL, NULL);
		return session_state(c, s, update);
	}
	if (json_string_is(kind, "subagent_update"))
		return adopt(c, s, update);
	happened(c, SESSION_COMPACTION, s);
	return 0;
}

static int
handle_notification(struct sessions *c, const struct session_message *seen)
{
	const struct msg *m = &seen->message.msg;

	/* Nobody waits for the responses to the old agent's requests, and its turns do not go on. */
	if (m->what == ACP_RESTARTED && seen->role != ACP_CLIENT && !(seen->enveloped && c->plain)) {
		if (seen->message.from)
			sessions_give_up(c, seen->message.from, slice(NULL, 0));
		for (struct session *s = c->all; s; s = s->hh.next)
			session_abandon(c, s);
		session_emit(c, (struct session_event){.kind = SESSION_RESTARTED});
	}
	if (seen->copy || !seen->session)
		return 0;
	if (m->what == ACP_SESSION_CANCEL && seen->role != ACP_AGENT)
		happened(c, SESSION_CANCEL, seen->session);
	return seen->update.p ? handle_update(c, seen->session, seen->kind, seen->update) : 0;
}

/* --- messages --- */

/* Is the message about a session that need not be open, for example to fork, close, list or archive it? */
static bool
is_about_any(const struct session_message *seen)
{
	enum acp_method what = seen->message.msg.what;

	return what == ACP_SESSION_FORK || what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE || what == ACP_NES_CLOSE ||
		(what == ACP_OTHER && seen->role == ACP_CLIENT && strncmp(seen->message.msg.method.p, "\"session/", 9) == 0);
}

/* Finds or makes the session that a request or notification names. 0, or -1 out of memory. */
static int
name_session(struct sessions *c, struct session_message *seen)
{
	const struct msg *m = &seen->message.msg;
	const struct shape *shape = m->what == ACP_SESSION_UPDATE ? m->shape : NULL;
	struct slice id, plain;
	enum session_how how = m->what == ACP_SESSION_LOAD ? SESSION_LOADED : m->what == ACP_SESSION_RESUME ? SESSION_RESUMED : SESSION_NAMED;

	seen->kind = shape ? shape->kind : seen->kind;
	id = shape ? shape->session : m->what == ACP_SESSION_UPDATE ? read_update(m->params, seen) : msg_session(m);
	if (!id.p)
		return 0;
	plain = json_text(id, &c->text);
	if (!plain.p)
		return -1;
	seen->session = sessions_find(c, plain);
	if (is_about_any(seen))
		return 0;
	/* Plain messages name this session or its root, so an enveloped message is a copy. */
	if (seen->enveloped && seen->session && (seen->session->plain || session_root(seen->session)->plain)) {
		seen->copy = true;
		return 0;
	}
	seen->session = note_session(c, seen->session, plain, how, NULL);
	return seen->session ? 0 : -1;
}

int
sessions_see(struct sessions *c, const struct message *original, const struct session_message **to)
{
	struct session_message *seen = &c->seen;
	struct message *s = &seen->message;
	struct msg inner;
	const char *why;
	int e;

	free_answered(c);
	if (to)
		*to = original->msg.kind == MSG_NOISE ? NULL : seen;
	if (original->msg.kind == MSG_NOISE)
		return 0;
	*seen = (struct session_message){.message = *original};
	s->request = NULL;
	s->t = c->now = s->t > c->now ? s->t : c->now;
	if (s->msg.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&s->msg, &inner, NULL, &why) == 0) {
		seen->dialect = acp_dialect(s->msg.method);
		s->msg = inner;
		seen->enveloped = true;
	}
	if (s->from == ACP_UNKNOWN && s->msg.kind != MSG_RESPONSE) {
		seen->role = acp_sender(s->msg.method);
		s->from = seen->enveloped && seen->role ? acp_other_side(seen->role) : seen->role;
	}
	seen->role = seen->enveloped && s->from ? acp_other_side(s->from) : s->from;
	connect(c, seen);
	if (s->msg.kind == MSG_RESPONSE)
		e = handle_response(c, seen);
	else if ((e = name_session(c, seen)) == 0)
		e = s->msg.kind == MSG_REQUEST ? handle_request(c, seen) : handle_notification(c, seen);
	c->message = NULL;
	return e;
}

/* --- all --- */

bool
sessions_v2(const struct sessions *c)
{
	return c->v2;
}

bool
sessions_opening(const struct sessions *c)
{
	return c->opening > 0;
}

struct sessions *
sessions_new(void (*event)(void *, const struct session_event *), void *arg, const struct session_limits *limits)
{
	struct sessions *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->event = event;
	c->arg = arg;
	c->limits = limits ? *limits : (struct session_limits){0};
	c->limits.sessions = c->limits.sessions ? c->limits.sessions : 4096;
	c->limits.calls = c->limits.calls ? c->limits.calls : 4096;
	c->limits.requests = c->limits.requests ? c->limits.requests : REQUESTS_ONE_WAY;
	c->limits.bytes = c->limits.bytes ? c->limits.bytes : 4 * 1024 * 1024;
	c->requests = requests_new();
	if (c->requests)
		return c;
	free(c);
	return NULL;
}

void
sessions_end(struct sessions *c)
{
	end_connection(c);
	free_answered(c);
}

void
sessions_begin(struct sessions *c)
{
	sessions_end(c);
	c->now = 0;
}

void
sessions_free(struct sessions *c)
{
	struct session *s, *next;

	if (!c)
		return;
	sessions_end(c);
	HASH_ITER(hh, c->all, s, next)
		free_session(c, s, false);
	requests_free(c->requests);
	buf_free(&c->text);
	free(c);
}
