/* --max-slower: how long responses took, method by method. */
#include <stdlib.h>

#include "cmd/acp-diff/diff.h"
#include "lib/base/text.h"

enum { SAMPLES_LEAST = 5 };

/* A request that has its response. */
struct sample {
	uint64_t method, us;
	uint32_t item;
};

static int
by_method(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->method == y->method ? (x->us > y->us) - (x->us < y->us) : (x->method > y->method) - (x->method < y->method);
}

static int
by_name(const void *a, const void *b)
{
	return slice_compare(buf_slice(&((const struct method_time *)a)->name), buf_slice(&((const struct method_time *)b)->name));
}

/* All of a recording that are compared, by their methods and times; n of them. NULL out of memory. */
static struct sample *
samples_of(const struct file *f, size_t *n)
{
	struct sample *s = calloc(f->items.n + 1, sizeof(*s));

	*n = 0;
	for (size_t i = 0; s && f->items.timed && i < f->items.n; i++) {
		const struct item *request = &f->items.at[i];

		if (request->kind != MSG_REQUEST || request->pair == ITEM_NONE || !f->entries.at[i])
			continue;
		s[(*n)++] = (struct sample){request->method,
			f->items.at[request->pair].t > request->t ? f->items.at[request->pair].t - request->t : 0, (uint32_t)i};
	}
	if (s)
		qsort(s, *n, sizeof(*s), by_method);
	return s;
}

/* The samples of a method that both have: the first of each side, and how many. */
static int
add_time(struct diff *d, const struct sample *const first[SIDES], const size_t n[SIDES])
{
	struct method_time *more, m = {.us = {first[RECORDED][n[RECORDED] / 2].us, first[LIVE][n[LIVE] / 2].us}};
	SCOPED struct buf name = {0};
	struct msg request;

	if (items_message(&d->file[LIVE].items, first[LIVE]->item, &request) < 0)
		return -1;
	more = realloc(d->times, (d->ntimes + 1) * sizeof(*more));
	if (!more)
		return -1;
	d->times = more;
	if (text_plain(&m.name, json_text(request.method, &name)) < 0) {
		buf_free(&m.name);
		return -1;
	}
	m.slower = (double)m.us[LIVE] > (double)m.us[RECORDED] * (1 + d->options->max_slower);
	d->slower += m.slower;
	d->times[d->ntimes++] = m;
	return 0;
}

int
compare_times(struct diff *d)
{
	struct sample *all[SIDES];
	size_t count[SIDES], at[SIDES] = {0};
	int r = 0;

	for (int i = 0; i < SIDES; i++)
		all[i] = samples_of(&d->file[i], &count[i]);
	while (all[RECORDED] && all[LIVE] && r == 0 && at[RECORDED] < count[RECORDED] && at[LIVE] < count[LIVE]) {
		const struct sample *first[SIDES] = {&all[RECORDED][at[RECORDED]], &all[LIVE][at[LIVE]]};
		uint64_t method = first[RECORDED]->method < first[LIVE]->method ? first[RECORDED]->method : first[LIVE]->method;
		size_t n[SIDES] = {0};

		for (int i = 0; i < SIDES; i++) {
			while (at[i] + n[i] < count[i] && first[i][n[i]].method == method)
				n[i]++;
			at[i] += n[i];
		}
		if (n[RECORDED] >= SAMPLES_LEAST && n[LIVE] >= SAMPLES_LEAST)
			r = add_time(d, first, n);
	}
	if (!all[RECORDED] || !all[LIVE])
		r = -1;
	else if (d->ntimes)
		qsort(d->times, d->ntimes, sizeof(*d->times), by_name);
	free(all[RECORDED]);
	free(all[LIVE]);
	return r;
}

void
free_times(struct diff *d)
{
	for (size_t i = 0; i < d->ntimes; i++)
		buf_free(&d->times[i].name);
	free(d->times);
}
