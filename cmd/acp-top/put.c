/* Writes the table as text: for people in columns that fit the width, and for programs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmd/acp-top/top.h"
#include "lib/base/calendar.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"

enum column { AGENT, TITLE, DIRECTORY, STATE, TURN, CONTEXT, TOKENS, COST, TEXT, COLUMNS };

enum { NARROW = 80, MEDIUM = 120, TEXT_LEAST = 8 };

/* The widths of the columns in a narrow table, in one of usual width, and in a wide one. 0: the column is left out. */
static const unsigned widths[3][COLUMNS] = {
	{8, 10, 0, 19, 6, 5, 0, 7},
	{8, 14, 0, 21, 9, 8, 5, 7},
	{12, 18, 14, 24, 10, 10, 7, 9},
};

static const struct {
	const char *name;
	enum style style;
	bool timed; /* the table shows how long a session has been in this state */
} states[] = {{"waiting", STYLE_MAGENTA, true}, {"no response", STYLE_RED, false}, {"silent", STYLE_RED, true},
	{"tool", STYLE_YELLOW, true}, {"model", STYLE_GREEN, false}, {"idle", STYLE_PLAIN, false},
	{"no session", STYLE_DIM, false}, {"ended", STYLE_DIM, false}};

static const unsigned *
layout(unsigned width)
{
	return widths[width < NARROW ? 0 : width < MEDIUM ? 1 : 2];
}

/* --- for people --- */

static void
put_text(struct cells *c, unsigned width, enum style style, struct slice text)
{
	if (width == 0)
		return;
	cells_open(c, width);
	cells_style(c, style);
	cells_text(c, text);
	cells_close(c);
}

/* The width that is left for the last column; 0: too little. */
static unsigned
left(const struct cells *c, unsigned width)
{
	return width >= c->used + TEXT_LEAST ? width - c->used : 0;
}

int
put_names(const struct top *t, struct buf *to)
{
	static const char *const names[COLUMNS] = {"AGENT", "TITLE", "DIRECTORY", "STATE", "TURN", "CONTEXT", "TOKENS", "COST", "TEXT"};
	const unsigned *w = layout(t->width);
	struct cells c;
	unsigned n;

	cells_begin(&c, to, t->utf8, t->color);
	for (enum column i = 0; i < COLUMNS; i++) {
		n = i == TEXT ? left(&c, t->width) : w[i];
		if (n && i >= TURN && i < TEXT)
			cells_right(&c, n, STYLE_BOLD, i == CONTEXT && n < 7 ? "CTX" : names[i]);
		else
			put_text(&c, n, STYLE_BOLD, slice_of(names[i]));
	}
	return cells_end(&c);
}

/* Appends the end of a text that is longer than its column: the last names of a path, the last words of a sentence. */
static struct slice
end_of(struct slice text, unsigned width)
{
	const char *end = text.p + text.n, *from = end, *at = end;
	unsigned used = 0;

	while (at > text.p) {
		do
			at--;
		while (at > text.p && ((unsigned char)*at & 0xc0) == 0x80);
		used += cells_width(slice_between(at, from));
		if (used > width)
			break;
		from = at;
	}
	return slice_between(from, end);
}

static void
put_title(struct cells *c, const struct row *r, unsigned width)
{
	cells_open(c, width);
	for (unsigned i = 1; i < r->depth && i < 4; i++)
		cells_ascii(c, "  ");
	if (r->depth) {
		cells_sign(c, "└", "`");
		cells_ascii(c, " ");
	}
	cells_text(c, r->title);
	cells_close(c);
}

/* Appends a time in whole seconds. */
static const char *
duration(char text[PEOPLE_FIGURE], uint64_t us)
{
	if (us >= 60 * 1000000)
		return people_duration(text, us);
	snprintf(text, PEOPLE_FIGURE, "%us", (unsigned)(us / 1000000));
	return text;
}

static void
put_state(struct cells *c, const struct row *r, unsigned width)
{
	time_t since = (time_t)(r->stream->started + (double)r->since / 1e6);
	char text[PEOPLE_FIGURE];
	struct tm tm;

	cells_open(c, width);
	cells_style(c, states[r->state].style);
	cells_ascii(c, states[r->state].name);
	if (states[r->state].timed)
		cells_printf(c, " %s", duration(text, r->now - r->since));
	else if (r->state == STATE_IDLE && r->since && localtime_r(&since, &tm) && strftime(text, sizeof(text), " %H:%M", &tm))
		cells_ascii(c, text);
	if (r->queued)
		cells_printf(c, " +%u queued", r->queued);
	if (r->detail.n) {
		cells_ascii(c, ": ");
		cells_text(c, r->detail);
	}
	cells_close(c);
}

static void
put_turn(struct cells *c, const struct row *r, unsigned width)
{
	char time[PEOPLE_FIGURE], text[2 * PEOPLE_FIGURE] = "";

	duration(time, r->turn);
	if (r->seen && r->seen->turns)
		snprintf(text, sizeof(text), "%llu %s", (unsigned long long)r->seen->turns, time);
	cells_right(c, width, STYLE_PLAIN, width < 9 && *text ? time : text);
}

/* Appends a bar, exact to an eighth of a cell. */
static void
put_context(struct cells *c, const struct row *r, unsigned width)
{
	static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	const struct usage_session *u = r->usage;
	bool known = u && u->size;
	int percent = known ? usage_percent(u->used, u->size) : 0;
	unsigned bar = width > 5 ? width - 5 : 0, full = (unsigned)(percent > 100 ? 100 : percent) * bar * 8 / 100;
	char text[PEOPLE_FIGURE] = "";
	enum style style = percent >= 95 ? STYLE_RED : percent >= 75 ? STYLE_YELLOW : STYLE_GREEN;

	if (bar) {
		cells_open(c, bar);
		cells_style(c, style);
		for (unsigned i = 0; known && i < bar; i++, full -= full > 8 ? 8 : full)
			cells_sign(c, eighths[full > 8 ? 8 : full], full >= 4 ? "#" : ".");
		cells_close(c);
	}
	if (known)
		snprintf(text, sizeof(text), "%d%%", percent > 999 ? 999 : percent);
	else if (u && u->has_used)
		people_count(text, u->used);
	cells_right(c, bar ? 4 : width, STYLE_PLAIN, text);
}

int
put_row(const struct top *t, const struct row *r, unsigned width, bool color, struct buf *to)
{
	const unsigned *w = layout(width);
	SCOPED struct buf cost = {0};
	char text[PEOPLE_FIGURE + 2] = "";
	struct cells c;

	cells_begin(&c, to, t->utf8, color);
	put_text(&c, w[AGENT], STYLE_PLAIN, buf_slice(&r->stream->agent));
	put_title(&c, r, w[TITLE]);
	put_text(&c, w[DIRECTORY], STYLE_DIM, end_of(r->directory, w[DIRECTORY]));
	put_state(&c, r, w[STATE]);
	put_turn(&c, r, w[TURN]);
	put_context(&c, r, w[CONTEXT]);
	if (w[TOKENS]) {
		if (r->has_tokens)
			people_count(text + r->tokens_lower, r->tokens);
		if (r->has_tokens && r->tokens_lower)
			*text = '>';
		cells_right(&c, w[TOKENS], STYLE_PLAIN, text);
	}
	/* Without the currency, which the totals have. */
	if (r->has_cost && (decimal_put_money(r->cost.amount, slice_of(""), &cost) < 0 || !buf_string(&cost)))
		return -1;
	cells_right(&c, w[COST], STYLE_PLAIN, cost.n ? cost.p : "");
	if (r->seen)
		put_text(&c, left(&c, width), STYLE_DIM, end_of(buf_slice(&r->seen->text), left(&c, width)));
	return cells_end(&c);
}

/* Shortens the totals until they fit the table: leaves out "for you", then "today", then the number of sessions. */
int
put_totals(const struct top *t, struct buf *to)
{
	const struct totals *s = &t->sums;
	size_t before = to->n;
	struct cells c = {.used = UINT_MAX};

	for (int without = 0; without <= 3 && c.used > t->width; without++) {
		to->n = before;
		cells_begin(&c, to, t->utf8, t->color);
		cells_style(&c, STYLE_BOLD);
		if (without < 3)
			cells_printf(&c, "%zu session%s, ", s->sessions, s->sessions == 1 ? "" : "s");
		cells_printf(&c, "%zu running, %zu waiting%s", s->running, s->waiting, without < 1 ? " for you" : "");
		if (s->cost.n) {
			cells_ascii(&c, without < 2 ? ", today " : ", ");
			cells_text(&c, buf_slice(&s->cost));
		}
	}
	return cells_end(&c);
}

/* --- for programs --- */

static struct slice
number(bool known, uint64_t n, char room[SLICE_DIGITS])
{
	return known ? slice_digits(n, room) : slice(NULL, 0);
}

int
put_fields(const struct row *row, enum format format, struct buf *to)
{
	static const struct slice none;
	struct stream nobody = {.path = ""};
	const struct row names = {.stream = &nobody}, *r = row ? row : &names;
	const struct stream *st = r->stream;
	const struct usage_session *u = r->usage;
	const struct session *s = r->session;
	SCOPED struct buf since = {0}, turn = {0}, cost = {0};
	int e = (r->since && st->started > 0 ? calendar_put_date(&since, st->started + (double)r->since / 1e6) : 0)
		| (s && r->seen->turns ? buf_printf(&turn, "%.3f", (double)r->turn / 1e6) : 0)
		| (r->has_cost ? decimal_put(r->cost.amount, 0, &cost) : 0);
	char room[5][SLICE_DIGITS];
	const struct {
		const char *name;
		bool quoted; /* it is a string in JSON */
		struct slice text;
	} fields[] = {
		{"socket", true, slice_of(st->path)},
		{"agent", true, buf_slice(&st->agent)},
		{"session", true, s ? slice(s->id, s->n) : none},
		{"parent", true, s && s->parent ? slice(s->parent->id, s->parent->n) : none},
		{"title", true, u ? usage_name(st->usage, u->title) : none},
		{"cwd", true, r->directory},
		{"state", true, slice_of(states[r->state].name)},
		{"since", true, buf_slice(&since)},
		{"detail", true, r->detail},
		{"queued", false, number(s, r->queued, room[0])},
		{"turns", false, number(s, s ? r->seen->turns : 0, room[1])},
		{"turn_s", false, buf_slice(&turn)},
		{"used", false, number(u && u->has_used, u ? u->used : 0, room[2])},
		{"size", false, number(u && u->size, u ? u->size : 0, room[3])},
		{"tokens", false, number(r->has_tokens, r->tokens, room[4])},
		{"lower", false, slice_of(!r->has_tokens ? "" : r->tokens_lower ? "true" : "false")},
		{"cost", false, buf_slice(&cost)},
		{"currency", true, r->has_cost ? usage_name(st->usage, r->cost.currency) : none},
		{"text", true, r->seen ? buf_slice(&r->seen->text) : none},
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (format == FORMAT_TSV)
			e |= buf_add_string(to, n++ ? "\t" : "")
				|| text_plain(to, row ? fields[i].text : slice_of(fields[i].name));
		else if (fields[i].text.n)
			e |= buf_printf(to, "%s\"%s\":", n++ ? "," : "{", fields[i].name)
				|| (fields[i].quoted ? json_quote(fields[i].text, to) : buf_add_slice(to, fields[i].text));
	}
	return e || buf_add_string(to, format == FORMAT_JSON ? "}\n" : "\n") ? -1 : 0;
}
