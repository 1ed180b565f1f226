/* Messages, the requests that they respond to, and sessions. */
#include "lib/span/span_parts.h"

#include <stdlib.h>

static void
count(void *arg, const struct usage_event *e)
{
	struct span *sp = arg;
	struct span_session *s;

	if (e->kind != USAGE_EVENT_TURN)
		return;
	HASH_FIND(hh, sp->sessions, e->session->id, e->session->id_length, s);
	if (!s)
		return;
	s->counted = e->own.has != 0;
	s->own = e->own;
	s->billed = e->billed;
}

struct span *
span_new(void (*event)(void *arg, const struct span_event *), void *arg)
{
	struct span *sp = calloc(1, sizeof(*sp));
	struct usage_spec spec = {.event = count, .arg = sp};

	if (!sp)
		return NULL;
	sp->event = event;
	sp->arg = arg;
	sp->requests = requests_new();
	sp->usage = usage_new(&spec);
	if (sp->requests && sp->usage)
		return sp;
	span_free(sp);
	return NULL;
}

double
span_started(const struct span *sp)
{
	return sp->started;
}

const struct usage *
span_usage(const struct span *sp)
{
	return sp->usage;
}

/* --- sessions --- */

/* NULL when out of memory. */
static struct span_session *
session_of(struct span *sp, struct slice string)
{
	struct slice id = span_plain(sp, string);
	struct span_session *s = NULL;

	if (!id.p)
		return NULL;
	HASH_FIND(hh, sp->sessions, id.p, id.n, s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s) + id.n + 1);
	if (!s)
		return NULL;
	memcpy(s->id, id.p, id.n);
	s->n = id.n;
	s->number = ++sp->number;
	HASH_ADD_KEYPTR(hh, sp->sessions, s->id, s->n, s);
	if (s->hh.tbl)
		return s;
	free(s);
	return NULL;
}

static int
adopt(struct span *sp, struct span_session *parent, struct slice update)
{
	struct slice id = json_get(update, acp_session_id), state = json_get(json_get(update, acp_state), acp_state);
	struct span_session *child;

	if (json_type(id) != JSON_STRING)
		return 0;
	child = session_of(sp, id);
	if (!child)
		return -1;
	if (!child->parent && span_root(parent) != child)
		child->parent = parent;
	if (json_type(state) == JSON_STRING && json_string_is(state, acp_idle))
		span_tools_end(sp, child);
	return 0;
}

/* --- requests --- */

static void
report(struct span *sp, const struct request *r, bool failed, bool unfinished)
{
	struct span_request q = {.from = r->from, .kind = MSG_REQUEST, .method = r->method, .session = r->session, .begin = r->t,
		.end = sp->now, .failed = failed, .unfinished = unfinished};

	span_happened(sp, (struct span_event){.kind = SPAN_REQUEST, .begin = q.begin, .end = q.end, .request = &q});
}

/* It is out of the table. m: the response, or NULL. */
static int
close_request(struct span *sp, struct request *r, const struct msg *m)
{
	struct span_turn *t = r->owner;
	struct span_session *s;
	int e = 0;

	report(sp, r, m && m->error.p, !m);
	switch (r->what) {
	case ACP_SESSION_PROMPT:
		if (!t)
			break;
		t->failed = m && m->error.p;
		t->stop = m && m->result.p ? json_get(m->result, acp_stop_reason) : slice(NULL, 0);
		t->accepted = m && m->result.p && !t->stop.p && json_get(m->result, "messageId").p;
		t->error = m ? m->error : slice(NULL, 0);
		t->unfinished = !m;
		/* What this response reports is not of the turn that is open. */
		if (t != t->session->turn)
			e = span_judge(sp, t->session);
		e |= t->accepted ? 0 : span_turn_end(sp, t);
		break;
	case ACP_REQUEST_PERMISSION:
	case ACP_ELICITATION_CREATE:
		span_wait_end(sp, r, !m);
		break;
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
		if (r->session.p && (s = session_of(sp, r->session)) && s->loading > 0)
			s->loading--;
		break;
	default:
		break;
	}
	requests_done(r);
	return e;
}

static int
take_response(struct span *sp, const struct message *s)
{
	struct request *r = NULL;

	if (!(s->msg.error.p && msg_null_id(&s->msg)))
		r = requests_find(sp->requests, acp_other_side(s->from), s->msg.id);
	if (!r)
		return 0;
	requests_take(sp->requests, r);
	return close_request(sp, r, &s->msg);
}

static int
take_prompt(struct span *sp, struct span_session *s, struct request *r, struct slice params)
{
	struct slice parent = json_get(json_get(params, "_meta"), "traceparent");
	struct span_turn *t = span_turn_new(sp, s, true);

	r->owner = t;
	if (!t)
		return -1;
	return json_type(parent) == JSON_STRING ? json_unescape(parent, &t->parent) : 0;
}

/* s: its session, or NULL. */
static int
take_request(struct span *sp, struct span_session *s, enum acp_side from, const struct msg *m)
{
	struct request *r = requests_open(sp->requests, from, sp->now, m), *oldest;

	if (!r)
		return -1;
	switch (m->what) {
	case ACP_SESSION_PROMPT:
		if (s && take_prompt(sp, s, r, m->params) < 0)
			return -1;
		break;
	case ACP_REQUEST_PERMISSION:
	case ACP_ELICITATION_CREATE:
		if (span_wait_begin(sp, s, r, m->params) < 0)
			return -1;
		break;
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
		if (s)
			s->loading++;
		break;
	default:
		break;
	}
	if (requests_count(sp->requests) <= REQUESTS_ONE_WAY)
		return 0;
	oldest = requests_next(sp->requests, NULL);
	requests_take(sp->requests, oldest);
	return close_request(sp, oldest, NULL);
}

/* --- messages --- */

static int
take_update(struct span *sp, struct span_session *s, struct slice params, struct slice kind)
{
	struct slice update = json_get(params, acp_update);

	if (json_string_is(kind, "tool_call") || json_string_is(kind, "tool_call_update"))
		return s->loading ? 0 : span_tool_update(sp, s, update, json_string_is(kind, "tool_call"));
	if (json_string_is(kind, "subagent_update"))
		return adopt(sp, s, update);
	if (json_string_is(kind, acp_state_update))
		return span_turn_state(sp, s, update);
	return 0;
}

static int
take_notification(struct span *sp, struct span_session *s, enum acp_side from, const struct msg *m)
{
	struct span_request q = {.from = from, .kind = MSG_NOTIFICATION, .method = m->method, .session = msg_session(m),
		.at = s, .update = msg_update_kind(m), .begin = sp->now, .end = sp->now};
	struct slice kind = q.update;

	span_happened(sp, (struct span_event){.kind = SPAN_REQUEST, .begin = q.begin, .end = q.end, .request = &q});
	return s && kind.p && json_type(kind) == JSON_STRING ? take_update(sp, s, m->params, kind) : 0;
}

static int
end_all(struct span *sp)
{
	struct request *r;
	struct span_session *s, *next;

	while ((r = requests_next(sp->requests, NULL))) {
		requests_take(sp->requests, r);
		if (close_request(sp, r, NULL) < 0)
			return -1;
	}
	/* Those of version 2 whose prompts were responded to. */
	for (s = sp->sessions; s; s = s->hh.next) {
		while (s->turn) {
			s->turn->unfinished = true;
			if (span_turn_end(sp, s->turn) < 0)
				return -1;
		}
	}
	for (s = sp->sessions; s; s = s->hh.next)
		span_tools_end(sp, s);
	span_tools_free(sp);
	HASH_ITER(hh, sp->sessions, s, next) {
		HASH_DEL(sp->sessions, s);
		free(s);
	}
	return 0;
}

int
span_see(struct span *sp, const struct message *original)
{
	struct span_session *s = NULL;
	struct message message = *original;
	struct slice session;
	struct msg inner;
	const char *why;

	if (message.msg.kind == MSG_NOISE)
		return 0;
	sp->now = message.t > sp->now ? message.t : sp->now;
	if (usage_see(sp->usage, original, NULL, NULL) < 0)
		return -1;
	if (message.msg.kind == MSG_RESPONSE)
		return take_response(sp, &message);
	if (message.msg.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&message.msg, &inner, NULL, &why) == 0)
		message.msg = inner;
	if (message.from == ACP_UNKNOWN)
		message.from = acp_sender(message.msg.method);
	/* A new connection: nothing of the one before goes on. */
	if (message.msg.what == ACP_INITIALIZE && end_all(sp) < 0)
		return -1;
	session = msg_session(&message.msg);
	if (session.p && json_type(session) == JSON_STRING && !(s = session_of(sp, session)))
		return -1;
	if (s && message.from == ACP_AGENT && span_turn_heard(sp, s, &message.msg, msg_update_kind(&message.msg)) < 0)
		return -1;
	return message.msg.kind == MSG_REQUEST ? take_request(sp, s, message.from, &message.msg)
		: take_notification(sp, s, message.from, &message.msg);
}

int
span_begin(struct span *sp, double started)
{
	if (end_all(sp) < 0)
		return -1;
	sp->started = started;
	sp->now = 0;
	return usage_begin(sp->usage, started);
}

int
span_end(struct span *sp)
{
	return end_all(sp);
}

static void
ignore(void *arg, const struct span_event *e)
{
	(void)arg;
	(void)e;
}

void
span_free(struct span *sp)
{
	if (!sp)
		return;
	sp->event = ignore;
	if (sp->requests && sp->usage)
		end_all(sp);
	requests_free(sp->requests);
	usage_free(sp->usage);
	buf_free(&sp->plain);
	free(sp);
}
