/* Rules: which faults hit a message. */
#include <stdlib.h>

#include "cmd/acp-fault/fault.h"

bool
rule_has_faults(const struct rule *r)
{
	for (enum fault f = 0; f < FAULTS; f++)
		if (r->of[f].set)
			return true;
	return false;
}

bool
rule_needs_seed(const struct rule *r)
{
	const struct argument *a;

	for (size_t i = 0; i < FAULTS; i++) {
		a = &r->of[fault_kinds[i].fault];
		if (a->set && a->p > 0 && (a->p < 1 || (fault_kinds[i].flags & KIND_DICE)))
			return true;
	}
	return r->torn || r->of[FAULT_DELAY].more_us > 0;
}

uint64_t
rule_time(const struct rule *r)
{
	if (!r->timed)
		return 0;
	if (!r->relative)
		return r->at;
	return r[-1].first_hit == UINT64_MAX ? UINT64_MAX : r[-1].first_hit + r->at;
}

/* Counts a message that the fault applies to as a match. Returns whether the fault hits it. */
static bool
rule_try(const struct rule *r, struct argument *a, const struct fault_kind *k, uint64_t now, const struct chance *c)
{
	uint64_t nth;

	if (now < rule_time(r))
		return false;
	nth = ++a->matches - r->from_match + 1;
	if (a->matches < r->from_match || nth % r->every != 0)
		return false;
	if (!(k->flags & KIND_COUNTS) && (r->once || r->timed) && a->applied)
		return false;
	if (!chance_hits(c, k->fault, a->p))
		return false;
	return ++a->hits == a->n || !(k->flags & KIND_COUNTS);
}

/* --- a message --- */

bool
match_is_for_messages(const struct rule *r, const struct fault_kind *k)
{
	const struct argument *a = &r->of[k->fault];

	return a->set && k->act && !(r->by_time && (k->flags & KIND_BY_TIME) && (!(k->flags & KIND_COUNTS) || a->n == 1));
}

struct chance
match_chance(const struct fault_state *x, const struct rule *r, enum acp_direction dir, uint64_t n)
{
	return (struct chance){x->options->seed, (uint64_t)dir + (uint64_t)ACP_DIRECTIONS * r->line, n};
}

void
match_rule(struct fault_state *x, struct rule *r, enum acp_direction dir, const struct message *s)
{
	struct track *t = &x->tracks[dir];
	struct chance c = match_chance(x, r, dir, t->n);
	const struct fault_kind *k;
	char *why = NULL;
	struct select *method;
	bool selected;
	size_t i;

	for (i = 0; i < FAULTS && !match_is_for_messages(r, &fault_kinds[i]); i++)
		;
	if (i == FAULTS)
		return;
	selected = select_match(r->select, s, &why);
	if (why)
		frame_warn(x->frame, "%s: %s", select_culprit(r->select), why);
	free(why);
	if (!selected)
		return;
	for (; i < FAULTS; i++) {
		k = &fault_kinds[i];
		method = r->of[k->fault].method;
		if (!match_is_for_messages(r, k) || (k->part && !k->part(&s->msg).p) || (method && !select_match(method, s, &why)))
			continue;
		if (rule_try(r, &r->of[k->fault], k, s->t, &c) && !t->hits[k->fault]) {
			t->hits[k->fault] = r;
			t->hit = true;
		}
	}
}
