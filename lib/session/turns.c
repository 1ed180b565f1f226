/* Turns: what begins and ends them. */
#include <stdlib.h>
#include <utlist.h>

#include "lib/session/session_parts.h"

static void
happened(struct sessions *c, enum session_event_kind kind, struct session_turn *t)
{
	session_emit(c, (struct session_event){.kind = kind, .session = t->session, .turn = t, .request = t->request});
}

static void
start(struct sessions *c, struct session_turn *t)
{
	t->begin = c->now;
	t->number = ++t->session->turns;
	happened(c, SESSION_TURN_BEGAN, t);
}

struct session_turn *
session_turn_new(struct sessions *c, struct session *s, struct session_request *r)
{
	struct session_turn *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->session = s;
	t->serial = ++c->serial;
	t->asked = c->now;
	t->prompted = r != NULL;
	t->request = r;
	if (r)
		r->turn = t;
	LL_APPEND(s->turn, t);
	if (s->turn == t)
		start(c, t);
	else
		happened(c, SESSION_TURN_QUEUED, t);
	return t;
}

void
session_turn_end(struct sessions *c, struct session_turn *t)
{
	struct session *s = t->session;
	bool runs = t == s->turn;

	t->end = c->now;
	if (runs && !t->leaves_calls)
		session_calls_end(c, s);
	happened(c, SESSION_TURN_ENDED, t);
	session_calls_leave(c, t);
	LL_DELETE(s->turn, t);
	if (t->request)
		t->request->turn = NULL;
	free(t);
	if (runs && s->turn)
		start(c, s->turn);
}

void
session_abandon(struct sessions *c, struct session *s)
{
	while (s->turn) {
		s->turn->unfinished = true;
		session_turn_end(c, s->turn);
	}
	session_calls_end(c, s);
}

/* --- version 2 --- */

bool
session_accepts(struct slice result, bool v2)
{
	return json_type(result) == JSON_OBJECT && !json_get_string(result, acp_stop_reason).p &&
		(v2 || json_get_string(result, "messageId").p);
}

/* A hash of an idle state's usage and stop reason; never 0. */
static uint64_t
hash_of(struct slice state)
{
	return slice_hash(slice_hash(0, json_get(state, "usage")), json_get(state, acp_stop_reason)) | 1;
}

/* Does work go on without a turn? The list names terminals, not calls, so any open call may go on. */
static bool
has_background(struct slice state)
{
	struct slice list = json_get(state, "background");

	return json_type(list) == JSON_ARRAY && !json_is_empty(list);
}

/* Ends the open turn, and with it the accepted prompts that wait. */
static void
end_work(struct sessions *c, struct session *s, struct slice state)
{
	struct session_turn *front = s->turn, *t, *next;

	LL_FOREACH_SAFE(front->next, t, next) {
		if (!t->accepted)
			continue;
		t->joined = true;
		session_turn_end(c, t);
	}
	front->stop = json_get_string(state, acp_stop_reason);
	front->error = json_get(state, "error");
	front->error = json_type(front->error) == JSON_OBJECT ? front->error : slice(NULL, 0);
	front->failed = front->error.p || json_string_is(front->stop, "error");
	front->leaves_calls = has_background(state);
	session_turn_end(c, front);
}

static int
become_idle(struct sessions *c, struct session *s, struct slice state)
{
	struct session_turn *t = s->turn;
	uint64_t before = s->idle, hash = hash_of(state);
	bool ends = t && (t->accepted || t->busy || !t->prompted);

	/* Other usage than that of the last idle state: a turn without a prompt began and ended unseen. */
	if (!t && !s->parent && before && hash != before && json_type(json_get(state, "usage")) == JSON_OBJECT) {
		if (!session_turn_new(c, s, NULL))
			return -1;
		ends = true;
	}
	if (ends || !before)
		s->idle = hash;
	if (ends)
		end_work(c, s, state);
	else if (s->parent && !has_background(state))
		session_calls_end(c, s);
	return 0;
}

int
session_state(struct sessions *c, struct session *s, struct slice state)
{
	struct slice name = json_get_string(state, acp_state);
	bool works = json_string_is(name, "running") || json_string_is(name, "requires_action");

	if (!name.p)
		return 0;
	session_emit(c, (struct session_event){.kind = SESSION_STATE, .session = s, .turn = s->turn, .state = state});
	if (session_is_replayed(s)) {
		s->idle = json_string_is(name, acp_idle) ? hash_of(state) : s->idle;
		return 0;
	}
	s->idles |= json_string_is(name, acp_idle);
	if (json_string_is(name, acp_idle))
		return become_idle(c, s, state);
	if (works && s->turn)
		s->turn->busy = true;
	return works && !s->turn && !s->parent && !session_turn_new(c, s, NULL) ? -1 : 0;
}
