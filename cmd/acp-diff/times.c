/* --max-slower: compares the times of responses, method by method. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-diff/diff.h"
#include "lib/base/people.h"
#include "lib/base/text.h"

enum { SAMPLES_LEAST = 5 };

/* A request, and the time to its response. */
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
by_name(const struct method_time *a, const struct method_time *b)
{
	return slice_compare(a->name, b->name);
}

/* The n samples of a recording, sorted by method and time. The caller frees them. */
static struct sample *
samples_of(const struct file *f, size_t *n)
{
	struct sample *s = diff_new(f->items.n, sizeof(*s));

	*n = 0;
	for (size_t i = 0; f->items.timed && i < f->items.n; i++) {
		const struct item *request = &f->items.at[i];

		if (request->kind != MSG_REQUEST || request->pair == ITEM_NONE || !f->entries[i])
			continue;
		s[(*n)++] = (struct sample){request->method,
			f->items.at[request->pair].t > request->t ? f->items.at[request->pair].t - request->t : 0, (uint32_t)i};
	}
	qsort(s, *n, sizeof(*s), by_method);
	return s;
}

/* Adds the times of a method that both recordings have. first, n: the samples of each side. */
static void
add_time(struct diff *d, const struct sample *const first[SIDES], const size_t n[SIDES])
{
	struct method_time *m = diff_new(1, sizeof(*m));
	SCOPED struct buf name = {0}, line = {0};
	char a[PEOPLE_FIGURE], b[PEOPLE_FIGURE];
	struct msg request;
	size_t length;
	double more;

	for (int side = 0; side < SIDES; side++)
		m->us[side] = (first[side][(n[side] - 1) / 2].us + first[side][n[side] / 2].us) / 2;
	more = ((double)m->us[LIVE] / (double)(m->us[RECORDED] ? m->us[RECORDED] : 1) - 1) * 100;
	diff_must(items_message(&d->file[LIVE].items, first[LIVE]->item, &request));
	diff_must(text_plain(&line, json_text(request.method, &name)));
	length = line.n;
	diff_must(buf_printf(&line, ": %s, %.0f %% %s than %s", people_duration(b, m->us[LIVE]), more < 0 ? -more : more,
		more < 0 ? "less" : "more", people_duration(a, m->us[RECORDED])));
	m->line = diff_keep(buf_slice(&line));
	m->name = slice(m->line.p, length);
	m->slower = (double)m->us[LIVE] - (double)m->us[RECORDED] > (double)m->us[RECORDED] * d->options->max_slower;
	d->slower += m->slower;
	d->ntimes++;
	LL_PREPEND(d->times, m);
}

void
compare_times(struct diff *d)
{
	struct sample *all[SIDES];
	size_t count[SIDES], at[SIDES] = {0};

	for (int i = 0; i < SIDES; i++)
		all[i] = samples_of(&d->file[i], &count[i]);
	while (at[RECORDED] < count[RECORDED] && at[LIVE] < count[LIVE]) {
		const struct sample *first[SIDES] = {&all[RECORDED][at[RECORDED]], &all[LIVE][at[LIVE]]};
		uint64_t method = first[RECORDED]->method < first[LIVE]->method ? first[RECORDED]->method : first[LIVE]->method;
		size_t n[SIDES] = {0};

		for (int i = 0; i < SIDES; i++) {
			while (at[i] + n[i] < count[i] && first[i][n[i]].method == method)
				n[i]++;
			at[i] += n[i];
		}
		if (n[RECORDED] >= SAMPLES_LEAST && n[LIVE] >= SAMPLES_LEAST)
			add_time(d, first, n);
	}
	LL_SORT(d->times, by_name);
	free(all[RECORDED]);
	free(all[LIVE]);
}
