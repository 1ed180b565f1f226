/* Turns: what comes between a prompt and the next, and what it is worth when it is judged. */
#include <stdlib.h>

#include "lib/usage_parts.h"

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

void
usage_complete(struct usage_counts *c)
{
	const unsigned both = 1u << USAGE_INPUT | 1u << USAGE_OUTPUT;

	if (c->has == both && !__builtin_add_overflow(c->n[USAGE_INPUT], c->n[USAGE_OUTPUT], &c->n[USAGE_TOTAL]))
		c->has |= 1u << USAGE_TOTAL;
}

int
usage_begin_rows(struct usage *u, struct usage_session *s)
{
	struct usage_sums sums;

	usage_session_tokens(u, s, &sums);
	if (s->models || !sums.has)
		return 0;
	return usage_model_add(s, s->model, &sums, s->turns);
}

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
		usage_note(u, s, USAGE_SAID_HISTORY,
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

int
usage_begin_turn(struct usage_session *s, uint64_t t, bool prompted)
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
		usage_note(u, s, USAGE_SAID_SILENT, "a turn without any usage, after turns with some");
	if (!e->own.has && t->answer.has)
		usage_note(u, s, USAGE_SAID_LACKS, e->basis == USAGE_LAST_CALL
			? "the counts are the last call's: what the whole turn used is not told"
			: "the counts of the first turn after session/load hold the history: what it used is not told");
	usage_session_tokens(u, s, &sums);
	if (s->turns > 1 && s->has_used && sums.over[USAGE_TOTAL] == 0 && s->used == sums.n[USAGE_TOTAL]
		&& s->used > 0 && (e->own.has & 1u << USAGE_TOTAL) && e->own.n[USAGE_TOTAL] != s->used) {
		s->lifetime = true;
		usage_note(u, s, USAGE_SAID_LIFETIME,
			"used is the sum of all turns' tokens so far: billed tokens reported as context");
	}
}

void
usage_tell_basis(struct usage *u, struct usage_session *s, bool at_end)
{
	const char *why;
	bool certain;
	enum usage_basis b = usage_session_basis(u, s, &why, &certain);

	if (u->spec.basis != USAGE_AUTO || !s->last.has || (s->said & USAGE_SAID_BASIS))
		return;
	if (u->agents[s->agent].basis != USAGE_AUTO || u->agents[s->agent].v2) {
		/* One line for each agent, not for each of its sessions. */
		if (!(u->agents[s->agent].told))
			usage_note(u, s, USAGE_SAID_BASIS, "basis %s: %s", usage_basis_name(b), why);
		u->agents[s->agent].told = true;
		s->said |= USAGE_SAID_BASIS;
	} else if (!certain) {
		if (at_end)
			usage_note(u, s, USAGE_SAID_BASIS,
				"basis can not be known from the numbers: %s is assumed (--basis says it)", usage_basis_name(b));
	} else if (s->evidence & ~(unsigned)EVIDENCE_MANY) {
		usage_note(u, s, USAGE_SAID_BASIS, "basis %s: %s", usage_basis_name(b), why);
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
		usage_tell_basis(u, s, false);
		wonder(u, s, &e);
		usage_happened(u, &e);
		r = usage_begin_turn(s, t->ended, false);
	}
	decimal_free(&now);
	decimal_free(&e.cost);
	return r;
}

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
