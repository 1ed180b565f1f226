/* --max WHAT=VALUE: limits that must not be exceeded. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/ci.h"
#include "lib/base/people.h"
#include "lib/base/text.h"

enum state { KEPT, EXCEEDED, UNCHECKED };

/* "turn.p95" is the 95th percentile of the first time of the rows for turns. */
struct limit {
	struct buf what;          /* WHAT, as in the command line */
	enum row_kind kind;       /* ROWS: of all kinds */
	struct slice name;        /* of the rows; n 0: all rows of the kind */
	unsigned time;            /* which of a row's times */
	enum { PERCENTILE, FAILED, OPEN } measure;
	unsigned percent;         /* the percentile; 100: the greatest time */
	uint64_t most;            /* us, or a number */
	enum state state;         /* this and text are set by limits_check */
	struct buf text;          /* "45.2 s, more than 30 s" */
};

/* Reads what stands before the last dot: turn, one of a turn's times, tool, tool.KIND, method, method.NAME. */
static bool
read_rows(struct limit *l, struct slice rows)
{
	const char *dot = memchr(rows.p, '.', rows.n);
	struct slice first = dot ? slice_between(rows.p, dot) : rows;

	l->name = dot ? slice_between(dot + 1, rows.p + rows.n) : slice(NULL, 0);
	for (l->kind = 0; l->kind < ROWS && !slice_is(first, row_kind_names[l->kind]); l->kind++)
		;
	if (l->kind < ROWS)
		return dot ? l->kind != ROW_TURN && l->name.n : true;
	l->kind = ROW_TURN;
	while (l->time < SPAN_TIMES && !slice_is(first, row_time_name(ROW_TURN, l->time)))
		l->time++;
	return !dot && l->time < SPAN_TIMES;
}

static bool
read_measure(struct limit *l, struct slice measure)
{
	const char *p = measure.p, *end = p + measure.n;
	uint64_t percent;

	l->measure = slice_is(measure, "failed") ? FAILED : slice_is(measure, "open") ? OPEN : PERCENTILE;
	if (l->measure != PERCENTILE)
		return l->time == 0;
	l->percent = 100;
	if (slice_is(measure, "max"))
		return true;
	/* Two digits at most, so that .p100 is wrong: that is .max. */
	if (!bytes_skip(&p, end, "p") || !bytes_number(&p, end, 2, &percent))
		return false;
	l->percent = (unsigned)percent;
	return p == end && percent > 0;
}

void
limits_parse(const struct cli_argument *t)
{
	struct limits *all = t->at;
	const char *value = strrchr(t->argument, '='), *dot;
	struct limit *l;
	struct slice what;

	if (!value)
		cli_wrong(t, "expected WHAT=VALUE, such as turn.p95=30s or open=0");
	what = slice_between(t->argument, value++);
	dot = memrchr(what.p, '.', what.n);
	all->at = cli_grow(tool_name, all->at, all->n, sizeof(*l));
	l = &all->at[all->n++];
	*l = (struct limit){.kind = ROWS};
	if (text_plain(&l->what, what) < 0 || !buf_string(&l->what))
		cli_no_memory(tool_name);
	if (dot ? !read_rows(l, slice_between(what.p, dot)) || !read_measure(l, slice_between(dot + 1, what.p + what.n)) :
		!read_measure(l, what) || l->measure == PERCENTILE)
		cli_wrong(t, "expected turn, first_update, first_text, silence, tools, user, model, tool, tool.KIND, method or method.NAME, "
			"and after it .p1 to .p99, .max, .failed or .open");
	if (l->measure == PERCENTILE && cli_duration(value, &l->most) < 0)
		cli_wrong(t, cli_want_duration);
	if (l->measure != PERCENTILE && cli_count(value, &l->most) < 0)
		cli_wrong(t, "expected a number");
}

/* Compares a limit with the rows. 0, or -1 out of memory. */
static int
check(struct limit *l, const struct table *t)
{
	char found[PEOPLE_FIGURE], most[PEOPLE_FIGURE];
	uint64_t rows = 0, count = 0;
	struct hist times = {0};
	int r = 0;

	for (const struct row *row = t->rows; row && r == 0; row = row->hh.next) {
		if (l->kind != ROWS && (row->kind != l->kind || (l->name.n && !slice_eq(row_name(row), l->name))))
			continue;
		rows = hist_sum(rows, row->count);
		count = hist_sum(count, l->measure == OPEN ? row->open : row->failed);
		if (l->measure == PERCENTILE)
			r = hist_merge(&times, &row->times[l->time]);
	}
	l->text.n = 0;
	if (l->measure == PERCENTILE) {
		rows = times.n;
		count = hist_percentile(&times, l->percent);
		people_duration(found, count);
		people_duration(most, l->most);
		if (count > l->most && strcmp(found, most) == 0) {
			snprintf(found, sizeof(found), "%.15g s", (double)count / 1e6);
			snprintf(most, sizeof(most), "%.15g s", (double)l->most / 1e6);
		}
	} else {
		snprintf(found, sizeof(found), "%llu", (unsigned long long)count);
		snprintf(most, sizeof(most), "%llu", (unsigned long long)l->most);
	}
	hist_free(&times);
	l->state = rows == 0 ? UNCHECKED : count > l->most ? EXCEEDED : KEPT;
	if (l->state == UNCHECKED)
		return r | buf_add_string(&l->text, "not checked: there was none");
	return r | buf_printf(&l->text, "%s, %s%s", found, l->state == KEPT ? "at most " : "more than ", most);
}

static int
put_all(const struct limits *all, enum format format, struct buf *to)
{
	static const char *const failures[] = {[KEPT] = NULL, [EXCEEDED] = "exceeded", [UNCHECKED] = "unchecked"};
	size_t failed = 0;
	int r = 0;

	for (size_t i = 0; i < all->n; i++)
		failed += all->at[i].state != KEPT;
	if (format == FORMAT_JUNIT)
		r = ci_junit_begin(to, slice_of(tool_name), all->n, failed, 0);
	for (const struct limit *l = all->at; l < all->at + all->n; l++) {
		struct slice text = l->state == KEPT ? slice(NULL, 0) : buf_slice(&l->text);

		if (format == FORMAT_JUNIT)
			r |= ci_junit_case(to, &(struct ci_case){slice_of(tool_name), buf_slice(&l->what), failures[l->state], text, text, false});
		else if (l->state != KEPT)
			r |= ci_github(to, CI_ERROR, NULL, 0, l->what.p, text);
	}
	return r | (format == FORMAT_JUNIT ? ci_junit_end(to) : 0);
}

int
limits_check(struct tool *t, int status)
{
	const struct limits *all = &t->options->limits;
	enum format format = t->options->format;
	int result = 0;
	struct buf *to;
	size_t before;

	for (struct limit *l = all->at; l < all->at + all->n; l++) {
		t->failed |= check(l, &t->table) < 0;
		if (l->state != KEPT && format != FORMAT_JUNIT && format != FORMAT_GITHUB)
			watch_warn(t->watch, "%s: %.*s", l->what.p, (int)l->text.n, l->text.p);
		if (l->state == EXCEEDED)
			result = EXIT_NEGATIVE;
		else if (l->state == UNCHECKED && result == 0)
			result = EXIT_USAGE;
	}
	if (format == FORMAT_JUNIT || format == FORMAT_GITHUB) {
		to = out_buf(&t->watch->out);
		before = to->n;
		out_commit(&t->watch->out, before, put_all(all, format, to));
	}
	return status ? status : result;
}

void
limits_free(struct limits *all)
{
	for (size_t i = 0; i < all->n; i++) {
		buf_free(&all->at[i].what);
		buf_free(&all->at[i].text);
	}
	free(all->at);
}
