/* Which session, turn and message of the one recording is which of the other. */
#include <stdlib.h>

#include "cmd/acp-diff/diff.h"
#include "lib/match/rows.h"

/* --- messages --- */

static void
pair_items(struct item *a, struct item *b)
{
	a->partner = b;
	b->partner = a;
	if (a->response && b->response)
		pair_items(a->response, b->response);
}

static bool
is_in_direction(const struct item *item, enum acp_direction dir)
{
	return (item->from == ACP_CLIENT ? ACP_DOWN : ACP_UP) == dir && !item->continues;
}

/* Of a direction, in [from, to) of a turn's items, those that have a partner, or have to find one. 0 or -1. */
static int
collect_between(const struct turn *t, size_t from, size_t to, enum acp_direction dir, bool partner, bool responses,
	struct list *list)
{
	struct item *item;

	for (; from < to; from++) {
		item = t->items.at[from];
		if (is_in_direction(item, dir) && (!item->request || responses) && (item->partner != NULL) == partner &&
			list_add(list, item) < 0)
			return -1;
	}
	return 0;
}

static int
collect(const struct turn *t, enum acp_direction dir, bool partner, bool responses, struct list *list)
{
	return collect_between(t, 0, t->items.n, dir, partner, responses, list);
}

/* Those that have found one leave the list. */
static void
drop_paired(struct list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!((struct item *)l->at[i])->partner)
			l->at[n++] = l->at[i];
	l->n = n;
}

/*
 * Joins what is alike: in the order of both, and, where any, also what is left, in any order. 0 or -1.
 */
static int
pair_alike(struct list *a, struct list *b, enum likeness alike, bool any)
{
	uint64_t *x = calloc(a->n + b->n + 1, sizeof(*x)), *y = x ? x + a->n : NULL;
	size_t *partner = calloc(a->n + 1, sizeof(*partner));
	int r = -1;

	if (x && partner) {
		for (size_t i = 0; i < a->n; i++)
			x[i] = ((const struct item *)a->at[i])->alike[alike];
		for (size_t j = 0; j < b->n; j++)
			y[j] = ((const struct item *)b->at[j])->alike[alike];
		r = rows_match(x, a->n, y, b->n, partner);
		if (r == 0 && any)
			r = rows_match_any(x, a->n, y, b->n, partner);
		for (size_t i = 0; r == 0 && i < a->n; i++)
			if (partner[i] != ROWS_ALONE)
				pair_items(a->at[i], b->at[partner[i]]);
	}
	free(x);
	free(partner);
	drop_paired(a);
	drop_paired(b);
	return r;
}

/* What has changed has rather stayed in its place: joins what is left between those that have found each other. 0 or -1. */
static int
pair_gaps(const struct turn *a, const struct turn *b, enum acp_direction dir, struct list *x, struct list *y)
{
	size_t *place = calloc(a->items.n + 1, sizeof(*place)), from = 0, across = 0, to;
	const struct item *item;
	int r = place ? 0 : -1;

	for (size_t i = 0; r == 0 && i < a->items.n; i++) {
		item = a->items.at[i];
		place[i] = is_in_direction(item, dir) && item->partner && item->partner->turn == b ? item->partner->at : ROWS_ALONE;
	}
	if (r == 0)
		r = rows_rising(place, a->items.n);
	for (size_t i = 0; r == 0 && i <= a->items.n; i++) {
		if (i < a->items.n && place[i] == ROWS_ALONE)
			continue;
		to = i < a->items.n ? place[i] : b->items.n;
		x->n = y->n = 0;
		if (collect_between(a, from, i, dir, false, false, x) < 0 || collect_between(b, across, to, dir, false, false, y) < 0)
			r = -1;
		for (int alike = SHAPE; r == 0 && x->n && y->n && alike <= KIND; alike++)
			r = pair_alike(x, y, (enum likeness)alike, false);
		from = i + 1;
		across = to + 1;
	}
	free(place);
	return r;
}

static int
pair_direction(struct diff *d, struct turn *a, struct turn *b, enum acp_direction dir)
{
	struct list x = {0}, y = {0};
	int r = 0;

	for (int alike = FULL; r == 0 && alike < LIKENESSES; alike++) {
		if (alike == SHAPE)
			r = pair_gaps(a, b, dir, &x, &y);
		x.n = y.n = 0;
		if (r < 0 || collect(a, dir, false, false, &x) < 0 || collect(b, dir, false, false, &y) < 0)
			r = -1;
		/* Below params, what is the same altogether is a better partner only in its place. */
		if (r == 0)
			r = pair_alike(&x, &y, (enum likeness)alike, alike != FULL || d->options->match >= MATCH_PARAMS);
	}
	free(x.at);
	free(y.at);
	return r;
}

/* What the agent says may come in another turn. 0 or -1. */
static int
pair_across_turns(struct diff *d, struct session *a, struct session *b)
{
	struct list x = {0}, y = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->turns.n; i++)
		r = collect(a->turns.at[i], ACP_UP, false, false, &x);
	for (size_t i = 0; r == 0 && i < b->turns.n; i++)
		r = collect(b->turns.at[i], ACP_UP, false, false, &y);
	if (r == 0)
		r = pair_alike(&x, &y, d->options->match < MATCH_PARAMS ? CONTENT : FULL, true);
	free(x.at);
	free(y.at);
	return r;
}

static int
by_line(const void *x, const void *y)
{
	const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;

	return (a->line > b->line) - (a->line < b->line);
}

/* Marks what has another place in its direction than its partner: as few as possible. 0 or -1. */
static int
mark_moved(const struct diff *d, const struct session *s, enum acp_direction dir)
{
	/* Responses to what belongs to no session come as those sessions interleave. */
	const bool responses = d->options->match == MATCH_EXACT && s->number > 0;
	struct list items = {0};
	size_t *place;
	struct item *item;
	int r = -1;

	for (size_t i = 0; i < s->turns.n; i++)
		if (collect(s->turns.at[i], dir, true, responses, &items) < 0)
			goto end;
	/* A response stands in the turn of its request, and may have come in a later one. */
	if (items.n)
		qsort(items.at, items.n, sizeof(void *), by_line);
	place = calloc(items.n + 1, sizeof(*place));
	for (size_t i = 0; place && i < items.n; i++)
		place[i] = (size_t)((struct item *)items.at[i])->partner->line;
	r = place ? rows_rising(place, items.n) : -1;
	for (size_t i = 0; r == 0 && i < items.n; i++) {
		item = items.at[i];
		item->moved = place[i] == ROWS_ALONE;
	}
	free(place);
end:
	free(items.at);
	return r;
}

/* --- turns --- */

/* Two turns that are one, or one that is alone. 0 or -1. */
static int
add_section(struct diff *d, struct turn *a, struct turn *b)
{
	struct section *s;

	if ((!a || a->items.n == 0) && (!b || b->items.n == 0))
		return 0;
	s = list_new(&d->sections, sizeof(*s));
	if (!s)
		return -1;
	s->turn[RECORDED] = a;
	s->turn[LIVE] = b;
	return !a || !b || (pair_direction(d, a, b, ACP_DOWN) == 0 && pair_direction(d, a, b, ACP_UP) == 0) ? 0 : -1;
}

/* Of two rows of turns. */
struct range {
	const struct list *a, *b;
	size_t from, n, across, m;
};

static uint64_t
turn_key(const struct turn *t, bool prompts)
{
	return !prompts ? t->sum : t->prompt ? t->prompt->alike[CONTENT] : 0;
}

/* Those that are the same, or begin with the same prompt. 0 or -1. */
static int
match_range(const struct range *r, bool prompts, size_t *partner)
{
	uint64_t *x = calloc(r->n + r->m + 1, sizeof(*x));
	int result;

	for (size_t i = 0; x && i < r->n; i++)
		x[i] = turn_key(r->a->at[r->from + i], prompts);
	for (size_t j = 0; x && j < r->m; j++)
		x[r->n + j] = turn_key(r->b->at[r->across + j], prompts);
	result = x ? rows_match(x, r->n, x + r->n, r->m, partner + r->from) : -1;
	for (size_t i = r->from; i < r->from + r->n; i++)
		if (partner[i] != ROWS_ALONE)
			partner[i] += r->across;
	free(x);
	return result;
}

/* Of what lies between partners, those with the same prompt, or else what stands in the same place. 0 or -1. */
static int
match_gaps(const struct list *a, const struct list *b, bool prompts, size_t *partner)
{
	struct range gap = {.a = a, .b = b, .from = 1, .across = 1};
	int r = 0;

	for (size_t i = 1; r == 0 && i <= a->n; i++) {
		if (i < a->n && partner[i] == ROWS_ALONE)
			continue;
		gap.n = i - gap.from;
		gap.m = (i < a->n ? partner[i] : b->n) - gap.across;
		if (prompts)
			r = match_range(&gap, true, partner);
		for (size_t k = 0; !prompts && k < gap.n && k < gap.m; k++)
			partner[gap.from + k] = gap.across + k;
		gap.from = i + 1;
		gap.across += gap.m + 1;
	}
	return r;
}

/* partner[i]: the turn of b that is turn i of a. 0 or -1. */
static int
match_turns(const struct list *a, const struct list *b, size_t *partner)
{
	struct range all = {a, b, 1, a->n - 1, 1, b->n - 1};

	/* What stands before the first prompt is no turn. */
	partner[0] = 0;
	if (match_range(&all, false, partner) < 0 || match_gaps(a, b, true, partner) < 0)
		return -1;
	return match_gaps(a, b, false, partner);
}

/* The sections of two sessions, in the order of the recording. 0 or -1. */
static int
add_sections(struct diff *d, const struct list *a, const struct list *b, const size_t *partner)
{
	size_t next = 0;

	for (size_t i = 0; i < a->n; i++) {
		for (; partner[i] != ROWS_ALONE && next < partner[i]; next++)
			if (add_section(d, NULL, b->at[next]) < 0)
				return -1;
		if (add_section(d, a->at[i], partner[i] == ROWS_ALONE ? NULL : b->at[next++]) < 0)
			return -1;
	}
	for (; next < b->n; next++)
		if (add_section(d, NULL, b->at[next]) < 0)
			return -1;
	return 0;
}

static int
compare_sections(struct diff *d, size_t section)
{
	for (; section < d->sections.n; section++)
		if (compare_section(d, d->sections.at[section]) < 0)
			return -1;
	return 0;
}

static int
pair_turns(struct diff *d, struct session *a, struct session *b)
{
	size_t *partner = calloc(a->turns.n, sizeof(*partner)), first = d->sections.n;
	int r = -1;

	if (partner && match_turns(&a->turns, &b->turns, partner) == 0 &&
		add_sections(d, &a->turns, &b->turns, partner) == 0 && pair_across_turns(d, a, b) == 0 &&
		mark_moved(d, a, ACP_DOWN) == 0 && mark_moved(d, a, ACP_UP) == 0)
		r = compare_sections(d, first);
	free(partner);
	return r;
}

/* --- sessions --- */

/* The live session that stands for a recorded one, by what is known of ids. */
static struct session *
known_partner(struct diff *d, const struct session *a)
{
	struct ids_place place = {.what = ACP_ID_SESSION};
	struct slice id = ids_live(d->ids, place, a->id);
	struct session *b;

	/* The same id on both sides is the same session, unless it is known to be another. */
	if (!id.p && ids_judge(d->ids, place, a->id, a->id) == IDS_NEW)
		id = a->id;
	b = id.p ? find_session(d, LIVE, id) : NULL;
	return b && !b->partner ? b : NULL;
}

static int
join_sessions(struct diff *d, struct session *a, struct session *b)
{
	a->partner = b;
	b->partner = a;
	return ids_learn(d->ids, (struct ids_place){.what = ACP_ID_SESSION}, a->id, b->id) == IDS_FAILED ? -1 : 0;
}

/* Those that are known to be the same, and what is left in the order of the recordings. */
static int
pair_sessions(struct diff *d)
{
	const struct list *x = &d->file[RECORDED].order, *y = &d->file[LIVE].order;
	struct session *a, *b;
	size_t j = 1;

	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		b = known_partner(d, a);
		if (b && join_sessions(d, a, b) < 0)
			return -1;
	}
	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		while (j < y->n && ((struct session *)y->at[j])->partner)
			j++;
		if (!a->partner && j < y->n && join_sessions(d, a, y->at[j]) < 0)
			return -1;
	}
	return 0;
}

static int
add_unpaired(struct diff *d, struct session *s)
{
	size_t first = d->sections.n;

	for (size_t i = 0; i < s->turns.n; i++)
		if (add_section(d, s->side == RECORDED ? s->turns.at[i] : NULL, s->side == LIVE ? s->turns.at[i] : NULL) < 0)
			return -1;
	return compare_sections(d, first);
}

int
diff_run(struct diff *d)
{
	const struct list *x = &d->file[RECORDED].order, *y = &d->file[LIVE].order;
	struct session *a = x->at[0], *b = y->at[0];

	a->partner = b;
	b->partner = a;
	/* What belongs to no session first: it says which session and which directory is which. */
	if (make_digests(d, true) < 0 || pair_turns(d, a, b) < 0 || pair_sessions(d) < 0 || make_digests(d, false) < 0)
		return -1;
	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		if ((a->partner ? pair_turns(d, a, a->partner) : add_unpaired(d, a)) < 0)
			return -1;
	}
	for (size_t i = 1; i < y->n; i++) {
		b = y->at[i];
		if (!b->partner && add_unpaired(d, b) < 0)
			return -1;
	}
	return 0;
}
