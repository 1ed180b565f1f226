/* The rows, by their keys. */
#include <stdlib.h>

#include "cmd/acp-stat/stat.h"

enum {
	KEY = 3,            /* bytes of a key before the name */
	NAMES_MOST = 1000,  /* methods or kinds of tools: peers choose these names. Further names share a row */
	INTERVALS_MOST = 64 * 1024,
};

const char *const row_kind_names[ROWS] = {"method", "turn", "tool"};

#define FIGURE(name, member) {name, offsetof(struct row, member)}
const struct row_figure row_figures[ROWS][8] = {
	[ROW_METHOD] = {FIGURE("count", count), FIGURE("failed", failed), FIGURE("open", open)},
	[ROW_TURN] = {FIGURE("count", count), FIGURE("failed", failed), FIGURE("open", open), FIGURE("cancelled", cancelled),
		FIGURE("chunks", chunks), FIGURE("output_tokens", tokens), FIGURE("token_us", token_us)},
	[ROW_TOOL] = {FIGURE("count", count), FIGURE("failed", failed), FIGURE("open", open), FIGURE("busy_us", busy)},
};

uint64_t *
row_figure(const struct row *r, const struct row_figure *f)
{
	return (uint64_t *)(void *)((char *)r + f->at);
}

static const char *const turn_times[SPAN_TIMES] = {"total", "first_update", "first_text", "silence", "tools", "user", "model"};

unsigned
row_times(enum row_kind kind)
{
	return kind == ROW_TURN ? SPAN_TIMES : 1;
}

const char *
row_time_name(enum row_kind kind, unsigned i)
{
	return kind == ROW_TURN ? turn_times[i] : kind == ROW_METHOD ? "latency" : "time";
}

bool
turn_tokens(const struct span_turn *t, uint64_t *n)
{
	*n = usage_clip(t->own.n[USAGE_OUTPUT]);
	return t->own.has & 1u << USAGE_OUTPUT;
}

struct slice
row_name(const struct row *r)
{
	return slice(r->name + KEY, r->key - KEY);
}

struct row *
table_row(struct table *t, enum row_kind kind, enum acp_side from, bool notification, struct slice name)
{
	const char head[KEY] = {(char)kind, (char)from, (char)notification};
	struct row *r = t->last;

	if (r && r->kind == kind && r->from == from && r->notification == notification && slice_eq(row_name(r), name))
		return r;
	t->key.n = 0;
	if (buf_add(&t->key, head, KEY) < 0 || buf_add_slice(&t->key, name) < 0)
		return NULL;
	HASH_FIND(hh, t->rows, t->key.p, t->key.n, r);
	if (!r && kind != ROW_TURN && t->n[kind] >= NAMES_MOST && !slice_is(name, "(others)"))
		return table_row(t, kind, from, notification, slice_of("(others)"));
	if (!r) {
		r = calloc(1, sizeof(*r) + t->key.n + 1);
		if (!r)
			return NULL;
		r->kind = kind;
		r->from = from;
		r->notification = notification;
		r->key = t->key.n;
		memcpy(r->name, t->key.p, r->key);
		HASH_ADD_KEYPTR(hh, t->rows, r->name, r->key, r);
		if (!r->hh.tbl) {
			free(r);
			return NULL;
		}
		t->n[kind]++;
	}
	t->last = r;
	return r;
}

static int
merge(struct row *to, const struct row *from)
{
	for (const struct row_figure *f = row_figures[to->kind]; f->name; f++)
		*row_figure(to, f) = hist_sum(*row_figure(to, f), *row_figure(from, f));
	for (unsigned i = 0; i < SPAN_TIMES; i++)
		if (hist_merge(&to->times[i], &from->times[i]) < 0)
			return -1;
	return 0;
}

int
table_merge(struct table *to, const struct table *from)
{
	struct row *into;

	for (const struct row *r = from->rows; r; r = r->hh.next) {
		into = table_row(to, r->kind, r->from, r->notification, row_name(r));
		if (!into || merge(into, r) < 0)
			return -1;
	}
	return 0;
}

/* Adds an interval. They come in the order of their ends, so one that begins earlier is merged with those before it. */
int
row_add_interval(const struct table *t, struct row *r, uint64_t begin, uint64_t end)
{
	struct interval *more;

	if (r->recording != t->recordings)
		r->nintervals = 0;
	r->recording = t->recordings;
	while (r->nintervals && r->intervals[r->nintervals - 1].end >= begin) {
		r->nintervals--;
		begin = r->intervals[r->nintervals].begin < begin ? r->intervals[r->nintervals].begin : begin;
		r->busy -= r->intervals[r->nintervals].end - r->intervals[r->nintervals].begin;
	}
	/* Forgets the older half: only a call that has run since then could still overlap with it. */
	if (r->nintervals == INTERVALS_MOST) {
		memmove(r->intervals, r->intervals + INTERVALS_MOST / 2, INTERVALS_MOST / 2 * sizeof(*r->intervals));
		r->nintervals = INTERVALS_MOST / 2;
	}
	if ((r->nintervals & (r->nintervals + 1)) == 0) {
		more = realloc(r->intervals, 2 * (r->nintervals + 1) * sizeof(*more));
		if (!more)
			return -1;
		r->intervals = more;
	}
	r->intervals[r->nintervals++] = (struct interval){begin, end};
	r->busy += end - begin;
	return 0;
}

static int
by_key(struct row *a, struct row *b)
{
	return slice_compare(slice(a->name, a->key), slice(b->name, b->key));
}

void
table_sort(struct table *t)
{
	HASH_SORT(t->rows, by_key);
}

void
table_free(struct table *t)
{
	struct row *r, *next;

	HASH_ITER(hh, t->rows, r, next) {
		HASH_DEL(t->rows, r);
		for (unsigned i = 0; i < SPAN_TIMES; i++)
			hist_free(&r->times[i]);
		free(r->intervals);
		free(r);
	}
	buf_free(&t->key);
	*t = (struct table){0};
}
