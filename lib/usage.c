/* What goes by, and what it does to sessions. */
#include <stdarg.h>
#include <stdlib.h>

#include "lib/usage_parts.h"

/* --- saying things --- */

void
usage_note(struct usage *u, struct usage_session *s, unsigned what, const char *format, ...)
{
	struct buf text = {0};
	va_list ap;

	if (s->said & what)
		return;
	s->said |= (uint16_t)what;
	if (!u->spec.note)
		return;
	va_start(ap, format);
	if (buf_vprintf(&text, format, ap) == 0 && buf_string(&text))
		u->spec.note(u->spec.arg, s, text.p);
	va_end(ap);
	buf_free(&text);
}

void
usage_malformed(struct usage *u, struct usage_session *s, const char *what)
{
	s->malformed++;
	usage_note(u, s, USAGE_SAID_WRONG, "malformed usage: %s", what);
}

void
usage_happened(struct usage *u, const struct usage_event *e)
{
	if (u->spec.event)
		u->spec.event(u->spec.arg, e);
}

/* --- answers --- */

/* The rows of a report; the caller frees both. */
static int
read_rows(struct usage *u, struct usage_session *s, struct slice array, struct usage_counts **rows, uint32_t **models,
	size_t *n)
{
	struct json_iter it = {.in = array};
	struct usage_counts c;
	const char *wrong = NULL;
	struct slice model;
	void *more;

	*rows = NULL;
	*models = NULL;
	*n = 0;
	while (array.p && usage_row(&it, &model, &c, &wrong)) {
		if (!c.has)
			continue;
		usage_complete(&c);
		if ((*n & (*n + 1)) == 0 || !*rows) {
			if (!(more = realloc(*rows, 2 * (*n + 1) * sizeof(**rows))))
				return -1;
			*rows = more;
			if (!(more = realloc(*models, 2 * (*n + 1) * sizeof(**models))))
				return -1;
			*models = more;
		}
		(*rows)[*n] = c;
		(*models)[(*n)++] = usage_intern_string(u, model);
	}
	if (wrong && s)
		usage_malformed(u, s, wrong);
	return 0;
}

static void
turn_of(struct usage *u, uint64_t t, const struct usage_report *r, struct usage_turn *turn)
{
	*turn = (struct usage_turn){.began = r->asked, .ended = t, .answer = r->counts, .failed = r->failed};
	usage_complete(&turn->answer);
	turn->stop = r->failed ? usage_intern(u, slice_of("error")) : usage_intern_string(u, r->stop);
	turn->heard = r->counts.has || r->rows.p;
	turn->wrong = r->wrong != NULL;
}

struct usage_loose *
usage_loose_new(struct usage *u, const struct usage_turn *turn, struct slice id)
{
	struct usage_loose *l = calloc(1, sizeof(*l) + id.n);

	if (!l)
		return NULL;
	l->turn = *turn;
	l->id_length = id.n;
	if (id.n)
		memcpy(l->id, id.p, id.n);
	*u->loose_end = l;
	u->loose_end = &l->next;
	return l;
}

int
usage_unknown_answer(struct usage *u, const struct usage_turn *turn, struct usage_session **s)
{
	*s = NULL;
	if (turn->failed)
		return 0;
	*s = HASH_COUNT(u->sessions) == 1 ? u->sessions : usage_session_get(u, slice_of(""));
	return *s ? 0 : -1;
}

static int
end_turn(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_turn turn;
	struct usage_counts *rows;
	uint32_t *models;
	size_t n;
	int e;

	turn_of(u, t, r, &turn);
	e = usage_answer(u, s, &turn);
	if (e == 0)
		e = read_rows(u, s, r->rows, &rows, &models, &n);
	else
		return e;
	if (e == 0)
		e = usage_take_rows(u, s, rows, models, n);
	free(rows);
	free(models);
	return e;
}

static int
take_answer(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r, struct slice id)
{
	struct usage_loose *l;
	struct usage_turn turn;

	if (!s) {
		turn_of(u, t, r, &turn);
		if (u->spec.partial && !u->begun) {
			l = usage_loose_new(u, &turn, id);
			return l ? read_rows(u, NULL, r->rows, &l->rows, &l->models, &l->nrows) : -1;
		}
		if (usage_unknown_answer(u, &turn, &s) < 0)
			return -1;
		if (!s)
			return 0;
	}
	/* The same turn at the next hop. */
	if (r->enveloped && s->turn.prompted && !s->turn.enveloped)
		return 0;
	if (r->accepted && !r->stop.p && !r->counts.has) {
		s->v2 = s->busy = true;
		return 0;
	}
	return end_turn(u, s, t, r);
}

static int
take_prompt(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	if (r->enveloped && s->turn.prompted && !s->turn.answered && !s->turn.enveloped)
		return 0;
	if (s->turn.prompted && !s->turn.answered)
		return 0;
	if (s->turn.answered && usage_judge(u, s) < 0)
		return -1;
	if (s->head && !s->head->prompted) {
		s->head->before = s->turn;
		s->head->before.cost = (struct decimal){0};
		s->head->prompted = true;
	}
	if (usage_begin_turn(s, t, true) < 0)
		return -1;
	s->turn.enveloped = r->enveloped;
	return 0;
}

static uint32_t
hash(uint32_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n-- > 0)
		h = (h ^ *p++) * 16777619u;
	return h;
}

/* v2: idle ends what was busy; the same idle again is the same end. */
static int
take_state(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_report ended = *r;
	uint32_t h;

	s->v2 = true;
	if (!r->idle) {
		s->busy = true;
		return 0;
	}
	h = hash(2166136261u, r->counts.n, sizeof(r->counts.n));
	h = hash(h, r->stop.p, r->stop.n);
	if (!s->busy && !(s->turn.prompted && !s->turn.answered) && (!r->counts.has || h == s->idle))
		return 0;
	s->busy = false;
	s->idle = h;
	ended.asked = s->turn.prompted ? s->turn.began : t;
	return end_turn(u, s, t, &ended);
}

static void
take_call(struct usage_session *s, const struct usage_counts *call)
{
	struct usage_counts *sum = &s->turn.calls;
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if ((call->has & 1u << i) && __builtin_add_overflow(sum->n[i], call->n[i], &sum->n[i]))
			sum->n[i] = UINT64_MAX;
	sum->has |= call->has;
	s->turn.ncalls++;
	s->turn.last_call = usage_total_of(call);
	s->turn.heard = true;
}

static int
take_update(struct usage *u, struct usage_session *s, uint64_t t, const struct usage_report *r)
{
	struct usage_event e = {.kind = USAGE_EVENT_UPDATE, .session = s, .t = t, .turn = &s->turn};
	bool state = r->has_used || r->amount.p || r->cost_null;
	uint32_t model = r->model.p ? usage_intern_string(u, r->model) : s->model;
	int cost = usage_take_cost(u, s, r);

	if (cost < 0)
		return -1;
	e.changed = cost > 0 || model != s->model;
	s->model = model;
	if (r->call.has)
		take_call(s, &r->call);
	if (r->has_used) {
		e.changed |= !s->has_used || s->used != r->used || s->has_size != r->has_size
			|| (r->has_size && s->size != r->size);
		s->turn.updates += !s->has_used || s->used != r->used;
		s->turn.heard = true;
		s->used = r->used;
		s->has_used = true;
		s->has_size = r->has_size;
		s->size = r->size;
		if (!s->has_peak || s->used >= s->peak) {
			s->has_peak = true;
			s->peak = s->used;
			s->peak_size = s->has_size ? s->size : 0;
		}
		if (s->has_size && s->used > s->size)
			usage_note(u, s, USAGE_SAID_OVER, "used (%llu) is greater than size (%llu)",
				(unsigned long long)s->used, (unsigned long long)s->size);
	}
	if (r->differs)
		usage_note(u, s, USAGE_SAID_DIFFERS, "%s does not fit used and size", r->differs);
	s->turn.heard |= r->amount.p != NULL;
	if (state)
		usage_happened(u, &e);
	return 0;
}

/* --- what goes by --- */

int
usage_take(struct usage *u, uint64_t t, const struct usage_report *r, struct slice id)
{
	struct usage_session *s = NULL;

	if (!u->heard) {
		u->heard = true;
		u->first_t = t;
	}
	if (r->what == USAGE_HELLO) {
		uint32_t name = usage_intern_string(u, r->name);

		u->agent = usage_agent(u, name, usage_intern_string(u, r->version), r->v2);
		u->greeted = true;
		return 0;
	}
	if (r->session.p) {
		s = usage_session_get(u, usage_plain(u, r->session));
		if (!s)
			return -1;
		if (!s->active)
			s->first_t = t;
		s->last_t = t;
		s->active = t ? t : 1;
		if (!s->agent)
			s->agent = u->agent;
		if (r->wrong)
			usage_malformed(u, s, r->wrong);
	}
	switch (r->what) {
	case USAGE_PROMPT:
		return take_prompt(u, s, t, r);
	case USAGE_LOAD:
		s->loaded = true;
		return 0;
	case USAGE_UPDATE:
		return take_update(u, s, t, r);
	case USAGE_STATE:
		if (r->call.has)
			take_call(s, &r->call);
		return take_state(u, s, t, r);
	case USAGE_ANSWER:
		return take_answer(u, s, t, r, id);
	default:
		return 0;
	}
}

int
usage_see(struct usage *u, const struct seen *s)
{
	struct usage_report r;

	return usage_read(s, &r) ? usage_take(u, s->t, &r, s->msg.id) : 0;
}

void
usage_begin(struct usage *u)
{
	u->begun = true;
	u->agent = 0;
}

int
usage_quiet(struct usage *u, uint64_t since, uint64_t *next)
{
	struct usage_session *s, *after;

	*next = 0;
	for (s = u->waiting; s; s = after) {
		after = s->answered_before;
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
	struct usage_session *s;

	while (u->waiting)
		if (usage_judge(u, u->waiting) < 0)
			return -1;
	for (s = u->sessions; s; s = s->hh.next)
		usage_tell_basis(u, s, true);
	return 0;
}
