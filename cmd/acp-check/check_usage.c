/* Figures: the context, the cost, and the usage of turns. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-check/check.h"
#include "lib/match/digest.h"

/* Never 0. */
static uint64_t
hash(struct slice text)
{
	return digest_bytes(text) | 1;
}

static void
check_cost(struct check *c, struct check_session *s, struct slice cost)
{
	struct slice amount = json_get(cost, "amount"), currency = json_get(cost, "currency");
	char text[64];
	double value;

	if (json_type(amount) != JSON_NUMBER || json_type(currency) != JSON_STRING || amount.n >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)amount.n, amount.p);
	value = strtod(text, NULL);
	/* 0 is that of an agent which has begun anew. */
	if (s->currency == hash(currency) && value < s->cost && value > 0) {
		snprintf(text, sizeof(text), "at least %.17g", s->cost);
		check_find(c, RULE_COST_FALLS, "params.update.cost.amount", text, amount);
	}
	s->currency = hash(currency);
	s->cost = value;
}

void
check_usage_update(struct check *c, struct check_session *s, struct slice update)
{
	struct slice used = json_get(update, "used"), size = json_get(update, "size"), cost = json_get(update, "cost");
	char text[48];
	uint64_t n, most;

	if (json_type(used) == JSON_NUMBER && json_type(size) == JSON_NUMBER && json_u64(used, &n) && json_u64(size, &most) && n > most) {
		snprintf(text, sizeof(text), "at most the size, %llu", (unsigned long long)most);
		check_find(c, RULE_USED_ABOVE_SIZE, "params.update.used", text, used);
	}
	s->counted = true;
	if (json_type(cost) == JSON_OBJECT)
		check_cost(c, s, cost);
}

void
check_usage(struct check *c, struct check_session *s, struct slice usage, bool at_end, const char *path)
{
	uint64_t now = json_type(usage) == JSON_OBJECT ? hash(usage) : 0, total;
	bool stale = at_end && !c->c.partial && now == s->usage && !s->worked && json_u64(json_get(usage, "totalTokens"), &total) && total > 0;

	if (now && s->usage && (stale || (!at_end && now != s->usage)))
		check_find(c, RULE_USAGE_TURN, path, at_end ? "the usage of this turn" : "the usage of the turn that has ended", usage);
	s->counted |= now != 0;
	if (at_end) {
		s->usage = now;
		s->worked = false;
	}
}
