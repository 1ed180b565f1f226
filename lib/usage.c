/* What happens to sessions. */
#include "lib/usage.h"

#include <stdarg.h>
#include <stdlib.h>

#include "lib/usage_parts.h"

/* --- saying things --- */

static void __attribute__((format(printf, 4, 5)))
note_once(struct usage *u, struct usage_session *s, unsigned what, const char *format, ...)
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

static void
malformed(struct usage *u, struct usage_session *s, const char *what)
{
	s->malformed++;
	note_once(u, s, USAGE_SAID_WRONG, "malformed usage: %s", what);
}

static void
happened(struct usage *u, struct usage_event *e)
{
	if (u->spec.event)
		u->spec.event(u->spec.arg, e);
}

/* --- cost --- */

struct usage_cost *
usage_cost_of(struct usage_session *s, uint32_t currency)
{
	struct usage_cost **p, *c;

	for (p = &s->cost; (c = *p) && c->currency != currency; p = &c->next)
		;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->currency = currency;
	} else {
		*p = c->next;
	}
	c->next = s->cost;
	s->cost = c;
	return c;
}

/* Decimals as they are written, for people who compare. */
static uint16_t
written_places(struct slice amount)
{
	const char *point = memchr(amount.p, '.', amount.n);
	size_t n = 0;

	if (!point || memchr(amount.p, 'e', amount.n) || memchr(amount.p, 'E', amount.n))
		return 0;
	n = (size_t)(amount.p + amount.n - point - 1);
	return n > 1000 ? 1000 : (uint16_t)n;
}

/* A value came: is it a new piece? */
static int
cost_value(struct usage_session *s, struct usage_cost *c, const struct decimal *amount)
{
	if (decimal_is_zero(amount))
		return 0;
	if (!c->given) {
		c->given = true;
		return decimal_copy(amount, &c->first) < 0 ? -1 : decimal_copy(amount, &c->last);
	}
	if (decimal_compare(amount, &c->last) < 0) {
		s->restarts++;
		if (decimal_add(&c->closed, &c->last, &c->closed) < 0)
			return -1;
	}
	return decimal_copy(amount, &c->last);
}

/* Reads the cost of an update. 1 where it changed, 0 where not, -1 out of memory. */
static int
take_cost(struct usage *u, struct usage_session *s, const struct usage_report *r)
{
	struct decimal amount = {0};
	uint32_t currency, before = s->cost ? s->cost->currency : 0;
	struct usage_cost *c;
	int e;

	if (r->cost_null && (s->v2 || u->agents[s->agent].v2)) {
		e = s->cost && !s->cleared;
		s->cleared = true;
		return e;
	}
	if (!r->amount.p)
		return 0;
	e = decimal_parse(r->amount, &amount);
	if (e != 0) {
		if (e > 0)
			malformed(u, s, "an amount out of range");
		return e > 0 ? 0 : -1;
	}
	currency = usage_intern_string(u, r->currency);
	if (before && currency != before)
		note_once(u, s, USAGE_SAID_CURRENCY, "the currency changes from %s to %.*s: amounts are not added",
			usage_name(u, before).p, (int)r->currency.n - 2, r->currency.p + 1);
	c = currency ? usage_cost_of(s, currency) : NULL;
	e = -1;
	if (c) {
		e = currency != before || s->cleared || decimal_compare(&amount, &c->shown) != 0;
		s->cleared = false;
		c->places = written_places(r->amount);
		if (decimal_copy(&amount, &c->shown) < 0 || cost_value(s, c, &amount) < 0)
			e = -1;
	}
	decimal_free(&amount);
	return e;
}

/* --- models --- */

int
usage_model_add(struct usage_session *s, uint32_t name, const struct usage_sums *sums, uint32_t turns)
{
	struct usage_model **p = &s->models;

	while (*p && (*p)->name != name)
		p = &(*p)->next;
	if (!*p) {
		*p = calloc(1, sizeof(**p));
		if (!*p)
			return -1;
		(*p)->name = name;
	}
	usage_sums_add(&(*p)->sums, sums);
	(*p)->turns += turns;
	return 0;
}

/* A row without a total, and with nothing that may lie inside another: then there is one. */
static void
complete(struct usage_counts *c)
{
	const unsigned both = 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;

	if (c->has == both && !__builtin_add_overflow(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT], &c->n[USAGE_TOTAL]))
		c->has |= 1u << USAGE_TOTAL;
}

/* What came before the first rows goes to the model of that time. */
int
usage_begin_rows(struct usage *u, struct usage_session *s)
{
	struct usage_sums sums;

	usage_session_tokens(u, s, &sums);
	if (s->models || !sums.has)
		return 0;
	return usage_model_add(s, s->model, &sums, s->turns);
}

/* The rows of an answer, into the turn and the session's models. */
int
usage_take_rows(struct usage *u, struct usage_session *s, const struct usage_counts *rows, const uint32_t *models,
	size_t n)
{
	struct usage_turn *t = &s->turn;
	uint64_t main_total = usage_total_of(&t->answer);
	struct usage_sums sums;
	size_t i;

	if (n == 0)
		return 0;
	if (s->loaded && !s->had_usage && t->answer.has && usage_total_of(&rows[0]) > main_total) {
		note_once(u, s, USAGE_SAID_HISTORY,
			"the first rows after session/load hold the session's history: they are left out");
		return 0;
	}
	if (usage_begin_rows(u, s) < 0)
		return -1;
	t->rows = true;
	t->first_row = usage_total_of(&rows[0]);
	for (i = 0; i < n; i++) {
		sums = (struct usage_sums){0};
		usage_sums_count(&sums, &rows[i]);
		if (usage_model_add(s, models[i], &sums, 1) < 0)
			return -1;
		t->billed += usage_total_of(&rows[i]);
		t->billed_output += rows[i].n[USAGE_OUTPUT];
	}
	return 0;
}

/* --- turns --- */

static void
wait_for_more(struct usage *u, struct usage_session *s)
{
	if (s->waiting)
		return;
	s->waiting = true;
	s->answered_before = NULL;
	s->answered_after = u->waiting_last;
	if (u->waiting_last)
		u->waiting_last->answered_before = s;
	else
		u->waiting = s;
	u->waiting_last = s;
}

static void
wait_no_more(struct usage *u, struct usage_session *s)
{
	if (!s->waiting)
		return;
	s->waiting = false;
	if (s->answered_after)
		s->answered_after->answered_before = s->answered_before;
	else
		u->waiting = s->answered_before;
	if (s->answered_before)
		s->answered_before->answered_after = s->answered_after;
	else
		u->waiting_last = s->answered_after;
}

static int
begin_turn(struct usage_session *s, uint64_t t, bool prompted)
{
	decimal_free(&s->turn.cost);
	s->turn = (struct usage_turn){.began = t, .prompted = prompted};
	return s->cost ? usage_cost_total(s->cost, &s->turn.cost) : 0;
}

/* Things to wonder about when a turn is complete. */
static void
wonder(struct usage *u, struct usage_session *s, const struct usage_event *e)
{
	static const char cancelled[] = "cancelled";
	const struct usage_turn *t = &s->turn;
	struct usage_sums sums;

	if (t->heard)
		s->had_usage = true;
	else if (s->had_usage && !t->failed && !slice_is(usage_name(u, t->stop), cancelled))
		note_once(u, s, USAGE_SAID_SILENT, "a turn without any usage, after turns with some");
	if (!e->own.has && t->answer.has)
		note_once(u, s, USAGE_SAID_LACKS, e->basis == USAGE_LAST_CALL
			? "the counts are the last call's: what the whole turn used is not told"
			: "the counts of the first turn after session/load hold the history: what it used is not told");
	usage_session_tokens(u, s, &sums);
	if (s->turns > 1 && s->has_used && sums.over[USAGE_TOTAL] == 0 && s->used == sums.n[USAGE_TOTAL]
		&& s->used > 0 && (e->own.has & 1u << USAGE_TOTAL) && e->own.n[USAGE_TOTAL] != s->used) {
		s->lifetime = true;
		note_once(u, s, USAGE_SAID_LIFETIME,
			"used is the sum of all turns' tokens so far: billed tokens reported as context");
	}
}

/* Says once which basis is taken for the counts of an agent, and why. */
static void
tell_basis(struct usage *u, struct usage_session *s, bool at_end)
{
	const char *why;
	bool certain;
	enum usage_basis b = usage_session_basis(u, s, &why, &certain);

	if (u->spec.basis != USAGE_AUTO || !s->last.has || (s->said & USAGE_SAID_BASIS))
		return;
	if (u->agents[s->agent].basis != USAGE_AUTO || u->agents[s->agent].v2) {
		/* One line for each agent, not for each of its sessions. */
		if (!(u->agents[s->agent].told))
			note_once(u, s, USAGE_SAID_BASIS, "basis %s: %s", usage_basis_name(b), why);
		u->agents[s->agent].told = true;
		s->said |= USAGE_SAID_BASIS;
	} else if (!certain) {
		if (at_end)
			note_once(u, s, USAGE_SAID_BASIS,
				"basis can not be known from the numbers: %s is assumed (--basis says it)", usage_basis_name(b));
	} else if (s->evidence & ~(unsigned)EVIDENCE_MANY) {
		note_once(u, s, USAGE_SAID_BASIS, "basis %s: %s", usage_basis_name(b), why);
	}
}

/* What a judged turn's counts add to the sums. */
static int
add_turn(struct usage_session *s, const struct usage_counts *own)
{
	struct usage_turn *t = &s->turn;
	struct usage_counts c;
	struct usage_sums sums = {0};

	s->turns++;
	s->uncalled |= t->answer.has && t->ncalls == 0;
	usage_sums_count(&s->by_turn, t->answer.has ? &t->answer : &t->calls);
	usage_sums_count(&s->by_call, &t->calls);
	if (usage_own(s, t, USAGE_SESSION, &c))
		usage_sums_count(&s->by_session, &c);
	if (t->answer.has) {
		s->last = t->answer;
		s->by_session.parts |= usage_parts(&t->answer);
	}
	if (!s->models || t->rows || !own->has)
		return 0;
	usage_sums_count(&sums, own);
	return usage_model_add(s, s->model, &sums, 1);
}

int
usage_judge(struct usage *u, struct usage_session *s)
{
	struct usage_event e = {.kind = USAGE_EVENT_TURN, .session = s, .t = s->turn.ended, .turn = &s->turn};
	struct usage_turn *t = &s->turn;
	struct decimal now = {0};
	int r = 0;

	wait_no_more(u, s);
	if (s->head && !s->head->judged && t->answer.has) {
		s->head->judged = true;
		s->head->loaded = s->loaded;
		s->head->first = *t;
		s->head->first.cost = (struct decimal){0};
		s->head->first_used = s->used;
		s->head->first_has_used = s->has_used;
	}
	s->evidence |= usage_evidence(&s->last, t, s->used, s->has_used);
	e.basis = usage_session_basis(u, s, NULL, NULL);
	usage_own(s, t, e.basis, &e.own);
	e.has_billed = t->rows || (e.own.has & 1u << USAGE_TOTAL);
	e.billed = t->rows ? t->billed : e.own.n[USAGE_TOTAL];
	e.billed_output = t->rows ? t->billed_output : e.own.n[USAGE_OUTPUT];
	if (s->cost) {
		e.has_cost = true;
		r = usage_cost_total(s->cost, &now) < 0 || decimal_subtract(&now, &t->cost, &e.cost) < 0 ? -1 : 0;
	}
	if (r == 0)
		r = add_turn(s, &e.own);
	if (r == 0) {
		tell_basis(u, s, false);
		wonder(u, s, &e);
		happened(u, &e);
		r = begin_turn(s, t->ended, false);
	}
	decimal_free(&now);
	decimal_free(&e.cost);
	return r;
}

/* An answer came: the turn has ended, but for updates that come late. */
int
usage_answer(struct usage *u, struct usage_session *s, const struct usage_turn *answer)
{
	struct usage_turn *t = &s->turn;

	if (t->answered && usage_judge(u, s) < 0)
		return -1;
	t->answered = t->prompted = true;
	t->began = answer->began;
	t->ended = answer->ended;
	t->answer = answer->answer;
	t->stop = answer->stop;
	t->failed = answer->failed;
	t->heard |= answer->heard;
	wait_for_more(u, s);
	return 0;
}

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
		complete(&c);
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
		malformed(u, s, wrong);
	return 0;
}

static void
turn_of(struct usage *u, uint64_t t, const struct usage_report *r, struct usage_turn *turn)
{
	*turn = (struct usage_turn){.began = r->asked, .ended = t, .answer = r->counts, .failed = r->failed};
	complete(&turn->answer);
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

/*
 * The session for an answer that nobody has asked for: the only one there is, or an unknown one. NULL for
 * an error: nobody knows what it answers.
 */
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
	if (begin_turn(s, t, true) < 0)
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
	int cost = take_cost(u, s, r);

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
			note_once(u, s, USAGE_SAID_OVER, "used (%llu) is greater than size (%llu)",
				(unsigned long long)s->used, (unsigned long long)s->size);
	}
	if (r->differs)
		note_once(u, s, USAGE_SAID_DIFFERS, "%s does not fit used and size", r->differs);
	s->turn.heard |= r->amount.p != NULL;
	if (state)
		happened(u, &e);
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
			malformed(u, s, r->wrong);
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
		tell_basis(u, s, true);
	return 0;
}
