/* The figures of an HTML page, as SVG: the context and the cost of a session over time, and where the time of a turn went. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-export/page.h"
#include "lib/base/people.h"

enum { WIDTH = 640 };

/* Writes a text, which class "m" centres at x, and "r" ends at x. Unsafe characters are plain: HTML elements would end the SVG. */
static void
put_label(struct page *p, double x, double y, const char *class, struct slice text)
{
	page_printf(p, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	page_put_html(p, text, true);
	page_put(p, "</text>");
}

static void
put_line(struct page *p, const char *class, double x1, double y1, double x2, double y2)
{
	page_printf(p, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", class, x1, y1, x2, y2);
}

/* --- the chart of a session --- */

static const int LEFT = 48, RIGHT = 560, TOP = 22, BOTTOM = 142, CHART_HEIGHT = 162, APART = 22;

/* Returns the y of a part of the height, from 0 to 1. */
static double
y_of(double part)
{
	return BOTTOM - (BOTTOM - TOP) * part;
}

static double
x_of(const struct chart *c, size_t column)
{
	return LEFT + (double)(RIGHT - LEFT) * (double)column / (double)(c->n - 1);
}

/* Writes the points of a line. part: the height of each column, used from `first` on; equal neighbours need only their ends. */
static void
put_points(struct page *p, const struct chart *c, const double *part, size_t first)
{
	for (size_t i = first; i < c->n; i++)
		if (i == first || i + 1 == c->n || part[i] != part[i - 1] || part[i] != part[i + 1])
			page_printf(p, "%s%.1f,%.1f", i > first ? " " : "", x_of(c, i), y_of(part[i]));
}

/* Draws a line where each turn begins and, if there is room, the turn's number as a link to the turn. */
static void
put_turns(struct page *p, const struct chart *c, const struct session *s)
{
	const struct export_session *x = s->data;
	unsigned number = 0;
	double at, last = 0;
	char name[24];

	for (const struct export_turn *turn = x->turns; turn; turn = turn->next) {
		if (turn->kind > TURN_WORK)
			continue;
		number++;
		at = LEFT + (RIGHT - LEFT) * (turn->started + (double)turn->t / 1e6 - c->begin) / c->seconds;
		if (last > 0 && at - last < 2)
			continue;
		put_line(p, "begin", at, TOP, at, BOTTOM);
		if (last > 0 && at - last < APART)
			continue;
		snprintf(name, sizeof(name), number == 1 ? "turn %u" : "%u", number);
		page_printf(p, "<a href=\"#s%llu-%u\">", (unsigned long long)s->number, number);
		put_label(p, at, TOP - 9, "m", slice_of(name));
		page_put(p, "</a>");
		last = at;
	}
}

void
html_chart(struct page *p, const struct session *s)
{
	const struct export_session *x = s->data;
	double context[CHART_MOST], cost[CHART_MOST];
	char figure[PEOPLE_FIGURE];
	struct chart c;
	SCOPED struct buf text = {0}, most = {0};
	size_t paid = 0;

	chart_make(&c, x, CHART_MOST, true);
	chart_caption(&c, &text, true);
	export_must(buf_add_string(&text, c.most_cost > 0 ? " Dashed: the cost." : ""));
	for (size_t i = 0; i < c.n; i++) {
		context[i] = (double)c.column[i] / (double)c.height;
		cost[i] = c.cost[i] / c.most_cost;
		paid += c.cost[i] < 0;
	}
	page_printf(p, "<figure class=\"chart\">\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, CHART_HEIGHT);
	page_put_html(p, buf_slice(&text), true);
	page_put(p, "\">");
	for (unsigned i = 0; i <= 2; i++) {
		put_line(p, "grid", LEFT, y_of(i / 2.0), RIGHT, y_of(i / 2.0));
		put_label(p, LEFT - 6, y_of(i / 2.0) + 4, "r", slice_of(people_count(figure, i == 2 ? c.height : c.height / 2 * i)));
	}
	page_printf(p, "<polygon points=\"%.1f,%d ", x_of(&c, c.first), BOTTOM);
	put_points(p, &c, context, c.first);
	page_printf(p, " %d,%d\"/><polyline points=\"", RIGHT, BOTTOM);
	put_points(p, &c, context, c.first);
	page_put(p, "\"/>");
	if (c.most_cost > 0) {
		page_put(p, "<polyline class=\"cost\" points=\"");
		put_points(p, &c, cost, paid);
		page_put(p, "\"/>");
		/* Round an amount halfway up, like the cost in the facts: the double may be a little less than the amount. */
		export_must(buf_printf(&most, "%.4g ", c.most_cost * (1 + 1e-12)));
		export_must(buf_add_slice(&most, slice_cut(buf_slice(&x->currency), 8)));
		put_label(p, RIGHT + 6, TOP + 4, "cost", buf_slice(&most));
		put_label(p, RIGHT + 6, BOTTOM + 4, "cost", slice_of("0"));
	}
	if (c.seconds > 0) {
		put_turns(p, &c, s);
		put_label(p, LEFT, BOTTOM + 15, "m", slice_of("0"));
		put_label(p, RIGHT, BOTTOM + 15, "m", slice_of(people_duration(figure, (uint64_t)(c.seconds * 1e6))));
	}
	page_put(p, "</svg>\n<figcaption>");
	page_put_html(p, buf_slice(&text), false);
	page_put(p, "</figcaption>\n</figure>\n");
}

/* --- the time of a turn --- */

enum { ROWS_MOST = 40, NAME_MOST = 30 };
static const int NAMES = 190;
static const unsigned ROW = 16;

/* When a tool call or a question to the user was open in a turn, also in the turn's sub-agents; us. */
struct bar {
	const struct item *item;
	uint64_t t, end;
};

/* How many more tool calls and questions are open from the time t on; a negative number: fewer are open. */
struct edge {
	uint64_t t;
	int tools, questions;
};

static int
compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

static double
x_at(const struct export_turn *turn, uint64_t t)
{
	return NAMES + (double)(WIDTH - 8 - NAMES) * (double)(t - turn->t) / (double)(turn->end - turn->t);
}

static void
put_rect(struct page *p, const struct export_turn *turn, const char *class, unsigned row, uint64_t t, uint64_t end)
{
	double x = x_at(turn, t), width = x_at(turn, end) - x;

	page_printf(p, "<rect class=\"%s\" x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\"/>", class, x, row * ROW + 3,
		width < 1 ? 1 : width, ROW - 5);
}

/* Divides the time of a turn: a moment belongs to the user while a question is open, else to the tools while a call is open, else
   to the model. Adds the times of model, tools and user to sums, in us; or, if sums is NULL, draws the bars of the model. */
static void
divide(struct page *p, const struct export_turn *turn, const struct buf *edges, uint64_t *sums)
{
	const struct edge *edge = (const void *)edges->p, *end = edge + edges->n / sizeof(*edge);
	uint64_t at = turn->t, next;
	int tools = 0, questions = 0, who;

	for (;; edge++) {
		next = edge < end ? edge->t : turn->end;
		who = questions ? 2 : tools ? 1 : 0;
		if (sums)
			sums[who] += next - at;
		else if (who == 0 && next > at)
			put_rect(p, turn, "by-model", 0, at, next);
		at = next;
		if (edge == end)
			return;
		tools += edge->tools;
		questions += edge->questions;
	}
}

static void
put_rows(struct page *p, const struct export_turn *turn, const struct bar *bar, size_t n, bool asks)
{
	unsigned row = 1 + asks;

	put_label(p, 0, ROW - 4, "", slice_of("model"));
	if (asks)
		put_label(p, 0, 2 * ROW - 4, "", slice_of("waiting for the user"));
	for (size_t i = 0; i < n; i++) {
		if (bar[i].item->kind == ITEM_ASK) {
			put_rect(p, turn, "by-user", 1, bar[i].t, bar[i].end);
			continue;
		}
		if (row == ROWS_MOST)
			continue;
		put_label(p, 0, (row + 1) * ROW - 4, "", slice_cut(page_tool_name(p, bar[i].item), NAME_MOST));
		put_rect(p, turn, "by-tool", row++, bar[i].t, bar[i].end);
	}
}

void
html_timeline(struct page *p, const struct export_turn *turn)
{
	static const char *const names[] = {"model", "tools", "user"};
	struct item *const *item = (const void *)turn->work.p;
	const struct bar *bar;
	uint64_t sums[3] = {0};
	size_t n, calls = 0, wanted, rows;
	char figure[PEOPLE_FIGURE];
	SCOPED struct buf bars = {0}, edges = {0};

	for (size_t i = 0; i < turn->work.n / sizeof(*item); i++) {
		bool ask = item[i]->kind == ITEM_ASK;
		struct bar b = {item[i], item[i]->t > turn->t ? item[i]->t : turn->t,
			item[i]->ended && item[i]->end < turn->end ? item[i]->end : turn->end};

		if (b.t > b.end)
			continue;
		calls += !ask;
		export_must(buf_add(&bars, &b, sizeof(b)));
		export_must(buf_add(&edges, (const struct edge[]){{b.t, !ask, ask}, {b.end, -!ask, -ask}}, 2 * sizeof(struct edge)));
	}
	bar = (const void *)bars.p;
	n = bars.n / sizeof(*bar);
	if (n == 0 || turn->end <= turn->t)
		return;
	qsort(edges.p, edges.n / sizeof(struct edge), sizeof(struct edge), compare);
	divide(p, turn, &edges, sums);
	wanted = calls + 1 + (calls < n);
	rows = wanted < ROWS_MOST ? wanted : ROWS_MOST;
	page_put(p, "<details class=\"fold\">\n<summary><span class=\"label\">Time</span> ");
	for (unsigned i = 0; i < 3; i++)
		if (sums[i])
			page_printf(p, "%s <span class=\"when\">%s</span> ", names[i], people_duration(figure, sums[i]));
	page_printf(p, "</summary>\n<svg class=\"bars\" viewBox=\"0 0 %d %zu\" role=\"img\" aria-label=\"where the time went\">",
		WIDTH, (rows + 1) * ROW);
	for (unsigned i = 0; i <= 4; i++) {
		uint64_t at = (turn->end - turn->t) / 4 * i;

		put_line(p, "grid", x_at(turn, turn->t + at), 0, x_at(turn, turn->t + at), (double)(rows * ROW));
		put_label(p, x_at(turn, turn->t + at), (double)((rows + 1) * ROW) - 3, i == 4 ? "r" : "m",
			slice_of(i ? people_duration(figure, at) : "0"));
	}
	divide(p, turn, &edges, NULL);
	put_rows(p, turn, bar, n, calls < n);
	page_put(p, "</svg>\n");
	if (wanted > rows)
		page_printf(p, "<p class=\"path text\">%zu more tool calls are not shown.</p>\n", wanted - rows);
	page_put(p, "</details>\n");
}
