/* Turns. */
#include <stdlib.h>
#include <utlist.h>

#include "lib/span/span_parts.h"

/* Its time begins. */
static void
start(struct span *sp, struct span_turn *t)
{
	t->begin = t->at = sp->now;
	t->number = ++t->session->turns;
}

struct span_turn *
span_turn_new(struct span *sp, struct span_session *s, bool prompted)
{
	struct span_turn *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->session = s;
	t->prompted = prompted;
	t->first_update = t->first_text = SPAN_NEVER;
	LL_APPEND(s->turn, t);
	if (s->turn == t)
		start(sp, t);
	return t;
}

static void
end_silence(struct span_turn *t)
{
	t->silence = t->quiet > t->silence ? t->quiet : t->silence;
	t->quiet = 0;
}

int
span_judge(struct span *sp, struct span_session *s)
{
	struct usage_session *u = usage_find_session(sp->usage, slice(s->id, s->n));
	int r = u ? usage_finish(sp->usage, u) : 0;

	s->counted = false;
	return r;
}

static int
count(struct span *sp, struct span_turn *t)
{
	struct span_session *s = t->session;
	struct usage_session *u = usage_find_session(sp->usage, slice(s->id, s->n));

	t->usage = u;
	if (u && usage_finish(sp->usage, u) < 0)
		return -1;
	t->counted = s->counted;
	t->own = s->own;
	t->billed = s->billed;
	return span_judge(sp, s);
}

static void
forget_owner(struct span *sp, struct span_turn *t)
{
	struct request *r = NULL;
	struct span_wait *w;

	while ((r = requests_next(sp->requests, r))) {
		if (r->owner == t) {
			r->owner = NULL;
		} else if ((r->what == ACP_REQUEST_PERMISSION || r->what == ACP_ELICITATION_CREATE) && (w = r->owner) && w->turn == t) {
			w->turn = NULL;
		}
	}
}

int
span_turn_end(struct span *sp, struct span_turn *t)
{
	struct span_session *s = t->session;
	int r = 0;

	if (t == s->turn) {
		t->end = sp->now;
		span_turn_clock(t, t->end);
		end_silence(t);
		r = count(sp, t);
		span_tools_leave(sp, t);
		span_happened(sp, (struct span_event){.kind = SPAN_TURN, .begin = t->begin, .end = t->end, .turn = t});
		if (t->next)
			start(sp, t->next);
	}
	LL_DELETE(s->turn, t);
	forget_owner(sp, t);
	buf_free(&t->parent);
	free(t);
	return r;
}

static bool
is_text(const struct msg *m, struct slice kind, struct span_turn *t)
{
	struct acp_chunk c;

	if (json_string_is(kind, "agent_message"))
		return true;
	if (!acp_chunk(m->params, &c) || c.text.n <= 2 || json_string_is(kind, "user_message_chunk"))
		return false;
	t->chunks++;
	return json_string_is(kind, "agent_message_chunk");
}

int
span_turn_heard(struct span *sp, struct span_session *s, const struct msg *m, struct slice kind)
{
	struct span_turn *t = span_root(s)->turn;

	if (!t || s->loading)
		return 0;
	span_turn_clock(t, sp->now);
	end_silence(t);
	if (m->what != ACP_SESSION_UPDATE || json_type(kind) != JSON_STRING || json_string_is(kind, acp_state_update))
		return 0;
	if (t->first_update == SPAN_NEVER)
		t->first_update = sp->now - t->begin;
	if (s == t->session && is_text(m, kind, t) && t->first_text == SPAN_NEVER)
		t->first_text = sp->now - t->begin;
	return 0;
}

/* One idle state ends all turns whose prompts have been taken into the session. */
static int
end_accepted(struct span *sp, struct span_session *s, struct slice stop)
{
	struct span_turn *t;

	while ((t = s->turn) && (t->accepted || !t->prompted)) {
		t->stop = stop;
		while (t->next && t->next->accepted)
			if (span_turn_end(sp, t->next) < 0)
				return -1;
		if (span_turn_end(sp, t) < 0)
			return -1;
	}
	return 0;
}

int
span_turn_state(struct span *sp, struct span_session *s, struct slice update)
{
	struct slice state = json_get(update, acp_state);

	if (json_type(state) != JSON_STRING || s->loading)
		return 0;
	if (json_string_is(state, acp_idle)) {
		if (s->parent)
			span_tools_end(sp, s);
		return -(end_accepted(sp, s, json_get(update, acp_stop_reason)) || span_judge(sp, s));
	}
	if (s->turn || s->parent || !json_string_is(state, "running"))
		return 0;
	return span_turn_new(sp, s, false) ? 0 : -1;
}
