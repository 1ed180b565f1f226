/* Writes metrics in Prometheus' text format, for node_exporter's textfile collector. */
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/metrics.h"

enum { SECOND = 1000000 };

void
prom_event(struct tool *t, const struct usage_event *e)
{
	struct prom *p = &t->prom;
	size_t n = (size_t)e->turn->stop + 1;
	uint64_t *more;

	p->fresh = true;
	if (e->kind != USAGE_EVENT_TURN || tool_parent(t, e->session))
		return;
	if (n > p->nstops) {
		more = realloc(p->stops, n * sizeof(*more));
		if (!more)
			return;
		memset(more + p->nstops, 0, (n - p->nstops) * sizeof(*more));
		p->stops = more;
		p->nstops = n;
	}
	p->stops[n - 1]++;
}

static int
put_sessions(struct buf *to, struct tool *t)
{
	static const char *const contexts[][2] = {{"acp_context_used_tokens", "Tokens in the context of a session."},
		{"acp_context_size_tokens", "Context window of a session in tokens."}};
	static const char cost[] = "acp_session_cost";
	struct usage_figures f = {0};
	int r = 0;

	for (int size = 0; size < 2; size++) {
		r |= metrics_head(to, contexts[size][0], "gauge", contexts[size][1]);
		for (const struct usage_session *s = usage_sessions(t->usage); s; s = s->hh.next)
			if ((size ? s->size > 0 : s->has_used) && tool_wants(t, s))
				r |= -(metrics_labels(to, contexts[size][0], (const struct metrics_label[]){{"session", slice(s->id, s->id_length)}, {0}})
					|| buf_printf(to, "%llu\n", (unsigned long long)(size ? s->size : s->used)));
	}
	r |= metrics_head(to, cost, "gauge", "Cost of a session in its currency.");
	for (const struct usage_session *s = usage_sessions(t->usage); s; s = s->hh.next) {
		if (!tool_adds(t, s))
			continue;
		r |= usage_figures_session(t->usage, s, &f);
		for (size_t i = 0; i < f.ncosts; i++)
			r |= -(metrics_labels(to, cost, (const struct metrics_label[]){{"session", slice(s->id, s->id_length)},
				{"currency", usage_name(t->usage, f.costs[i].currency)}, {0}})
				|| decimal_put(f.costs[i].amount, 0, to) || buf_add(to, "\n", 1));
		usage_figures_free(&f);
	}
	return r;
}

/* Adds the tokens of a tally to its model, in types that do not overlap. 0, or -1 out of memory. */
static int
add_model(struct prom *p, const struct usage_tally *tally, uint8_t inside)
{
	size_t n = (size_t)tally->model + 1;
	decimal_units types[USAGE_TYPES];
	struct usage_sums *more;
	unsigned i;

	if (n > p->nmodels) {
		if (!(more = realloc(p->models, n * sizeof(*p->models))))
			return -1;
		p->models = more;
		memset(p->models + p->nmodels, 0, (n - p->nmodels) * sizeof(*p->models));
		p->nmodels = n;
	}
	more = &p->models[tally->model];
	usage_disjoint(&tally->billed, inside, types);
	more->has |= tally->billed.has;
	for (i = 0; i < USAGE_TYPES; i++)
		more->n[i] += types[i];
	return 0;
}

/* Appends the tokens of each model over all sessions, each token once. 0, or -1 out of memory. */
static int
put_models(struct prom *p, struct buf *to, struct tool *t)
{
	static const char name[] = "acp_turn_tokens_total";
	int r;

	if (p->nmodels)
		memset(p->models, 0, p->nmodels * sizeof(*p->models));
	r = metrics_head(to, name, "counter", "Tokens that turns were billed, by model and by types that do not overlap.");
	for (const struct usage_session *s = usage_sessions(t->usage); s; s = s->hh.next) {
		if (!tool_adds(t, s))
			continue;
		for (const struct usage_part *part = s->parts; part; part = part->next)
			for (const struct usage_tally *tally = part->tallies; tally; tally = tally->next)
				if (tally->period != USAGE_NEVER)
					r |= add_model(p, tally, usage_inside(t->usage, part));
	}
	for (size_t i = 0; i < p->nmodels; i++)
		for (unsigned type = USAGE_INPUT; type < USAGE_TYPES; type++)
			if (p->models[i].has & 1u << type)
				r |= -(metrics_labels(to, name, (const struct metrics_label[]){
					{"type", slice_of(usage_types[type])}, {"model", usage_name(t->usage, (uint32_t)i)}, {0}})
					|| usage_sum_put(&p->models[i], (enum usage_type)type, to) || buf_add(to, "\n", 1));
	return r;
}

static int
put_turns(struct prom *p, struct buf *to, struct tool *t)
{
	static const char name[] = "acp_turns_total";
	int r = metrics_head(to, name, "counter", "Turns that have ended, by stop reason.");

	for (size_t i = 0; i < p->nstops; i++)
		if (p->stops[i])
			r |= -(metrics_labels(to, name, (const struct metrics_label[]){{"stop_reason", usage_name(t->usage, (uint32_t)i)}, {0}})
				|| buf_printf(to, "%llu\n", (unsigned long long)p->stops[i]));
	return r;
}

void
prom_write(struct tool *t, bool now)
{
	struct prom *p = &t->prom;
	SCOPED struct buf text = {0};
	uint64_t clock = loop_clock();

	if (!now && (!p->fresh || !t->watch->replaces || clock < p->written + SECOND))
		return;
	p->fresh = false;
	p->written = clock;
	if (put_sessions(&text, t) || put_models(p, &text, t) || put_turns(p, &text, t))
		tool_fail(t, "out of memory: no metrics");
	else
		watch_replace(t->watch, buf_slice(&text));
}
