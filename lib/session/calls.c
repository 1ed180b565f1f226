/* Tool calls, and questions to the user. */
#include <stdlib.h>
#include <utlist.h>

#include "lib/session/session_parts.h"

bool
session_status_is_final(struct slice status)
{
	static const char *const others[] = {"pending", "in_progress", "paused", NULL};

	return json_type(status) == JSON_STRING && !json_string_in(status, others);
}

static void
happened(struct sessions *c, enum session_event_kind kind, struct session_call *call, bool again, bool limit)
{
	if (!call->replayed)
		session_emit(c, (struct session_event){.kind = kind, .session = call->session, .turn = call->turn, .call = call,
			.again = again, .limit = limit});
}

static void
end_call(struct sessions *c, struct session_call *call, bool unfinished)
{
	if (call->ended)
		return;
	call->ended = true;
	call->unfinished = unfinished;
	call->end = c->now;
	DL_DELETE2(c->open_calls, call, before, after);
	happened(c, SESSION_CALL_ENDED, call, false, false);
	call->turn = NULL;
}

static void
forget_call(struct sessions *c, struct session_call *call, bool limit)
{
	struct session_question *q;

	end_call(c, call, true);
	happened(c, SESSION_CALL_FORGOTTEN, call, false, limit);
	DL_FOREACH2(c->questions, q, after)
		q->call = q->call == call ? NULL : q->call;
	HASH_DEL(call->session->calls, call);
	DL_DELETE2(c->calls, call, older, newer);
	c->ncalls--;
	c->call_bytes -= call->n;
	free(call);
}

/* Returns NULL out of memory. */
static struct session_call *
new_call(struct sessions *c, struct session *s, struct slice id)
{
	struct session_call *call = id.p ? calloc(1, sizeof(*call) + id.n + 1) : NULL;

	if (!call)
		return NULL;
	memcpy(call->id, id.p, id.n);
	call->n = id.n;
	call->session = s;
	HASH_ADD_KEYPTR(hh, s->calls, call->id, call->n, call);
	if (!call->hh.tbl) {
		free(call);
		return NULL;
	}
	DL_APPEND2(c->calls, call, older, newer);
	DL_APPEND2(c->open_calls, call, before, after);
	c->ncalls++;
	c->call_bytes += id.n;
	call->begin = c->now;
	call->enveloped = c->seen.enveloped;
	call->replayed = session_is_replayed(s);
	call->turn = call->replayed ? NULL : session_turn_of(s);
	while (c->calls != call && (c->ncalls > c->limits.calls || c->call_bytes > c->limits.bytes))
		forget_call(c, c->calls, true);
	return call;
}

struct session_call *
session_call_find(struct sessions *c, const struct session *s, struct slice id)
{
	struct slice key = json_text(id, &c->text);
	struct session_call *call = NULL;

	if (key.p)
		HASH_FIND(hh, s->calls, key.p, key.n, call);
	return call;
}

int
session_call_update(struct sessions *c, struct session *s, struct slice update, bool first)
{
	struct slice id = json_get_string(update, "toolCallId"), status = json_get(update, "status");
	struct session_call *call = id.p ? session_call_find(c, s, id) : NULL;
	bool twin = first && call && call->enveloped == c->seen.enveloped, again = twin && call->announced && !call->replayed, begins;

	/* A replayed update of a known call changes nothing. */
	if (!id.p || (call && session_is_replayed(s)))
		return 0;
	/* The agent uses the id of an ended call for another call. */
	if (twin && (call->ended || call->replayed)) {
		forget_call(c, call, false);
		call = NULL;
	}
	begins = !call;
	if (begins && !(call = new_call(c, s, json_text(id, &c->text))))
		return -1;
	call->announced = true;
	happened(c, begins ? SESSION_CALL_BEGAN : SESSION_CALL_CHANGED, call, again, false);
	if (!call->ended && session_status_is_final(status)) {
		call->failed = json_string_is(status, "failed");
		end_call(c, call, false);
	}
	return 0;
}

void
session_calls_end(struct sessions *c, const struct session *s)
{
	struct session_call *call, *next;

	DL_FOREACH_SAFE2(c->open_calls, call, next, after)
		if (call->session == s)
			end_call(c, call, true);
}

void
session_calls_leave(struct sessions *c, const struct session_turn *t)
{
	struct session_call *call;
	struct session_question *q;

	DL_FOREACH2(c->open_calls, call, after)
		call->turn = call->turn == t ? NULL : call->turn;
	DL_FOREACH2(c->questions, q, after)
		q->turn = q->turn == t ? NULL : q->turn;
}

void
session_calls_free(struct sessions *c, struct session *s)
{
	while (s->calls)
		forget_call(c, s->calls, false);
}

/* --- questions --- */

/* Finds the call that a question is about. The question may be the first message that names the call. 0, or -1 out of memory. */
static int
call_of(struct sessions *c, struct session *s, struct slice params, struct session_call **call)
{
	static const char *const paths[] = {"toolCall.toolCallId", "subject.toolCall.toolCallId", "subject.toolCallId", "toolCallId"};
	struct slice id = {NULL, 0};

	for (size_t i = 0; !id.p && i < sizeof(paths) / sizeof(*paths); i++) {
		id = json_path(params, paths[i]);
		id = json_type(id) == JSON_STRING ? id : slice(NULL, 0);
	}
	*call = id.p ? session_call_find(c, s, id) : NULL;
	if (!id.p || *call)
		return 0;
	*call = new_call(c, s, json_text(id, &c->text));
	if (*call)
		happened(c, SESSION_CALL_BEGAN, *call, false, false);
	return *call ? 0 : -1;
}

static void
asked(struct sessions *c, enum session_event_kind kind, struct session_request *r)
{
	struct session_question *q = r->question;

	session_emit(c, (struct session_event){.kind = kind, .session = q->session, .turn = q->turn, .call = q->call, .question = q,
		.request = r});
}

int
session_ask(struct sessions *c, struct session_request *r, struct slice params)
{
	struct session_question *q = calloc(1, sizeof(*q));

	if (!q)
		return -1;
	DL_APPEND2(c->questions, q, before, after);
	r->question = q;
	q->session = r->session;
	q->begin = c->now;
	q->turn = q->session ? session_turn_of(q->session) : NULL;
	if (q->session && call_of(c, q->session, params, &q->call) < 0)
		return -1;
	asked(c, SESSION_ASKED, r);
	return 0;
}

void
session_answer(struct sessions *c, struct session_request *r, bool unfinished)
{
	struct session_question *q = r->question;

	q->end = c->now;
	q->unfinished = unfinished;
	asked(c, SESSION_ANSWERED, r);
	DL_DELETE2(c->questions, q, before, after);
	free(q);
	r->question = NULL;
}
