/* How messages and events change the sessions. */
#include "lib/usage/usage_parts.h"

/* --- sessions of this recording --- */

/* Finds the session, or makes it, with a part for this recording. NULL when out of memory. */
static struct usage_session *
session_in_recording(struct usage *u, struct slice id, uint64_t t)
{
	struct usage_session *s = usage_session_get(u, id);

	if (!s)
		return NULL;
	s->active = t ? t : 1;
	if (s->now)
		return s;
	if (!usage_part_new(u, s, u->started))
		return NULL;
	s->origin = u->spec.whole && !s->parts->next ? USAGE_FRESH : USAGE_UNKNOWN;
	s->next_in_recording = u->in_recording;
	u->in_recording = s;
	return s;
}

/* Ends all that is open: turns in the order of their responses, then the sessions. 0, or -1 out of memory. */
static int
end_connection(struct usage *u)
{
	struct usage_session *s;
	int r = 0;

	while (u->waiting)
		r |= usage_judge(u, u->waiting);
	while ((s = u->in_recording)) {
		u->in_recording = s->next_in_recording;
		r |= usage_close(u, s);
	}
	u->agent = 0;
	u->restarted = u->begun = u->v2 = false;
	return r;
}

int
usage_begin(struct usage *u, double started)
{
	int r;

	if (u->stream)
		sessions_begin(u->stream);
	r = end_connection(u);
	u->started = started;
	u->nparts = 0;
	return u->failed ? -1 : r;
}

int
usage_restart(struct usage *u)
{
	int r = 0;

	while (u->waiting)
		r |= usage_judge(u, u->waiting);
	u->restarted = true;
	for (struct usage_session *s = u->in_recording; s; s = s->next_in_recording) {
		s->worked = s->turn.state >= USAGE_WORKS && s->turn.state <= USAGE_ABANDONED;
		r |= usage_part_after_restart(u, s);
	}
	return r;
}

/* --- what messages mean --- */

static void
child_ran(const struct usage_session *child)
{
	for (struct usage_session *up = child->parent; up; up = up->parent)
		up->turn.child_ran = true;
}

static int
begin_turn(struct usage *u, struct usage_session *s, const struct session_event *e)
{
	s->worked = true;
	u->begun |= e->turn->prompted;
	/* A turn without a prompt owns what was reported since the last turn. */
	if (usage_finish(u, s) < 0 || (e->turn->prompted && usage_begin_turn(u, s, e->turn->asked) < 0))
		return -1;
	s->turn.state = USAGE_RUNS;
	if (e->turn->prompted && !(e->message && e->message->message.msg.kind == MSG_REQUEST))
		s->turn.cost = USAGE_PERHAPS_BEFORE;
	return 0;
}

static int
end_turn(struct usage *u, struct usage_session *s, const struct session_event *e)
{
	const struct session_turn *t = e->turn;
	struct usage_report r;

	if (t->joined)
		return 0;
	if (t->unfinished) {
		s->turn.state = t->number ? USAGE_ABANDONED : s->turn.state;
		return 0;
	}
	usage_read(&e->message->message, &r);
	r.failed = t->failed;
	r.stop = t->stop;
	if (usage_end_turn(u, s, t->asked, e->t, &r) < 0)
		return -1;
	if (t->number)
		return 0;
	/* The prompt got its response while it waited, so the turn for which it waited goes on. */
	if (usage_judge(u, s) < 0)
		return -1;
	s->turn.state = USAGE_RUNS;
	s->turn.cost = USAGE_PERHAPS_BEFORE;
	return 0;
}

/*
 * Takes a state of version 2. A sub-agent has no turns: its work ends when it becomes idle. Idle states repeat, and each completion
 * counts once. The first idle state, if no work was seen before, belongs to work before the stream.
 */
static int
add_state(struct usage *u, struct usage_session *s, const struct session_event *e)
{
	bool idle = json_string_is(json_get_string(e->state, acp_state), acp_idle), replayed = session_is_replayed(e->session), ends;
	struct usage_report r;
	uint32_t h;

	u->v2 |= json_string_is(e->message->kind, acp_state_update);
	if (!idle) {
		s->worked |= !replayed;
		if (usage_finish(u, s) < 0)
			return -1;
		if (e->session->parent && s->turn.state != USAGE_RUNS)
			s->turn.state = replayed ? USAGE_NO_TURN : USAGE_WORKS;
		return 0;
	}
	if (!e->session->parent || e->session->turn)
		return 0;
	usage_read(&e->message->message, &r);
	h = (uint32_t)slice_hash(slice_hash(0, slice((const char *)r.counts.n, sizeof(r.counts.n))), r.stop) | 1;
	ends = !replayed && (s->turn.state == USAGE_WORKS || (r.counts.has && s->idle && h != s->idle));
	if (ends || !s->idle || replayed)
		s->idle = h;
	if (s->turn.state == USAGE_WORKS)
		s->turn.state = USAGE_NO_TURN;
	if (!ends)
		return 0;
	if (usage_end_turn(u, s, e->t, e->t, &r) < 0)
		return -1;
	s->turn.state = USAGE_WORK_ENDED;
	return 0;
}

/* Ends the turn before a session's history, which has no late updates for it. 0, or -1 out of memory. */
static int
begin_history(struct usage *u, struct usage_session *s)
{
	if (usage_finish(u, s) < 0 || (s->turn.state != USAGE_RUNS && usage_begin_turn(u, s, 0) < 0))
		return -1;
	s->origin = USAGE_LOADED;
	s->idle = 0;
	return 0;
}

static int
handle_event(struct usage *u, const struct session_event *e)
{
	struct usage_session *s;

	switch (e->kind) {
	case SESSION_CONNECTED:
		u->begun = e->message && e->message->message.msg.kind == MSG_REQUEST;
		return 0;
	case SESSION_DISCONNECTED:
		return end_connection(u);
	case SESSION_RESTARTED:
		return usage_restart(u);
	case SESSION_TURN_QUEUED:
	case SESSION_TURN_BEGAN:
	case SESSION_TURN_ENDED:
	case SESSION_STATE:
	case SESSION_HISTORY_BEGAN:
		if (!(s = session_in_recording(u, slice(e->session->id, e->session->n), e->t)))
			return -1;
		break;
	default:
		return 0;
	}
	switch (e->kind) {
	case SESSION_TURN_BEGAN:
		return begin_turn(u, s, e);
	case SESSION_TURN_ENDED:
		return end_turn(u, s, e);
	case SESSION_STATE:
		return add_state(u, s, e);
	case SESSION_HISTORY_BEGAN:
		return begin_history(u, s);
	default:
		s->worked = true;
		return 0;
	}
}

void
usage_happened(void *arg, const struct session_event *e)
{
	struct usage *u = arg;

	u->failed |= handle_event(u, e) < 0;
}

/* --- what reports do --- */

/* Takes the response to a prompt from before the stream: for the only session, or else for a session without a name. */
static int
add_response(struct usage *u, uint64_t t, const struct usage_report *r)
{
	struct usage_session *only = NULL;
	unsigned n = 0;

	if (u->begun || r->failed)
		return 0;
	for (struct usage_session *s = u->in_recording; s; s = s->next_in_recording) {
		only = s->parent ? only : s;
		n += !s->parent;
	}
	only = session_in_recording(u, n == 1 ? slice(only->id, only->id_length) : slice_of(""), t);
	return only ? usage_end_turn(u, only, 0, t, r) : -1;
}

static void
name_session(struct usage *u, struct usage_session *s, const struct usage_report *r)
{
	if (r->title.p)
		s->title = s->now->title = usage_intern_string(u, USAGE_TITLE, r->title);
	if (r->cwd.p)
		s->cwd = s->now->cwd = usage_intern_string(u, USAGE_CWD, r->cwd);
	if (r->model.p)
		s->model = s->now->model = usage_intern_string(u, USAGE_MODEL, r->model);
}

static int
add_child(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_session *child = session_in_recording(u, usage_plain(u, r->child), t);
	bool adopted = child && !child->parent;

	if (!child)
		return -1;
	if (!usage_adopt(s, child))
		return 0;
	if (adopted && child->parts == child->now)
		child->origin = USAGE_FRESH;
	name_session(u, child, r);
	child->worked = true;
	child_ran(child);
	return 0;
}

static int
add_call(struct usage_session *s, const struct usage_report *r)
{
	struct usage_turn *t = &s->turn;
	struct usage_sums **sums;

	/* Calls in a history were counted when they happened. */
	if (r->replayed)
		return 0;
	s->now->inside |= usage_inclusion(&r->call);
	sums = r->sub_agent ? &t->sub_agents : &t->calls;
	if (!*sums && !(*sums = calloc(1, sizeof(**sums))))
		return -1;
	usage_sums_count(*sums, &r->call);
	if (r->sub_agent)
		return 0;
	t->ncalls++;
	t->last_call = usage_total_of(&r->call);
	return 0;
}

static void
add_context(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_part *p = s->now;

	s->used = r->used;
	s->size = r->size;
	s->has_used = true;
	p->has_context = true;
	p->context = r->used;
	if (!u->spec.period || u->spec.period(u->spec.arg, p->started, t) != USAGE_NEVER) {
		p->used = r->used;
		p->size = r->size;
		p->has_used = true;
		p->peak = r->used > p->peak ? r->used : p->peak;
	}
	if (r->size && r->used > r->size)
		usage_note(u, s, USAGE_NOTE_OVER, false, "used (%llu) is greater than size (%llu)", (unsigned long long)r->used,
			(unsigned long long)r->size);
}

/* Counts work without a prompt as incomplete, for in version 1 only its cost is reported. */
static void
add_own_work(struct usage *u, struct usage_session *s)
{
	struct usage_tally *t;

	if (u->v2)
		return;
	t = usage_tally_of(s->now, s->now->model, u->spec.period ? u->spec.period(u->spec.arg, s->now->started, s->active) : 0, 0);
	if (t)
		t->billed_lower = true;
	usage_note(u, s, USAGE_NOTE_CHILDREN, true, "work in the background: its cost is reported, its tokens are not");
}

static int
add_update(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_event e = {.kind = USAGE_EVENT_UPDATE, .session = s, .t = t, .turn = &s->turn};
	uint32_t model = s->model;
	int cost;

	s->worked |= r->unprompted;
	cost = usage_add_cost(u, s, t, r);
	if (cost < 0 || (r->call.has && add_call(s, r) < 0))
		return -1;
	name_session(u, s, r);
	e.changed = cost > 0;
	if (r->has_used) {
		e.changed |= !s->has_used || s->used != r->used || s->size != r->size;
		add_context(u, s, t, r);
	}
	if (e.changed && !r->replayed)
		s->turn.updates = USAGE_SPENT;
	else if ((r->has_used || r->amount.p) && !s->turn.updates)
		s->turn.updates = USAGE_REPEATED;
	child_ran(s);
	if (r->differs)
		usage_note(u, s, USAGE_NOTE_DIFFERS, false, "%s contradicts used and size", r->differs);
	s->turn.cost = r->amount.p ? USAGE_OWN_COST : s->turn.cost;
	e.changed |= model != s->model;
	if (r->unprompted && cost > 0)
		add_own_work(u, s);
	if (r->has_used || r->amount.p || r->cost_null)
		usage_emit(u, &e);
	return 0;
}

int
usage_add(struct usage *u, uint64_t t, const struct usage_report *r)
{
	struct usage_event e = {.kind = USAGE_EVENT_COMPACT, .t = t};
	struct usage_session *s = NULL;

	if (r->what == USAGE_HELLO) {
		u->v2 |= r->v2;
		if (r->name.p)
			u->agent = usage_agent(u, usage_intern_string(u, USAGE_WORD, r->name), usage_intern_string(u, USAGE_WORD, r->version));
		return 0;
	}
	if (r->session.p) {
		s = session_in_recording(u, usage_plain(u, r->session), t);
		if (!s)
			return -1;
		if (r->wrong)
			usage_note_malformed(u, s, r->wrong);
	}
	switch (r->what) {
	case USAGE_OPENED:
		s->origin = r->fresh ? USAGE_FRESH : s->origin;
		name_session(u, s, r);
		return 0;
	case USAGE_UPDATE:
		return add_update(u, s, t, r);
	case USAGE_STATE:
		return r->call.has ? add_call(s, r) : 0;
	case USAGE_CHILD:
		return add_child(u, s, t, r);
	case USAGE_COMPACT:
		e.session = s;
		e.turn = &s->turn;
		e.status = usage_intern_string(u, USAGE_WORD, r->stop);
		usage_emit(u, &e);
		return 0;
	case USAGE_RESPONSE:
		return s ? 0 : add_response(u, t, r);
	default:
		return 0;
	}
}

/* --- messages --- */

/* Reads a message. False if it says nothing about usage. */
static bool
read_message(const struct session_message *seen, struct usage_report *r)
{
	if (!usage_read(&seen->message, r) || (seen->copy && r->what != USAGE_HELLO && r->what != USAGE_UPDATE))
		return false;
	/* A copy at another hop reports the context and cost again, which does no harm; its call must count only once. */
	if (seen->copy)
		r->call.has = 0;
	r->replayed = seen->session && session_is_replayed(seen->session);
	return true;
}

int
usage_message(struct usage *u, const struct session_message *seen)
{
	struct usage_report r;

	return u->failed ? -1 : read_message(seen, &r) ? usage_add(u, seen->message.t, &r) : 0;
}

int
usage_see(struct usage *u, const struct message *m, int (*report)(void *, const struct message *, const struct usage_report *), void *arg)
{
	/* Tool calls have no usage, so the fold keeps as few as possible. */
	static const struct session_limits limits = {.sessions = 64 * 1024, .bytes = 8 * 1024 * 1024, .calls = 1};
	const struct session_message *seen;
	struct usage_report r;

	if (!u->stream && !(u->stream = sessions_new(usage_happened, u, &limits)))
		return -1;
	u->ended.session = NULL;
	if (sessions_see(u->stream, m, &seen) < 0 || u->failed)
		return -1;
	if (!seen || !read_message(seen, &r))
		return 0;
	return report ? report(arg, &seen->message, &r) : usage_add(u, seen->message.t, &r);
}

/* --- time --- */

int
usage_quiet(struct usage *u, uint64_t since, uint64_t *next)
{
	struct usage_session *after;

	*next = 0;
	for (struct usage_session *s = u->waiting; s; s = after) {
		after = s->waits_after;
		if (s->active <= since) {
			if (usage_judge(u, s) < 0)
				return -1;
		} else if (*next == 0 || s->active < *next) {
			*next = s->active;
		}
	}
	return 0;
}

int
usage_end(struct usage *u)
{
	return usage_begin(u, 0);
}
