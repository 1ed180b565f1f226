#include "lib/match/members.h"

#include <stdlib.h>

static int
add(struct members *ms, struct slice key, struct slice value)
{
	struct member *more;

	if (ms->n == ms->cap) {
		ms->cap = ms->cap ? 2 * ms->cap : 16;
		more = realloc(ms->at, ms->cap * sizeof(*more));
		if (!more)
			return -1;
		ms->at = more;
	}
	ms->at[ms->n] = (struct member){.key = key, .value = value, .index = ms->n};
	ms->n++;
	return 0;
}

int
members_collect(struct members *ms, struct json_iter *it, struct slice key, struct slice value)
{
	size_t room = 0, from, i;
	struct member *m;

	for (; key.p; json_next(it, &key, &value))
		if (add(ms, key, value) < 0)
			return -1;
	for (i = 0; i < ms->n; i++)
		room += ms->at[i].key.n + 4;
	if (buf_reserve(&ms->names, room + 1) < 0) /* the names must not move */
		return -1;
	for (i = 0; i < ms->n; i++) {
		m = &ms->at[i];
		from = ms->names.n;
		if (json_unescape(m->key, &ms->names) < 0)
			return -1;
		m->name = slice(ms->names.p + from, ms->names.n - from);
	}
	return 0;
}

void
members_free(struct members *ms)
{
	free(ms->at);
	buf_free(&ms->names);
}

static int
by_name(const void *x, const void *y)
{
	const struct member *const *a = x, *const *b = y;
	int order = slice_compare((*a)->name, (*b)->name);

	return order ? order : (*a)->index < (*b)->index ? -1 : 1;
}

static struct member **
sorted(const struct members *ms)
{
	struct member **order = malloc((ms->n + 1) * sizeof(*order));

	for (size_t i = 0; order && i < ms->n; i++)
		order[i] = &ms->at[i];
	if (order)
		qsort(order, ms->n, sizeof(*order), by_name);
	return order;
}

int
members_pair(struct members *a, struct members *b)
{
	struct member **x = sorted(a), **y = sorted(b);
	size_t i = 0, j = 0;
	int order;

	while (x && y && i < a->n && j < b->n) {
		order = slice_compare(x[i]->name, y[j]->name);
		if (order == 0) {
			x[i]->partner = y[j];
			y[j]->partner = x[i];
		}
		i += order <= 0;
		j += order >= 0;
	}
	free(x);
	free(y);
	return x && y ? 0 : -1;
}

bool
members_in_order(const struct members *a)
{
	size_t last = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!a->at[i].partner)
			continue;
		if (a->at[i].partner->index < last)
			return false;
		last = a->at[i].partner->index;
	}
	return true;
}
