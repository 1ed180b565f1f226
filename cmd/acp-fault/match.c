/* Which faults hit a message. */
#include <stdlib.h>

#include "cmd/acp-fault/work.h"

static bool
is_selected(struct fault_state *x, struct rule *r, const struct message *s)
{
	char *why = NULL;
	bool yes = select_match(r->select, s, &why);

	if (why)
		frame_warn(x->frame, "%s: %s", select_culprit(r->select), why);
	free(why);
	return yes;
}

bool
match_is_for_messages(const struct rule *r, const struct fault_kind *k)
{
	const struct argument *a = &r->of[k->fault];

	return a->set && k->act && !(r->by_time && (k->flags & KIND_BY_TIME) && (!(k->flags & KIND_COUNTS) || a->n == 1));
}

static bool
hits_messages(const struct rule *r)
{
	size_t i;

	for (i = 0; i < FAULTS; i++)
		if (match_is_for_messages(r, &fault_kinds[i]))
			return true;
	return false;
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
	size_t i;

	if (!hits_messages(r) || !is_selected(x, r, s))
		return;
	for (i = 0; i < FAULTS; i++) {
		k = &fault_kinds[i];
		if (!match_is_for_messages(r, k) || (k->applies && !k->applies(&r->of[k->fault], s)))
			continue;
		if (rule_try(r, k, s->t, &c) && !t->hits[k->fault]) {
			t->hits[k->fault] = r;
			t->hit = true;
		}
	}
}
