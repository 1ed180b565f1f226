/* Writes a row for each event, as a line for people or as columns for programs. */
#include <stdio.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/calendar.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"

/* The columns. The manual promises their names and order. */
enum column {
	TIME, T, ASKED, SESSION, EVENT, USED, SIZE, REMAINING, PERCENT, LEVEL, COST, CURRENCY, TURN_COST, TOTAL, INPUT, OUTPUT,
	THOUGHT, CACHE_READ, CACHE_WRITE, BILLED, MODEL, BASIS, STOP_REASON, ESTIMATE, LOWER_BOUND, TURN_COSTS, WIRE_COST, AGENT, CWD,
	PARENT, COLUMNS
};

static const struct {
	const char *name;
	bool number; /* in JSON the value is not a string */
} columns[COLUMNS] = {
	{"time", false}, {"t", true}, {"asked", true}, {"session", false}, {"event", false}, {"used", true}, {"size", true},
	{"remaining", true}, {"percent", true}, {"level", false}, {"cost", true}, {"currency", false}, {"turn_cost", true},
	{"total", true}, {"input", true}, {"output", true}, {"thought", true}, {"cache_read", true}, {"cache_write", true},
	{"billed", true}, {"model", false}, {"basis", false}, {"stop_reason", false}, {"estimate", true},
	{"lower_bound", false}, {"turn_costs", false}, {"wire_cost", true}, {"agent", false}, {"cwd", false}, {"parent", false},
};

static const char *const kinds[] = {"update", "turn", "compaction", "sub-agent"};

/* A row, and what it is about. */
struct row {
	struct tool *tool;
	const struct usage_event *event;
	bool turn;                /* it is about a turn, or a sub-agent's work */
	const struct usage_cost *cost; /* the cost that was reported last; NULL: none, or the agent took it back */
	struct usage_money total; /* in the currency of `cost`, over all recordings */
};

static int
put_number(struct buf *to, bool known, uint64_t n)
{
	return known ? json_format(to, "%u", n) : 0;
}

static int
put_seconds(struct buf *to, bool known, uint64_t us)
{
	return known ? buf_printf(to, "%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000)) : 0;
}

/* Estimates the cost of a turn by the price list: of its rows, sub-agents included, or else of its own tokens. */
static bool
estimate(const struct row *row, struct decimal *sum)
{
	const struct usage_event *e = row->event;
	const struct usage_session *s = e->session;
	struct tool *t = row->tool;
	struct decimal one;
	struct usage_sums sums;
	bool known = row->turn && t->prices && e->billed.has;

	*sum = (struct decimal){0};
	for (size_t i = 0; known && (i < e->turn->nrows || i == 0); i++) {
		sums = (struct usage_sums){0};
		if (e->turn->nrows)
			usage_sums_count(&sums, &e->turn->rows[i].counts);
		else
			sums = e->billed;
		known = prices_estimate(t->prices, usage_name(t->usage, e->turn->nrows ? e->turn->rows[i].model : s->model), &sums,
			usage_inside(t->usage, s->now), e->tier, &one) == 0 && decimal_add(*sum, one, sum);
	}
	return known;
}

/* Appends the cost of a turn in each currency: 2 EUR;3 JPY. The last currency has a column of its own, too. */
static int
put_costs(struct buf *to, const struct tool *t, const struct usage_session *s)
{
	struct decimal added;
	int r = 0;

	for (const struct usage_cost *c = s->now->costs; c; c = c->next)
		if (usage_cost_of_turn(s, c, &added) && (added.units || c == s->now->costs))
			r |= -((to->n && buf_add(to, ";", 1)) || decimal_put(added, 0, to) || buf_add(to, " ", 1)
				|| buf_add_slice(to, usage_name(t->usage, c->currency)));
	return s->turn.cost == USAGE_COST_BEFORE ? r | buf_add_string(to, "shared") : r;
}

/* Writes a value that only turns have into an empty buffer. 0, or -1 out of memory. */
static int
put_of_turn(struct buf *to, const struct row *row, enum column c)
{
	const struct usage_event *e = row->event;
	const struct usage_session *s = e->session;
	struct decimal amount;

	switch (c) {
	case ASKED:
		return put_seconds(to, row->tool->timed, e->turn->began);
	case BILLED:
		return e->billed.has & 1u << USAGE_TOTAL ? usage_sum_put(&e->billed, USAGE_TOTAL, to) : 0;
	case TURN_COST:
		return s->now->costs && usage_cost_of_turn(s, s->now->costs, &amount) ? decimal_put(amount, 0, to) : 0;
	case TURN_COSTS:
		return put_costs(to, row->tool, s);
	case BASIS:
		return buf_add_string(to, e->turn->counts.has ? usage_bases[e->basis] : e->own.has ? "calls" : "");
	case ESTIMATE:
		return estimate(row, &amount) ? decimal_put(amount, 0, to) : 0;
	default: /* the types of tokens, in their order */
		return e->own.has & 1u << (c - TOTAL) ? usage_sum_put(&e->own, (enum usage_type)(c - TOTAL), to) : 0;
	}
}

/* Writes the value of a column into an empty buffer, or nothing if it is not known. 0, or -1 out of memory. */
static int
put_value(struct buf *to, const struct row *row, enum column c)
{
	const struct usage_event *e = row->event;
	const struct usage_session *s = e->session;
	const struct tool *t = row->tool;
	bool full = s->size > 0;

	switch (c) {
	case TIME:
		return t->timed && t->started > 0 ? calendar_put_date(to, t->started + (double)e->t / 1e6) : 0;
	case T:
		return put_seconds(to, t->timed, e->t);
	case SESSION:
		return buf_add(to, s->id, s->id_length);
	case EVENT:
		return buf_add_string(to, kinds[e->kind]);
	case USED:
		return put_number(to, s->has_used, s->used);
	case SIZE:
		return put_number(to, full, s->size);
	case REMAINING:
		return put_number(to, full, tokens_left(s));
	case PERCENT:
		return put_number(to, full, (uint64_t)usage_percent(s->used, s->size));
	case LEVEL:
		return buf_add_string(to, level_names[tool_level(t->options, s)]);
	case COST:
		return row->cost ? decimal_put(row->total.amount, row->cost->places, to) : 0;
	case WIRE_COST:
		return row->cost ? decimal_put(usage_cost_wire(row->cost), row->cost->places, to) : 0;
	case CURRENCY:
		return row->cost ? buf_add_slice(to, usage_name(t->usage, row->cost->currency)) : 0;
	case MODEL:
		return buf_add_slice(to, usage_name(t->usage, s->model));
	case STOP_REASON:
		return buf_add_slice(to, usage_name(t->usage, row->turn ? e->turn->stop : e->status));
	case LOWER_BOUND:
		if (row->turn && ((e->own_lower && e->own.has) || (e->billed_lower && e->billed.has)))
			return buf_add_string(to, e->own_lower ? "total" : "billed");
		return buf_add_string(to, row->cost && usage_cost_is_bound(&row->total) ? "cost" : "");
	case AGENT:
		return buf_add_slice(to, usage_agent_name(t->usage, s->agent));
	case CWD:
		return buf_add_slice(to, usage_name(t->usage, s->cwd));
	case PARENT:
		return s->parent ? buf_add(to, s->parent->id, s->parent->id_length) : 0;
	default:
		return row->turn ? put_of_turn(to, row, c) : 0;
	}
}

/* --- for programs --- */

static int
put_visible(struct buf *to, int32_t code)
{
	char visible[TEXT_SHOW_SIZE];

	return buf_add(to, visible, text_show(visible, code));
}

/* Escapes tabs and newlines, which cannot stand in a column. */
static int
put_tsv(struct buf *to, struct slice s)
{
	struct text t = text_of(s);
	int32_t code;
	int r = 0;

	while (r == 0 && (code = text_next(&t)) >= 0)
		r = code == '\t' ? buf_add(to, "\\t", 2) : code == '\n' ? buf_add(to, "\\n", 2)
			: code == '\r' ? buf_add(to, "\\r", 2) : code == '\\' ? buf_add(to, "\\\\", 2)
			: put_visible(to, code);
	return r;
}

static int
put_csv(struct buf *to, struct slice s)
{
	struct text t = text_of(s);
	bool quotes = false;
	int32_t code;
	int r = 0;

	for (size_t i = 0; i < s.n && !quotes; i++)
		quotes = strchr(",\"\r\n", s.p[i]);
	if (quotes)
		r = buf_add(to, "\"", 1);
	while (r == 0 && (code = text_next(&t)) >= 0)
		r = code == '"' ? buf_add(to, "\"\"", 2) : code == '\t' || code == '\n' ? text_put(to, code) : put_visible(to, code);
	if (quotes && r == 0)
		r = buf_add(to, "\"", 1);
	return r;
}

/* The end of a row with columns; NULL: the format has no columns. */
static const char *const ends[] = {[FORMAT_TSV] = "\n", [FORMAT_CSV] = "\r\n", [FORMAT_JSON] = "}\n", [FORMAT_PROM] = NULL};

/* Appends the values of a row or, for NULL, the names of the columns. 0, or -1 out of memory. */
static int
put_columns(struct buf *to, const struct row *row, enum format f)
{
	SCOPED struct buf value = {0};
	struct slice v;
	int r = f == FORMAT_JSON ? buf_add(to, "{", 1) : 0;

	for (int c = 0; c < COLUMNS && r == 0; c++) {
		value.n = 0;
		if ((c > 0 && buf_add(to, f == FORMAT_TSV ? "\t" : ",", 1))
			|| (row ? put_value(&value, row, (enum column)c) : buf_add_string(&value, columns[c].name)))
			return -1;
		v = buf_slice(&value);
		if (f != FORMAT_JSON)
			r = f == FORMAT_TSV ? put_tsv(to, v) : put_csv(to, v);
		else
			r = -(buf_printf(to, "\"%s\":", columns[c].name) || (v.n == 0 ? buf_add_string(to, "null")
				: columns[c].number ? buf_add_slice(to, v) : json_quote(v, to)));
	}
	return r < 0 ? -1 : buf_add_string(to, ends[f]);
}

/* --- for people --- */

/* Ends a column of this width that began at `from`. */
static int
pad(struct buf *to, size_t from, size_t width)
{
	size_t n = cells_width(slice(to->p + from, to->n - from));

	return buf_printf(to, "%*s", (int)(n < width ? width - n + 2 : 2), "");
}

static int
log_context(struct buf *to, const struct usage_session *s)
{
	char used[PEOPLE_FIGURE], size[PEOPLE_FIGURE], left[PEOPLE_FIGURE], percent[16] = "";
	size_t from = to->n;

	if (s->size)
		snprintf(percent, sizeof(percent), "%d%%", usage_percent(s->used, s->size));
	if ((s->has_used ? buf_printf(to, "%s/%s", people_count(used, s->used), s->size ? people_count(size, s->size) : "?")
			: buf_add(to, "-", 1)) < 0 || pad(to, from, 11) < 0 || buf_printf(to, "%4s  ", percent) < 0)
		return -1;
	from = to->n;
	return -((s->size && buf_printf(to, "%s left", people_count(left, tokens_left(s)))) || pad(to, from, 11));
}

static int
log_turn(struct tool *t, struct buf *to, const struct usage_event *e)
{
	struct slice stop = usage_name(t->usage, e->turn->stop);
	struct decimal added;
	decimal_units own = usage_total(&e->own), billed = usage_total(&e->billed);
	int r = 0;

	if (stop.n)
		r |= json_format(to, " %t", stop);
	if (e->own.has)
		r |= -(buf_add_string(to, e->own_lower ? " >=" : " ") || put_tokens(to, usage_clip(own))
			|| buf_add_string(to, " tokens"));
	if (e->billed.has && (billed != own || (e->billed_lower && !e->own_lower)))
		r |= -(buf_add_string(to, e->billed_lower ? " (billed >=" : " (billed ") || put_tokens(to, usage_clip(billed))
			|| buf_add_string(to, ")"));
	for (const struct usage_cost *c = e->session->now->costs; c; c = c->next)
		if (usage_cost_of_turn(e->session, c, &added) && added.units != 0)
			r |= -(buf_add_string(to, " +") || decimal_put_money(added, usage_name(t->usage, c->currency), to));
	return e->turn->cost == USAGE_COST_BEFORE ? r | buf_add_string(to, " (its cost is in the turn before)") : r;
}

static int
put_log(struct buf *to, const struct row *row)
{
	struct tool *t = row->tool;
	const struct usage_event *e = row->event;
	const struct usage_session *s = e->session;
	enum level l = tool_level(t->options, s);
	struct decimal d;
	bool color = cli_wants_color(t->options->color, log_fd(t->watch->out.log));
	const char *level;
	size_t from = to->n;
	int r;

	r = -(put_clock(to, t, e->t) || pad(to, from, 8));
	from = to->n;
	r |= -(put_session(to, t, s) || pad(to, from, 8));
	r |= log_context(to, s);
	from = to->n;
	if (row->cost)
		r |= usage_money_put(t->usage, &row->total, to);
	r |= pad(to, from, 10);
	level = l ? level_names[l] : "-";
	r |= buf_printf(to, "%s%s%s%*s%s", level_color(l, color), level, color ? "\033[0m" : "", 8 - (int)strlen(level), "", kinds[e->kind]);
	if (row->turn)
		r |= log_turn(t, to, e);
	else if (e->kind == USAGE_EVENT_COMPACT)
		r |= json_format(to, " %t", usage_name(t->usage, e->status));
	if (estimate(row, &d))
		r |= -(buf_add_string(to, " ~") || decimal_put_money(d, slice_of("USD"), to));
	return r | buf_add(to, "\n", 1);
}

int
row_put(struct tool *t, struct buf *to, const struct usage_event *e)
{
	enum format f = t->options->format;
	struct row row = {.tool = t, .event = e, .turn = e->kind == USAGE_EVENT_TURN || e->kind == USAGE_EVENT_WORK,
		.cost = e->session->cleared ? NULL : usage_costs(e->session)};

	if (row.cost && !usage_cost_total(e->session, row.cost->currency, &row.total))
		row.cost = NULL;
	if (!t->headed && (f == FORMAT_TSV || f == FORMAT_CSV) && put_columns(to, NULL, f) < 0)
		return -1;
	return ends[f] ? put_columns(to, &row, f) : put_log(to, &row);
}
