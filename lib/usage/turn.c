/* Turns: collects what is reported between a prompt and the next one, and judges it. */
#include <utlist.h>

#include "lib/usage/usage_parts.h"

const uint64_t usage_tiers[USAGE_TIERS] = {32000, 100000, 128000, 200000, 256000, 272000, 512000};

/* The stop reason of a turn that ended with an error, if the response has none. */
static const char failed[] = "error";

/* --- tallies --- */

uint8_t
usage_tier(uint64_t context)
{
	uint8_t i = 0;

	while (i < USAGE_TIERS && context > usage_tiers[i])
		i++;
	return i;
}

/* The tier of a call: by the context, if this part has one; else by the input of the call. */
static uint8_t
tier_of(const struct usage_session *s, const struct usage_counts *c)
{
	uint8_t inclusion = usage_inclusion(c);
	uint64_t context = c->n[USAGE_INPUT];

	if (inclusion & USAGE_READ_BESIDE)
		context += c->n[USAGE_READ];
	if (inclusion & USAGE_WRITE_BESIDE)
		context += c->n[USAGE_WRITE];
	return usage_tier(s->now->has_context ? s->now->context : context);
}

static struct usage_tally *
tally_of_turn(struct usage *u, struct usage_session *s, uint32_t model, const struct usage_counts *c)
{
	uint64_t t = s->turn.state >= USAGE_ENDED ? s->turn.ended : s->active;
	int32_t period = u->spec.period ? u->spec.period(u->spec.arg, s->now->started, t) : 0;

	return usage_tally_of(s->now, model, period, u->spec.tiers ? tier_of(s, c) : 0);
}

/* Keeps how much the turn's calls or rows differ from `own`, in case another basis proves right. 0, or -1 out of memory. */
static int
keep_reported(struct usage_tally *to, const struct usage_turn *t, const struct usage_sums *own)
{
	struct usage_sums reported;

	if (!t->counts.has || !usage_reported(t, &reported))
		return 0;
	if (!to->reported && !(to->reported = calloc(1, sizeof(*to->reported))))
		return -1;
	usage_sums_add(to->reported, &reported);
	usage_sums_less(to->reported, own);
	return 0;
}

/* Does evidence decide the basis, and is it not clear yet? The counts in a state are those of its turn or work. */
static bool
is_open(const struct usage *u, const struct usage_session *s)
{
	return u->spec.basis == USAGE_AUTO && u->agents[s->now->agent].basis == USAGE_AUTO && !u->v2
		&& s->turn.state != USAGE_WORK_ENDED && !s->now->basis;
}

/* Ends the search for the basis. clear: evidence decided it, so that earlier turns count by their calls or rows. */
static void
close_basis(struct usage_session *s, bool clear)
{
	for (struct usage_tally *t = s->now->tallies; t; t = t->next) {
		if (clear && s->against == USAGE_UNREPORTED && s->now->basis == USAGE_LAST_CALL)
			t->own_lower = t->billed_lower = true;
		if (clear && t->reported) {
			usage_sums_add(&t->own, t->reported);
			if (!s->now->has_rows)
				usage_sums_add(&t->billed, t->reported);
		}
		free(t->reported);
		t->reported = NULL;
	}
}

static int
add_rows(struct usage *u, struct usage_session *s, struct usage_turn *t, struct usage_event *e)
{
	struct usage_tally *to;
	struct usage_sums one;

	for (size_t i = 0; i < t->nrows; i++) {
		if (!(to = tally_of_turn(u, s, t->rows[i].model, &t->rows[i].counts)))
			return -1;
		one = (struct usage_sums){0};
		usage_sums_count(&one, &t->rows[i].counts);
		usage_sums_add(&to->billed, &one);
		usage_sums_add(&e->billed, &one);
		to->billed_turns++;
	}
	return 0;
}

/* Adds a turn to the sums, or (ended: false) the calls of a turn that never ended. 0, or -1 out of memory. */
static int
add_turn(struct usage *u, struct usage_session *s, struct usage_event *e, bool ended)
{
	struct usage_turn *t = &s->turn;
	struct usage_tally *to;
	bool cancelled, nothing;

	usage_turn_own(s, t, e->basis, &e->own, &e->own_lower);
	if (!(to = tally_of_turn(u, s, s->now->model, &t->counts)))
		return -1;
	e->tier = to->tier;
	/* A turn that was cancelled, or changed context or cost, used tokens, even if nothing reports them, or (cancelled) all counts are 0. */
	cancelled = ended && slice_is(usage_name(u, t->stop), acp_cancelled);
	nothing = cancelled && t->counts.has && usage_total_of(&t->counts) == 0 && usage_total(&e->own) == 0;
	e->own_lower |= nothing || (ended && !e->own.has && !t->nrows && (t->updates == USAGE_SPENT || cancelled));
	e->billed_lower = nothing || (e->own_lower && !t->nrows)
		|| (s->origin == USAGE_LOADED && t->child_ran && u->agents[s->now->agent].covers);
	to->turns += ended;
	usage_sums_add(&to->own, &e->own);
	if (is_open(u, s) && keep_reported(to, t, &e->own) < 0)
		return -1;
	if (t->nrows) {
		if (add_rows(u, s, t, e) < 0)
			return -1;
	} else {
		e->billed = e->own;
		if (t->sub_agents)
			usage_sums_add(&e->billed, t->sub_agents);
		usage_sums_add(&to->billed, &e->billed);
		to->billed_turns += ended;
	}
	to->own_lower |= e->own_lower;
	to->billed_lower |= e->billed_lower;
	return 0;
}

/* --- turns --- */

/* Keeps the calls of a turn without counts, which the next running total includes. 0, or -1 out of memory. */
static int
keep_calls(struct usage_session *s)
{
	if (!s->turn.calls)
		return 0;
	if (!s->since && !(s->since = calloc(1, sizeof(*s->since))))
		return -1;
	usage_sums_add(s->since, s->turn.calls);
	return 0;
}

int
usage_begin_turn(struct usage *u, struct usage_session *s, uint64_t t)
{
	struct usage_event e = {.basis = USAGE_TURN};
	int r = 0;

	/* The calls of a turn count also if its end was never seen. */
	if (s->turn.calls || s->turn.sub_agents)
		r = add_turn(u, s, &e, false);
	r |= keep_calls(s);
	free(s->turn.rows);
	free(s->turn.calls);
	free(s->turn.sub_agents);
	s->turn = (struct usage_turn){.began = t};
	usage_cost_begin_turn(s);
	return r;
}

/* Reports, once for each session, what is odd about the usage of a turn. */
static void
report_anomalies(struct usage *u, struct usage_session *s, const struct usage_event *e)
{
	const struct usage_turn *t = &s->turn;
	struct agent *a = &u->agents[s->now->agent];
	decimal_units sum = 0;

	if (t->updates || t->calls || t->sub_agents || t->counts.has || t->nrows)
		s->had_usage = true;
	else if (s->had_usage && !slice_is(usage_name(u, t->stop), failed) && !slice_is(usage_name(u, t->stop), acp_cancelled))
		usage_note(u, s, USAGE_NOTE_SILENT, false, "a turn without any usage, after turns with some");
	if (e->own_lower && e->own.has)
		usage_note(u, s, USAGE_NOTE_LACKS, true, e->basis == USAGE_LAST_CALL
			? "the counts are those of each turn's last call: what is shown is a lower bound"
			: "the counts of the first turn include what came before: what is shown is a lower bound");
	if (!a->basis_reported && t->counts.has) {
		usage_note(u, s, USAGE_NOTE_BASIS, true, "basis %s", usage_bases[e->basis]);
		a->basis_reported = a->basis != USAGE_AUTO;
	}
	if (s->turns < 2 || !s->has_used || s->used == 0 || e->own.n[USAGE_TOTAL] == 0
		|| usage_total(&e->own) == (decimal_units)s->used)
		return;
	for (const struct usage_tally *i = s->now->tallies; i; i = i->next)
		sum += i->own.n[USAGE_TOTAL];
	if (sum == (decimal_units)s->used
		|| (e->basis == USAGE_SESSION && t->counts.has && usage_total_of(&t->counts) == s->used)) {
		usage_note(u, s, USAGE_NOTE_LIFETIME, false,
			"used is the sum of all turns' tokens so far: billed tokens reported as context");
	}
}

int
usage_judge(struct usage *u, struct usage_session *s)
{
	struct usage_turn *t = &s->turn;
	struct usage_event e = {.kind = t->state == USAGE_WORK_ENDED ? USAGE_EVENT_WORK : USAGE_EVENT_TURN, .session = s, .t = t->ended,
		.turn = t};

	DL_DELETE2(u->waiting, s, waits_before, waits_after);
	if (is_open(u, s)) {
		usage_infer_basis(s, t);
		if (s->now->basis)
			close_basis(s, true);
	}
	e.basis = usage_session_basis(u, s);
	t->cost = t->cost == USAGE_PERHAPS_BEFORE && s->now->costs ? USAGE_COST_BEFORE : USAGE_OWN_COST;
	s->turns++;
	if (add_turn(u, s, &e, true) < 0 || (!t->counts.has && keep_calls(s) < 0)) {
		t->state = USAGE_NO_TURN;
		return -1;
	}
	if (t->counts.has) {
		s->last = t->counts;
		free(s->since);
		s->since = NULL;
		s->now->has_counts = true;
	}
	if (s->origin == USAGE_LOADED && (t->counts.has || t->nrows))
		s->origin = USAGE_GOES_ON;
	s->now->has_rows |= t->nrows > 0;
	s->now->inside |= usage_inclusion(&t->counts);
	for (size_t i = 0; i < t->nrows; i++)
		s->now->inside |= usage_inclusion(&t->rows[i].counts);
	report_anomalies(u, s, &e);
	/* From here on the turn is not open: the session's sums include it. */
	t->state = USAGE_NO_TURN;
	usage_emit(u, &e);
	free(t->calls);
	free(t->sub_agents);
	t->calls = t->sub_agents = NULL;
	return usage_begin_turn(u, s, t->ended);
}

int
usage_finish(struct usage *u, struct usage_session *s)
{
	return s->turn.state >= USAGE_ENDED ? usage_judge(u, s) : 0;
}

static int
count_rows(struct usage *u, struct usage_session *s, struct slice array)
{
	struct json_iter it = {.in = array};
	struct usage_turn *t = &s->turn;
	struct usage_counts c;
	const char *wrong = NULL;
	struct usage_row *more;
	struct slice model;
	uint64_t most = 0;

	while (array.p && usage_row(&it, &model, &c, &wrong)) {
		if (!c.has)
			continue;
		usage_complete(&c);
		if ((t->nrows & (t->nrows + 1)) == 0) {
			more = realloc(t->rows, 2 * (t->nrows + 1) * sizeof(*more));
			if (!more)
				return -1;
			t->rows = more;
		}
		t->rows[t->nrows++] = (struct usage_row){model.p ? usage_intern_string(u, USAGE_MODEL, model) : s->now->model, c};
		most = usage_total_of(&c) > most ? usage_total_of(&c) : most;
	}
	if (wrong)
		usage_note_malformed(u, s, wrong);
	/* Older agents give the rows of the whole history in the first response. */
	if (s->origin >= USAGE_LOADED && !s->had_usage && !s->child && t->counts.has && most > usage_total_of(&t->counts)) {
		usage_note(u, s, USAGE_NOTE_HISTORY, false,
			"the first counts per model after session/load cover the session's history: they are left out");
		t->nrows = 0;
	}
	return 0;
}

int
usage_end_turn(struct usage *u, struct usage_session *s, uint64_t asked, uint64_t now, const struct usage_report *r)
{
	struct usage_turn *t = &s->turn;

	if (usage_finish(u, s) < 0)
		return -1;
	t->state = USAGE_ENDED;
	s->worked = true;
	t->began = asked;
	t->ended = now;
	t->counts = r->counts;
	usage_complete(&t->counts);
	t->stop = r->stop.p ? usage_intern_string(u, USAGE_WORD, r->stop) : r->failed ? usage_intern(u, USAGE_WORD, slice_of(failed)) : 0;
	DL_APPEND2(u->waiting, s, waits_before, waits_after);
	usage_keep_end(u, s);
	return count_rows(u, s, r->rows);
}

/* Forgets the evidence of the basis, which does not hold for another part. */
static void
forget_evidence(struct usage_session *s)
{
	close_basis(s, false);
	s->against = USAGE_NOTHING_AGAINST;
	s->reported_turns = 0;
	s->reported_total = 0;
}

int
usage_part_after_restart(struct usage *u, struct usage_session *s)
{
	const struct usage_part *p = s->now;

	if (p->restarted && !p->tallies && !p->costs && !p->has_context)
		return 0;
	forget_evidence(s);
	if (!usage_part_new(u, s, u->started))
		return -1;
	/* The agent is the same, and so are its model and basis. */
	s->now->model = p->model;
	s->now->basis = p->basis;
	s->now->inside = p->inside;
	return 0;
}

int
usage_close(struct usage *u, struct usage_session *s)
{
	int r = usage_finish(u, s);

	r |= usage_begin_turn(u, s, 0);
	forget_evidence(s);
	s->now = NULL;
	s->origin = USAGE_UNKNOWN;
	s->had_usage = s->worked = false;
	s->turns = s->idle = 0;
	s->last = (struct usage_counts){0};
	free(s->since);
	s->since = NULL;
	return r;
}
