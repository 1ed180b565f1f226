/* Writes the summary as a table. On a terminal it leaves out columns that are empty or do not fit. */
#include <unistd.h>

#include "cmd/acp-usage/summary.h"
#include "lib/base/cells.h"

enum column { NAME, DATE, TURNS, TOTAL, INPUT, OUTPUT, THOUGHT, READ, WRITE, BILLED, CACHED, PEAK, CONTEXT, LEVEL, COST, ESTIMATE, NOTE,
	COLUMNS };
_Static_assert((int)COLUMNS == (int)SUMMARY_COLUMNS, "columns");

enum { NAME_MOST = 28, NAME_LEAST = 12 };

static const struct {
	const char *name;
	bool right;
	unsigned char leaves; /* the order in which columns go until the rest fits, from 1; 0: never */
} columns[COLUMNS] = {
	{"session", false, 0}, {"date", false, 7}, {"turns", true, 0}, {"total", true, 7}, {"input", true, 5}, {"output", true, 8},
	{"thought", true, 1}, {"cache read", true, 3}, {"cache write", true, 2}, {"billed", true, 0}, {"cached", true, 6}, {"peak", true, 4},
	{"context", true, 9}, {"level", false, 10}, {"cost", true, 0}, {"estimate", true, 0}, {"", false, 0},
};

int
summary_hits(const struct usage_figures *f)
{
	return f->input > 0 ? (int)((f->cached * 2000 + f->input) / (f->input * 2)) : -1;
}

int
summary_name(struct summary *s, const struct summary_row *row, struct buf *to)
{
	enum by by = s->tool->options->by;

	if (row->session)
		return buf_add_slice(to, slice(row->session->id, row->session->id_length));
	if (by_period(by))
		return row->key ? calendar_put_day(to, (int32_t)row->key) : 0;
	return buf_add_slice(to, usage_name(s->tool->usage, (uint32_t)row->key));
}

/* --- cells --- */

static int
put_count(struct summary *s, struct buf *to, const struct usage_sums *sums, enum usage_type type, bool lower)
{
	decimal_units n = sums->n[type];

	if (!(sums->has & 1u << type))
		return buf_add(to, "-", 1);
	if (lower && buf_add(to, ">=", 2) < 0)
		return -1;
	return s->narrow && n <= (decimal_units)UINT64_MAX ? put_tokens(to, (uint64_t)n) : usage_sum_put(sums, type, to);
}

static int
put_name(struct summary *s, struct buf *to, const struct summary_row *row)
{
	const struct usage_session *session = row->session, *parent = session ? session->parent : NULL;
	struct slice title = session ? usage_name(s->tool->usage, session->title) : slice_of("");
	SCOPED struct buf name = {0};
	int r;

	if (row == &s->total) {
		if (s->tool->options->by == BY_SESSION)
			return buf_printf(to, "total of %zu", s->sessions);
		return buf_printf(to, "total of %zu %s%s", s->norder, by_names[s->tool->options->by], s->norder == 1 ? "" : "s");
	}
	r = buf_printf(to, "%*s", (int)(2 * row->depth), "");
	/* The id of a child may begin with its parent's id; then its title says more. */
	if (session && !(title.n && parent && strncmp(session->id, parent->id, parent->id_length) == 0))
		r |= put_session(to, s->tool, session);
	else if (session)
		r |= buf_add(to, "-", 1);
	else
		r |= -(summary_name(s, row, &name) || text_plain(to, name.n ? buf_slice(&name) : slice_of("-")));
	if (title.n)
		r |= -(buf_add(to, " ", 1) || text_plain(to, title));
	return r;
}

static int
put_context(struct buf *to, const struct usage_session *session)
{
	return !session->has_used ? buf_add(to, "-", 1) : -(put_tokens(to, session->used) || buf_add(to, "/", 1)
		|| (session->size ? put_tokens(to, session->size) : buf_add(to, "?", 1)));
}

static int
put_costs(struct summary *s, struct buf *to, const struct usage_figures *f)
{
	int r = f->ncosts ? 0 : buf_add(to, "-", 1);

	for (size_t i = 0; i < f->ncosts; i++)
		r |= -((i && buf_add_string(to, " + ") < 0) || usage_money_put(s->tool->usage, &f->costs[i], to));
	return r;
}

static int
put_cell(struct summary *s, struct buf *to, const struct summary_row *row, enum column c)
{
	static const enum usage_type types[] = {USAGE_TOTAL, USAGE_INPUT, USAGE_OUTPUT, USAGE_THOUGHT, USAGE_READ, USAGE_WRITE};
	const struct usage_figures *f = &row->figures;
	int hit = summary_hits(f);
	double started;
	enum level l;

	if (!row->session && (c == DATE || c == PEAK || c == CONTEXT || c == LEVEL))
		return 0;
	switch (c) {
	case NAME:
		return put_name(s, to, row);
	case DATE:
		started = row->session->parts ? row->session->parts->started : 0;
		return started > 0 ? calendar_put_day(to, calendar_day(started)) : buf_add(to, "-", 1);
	case TURNS:
		return buf_printf(to, "%llu", (unsigned long long)f->turns);
	case BILLED:
		return put_count(s, to, &f->billed, USAGE_TOTAL, f->billed_lower);
	case CACHED:
		return hit >= 0 ? buf_printf(to, "%d.%d%%", hit / 10, hit % 10) : buf_add(to, "-", 1);
	case PEAK:
		return row->session->has_used ? put_tokens(to, summary_peak(row->session)) : buf_add(to, "-", 1);
	case CONTEXT:
		return put_context(to, row->session);
	case LEVEL:
		l = tool_level(s->tool->options, row->session);
		return buf_add_string(to, l ? level_names[l] : row->session->has_used ? "?" : "-");
	case COST:
		return put_costs(s, to, f);
	case ESTIMATE:
		if (!s->tool->prices)
			return 0;
		return f->has_estimate ? -(buf_add(to, "~", 1) || decimal_put_money(f->estimate, slice_of("USD"), to))
			: buf_add(to, "-", 1);
	case NOTE:
		return f->malformed ? buf_printf(to, "malformed: %llu", (unsigned long long)f->malformed) : 0;
	default:
		return put_count(s, to, &f->own, types[c - TOTAL], f->own_lower);
	}
}

/* --- columns --- */

static const char *
title_of(const struct summary *s, int column)
{
	return column == NAME ? by_names[s->tool->options->by] : columns[column].name;
}

static int
measure(struct summary *s, const struct summary_row *row)
{
	SCOPED struct buf cell = {0};
	size_t n;
	int c, r = 0;

	for (c = 0; c < COLUMNS && r == 0; c++) {
		cell.n = 0;
		r = put_cell(s, &cell, row, (enum column)c);
		n = cells_width(buf_slice(&cell));
		if (c == NAME && n > NAME_MOST && (s->narrow || row->session))
			n = NAME_MOST;
		s->width[c] = n > s->width[c] ? n : s->width[c];
		s->value[c] |= n > 0 && !(n == 1 && *cell.p == '-');
	}
	return r;
}

/* Removes columns until the line fits; then shortens the names. */
static void
fit(struct summary *s, size_t room)
{
	size_t all;
	int c, next;

	for (;;) {
		for (all = 0, next = -1, c = 0; c < COLUMNS; c++) {
			all += s->width[c] ? s->width[c] + 2 : 0;
			if (s->width[c] && columns[c].leaves && (next < 0 || columns[c].leaves < columns[next].leaves))
				next = c;
		}
		if (all <= room + 2)
			return;
		if (next < 0)
			break;
		s->width[next] = 0;
	}
	all -= s->width[NAME];
	s->width[NAME] = room + 2 > all + NAME_LEAST ? room + 2 - all : NAME_LEAST;
}

int
summary_line(struct summary *s, const struct summary_row *row, struct buf *to)
{
	static const enum style styles[] = {[LEVEL_YELLOW] = STYLE_YELLOW, [LEVEL_ORANGE] = STYLE_ORANGE, [LEVEL_RED] = STYLE_RED};
	SCOPED struct buf text = {0};
	struct cells line;
	int r = 0;

	cells_begin(&line, to, true, s->color);
	line.between = 2;
	line.ellipsis = "~";
	for (int c = 0; c < COLUMNS && r == 0; c++) {
		if (!s->width[c])
			continue;
		text.n = 0;
		r = row ? put_cell(s, &text, row, (enum column)c) : buf_add_string(&text, title_of(s, c));
		if (r < 0 || !buf_string(&text))
			return -1;
		if (columns[c].right) {
			cells_right(&line, (unsigned)s->width[c], STYLE_PLAIN, text.p);
			continue;
		}
		cells_open(&line, (unsigned)s->width[c]);
		cells_style(&line, c == LEVEL && row && row->session ? styles[tool_level(s->tool->options, row->session)] : STYLE_PLAIN);
		cells_text(&line, buf_slice(&text));
		cells_close(&line);
	}
	return r | cells_end(&line);
}

int
summary_head(struct summary *s)
{
	struct buf *to = out_buf(&s->tool->watch->out);
	const struct options *o = s->tool->options;
	size_t room = 0, before = to->n, n;
	int r;

	/* As less -R does: if the output is a pipe, standard error has the width of the terminal. */
	if (!o->wide && !o->frame.output && (room = cli_columns(STDOUT_FILENO)) == 0)
		room = cli_columns(STDERR_FILENO);
	s->color = cli_wants_color(o->color, log_fd(s->tool->watch->out.log));
	s->narrow = room > 0;
	r = -(summary_each(s, measure) || measure(s, &s->total));
	for (int c = 0; c < COLUMNS; c++) {
		n = strlen(title_of(s, c));
		/* Only sessions have a context, and estimates need a price list. */
		if ((c >= PEAK && c <= LEVEL && o->by != BY_SESSION) || (c == ESTIMATE && !s->tool->prices)
			|| ((c == NOTE || c == DATE) && !s->value[c]) || (s->narrow && !s->value[c] && c != NAME))
			s->width[c] = 0;
		else
			s->width[c] = n > s->width[c] ? n : s->width[c];
	}
	if (s->narrow)
		fit(s, room);
	r |= summary_line(s, NULL, to);
	out_end_record(&s->tool->watch->out, before);
	return r;
}
