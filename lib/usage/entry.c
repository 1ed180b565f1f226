#include "lib/usage/entry.h"

#include "lib/base/calendar.h"
#include "lib/usage/usage_parts.h"

enum { LEDGER_VERSION = 1 };

/* --- writing --- */

int
usage_entry_put_cost(struct buf *to, struct slice currency, struct decimal amount, struct decimal most)
{
	return -((to->p[to->n - 1] != '[' && buf_add(to, ",", 1)) || buf_add_string(to, "{\"amount\":") || decimal_put(amount, 0, to)
		|| json_format(to, ",\"currency\":%j", currency)
		|| (decimal_compare(most, amount) > 0 && (buf_add_string(to, ",\"at_most\":") || decimal_put(most, 0, to)))
		|| buf_add(to, "}", 1));
}

int
usage_entry_put(struct buf *to, const struct usage_entry *e)
{
	const struct {
		const char *name;
		struct slice text;
	} texts[] = {{"scope", e->scope}, {"project", e->project}, {"agent", e->agent}, {"model", e->model}, {"session", e->session}};
	int r;

	r = -(buf_printf(to, "{\"acp-ledger\":%d,\"time\":\"", LEDGER_VERSION) || calendar_put_date(to, e->time) || buf_add(to, "\"", 1));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].text.p)
			r |= json_format(to, ",\"%s\":%j", texts[i].name, texts[i].text);
	r |= -(json_format(to, ",\"turns\":%u", e->turns)
		|| (e->tokens.has && (buf_add_string(to, ",\"tokens\":") || usage_sums_put(&e->tokens, to)))
		|| json_add_member(to, "cost", e->costs) || json_add_member(to, "wire_cost", e->wire));
	return r | buf_add(to, "}\n", 2);
}

/* --- reading --- */

bool
usage_entry_cost(struct json_iter *costs, struct slice *currency, struct decimal *amount, struct decimal *most)
{
	static const char *const names[] = {"amount", "currency", "at_most"};
	struct json_iter it = {.in = {0}};
	struct slice key, v[3];

	if (!json_next(costs, &key, &it.in))
		return false;
	*currency = slice(NULL, 0);
	if (json_type(it.in) != JSON_OBJECT || !json_pick(&it, names, 3, v) || json_type(v[0]) != JSON_NUMBER
		|| !decimal_parse(v[0], amount) || json_type(v[1]) != JSON_STRING || v[1].n <= 2)
		return true;
	*most = *amount;
	if (v[2].p && (json_type(v[2]) != JSON_NUMBER || !decimal_parse(v[2], most)))
		return true;
	*currency = v[1];
	return true;
}

/* Is this an array of valid costs? */
static bool
are_costs(struct slice array)
{
	struct json_iter it = {.in = array};
	struct decimal amount, most;
	struct slice currency;

	if (json_type(array) != JSON_ARRAY)
		return false;
	while (usage_entry_cost(&it, &currency, &amount, &most))
		if (!currency.p)
			return false;
	return true;
}

bool
usage_entry_read(struct slice line, struct usage_entry *e, const char **why)
{
	enum { FORMAT, TIME, SCOPE, PROJECT, AGENT, MODEL, SESSION, TURNS, TOKENS, COST, WIRE, MEMBERS };
	static const char *const names[MEMBERS] = {"acp-ledger", "time", "scope", "project", "agent", "model", "session", "turns", "tokens",
		"cost", "wire_cost"};
	struct slice v[MEMBERS], *const texts[] = {&e->scope, &e->project, &e->agent, &e->model, &e->session};
	uint64_t version;

	*e = (struct usage_entry){0};
	*why = names[FORMAT];
	if (json_scan(line, JSON_DEPTH, names, MEMBERS, v, NULL) != JSON_OBJECT || json_type(v[FORMAT]) != JSON_NUMBER
		|| !json_u64(v[FORMAT], &version) || version != LEDGER_VERSION)
		return false;
	*why = names[TIME];
	if (json_type(v[TIME]) != JSON_STRING || !((e->time = calendar_date(slice(v[TIME].p + 1, v[TIME].n - 2))) > 0))
		return false;
	for (unsigned i = SCOPE; i <= SESSION; i++) {
		*why = names[i];
		if (v[i].p && json_type(v[i]) != JSON_STRING)
			return false;
		*texts[i - SCOPE] = v[i];
	}
	if (!e->session.p)
		return false;
	*why = names[TURNS];
	if (v[TURNS].p && (json_type(v[TURNS]) != JSON_NUMBER || !json_u64(v[TURNS], &e->turns) || e->turns > UINT32_MAX))
		return false;
	*why = names[TOKENS];
	if (v[TOKENS].p && (json_type(v[TOKENS]) != JSON_OBJECT || usage_sums_read(v[TOKENS], &e->tokens)))
		return false;
	for (unsigned i = COST; i <= WIRE; i++) {
		*why = names[i];
		if (v[i].p && !are_costs(v[i]))
			return false;
	}
	e->costs = v[COST];
	e->wire = v[WIRE];
	*why = NULL;
	return true;
}

/* --- adding up --- */

int
usage_entry_add(struct usage *u, const struct usage_entry *e)
{
	struct usage_session *s = usage_session_get(u, usage_plain(u, e->session));
	uint32_t agent = usage_agent(u, usage_intern_string(u, USAGE_WORD, e->agent), 0);
	uint32_t model = usage_intern_string(u, USAGE_MODEL, e->model);
	int32_t period = u->spec.period ? u->spec.period(u->spec.arg, e->time, 0) : 0;
	struct json_iter it = {.in = e->costs};
	struct usage_money *money;
	struct decimal amount, most;
	struct slice currency;
	struct usage_share *share;
	struct usage_tally *tally;
	struct usage_part *p = s ? s->tail : NULL;

	u->agent = agent;
	if (!s || (!(p && p->agent == agent) && !(p = usage_part_new(u, s, e->time))))
		return -1;
	s->now = NULL;
	p->model = model ? model : p->model;
	p->cwd = e->project.p ? usage_intern_string(u, USAGE_CWD, e->project) : p->cwd;
	if (!(tally = usage_tally_of(p, model, period, 0)))
		return -1;
	tally->turns += (uint32_t)e->turns;
	tally->billed_turns += (uint32_t)e->turns;
	usage_sums_add(&tally->own, &e->tokens);
	usage_sums_add(&tally->billed, &e->tokens);
	while (e->costs.p && usage_entry_cost(&it, &currency, &amount, &most)) {
		share = usage_share_of(p, period, usage_intern_string(u, USAGE_CURRENCY, currency), false);
		if (!share)
			return -1;
		money = &share->money;
		if (!decimal_add(money->amount, amount, &money->amount) || !decimal_add(money->most, most, &money->most))
			p->malformed++;
	}
	return 0;
}
