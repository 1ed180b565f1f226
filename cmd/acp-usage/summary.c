/* The end's tables: a row for each session or model, and totals; or the same as JSON objects. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"

/* Sums of money, one for each currency, in the order of their names. */
struct share {
	uint32_t currency;
	struct decimal amount;
};

struct purse {
	struct share *shares;
	size_t n;
};

/* What is summed up: of a session, a model, or of all. */
struct figures {
	uint32_t turns;
	struct usage_sums tokens, billed;
	struct purse costs;
	struct decimal estimate;
	bool has_estimate;
	uint32_t malformed;
};

struct summary {
	struct tool *tool;
	struct figures all;
	struct figures *models; /* by the name's number */
	size_t nmodels, sessions;
};

/* --- figures --- */

static int
by_name(struct slice a, struct slice b)
{
	int r = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return r ? r : a.n < b.n ? -1 : a.n > b.n;
}

static int
purse_add(const struct summary *s, struct purse *p, uint32_t currency, const struct decimal *amount)
{
	const struct usage *u = s->tool->usage;
	struct share *more;
	size_t i;

	for (i = 0; i < p->n && p->shares[i].currency != currency; i++)
		;
	if (i < p->n)
		return decimal_add(&p->shares[i].amount, amount, &p->shares[i].amount);
	more = realloc(p->shares, (p->n + 1) * sizeof(*more));
	if (!more)
		return -1;
	p->shares = more;
	for (; i > 0 && by_name(usage_name(u, more[i - 1].currency), usage_name(u, currency)) > 0; i--)
		more[i] = more[i - 1];
	p->n++;
	more[i] = (struct share){.currency = currency};
	return decimal_copy(amount, &more[i].amount);
}

static void
figures_free(struct figures *f)
{
	size_t i;

	for (i = 0; i < f->costs.n; i++)
		decimal_free(&f->costs.shares[i].amount);
	free(f->costs.shares);
	decimal_free(&f->estimate);
}

static int
figures_add(const struct summary *s, struct figures *to, const struct figures *f)
{
	size_t i;
	int r = 0;

	to->turns += f->turns;
	to->malformed += f->malformed;
	usage_sums_add(&to->tokens, &f->tokens);
	usage_sums_add(&to->billed, &f->billed);
	for (i = 0; i < f->costs.n; i++)
		r |= purse_add(s, &to->costs, f->costs.shares[i].currency, &f->costs.shares[i].amount);
	to->has_estimate |= f->has_estimate;
	return r | (f->has_estimate ? decimal_add(&to->estimate, &f->estimate, &to->estimate) : 0);
}

/* What the tokens would cost at this model's price. */
static int
estimate(struct summary *s, struct figures *f, uint32_t model, const struct usage_sums *sums)
{
	struct decimal d = {0};
	int r;

	if (!s->tool->prices || !sums->has)
		return 0;
	r = prices_estimate(s->tool->prices, usage_name(s->tool->usage, model), sums, &d);
	if (r == 0) {
		f->has_estimate = true;
		r = decimal_add(&f->estimate, &d, &f->estimate);
	}
	decimal_free(&d);
	return r < 0 ? -1 : 0;
}

static int
of_session(struct summary *s, const struct usage_session *session, struct figures *f)
{
	const struct usage_cost *c;
	struct usage_model m;
	struct decimal d = {0};
	size_t i;
	int r = 0;

	*f = (struct figures){.turns = session->turns, .malformed = session->malformed};
	usage_session_tokens(s->tool->usage, session, &f->tokens);
	usage_session_billed(s->tool->usage, session, &f->billed);
	for (c = session->cost; c; c = c->next)
		r |= -(usage_cost_total(c, &d) || purse_add(s, &f->costs, c->currency, &d));
	decimal_free(&d);
	for (i = 0; usage_session_model(s->tool->usage, session, i, &m); i++)
		r |= estimate(s, f, m.name, &m.sums);
	return r;
}

static struct figures *
model_figures(struct summary *s, uint32_t name)
{
	size_t n = (size_t)name + 1;
	void *more;

	if (n > s->nmodels) {
		if (!(more = realloc(s->models, n * sizeof(*s->models))))
			return NULL;
		s->models = more;
		memset(s->models + s->nmodels, 0, (n - s->nmodels) * sizeof(*s->models));
		s->nmodels = n;
	}
	return &s->models[name];
}

/* A session's figures, to its models. Its cost is a model's where it had only one. */
static int
add_to_models(struct summary *s, const struct usage_session *session, const struct figures *f)
{
	struct figures *to, one;
	struct usage_model m, more;
	size_t i;
	int r = 0;

	for (i = 0; usage_session_model(s->tool->usage, session, i, &m); i++) {
		one = (struct figures){.turns = m.turns, .tokens = m.sums, .billed = m.sums};
		if (!(to = model_figures(s, m.name)))
			return -1;
		r |= estimate(s, &one, m.name, &m.sums);
		if (i == 0 && !usage_session_model(s->tool->usage, session, 1, &more))
			one.costs = f->costs;
		r |= figures_add(s, to, &one);
		decimal_free(&one.estimate);
	}
	return r;
}

/* Cache reads as a share of all input, in per mille; -1 where there is none. */
static int
hit_ratio(const struct usage_sums *t)
{
	double read = usage_sum_double(t, USAGE_READ), input = usage_sum_double(t, USAGE_INPUT);

	if (!(t->has & 1u << USAGE_READ) || !(t->has & 1u << USAGE_INPUT))
		return -1;
	if (!(t->parts & USAGE_READ_INSIDE))
		input += read;
	if (!(t->parts & USAGE_WRITE_INSIDE))
		input += usage_sum_double(t, USAGE_WRITE);
	return input > 0 ? (int)(read / input * 1000 + 0.5) : -1;
}

/* --- JSON --- */

static int
json_tokens(struct buf *to, const char *name, const struct usage_sums *t)
{
	unsigned i;
	int r = buf_printf(to, ",\"%s\":{", name);
	const char *comma = "";

	for (i = 0; i < USAGE_TYPES; i++) {
		if (!(t->has & 1u << i))
			continue;
		r |= -(buf_printf(to, "%s\"%s\":", comma, usage_type_name((enum usage_type)i))
			|| usage_sum_put(t, (enum usage_type)i, to));
		comma = ",";
	}
	return r | buf_add(to, "}", 1);
}

static int
json_figures(struct summary *s, struct buf *to, const struct figures *f)
{
	int hit = hit_ratio(&f->tokens), r;
	const char *comma = "";
	size_t i;

	r = -(buf_printf(to, "\"turns\":%u", f->turns) || json_tokens(to, "tokens", &f->tokens)
		|| json_tokens(to, "billed", &f->billed));
	if (hit >= 0)
		r |= buf_printf(to, ",\"cache_hit\":%d.%03d", hit / 1000, hit % 1000);
	r |= buf_add_string(to, ",\"cost\":[");
	for (i = 0; i < f->costs.n; i++) {
		r |= -(buf_printf(to, "%s{\"amount\":", comma) || decimal_put(&f->costs.shares[i].amount, to)
			|| buf_add_string(to, ",\"currency\":") || json_quote(usage_name(s->tool->usage, f->costs.shares[i].currency), to)
			|| buf_add(to, "}", 1));
		comma = ",";
	}
	r |= buf_add(to, "]", 1);
	if (f->has_estimate)
		r |= -(buf_add_string(to, ",\"estimate\":") || decimal_put(&f->estimate, to));
	return f->malformed ? r | buf_printf(to, ",\"malformed\":%u", f->malformed) : r;
}

static int
json_context(struct summary *s, struct buf *to, const struct usage_session *session)
{
	int r = 0;

	if (session->has_peak)
		r |= buf_printf(to, ",\"peak\":%llu", (unsigned long long)session->peak);
	if (!session->has_used)
		return r;
	if (session->unordered)
		return r | buf_add_string(to, ",\"used\":null,\"size\":null,\"level\":null");
	r |= buf_printf(to, ",\"used\":%llu", (unsigned long long)session->used);
	if (!session->has_size)
		return r;
	return r | buf_printf(to, ",\"size\":%llu,\"remaining\":%llu,\"percent\":%d,\"level\":\"%s\"",
		(unsigned long long)session->size,
		(unsigned long long)(session->size > session->used ? session->size - session->used : 0), usage_percent(session),
		level_names[tool_level(s->tool->options, session)]);
}

static int
json_models(struct summary *s, struct buf *to, const struct usage_session *session)
{
	struct usage_model m;
	size_t i;
	int r = 0;

	if (session->model)
		r |= -(buf_add_string(to, ",\"model\":") || json_quote(usage_name(s->tool->usage, session->model), to));
	if (!session->models)
		return r;
	r |= buf_add_string(to, ",\"models\":[");
	for (i = 0; usage_session_model(s->tool->usage, session, i, &m); i++)
		r |= -(buf_add_string(to, i ? ",{\"model\":" : "{\"model\":")
			|| json_quote(usage_name(s->tool->usage, m.name), to) || buf_printf(to, ",\"turns\":%u", m.turns)
			|| json_tokens(to, "tokens", &m.sums) || buf_add(to, "}", 1));
	return r | buf_add(to, "]", 1);
}

static int
json_session(struct summary *s, struct buf *to, const struct usage_session *session, const struct figures *f,
	const struct buf *partial)
{
	bool certain;
	enum usage_basis b = usage_session_basis(s->tool->usage, session, NULL, &certain);
	int r;

	r = -(buf_add_string(to, "{\"session\":") || json_quote(slice(session->id, session->id_length), to)
		|| buf_add(to, ",", 1) || json_figures(s, to, f) || json_context(s, to, session) || json_models(s, to, session));
	if (session->last.has)
		r |= buf_printf(to, ",\"basis\":\"%s\"%s", usage_basis_name(b), certain ? "" : ",\"basis_assumed\":true");
	if (session->restarts)
		r |= session->unordered ? buf_add_string(to, ",\"restarts\":null") : buf_printf(to, ",\"restarts\":%u", session->restarts);
	return -(r || buf_add_slice(to, buf_slice(partial)) || buf_add(to, "}\n", 2));
}

/* --- tables --- */

static int
cell_end(struct buf *to, size_t from, size_t width, bool right)
{
	size_t n = to->n - from, gap = n < width ? width - n : 0;

	if (buf_reserve(to, gap + 2) < 0)
		return -1;
	if (right) {
		memmove(to->p + from + gap, to->p + from, n);
		memset(to->p + from, ' ', gap);
	} else {
		memset(to->p + to->n, ' ', gap);
	}
	to->n += gap;
	return buf_add(to, "  ", 2);
}

static int
cell_text(struct buf *to, const char *text, size_t width, bool right)
{
	size_t from = to->n;

	return -(buf_add_string(to, text) || cell_end(to, from, width, right));
}

enum { NAME = 20, TURNS = 6, TOKENS = 11, RATIO = 6, CONTEXT = 11, LEVEL = 6, COST = 12 };

static int
table_tokens(struct buf *to, const struct figures *f)
{
	static const enum usage_type order[] = {USAGE_TOTAL, USAGE_INPUT, USAGE_OUTPUT, USAGE_THOUGHT, USAGE_READ, USAGE_WRITE};
	int r, hit = hit_ratio(&f->tokens);
	size_t from = to->n, i;

	r = -(buf_printf(to, "%u", f->turns) || cell_end(to, from, TURNS, true));
	for (i = 0; i < USAGE_TYPES; i++) {
		from = to->n;
		r |= f->tokens.has & 1u << order[i] ? usage_sum_put(&f->tokens, order[i], to) : buf_add(to, "-", 1);
		r |= cell_end(to, from, TOKENS, true);
	}
	from = to->n;
	r |= f->billed.has & 1u << USAGE_TOTAL ? usage_sum_put(&f->billed, USAGE_TOTAL, to) : buf_add(to, "-", 1);
	r |= cell_end(to, from, TOKENS, true);
	from = to->n;
	r |= hit >= 0 ? buf_printf(to, "%d.%d%%", hit / 10, hit % 10) : buf_add(to, "-", 1);
	return r | cell_end(to, from, RATIO, true);
}

static int
table_context(struct summary *s, struct buf *to, const struct usage_session *session)
{
	enum level l = session ? tool_level(s->tool->options, session) : LEVEL_UNKNOWN;
	bool known = session && session->has_used && !session->unordered;
	size_t from = to->n;
	int r;

	r = session && session->has_peak ? put_tokens(to, session->peak) : session ? buf_add(to, "-", 1) : 0;
	r |= cell_end(to, from, TURNS, true);
	from = to->n;
	if (known)
		r |= -(put_tokens(to, session->used) || buf_add(to, "/", 1)
			|| (session->has_size ? put_tokens(to, session->size) : buf_add(to, "?", 1)));
	else if (session)
		r |= buf_add(to, session->has_used ? "?" : "-", 1);
	r |= cell_end(to, from, CONTEXT, true);
	return r | cell_text(to, !session ? "" : !session->has_used ? "-" : known && l ? level_names[l] : "?", LEVEL, false);
}

static int
table_costs(struct summary *s, struct buf *to, const struct figures *f)
{
	size_t from = to->n, i;
	const char *and = "";
	int r = 0;

	for (i = 0; i < f->costs.n; i++) {
		r |= buf_add_string(to, and);
		r |= decimal_put_money(&f->costs.shares[i].amount, usage_name(s->tool->usage, f->costs.shares[i].currency), to);
		and = " + ";
	}
	if (!*and)
		r |= buf_add(to, "-", 1);
	r |= cell_end(to, from, COST, true);
	if (!s->tool->prices)
		return r;
	from = to->n;
	if (f->has_estimate)
		r |= -(buf_add(to, "~", 1) || decimal_put_money(&f->estimate, slice_of("USD"), to));
	else
		r |= buf_add(to, "-", 1);
	return r | cell_end(to, from, COST, true);
}

static int
end_line(struct buf *to)
{
	while (to->n > 0 && to->p[to->n - 1] == ' ')
		to->n--;
	return buf_add(to, "\n", 1);
}

static int
table_names(struct summary *s, struct buf *to)
{
	static const char *const tokens[] = {"total", "input", "output", "thought", "cache read", "cache write", "billed"};
	size_t i;
	int r;

	r = -(cell_text(to, s->tool->options->by_model ? "model" : "session", NAME, false) || cell_text(to, "turns", TURNS, true));
	for (i = 0; i < sizeof(tokens) / sizeof(*tokens); i++)
		r |= cell_text(to, tokens[i], TOKENS, true);
	r |= cell_text(to, "cached", RATIO, true);
	if (!s->tool->options->by_model)
		r |= -(cell_text(to, "peak", TURNS, true) || cell_text(to, "context", CONTEXT, true) || cell_text(to, "level", LEVEL, false));
	r |= cell_text(to, "cost", COST, true);
	if (s->tool->prices)
		r |= cell_text(to, "estimate", COST, true);
	return r | end_line(to);
}

static int
table_row(struct summary *s, struct buf *to, const struct usage_session *session, struct slice name, const struct figures *f)
{
	size_t from = to->n;
	int r;

	r = session ? put_session(to, s->tool, session) : put_plain(to, name);
	r |= -(cell_end(to, from, NAME, false) || table_tokens(to, f));
	if (!s->tool->options->by_model)
		r |= table_context(s, to, session);
	r |= table_costs(s, to, f);
	if (f->malformed)
		r |= buf_printf(to, "malformed: %u", f->malformed);
	return r | end_line(to);
}

/* --- all of it --- */

static int
put_one(struct summary *s, struct buf *to, struct usage_session *session)
{
	const struct options *o = s->tool->options;
	struct buf partial = {0};
	struct figures f = {0};
	int r = 0;

	if (!tool_wants(s->tool, session))
		return 0;
	/* What is written for a merge is what there is before the last turn is judged. */
	if (o->format == FORMAT_JSON)
		r = usage_put_session(s->tool->usage, session, &partial);
	r |= usage_finish(s->tool->usage, session);
	r |= -(of_session(s, session, &f) || figures_add(s, &s->all, &f));
	s->sessions++;
	if (o->by_model)
		r |= add_to_models(s, session, &f);
	else
		r |= o->format == FORMAT_JSON ? json_session(s, to, session, &f, &partial)
			: table_row(s, to, session, slice(NULL, 0), &f);
	figures_free(&f);
	buf_free(&partial);
	return r;
}

static int
put_model(struct summary *s, struct buf *to, uint32_t model)
{
	const struct figures *f = &s->models[model];
	struct slice name = model ? usage_name(s->tool->usage, model) : slice_of("-");

	if (s->tool->options->format != FORMAT_JSON)
		return table_row(s, to, NULL, name, f);
	return -(buf_add_string(to, "{\"model\":") || (model ? json_quote(name, to) : buf_add_string(to, "null"))
		|| buf_add(to, ",", 1) || json_figures(s, to, f) || buf_add(to, "}\n", 2));
}

static int
models_by_name(const void *a, const void *b, void *usage)
{
	const uint32_t *x = a, *y = b;

	return by_name(usage_name(usage, *x), usage_name(usage, *y));
}

static int
put_models(struct summary *s, struct buf *to)
{
	uint32_t *order = calloc(s->nmodels + 1, sizeof(*order));
	size_t i, n = 0;
	int r = 0;

	if (!order)
		return -1;
	for (i = 0; i < s->nmodels; i++)
		if (s->models[i].turns || s->models[i].tokens.has)
			order[n++] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), models_by_name, s->tool->usage);
	for (i = 0; i < n; i++)
		r |= put_model(s, to, order[i]);
	free(order);
	return r;
}

static int
put_total(struct summary *s, struct buf *to, const struct requests *requests)
{
	const struct options *o = s->tool->options;
	char name[32];

	snprintf(name, sizeof(name), "total of %zu", s->sessions);
	if (o->format != FORMAT_JSON)
		return table_row(s, to, NULL, slice_of(name), &s->all);
	return -(buf_printf(to, "{\"total\":true,\"sessions\":%zu,", s->sessions) || json_figures(s, to, &s->all)
		|| usage_put_stream(s->tool->usage, requests, to) || buf_add(to, "}\n", 2));
}

/* Ends a record. In files, what has come together is written. */
static struct buf *
end_record(struct tool *t, size_t before)
{
	out_mark(&t->out, before);
	if (!t->live)
		out_print_much(&t->out);
	return out_buf(&t->out);
}

int
summary_put(struct tool *t, const struct requests *requests)
{
	struct summary s = {.tool = t};
	struct buf *to = out_buf(&t->out);
	struct usage_session *session;
	size_t i, before = to->n;
	int r = 0;

	if (t->options->format != FORMAT_JSON)
		r = table_names(&s, to);
	for (session = usage_sessions(t->usage); session && r == 0; session = usage_next(session)) {
		r = put_one(&s, to, session);
		to = end_record(t, before);
		before = to->n;
	}
	if (r == 0)
		r = usage_end(t->usage);
	r |= t->options->by_model ? put_models(&s, to) : 0;
	r |= put_total(&s, to, requests);
	out_mark(&t->out, before);
	for (i = 0; i < s.nmodels; i++)
		figures_free(&s.models[i]);
	free(s.models);
	figures_free(&s.all);
	return r < 0 ? -1 : 0;
}
