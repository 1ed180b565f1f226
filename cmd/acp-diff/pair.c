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

/* The items of a direction that have a partner, or have to find one, in their order. 0 or -1. */
static int
collect(const struct turn *t, enum acp_direction dir, bool partner, bool responses, struct list *to)
{
	struct item *item;

	for (size_t i = 0; i < t->items.n; i++) {
		item = t->items.at[i];
		if (is_in_direction(item, dir) && (!item->request || responses) && (item->partner != NULL) == partner &&
			list_add(to, item) < 0)
			return -1;
	}
	return 0;
}

/* Items that have to find partners. */
struct rows {
	struct list x, y;
	size_t *partner; /* of each of x: its place in y, or ROWS_ALONE */
};

/* Returns how many have none. */
static size_t
make_keys(const struct list *items, enum likeness alike, uint64_t *keys)
{
	const struct item *item;
	size_t n = 0;

	for (size_t i = 0; i < items->n; i++) {
		item = items->at[i];
		keys[i] = item->partner ? (uintptr_t)item : item->alike[alike];
		n += !item->partner;
	}
	return n;
}

/* Joins what is alike: in the order of both, between those that have found each other, or anywhere. 0 or -1. */
static int
pair_alike(struct rows *r, enum likeness alike, bool anywhere)
{
	const size_t n = r->x.n, m = r->y.n;
	uint64_t *a = calloc(n + m + 1, sizeof(*a));
	size_t *found = calloc(n + 1, sizeof(*found));
	int result = a && found ? 0 : -1;

	if (result == 0 && make_keys(&r->x, alike, a) && make_keys(&r->y, alike, a + n)) {
		memcpy(found, r->partner, n * sizeof(*found));
		result = anywhere ? rows_match_any(a, n, a + n, m, found) : rows_fill(a, n, a + n, m, found);
		for (size_t i = 0; result == 0 && i < n; i++) {
			if (found[i] == ROWS_ALONE || r->partner[i] != ROWS_ALONE)
				continue;
			r->partner[i] = found[i];
			pair_items(r->x.at[i], r->y.at[found[i]]);
		}
	}
	free(a);
	free(found);
	return result;
}

/* All have been collected, and none has a partner. 0 or -1. */
static int
begin_rows(struct rows *r)
{
	r->partner = calloc(r->x.n + 1, sizeof(*r->partner));
	for (size_t i = 0; r->partner && i < r->x.n; i++)
		r->partner[i] = ROWS_ALONE;
	return r->partner ? 0 : -1;
}

static void
free_rows(struct rows *r)
{
	free(r->x.at);
	free(r->y.at);
	free(r->partner);
}

static int
pair_direction(struct diff *d, struct turn *a, struct turn *b, enum acp_direction dir)
{
	/* What has changed has rather stayed in its place. */
	static const struct {
		enum likeness alike;
		bool anywhere;
	} steps[] = {{FULL, false}, {FULL, true}, {CONTENT, false}, {CONTENT, true}, {SHAPE, false}, {KIND, false}, {SHAPE, true},
		{KIND, true}};
	struct rows rows = {0};
	int r = -1;

	if (collect(a, dir, false, false, &rows.x) == 0 && collect(b, dir, false, false, &rows.y) == 0)
		r = begin_rows(&rows);
	for (size_t i = 0; r == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		/* Below params, what is the same altogether is a better partner only in its place. */
		if (d->options->match >= MATCH_PARAMS || steps[i].alike != FULL || !steps[i].anywhere)
			r = pair_alike(&rows, steps[i].alike, steps[i].anywhere);
	free_rows(&rows);
	return r;
}

/* What the agent says may come in another turn. 0 or -1. */
static int
pair_across_turns(struct diff *d, struct session *a, struct session *b)
{
	struct rows rows = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->turns.n; i++)
		r = collect(a->turns.at[i], ACP_UP, false, false, &rows.x);
	for (size_t i = 0; r == 0 && i < b->turns.n; i++)
		r = collect(b->turns.at[i], ACP_UP, false, false, &rows.y);
	if (r == 0)
		r = begin_rows(&rows);
	for (int anywhere = 0; r == 0 && anywhere < 2; anywhere++)
		r = pair_alike(&rows, d->options->match < MATCH_PARAMS ? CONTENT : FULL, anywhere);
	free_rows(&rows);
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

/* Two turns are one if they are the same; else if they begin with the same prompt; else if they stand in the same place. */
enum { BY_SUM, BY_PROMPT, BY_PLACE, WAYS };

static void
make_turn_keys(const struct list *turns, int way, uint64_t *keys)
{
	const struct turn *t;

	for (size_t i = 0; i < turns->n; i++) {
		t = turns->at[i];
		keys[i] = way == BY_SUM ? t->sum : way == BY_PROMPT && t->prompt ? t->prompt->alike[CONTENT] : 0;
	}
}

/* partner[i]: the turn of b that is turn i of a. 0 or -1. */
static int
match_turns(const struct list *a, const struct list *b, size_t *partner)
{
	uint64_t *x = calloc(a->n + b->n, sizeof(*x));
	int r = x ? 0 : -1;

	/* What stands before the first prompt is no turn. */
	for (size_t i = 0; i < a->n; i++)
		partner[i] = i == 0 ? 0 : ROWS_ALONE;
	for (int way = BY_SUM; r == 0 && way < WAYS; way++) {
		make_turn_keys(a, way, x);
		make_turn_keys(b, way, x + a->n);
		r = rows_fill(x, a->n, x + a->n, b->n, partner);
	}
	free(x);
	return r;
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
