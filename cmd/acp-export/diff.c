/* Differences between two texts, line by line. */
#include <stdlib.h>

#include "cmd/acp-export/page.h"

/* CELLS: of the table of common lines at most; more changed lines are shown as all old, then all new. */
enum { AROUND = 3, CELLS = 4 * 1024 * 1024 };

struct line {
	struct slice text;
	uint32_t number; /* the same for lines that are equal */
};

struct lines {
	struct line *at;
	size_t n;
};

struct diff {
	struct diff_line *line;
	size_t n, room;
	bool failed;
};

static struct slice
next_line(const char **p, const char *end)
{
	const char *from = *p, *newline = memchr(from, '\n', (size_t)(end - from));

	*p = newline ? newline + 1 : end;
	return slice_between(from, newline ? newline : end);
}

/* False when out of memory. */
static bool
split(struct slice text, struct lines *to)
{
	const char *p, *end = text.p + text.n;
	size_t n = 0;

	*to = (struct lines){0};
	for (p = text.p; p < end; n++)
		next_line(&p, end);
	to->at = calloc(n + 1, sizeof(*to->at));
	if (!to->at)
		return false;
	for (p = text.p; p < end;)
		to->at[to->n++].text = next_line(&p, end);
	return true;
}

static int
by_text(const void *a, const void *b)
{
	struct slice x = (*(struct line *const *)a)->text, y = (*(struct line *const *)b)->text;

	if (x.n != y.n)
		return x.n < y.n ? -1 : 1;
	return x.n ? memcmp(x.p, y.p, x.n) : 0;
}

/* Numbers the lines of both, so that comparing two of them takes no longer where they are long. False when out of memory. */
static bool
number(struct lines *a, struct lines *b)
{
	struct line **all = calloc(a->n + b->n + 1, sizeof(struct line *));
	uint32_t n = 0;
	size_t i;

	if (!all)
		return false;
	for (i = 0; i < a->n + b->n; i++)
		all[i] = i < a->n ? &a->at[i] : &b->at[i - a->n];
	qsort(all, a->n + b->n, sizeof(struct line *), by_text);
	for (i = 0; i < a->n + b->n; i++)
		all[i]->number = i && by_text(&all[i - 1], &all[i]) != 0 ? ++n : n;
	free(all);
	return true;
}

static bool
same(const struct line *a, const struct line *b)
{
	return a->number == b->number;
}

static void
add(struct diff *d, enum diff_mark mark, struct slice text)
{
	size_t room = d->room ? d->room * 2 : 64;
	struct diff_line *p;

	if (d->n == d->room) {
		p = reallocarray(d->line, room, sizeof(*p));
		if (!p) {
			d->failed = true;
			return;
		}
		d->line = p;
		d->room = room;
	}
	d->line[d->n++] = (struct diff_line){.mark = mark, .text = text};
}

/*
 * What is between the lines that both begin and end with: by the longest common subsequence. length[i][j] is that of what
 * follows line i of the one and line j of the other.
 */
static void
compare(struct diff *d, const struct line *a, size_t n, const struct line *b, size_t m)
{
	size_t width = m + 1, i, j;
	uint32_t *length = n && m && n < CELLS / width ? calloc((n + 1) * width, sizeof(*length)) : NULL;

	for (i = n; length && i-- > 0;)
		for (j = m; j-- > 0;)
			length[i * width + j] = same(&a[i], &b[j]) ? length[(i + 1) * width + j + 1] + 1
				: length[(i + 1) * width + j] >= length[i * width + j + 1] ? length[(i + 1) * width + j]
				: length[i * width + j + 1];
	for (i = j = 0; i < n || j < m;) {
		if (length && i < n && j < m && same(&a[i], &b[j]))
			add(d, DIFF_SAME, a[i++].text), j++;
		else if (i < n && (!length || j == m || length[(i + 1) * width + j] >= length[i * width + j + 1]))
			add(d, DIFF_OLD, a[i++].text);
		else
			add(d, DIFF_NEW, b[j++].text);
	}
	free(length);
}

static void
make(struct diff *d, const struct lines *old, const struct lines *new)
{
	size_t begin = 0, end = 0, i;

	while (begin < old->n && begin < new->n && same(&old->at[begin], &new->at[begin]))
		begin++;
	while (end < old->n - begin && end < new->n - begin && same(&old->at[old->n - 1 - end], &new->at[new->n - 1 - end]))
		end++;
	for (i = 0; i < begin; i++)
		add(d, DIFF_SAME, old->at[i].text);
	compare(d, old->at + begin, old->n - begin - end, new->at + begin, new->n - begin - end);
	for (i = old->n - end; i < old->n; i++)
		add(d, DIFF_SAME, old->at[i].text);
}

/* Of a long run of equal lines only those next to a change stay. */
static void
leave_out(struct diff *d)
{
	size_t i, run, to = 0, head, tail;

	for (i = 0; i < d->n; i += run) {
		for (run = 0; i + run < d->n && d->line[i + run].mark == DIFF_SAME; run++)
			;
		head = i ? AROUND : 0;
		tail = i + run < d->n ? AROUND : 0;
		if (run <= head + tail + 1) {
			run = run ? run : 1;
			memmove(&d->line[to], &d->line[i], run * sizeof(*d->line));
			to += run;
			continue;
		}
		memmove(&d->line[to], &d->line[i], head * sizeof(*d->line));
		to += head;
		d->line[to++] = (struct diff_line){.mark = DIFF_GAP, .skipped = run - head - tail};
		memmove(&d->line[to], &d->line[i + run - tail], tail * sizeof(*d->line));
		to += tail;
	}
	d->n = to;
}

void
diff_put(struct page *p, struct slice path, struct slice old, struct slice new)
{
	struct lines a = {0}, b = {0};
	struct diff d = {0};

	if (split(old, &a) && split(new, &b) && number(&a, &b)) {
		make(&d, &a, &b);
		leave_out(&d);
	} else {
		d.failed = true;
	}
	p->failed |= d.failed;
	p->paint->diff(p, path, d.line, d.n);
	free(a.at);
	free(b.at);
	free(d.line);
}

void
diff_put_patch(struct page *p, struct slice text)
{
	const char *at = text.p, *end = text.p + text.n;
	struct diff d = {0};
	struct slice line;

	while (at < end) {
		line = next_line(&at, end);
		if (line.n && strchr("+-", line.p[0]))
			add(&d, line.p[0] == '+' ? DIFF_NEW : DIFF_OLD, slice(line.p + 1, line.n - 1));
		else
			add(&d, DIFF_SAME, line.n && line.p[0] == ' ' ? slice(line.p + 1, line.n - 1) : line);
	}
	p->failed |= d.failed;
	p->paint->diff(p, slice(NULL, 0), d.line, d.n);
	free(d.line);
}
