/* A row for each change, as a line for people or as columns for programs. */
#include <stdio.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/calendar.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"

/* The columns: their names and order are promised in the manual. */
enum column {
	TIME, T, ASKED, SESSION, EVENT, USED, SIZE, REMAINING, PERCENT, LEVEL, COST, CURRENCY, TURN_COST, TOTAL, INPUT, OUTPUT,
	THOUGHT, CACHE_READ, CACHE_WRITE, BILLED, MODEL, BASIS, STOP_REASON, ESTIMATE, LOWER_BOUND, TURN_COSTS, WIRE_COST, AGENT, CWD,
	PARENT, COLUMNS
};

static const struct {
	const char *name;
	bool number; /* or another JSON value */
} columns[COLUMNS] = {
	{"time", false}, {"t", true}, {"asked", true}, {"session", false}, {"event", false}, {"used", true}, {"size", true},
	{"remaining", true}, {"percent", true}, {"level", false}, {"cost", true}, {"currency", false}, {"turn_cost", true},
	{"total", true}, {"input", true}, {"output", true}, {"thought", true}, {"cache_read", true}, {"cache_write", true},
	{"billed", true}, {"model", false}, {"basis", false}, {"stop_reason", false}, {"estimate", true},
	{"lower_bound", false}, {"turn_costs", false}, {"wire_cost", true}, {"agent", false}, {"cwd", false}, {"parent", false},
};

static const char *const kinds[] = {"update", "turn", "compaction", "sub-agent"};

/* A row: where each value begins and ends in text. */
struct row {
	struct buf text;
	size_t from[COLUMNS], to[COLUMNS];
	bool failed;
};

static struct slice
cell(const struct row *r, enum column c)
{
	return slice(r->text.p + r->from[c], r->to[c] - r->from[c]);
}

static struct buf *
begin(struct row *r, enum column c)
{
	r->from[c] = r->to[c] = r->text.n;
	return &r->text;
}

static void
done(struct row *r, enum column c, int result)
{
	r->failed |= result < 0;
	r->to[c] = r->text.n;
}

static void
put_text(struct row *r, enum column c, struct slice s)
{
	done(r, c, buf_add_slice(begin(r, c), s));
}

static void
put_number(struct row *r, enum column c, uint64_t n)
{
	done(r, c, buf_printf(begin(r, c), "%llu", (unsigned long long)n));
}

static void
put_seconds(struct row *r, enum column c, uint64_t us)
{
	done(r, c, buf_printf(begin(r, c), "%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000)));
}

static void
put_context(struct row *r, const struct tool *t, const struct usage_session *s)
{
	const struct usage_cost *c = usage_costs(s);
	struct usage_money total;

	if (s->has_used)
		put_number(r, USED, s->used);
	if (s->has_used && s->has_size) {
		put_number(r, REMAINING, tokens_left(s));
		put_number(r, PERCENT, (uint64_t)usage_percent(s->used, s->size));
		put_text(r, LEVEL, slice_of(level_names[tool_level(t->options, s)]));
	}
	if (s->has_size)
		put_number(r, SIZE, s->size);
	if (c && !s->cleared && usage_cost_total(s, c->currency, &total)) {
		done(r, COST, decimal_put(total.amount, c->places, begin(r, COST)));
		done(r, WIRE_COST, decimal_put(usage_cost_wire(c), c->places, begin(r, WIRE_COST)));
		put_text(r, CURRENCY, usage_name(t->usage, c->currency));
		if (usage_cost_is_bound(&total))
			put_text(r, LOWER_BOUND, slice_of("cost"));
	}
}

/* What the turn would cost by the list: its rows, sub-agents included, or its own tokens. */
static void
put_estimate(struct row *r, struct tool *t, const struct usage_event *e)
{
	const struct usage_session *s = e->session;
	struct decimal sum = {0}, one;
	struct usage_sums sums;
	bool known = t->prices != NULL && e->billed.has;

	for (size_t i = 0; known && (i < e->turn->nrows || i == 0); i++) {
		sums = (struct usage_sums){0};
		if (e->turn->nrows)
			usage_sums_count(&sums, &e->turn->rows[i].counts);
		else
			sums = e->billed;
		known = prices_estimate(t->prices, usage_name(t->usage, e->turn->nrows ? e->turn->rows[i].model : s->model), &sums,
			usage_inside(t->usage, s->now), e->tier, &one) == 0 && decimal_add(sum, one, &sum);
	}
	if (known)
		done(r, ESTIMATE, decimal_put(sum, 0, begin(r, ESTIMATE)));
}

/* What the turn cost in each currency: 2 EUR;3 JPY. The last one has a column of its own. */
static void
put_costs(struct row *r, const struct tool *t, const struct usage_session *s)
{
	struct decimal added;
	const char *and = "";

	if (s->now->costs && usage_cost_of_turn(s, s->now->costs, &added))
		done(r, TURN_COST, decimal_put(added, 0, begin(r, TURN_COST)));
	begin(r, TURN_COSTS);
	for (const struct usage_cost *c = s->now->costs; c; c = c->next) {
		if (!usage_cost_of_turn(s, c, &added) || (added.units == 0 && c != s->now->costs))
			continue;
		done(r, TURN_COSTS, -(buf_add_string(&r->text, and) || decimal_put(added, 0, &r->text) || buf_add(&r->text, " ", 1)
			|| buf_add_slice(&r->text, usage_name(t->usage, c->currency))));
		and = ";";
	}
	if (s->turn.cost == USAGE_COST_BEFORE)
		done(r, TURN_COSTS, buf_add_string(&r->text, "shared"));
}

static void
put_turn(struct row *r, struct tool *t, const struct usage_event *e)
{
	static const enum column of[USAGE_TYPES] = {TOTAL, INPUT, OUTPUT, THOUGHT, CACHE_READ, CACHE_WRITE};

	if (t->timed)
		put_seconds(r, ASKED, e->turn->began);
	for (unsigned i = 0; i < USAGE_TYPES; i++)
		if (e->own.has & 1u << i)
			done(r, of[i], usage_sum_put(&e->own, (enum usage_type)i, begin(r, of[i])));
	if (e->billed.has & 1u << USAGE_TOTAL)
		done(r, BILLED, usage_sum_put(&e->billed, USAGE_TOTAL, begin(r, BILLED)));
	if ((e->own_lower && e->own.has) || (e->billed_lower && e->billed.has))
		put_text(r, LOWER_BOUND, slice_of(e->own_lower ? "total" : "billed"));
	put_costs(r, t, e->session);
	put_text(r, BASIS, slice_of(e->turn->counts.has ? usage_bases[e->basis] : e->own.has ? "calls" : ""));
	put_text(r, STOP_REASON, usage_name(t->usage, e->turn->stop));
	put_estimate(r, t, e);
}

static int
make_row(struct row *r, struct tool *t, const struct usage_event *e)
{
	const struct usage_session *s = e->session;

	*r = (struct row){0};
	if (t->timed && t->started > 0)
		done(r, TIME, calendar_put_date(begin(r, TIME), t->started + (double)e->t / 1e6));
	if (t->timed)
		put_seconds(r, T, e->t);
	put_text(r, SESSION, slice(s->id, s->id_length));
	put_text(r, EVENT, slice_of(kinds[e->kind]));
	put_text(r, MODEL, usage_name(t->usage, s->model));
	put_context(r, t, s);
	put_text(r, AGENT, usage_agent_name(t->usage, s->agent));
	put_text(r, CWD, usage_name(t->usage, s->cwd));
	if (s->parent)
		put_text(r, PARENT, slice(s->parent->id, s->parent->id_length));
	if (e->kind == USAGE_EVENT_TURN || e->kind == USAGE_EVENT_WORK)
		put_turn(r, t, e);
	else if (e->kind == USAGE_EVENT_COMPACT)
		put_text(r, STOP_REASON, usage_name(t->usage, e->status));
	return r->failed ? -1 : 0;
}

/* --- for programs --- */

static int
put_visible(struct buf *to, int32_t code)
{
	char visible[TEXT_SHOW_SIZE];

	return buf_add(to, visible, text_show(visible, code));
}

/* Tabs and newlines can not stand in a column. */
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

/* What ends a row of columns. */
static const char *const ends[] = {[FORMAT_TSV] = "\n", [FORMAT_CSV] = "\r\n", [FORMAT_JSON] = "}\n", [FORMAT_PROM] = NULL};

/* The values of a row, or (NULL) the names of the columns. */
static int
put_columns(struct buf *to, const struct row *row, enum format f)
{
	struct slice v;
	int r = f == FORMAT_JSON ? buf_add(to, "{", 1) : 0;

	for (int c = 0; c < COLUMNS && r == 0; c++) {
		v = row ? cell(row, (enum column)c) : slice_of(columns[c].name);
		if (c > 0 && buf_add(to, f == FORMAT_TSV ? "\t" : ",", 1) < 0)
			return -1;
		if (f != FORMAT_JSON)
			r = f == FORMAT_TSV ? put_tsv(to, v) : put_csv(to, v);
		else
			r = -(buf_printf(to, "\"%s\":", columns[c].name) || (v.n == 0 ? buf_add_string(to, "null")
				: columns[c].number ? buf_add_slice(to, v) : json_quote(v, to)));
	}
	return r < 0 ? -1 : buf_add_string(to, ends[f]);
}

/* --- for people --- */

/* Ends a column that began at `from`, so wide. */
static int
pad(struct buf *to, size_t from, size_t width)
{
	size_t n = cells_width(slice(to->p + from, to->n - from));

	return buf_printf(to, "%*s", (int)(n < width ? width - n + 2 : 2), "");
}

static int
log_context(struct buf *to, const struct usage_session *s)
{
	char used[PEOPLE_FIGURE] = "?", size[PEOPLE_FIGURE] = "?", left[PEOPLE_FIGURE], percent[16] = "";
	bool full = s->has_used && s->has_size;
	size_t from = to->n;

	if (s->has_used)
		people_count(used, s->used);
	if (s->has_size)
		people_count(size, s->size);
	if (full)
		snprintf(percent, sizeof(percent), "%d%%", usage_percent(s->used, s->size));
	if ((s->has_used || s->has_size ? buf_printf(to, "%s/%s", used, size) : buf_add(to, "-", 1)) < 0 || pad(to, from, 11) < 0 || buf_printf(to, "%4s  ", percent) < 0)
		return -1;
	from = to->n;
	return -(buf_printf(to, "%s%s", full ? people_count(left, tokens_left(s)) : "", full ? " left" : "") || pad(to, from, 11));
}

static int
log_turn(struct tool *t, struct buf *to, const struct usage_event *e)
{
	struct slice stop = usage_name(t->usage, e->turn->stop);
	struct decimal added;
	decimal_units own = usage_total(&e->own), billed = usage_total(&e->billed);
	int r = 0;

	if (stop.n)
		r |= -(buf_add_string(to, " ") || text_plain(to, stop));
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
put_log(struct tool *t, struct buf *to, const struct usage_event *e, const struct row *row)
{
	const struct usage_session *s = e->session;
	const struct usage_cost *c = usage_costs(s);
	enum level l = tool_level(t->options, s);
	struct slice estimate = cell(row, ESTIMATE);
	struct usage_money total;
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
	if (c && !s->cleared && usage_cost_total(s, c->currency, &total))
		r |= usage_money_put(t->usage, &total, to);
	r |= pad(to, from, 10);
	level = l ? level_names[l] : "-";
	r |= buf_printf(to, "%s%s%s%*s%s", level_color(l, color), level, color ? "\033[0m" : "", 8 - (int)strlen(level), "", kinds[e->kind]);
	if (e->kind == USAGE_EVENT_TURN || e->kind == USAGE_EVENT_WORK)
		r |= log_turn(t, to, e);
	else if (e->kind == USAGE_EVENT_COMPACT)
		r |= -(buf_add(to, " ", 1) || text_plain(to, usage_name(t->usage, e->status)));
	if (estimate.n && decimal_parse(estimate, &d))
		r |= -(buf_add_string(to, " ~") || decimal_put_money(d, slice_of("USD"), to));
	return r | buf_add(to, "\n", 1);
}

int
row_put(struct tool *t, struct buf *to, const struct usage_event *e)
{
	enum format f = t->options->format;
	struct row row;
	int r = make_row(&row, t, e);

	if (r == 0 && !t->headed && (f == FORMAT_TSV || f == FORMAT_CSV))
		r = put_columns(to, NULL, f);
	if (r == 0)
		r = ends[f] ? put_columns(to, &row, f) : put_log(t, to, e, &row);
	buf_free(&row.text);
	return r;
}
