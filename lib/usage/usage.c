/* What goes by, and what it does to sessions. */
#include "lib/usage/usage_parts.h"

/* --- sessions of this recording --- */

/* The session with a part for this recording. NULL when out of memory. */
static struct usage_session *
here(struct usage *u, struct slice id, uint64_t t)
{
	struct usage_session *s = usage_session_get(u, id);

	if (!s)
		return NULL;
	s->active = t ? t : 1;
	if (s->now)
		return s;
	if (!usage_part_new(u, s, u->started))
		return NULL;
	s->fresh = u->spec.whole && !s->parts->next;
	s->next_here = u->here;
	u->here = s;
	return s;
}

/* For a response whose prompt is not known: the only session there is, or the one without a name. NULL when out of memory. */
static struct usage_session *
only_session(struct usage *u, uint64_t t)
{
	struct usage_session *s, *only = NULL;

	for (s = u->here; s; s = s->next_here) {
		if (s->parent)
			continue;
		if (only)
			return here(u, slice_of(""), t);
		only = s;
	}
	return here(u, only ? slice(only->id, only->id_length) : slice_of(""), t);
}

static void
forget_open(struct usage *u)
{
	struct request *r;

	while ((r = requests_next(u->open, NULL))) {
		requests_take(u->open, r);
		requests_done(r);
	}
	u->expected = 0;
}

int
usage_begin(struct usage *u, double started)
{
	struct usage_session *s;
	int r = 0;

	/* In the order of their responses. */
	while (u->waiting)
		r |= usage_judge(u, u->waiting);
	while ((s = u->here)) {
		u->here = s->next_here;
		r |= usage_close(u, s);
	}
	forget_open(u);
	u->agent = 0;
	u->started = started;
	return r;
}

/* --- what reports do --- */

static int
take_connect(struct usage *u, const struct usage_report *r)
{
	if (r->what == USAGE_CONNECT) {
		if (u->here && usage_begin(u, u->started) < 0)
			return -1;
		forget_open(u);
		u->agent = 0;
	}
	if (r->name.p || r->v2)
		u->agent = usage_agent(u, usage_intern_string(u, r->name), usage_intern_string(u, r->version), r->v2);
	return 0;
}

static int
take_answer(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	if (!s && r->failed)
		return 0;
	if (!s && !(s = only_session(u, t)))
		return -1;
	/* The same turn at the next hop. */
	if (r->enveloped && s->turn.prompted && !s->turn.enveloped)
		return 0;
	if (!r->failed && !r->stop.p && !r->counts.has && !r->rows.p)
		return 0;
	return usage_answer(u, s, t, r);
}

static int
take_prompt(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	if (r->enveloped && s->turn.prompted && !s->turn.answered && !s->turn.enveloped)
		return 0;
	s->loading = false;
	s->waiting_prompts++;
	if (s->turn.prompted && !s->turn.answered)
		return 0;
	if (usage_finish(u, s) < 0 || usage_begin_turn(u, s, t, true) < 0)
		return -1;
	s->turn.enveloped = r->enveloped;
	return 0;
}

/* No turn goes on over it; one that was answered before has no history after it. */
static int
take_load(struct usage *u, struct usage_session *s, uint64_t t)
{
	if (usage_finish(u, s) < 0 || usage_begin_turn(u, s, t, false) < 0)
		return -1;
	s->loaded = s->loading = true;
	s->fresh = s->busy = false;
	s->idle = s->waiting_prompts = 0;
	return 0;
}

static void
name_session(struct usage *u, struct usage_session *s, const struct usage_report *r)
{
	if (r->title.p)
		s->title = s->now->title = usage_intern_string(u, r->title);
	if (r->cwd.p)
		s->cwd = s->now->cwd = usage_intern_string(u, r->cwd);
	if (r->model.p)
		s->model = s->now->model = usage_intern_string(u, r->model);
}

static uint32_t
hash(uint32_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n-- > 0)
		h = (h ^ *p++) * 16777619u;
	return h;
}

/* The same for the same idle state; never 0. */
static uint32_t
hash_of(const struct usage_report *r)
{
	uint32_t h = hash(2166136261u, r->counts.n, sizeof(r->counts.n));

	h = hash(h, r->stop.p, r->stop.n);
	return h ? h : 1;
}

/*
 * Version 2's states: a turn ends when its session becomes idle. Idle snapshots repeat, and one completion is counted once;
 * the first one without any work before it is of what was before.
 */
static int
take_state(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *original)
{
	bool prompted = s->turn.prompted && !s->turn.answered, ends;
	struct usage_report r = *original;

	s->v2 = true;
	if (!r.idle) {
		s->busy |= !s->loading;
		return usage_finish(u, s);
	}
	ends = !s->loading && (s->busy || prompted || (r.counts.has && s->idle && hash_of(&r) != s->idle));
	if (ends || !s->idle || s->loading)
		s->idle = hash_of(&r);
	s->busy = false;
	r.asked = prompted ? s->turn.began : t;
	/* Only a failed prompt has a response that ends its turn: this ends all that the session had to do. */
	if (ends)
		s->waiting_prompts = 0;
	return ends ? usage_answer(u, s, t, &r) : 0;
}

static int
take_child(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_session *child, *up;

	child = here(u, usage_plain(u, r->child), t);
	if (!child)
		return -1;
	for (up = s; up && up != child; up = up->parent)
		;
	if (up)
		return 0;
	if (!child->parent) {
		usage_adopt(s, child);
		child->fresh = child->parts == child->now;
	}
	name_session(u, child, r);
	return r->has_state ? take_state(u, child, t, r) : 0;
}

static int
take_call(struct usage_session *s, const struct usage_report *r)
{
	struct usage_turn *t = &s->turn;

	/* What is replayed was counted when it happened. */
	if (s->loading)
		return 0;
	t->heard = true;
	s->now->inside |= usage_inclusion(&r->call);
	if (r->sub_agent) {
		if (!t->sub_agents && !(t->sub_agents = calloc(1, sizeof(*t->sub_agents))))
			return -1;
		usage_sums_count(t->sub_agents, &r->call);
		return 0;
	}
	usage_sums_count(&t->calls, &r->call);
	t->ncalls++;
	t->last_call = usage_total_of(&r->call);
	return 0;
}

static void
take_context(struct usage *u, struct usage_session *s, const struct usage_report *r)
{
	struct usage_part *p = s->now;

	s->turn.heard = true;
	s->used = p->used = r->used;
	s->size = p->size = r->size;
	s->has_used = p->has_used = true;
	s->has_size = p->has_size = r->has_size;
	if (r->used >= p->peak) {
		p->peak = r->used;
		p->peak_size = r->has_size ? r->size : 0;
	}
	if (r->has_size && r->used > r->size)
		usage_note(u, s, USAGE_NOTE_OVER, false, "used (%llu) is greater than size (%llu)", (unsigned long long)r->used,
			(unsigned long long)r->size);
}

/* Work that no prompt asked for, in version 1: only its cost is reported. */
static void
take_own_work(struct usage *u, struct usage_session *s)
{
	struct usage_tally *t;

	if (s->v2 || u->agents[s->now->agent].v2)
		return;
	t = usage_tally_of(s->now, s->model, u->spec.period ? u->spec.period(u->spec.arg, s->now->started, s->active) : 0, 0);
	if (t)
		t->billed_lower = true;
	usage_note(u, s, USAGE_NOTE_CHILDREN, true, "work in the background: its cost is reported, its tokens are not");
}

static int
take_update(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_event e = {.kind = USAGE_EVENT_UPDATE, .session = s, .t = t, .turn = &s->turn};
	uint32_t model = s->model;
	int cost = usage_take_cost(u, s, t, r);

	if (cost < 0 || (r->call.has && take_call(s, r) < 0))
		return -1;
	name_session(u, s, r);
	e.changed = cost > 0 || model != s->model;
	if (r->has_used) {
		e.changed |= !s->has_used || s->used != r->used || s->has_size != r->has_size || (r->has_size && s->size != r->size);
		take_context(u, s, r);
	}
	if (r->differs)
		usage_note(u, s, USAGE_NOTE_DIFFERS, false, "%s contradicts used and size", r->differs);
	s->turn.heard |= r->amount.p != NULL;
	s->turn.cost_heard |= r->amount.p != NULL;
	if (r->unprompted && cost > 0)
		take_own_work(u, s);
	if (r->has_used || r->amount.p || r->cost_null)
		usage_emit(u, &e);
	return 0;
}

int
usage_take(struct usage *u, uint64_t t, const struct usage_report *r)
{
	struct usage_event e = {.kind = USAGE_EVENT_COMPACT, .t = t};
	struct usage_session *s = NULL;

	if (r->what == USAGE_CONNECT || r->what == USAGE_HELLO)
		return take_connect(u, r);
	if (r->session.p) {
		s = here(u, usage_plain(u, r->session), t);
		if (!s)
			return -1;
		if (r->wrong)
			usage_note_malformed(u, s, r->wrong);
	}
	switch (r->what) {
	case USAGE_PROMPT:
		return take_prompt(u, s, t, r);
	case USAGE_LOAD:
		return take_load(u, s, t);
	case USAGE_OPENED:
		s->loading = false;
		s->fresh |= r->fresh && !s->parts->next;
		name_session(u, s, r);
		return 0;
	case USAGE_UPDATE:
		return take_update(u, s, t, r);
	case USAGE_STATE:
		if (r->call.has && take_call(s, r) < 0)
			return -1;
		return take_state(u, s, t, r);
	case USAGE_CHILD:
		return take_child(u, s, t, r);
	case USAGE_COMPACT:
		e.session = s;
		e.turn = &s->turn;
		e.status = usage_intern_string(u, r->stop);
		usage_emit(u, &e);
		return 0;
	case USAGE_ANSWER:
		return take_answer(u, s, t, r);
	default:
		return 0;
	}
}

/* --- messages and their requests --- */

static void
close_request(struct usage *u, struct request *r)
{
	requests_take(u->open, r);
	u->expected -= usage_opens(r->what);
}

/* Only requests whose responses are read: of all others nobody can say in a recording when they are open. */
static int
open_request(struct usage *u, const struct message *s)
{
	bool opens = usage_opens(s->msg.what);
	struct request *r;

	if (!opens && s->msg.what != ACP_SESSION_PROMPT && s->msg.what != ACP_INITIALIZE && s->msg.what != ACP_PROXY_INITIALIZE)
		return 0;
	/* Who uses an id anew does not wait for the old one. */
	r = requests_find(u->open, s->from, s->msg.id);
	if (!r && requests_count(u->open) >= REQUESTS_ONE_WAY)
		r = requests_next(u->open, NULL);
	if (r) {
		close_request(u, r);
		requests_done(r);
	}
	if (!requests_open(u->open, s->from, s->t, &s->msg))
		return -1;
	u->expected += opens;
	return 0;
}

int
usage_see(struct usage *u, const struct message *original, int (*take)(void *, const struct message *, const struct usage_report *),
	void *arg)
{
	struct request *asked = NULL;
	struct message s = *original;
	struct usage_report r;
	struct msg inner;
	const char *why;
	bool read;
	int e = 0;

	if (s.msg.kind != MSG_RESPONSE && s.msg.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&s.msg, &inner, NULL, &why) == 0)
		s.msg = inner;
	if (s.msg.kind == MSG_RESPONSE && !(s.msg.error.p && msg_null_id(&s.msg)))
		asked = requests_find(u->open, acp_other_side(s.from), s.msg.id);
	else if (s.msg.kind != MSG_RESPONSE && s.from == ACP_UNKNOWN)
		s.from = acp_sender(s.msg.method);
	s.request = asked;
	read = usage_read(&s, &r);
	/* Where nobody knows who sent it, it may respond to another request of that id: then it has nothing of a turn. */
	if (asked && asked->what == ACP_SESSION_PROMPT && !(r.failed || r.stop.p || r.counts.has || r.rows.p || r.accepted))
		return 0;
	if (asked)
		close_request(u, asked);
	if (read)
		e = take ? take(arg, &s, &r) : usage_take(u, s.t, &r);
	if (asked)
		requests_done(asked);
	return e < 0 || s.msg.kind != MSG_REQUEST ? e : open_request(u, &s);
}

bool
usage_waits(const struct usage *u)
{
	return u->expected > 0;
}

bool
usage_expects(const struct usage *u, struct slice line)
{
	static const char method[] = "method";
	const char *p = line.p, *end = line.p + line.n;

	if (u->expected == 0)
		return false;
	/* What names a method is no response. */
	while ((p = memmem(p, (size_t)(end - p), method, sizeof(method) - 1))) {
		p += sizeof(method) - 1;
		if (p < end && (*p == '"' || *p == '\\'))
			return false;
	}
	return true;
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
usage_finish(struct usage *u, struct usage_session *s)
{
	return s->turn.answered ? usage_judge(u, s) : 0;
}

int
usage_end(struct usage *u)
{
	return usage_begin(u, 0);
}
