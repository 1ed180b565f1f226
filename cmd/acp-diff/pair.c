/* Pairs the sessions, turns and messages of both recordings. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-diff/diff.h"
#include "lib/match/rows.h"

/* --- messages --- */

static void
pair_items(struct diff *d, struct diff_item *a, struct diff_item *b)
{
	struct name *x, *y;

	a->partner = b;
	b->partner = a;
	for (size_t i = 0; a->nnames == b->nnames && i < a->nnames; i++) {
		x = item_name(d, a, i);
		y = item_name(d, b, i);
		if (!x->partner && !y->partner) {
			x->partner = y;
			y->partner = x;
		}
	}
	if (a->response && b->response)
		pair_items(d, a->response, b->response);
}

static bool
is_in_direction(const struct diff_item *item, enum acp_direction dir)
{
	return (item->from == ACP_CLIENT ? ACP_DOWN : ACP_UP) == dir && !item->continues;
}

/*
 * Lists the items of turns in a direction that need partners, in their order, without responses, which are paired with their
 * requests. introducing: only items that are the first to name an id.
 */
static void
collect(const struct list *turns, enum acp_direction dir, bool introducing, struct list *to)
{
	struct diff_item *item;

	for (size_t i = 0; i < turns->n; i++)
		DL_FOREACH(((struct turn *)turns->at[i])->items, item)
			if (is_in_direction(item, dir) && !item->request && !item->partner && (item->introduces || !introducing))
				list_add(to, item);
}

/* The items of both sides that need partners. */
struct rows {
	struct list x, y;
	size_t *partner; /* of each item of x: the index of its partner in y, or ROWS_ALONE */
	size_t *found;   /* scratch: the same after a step */
	uint64_t *keys;  /* scratch: the keys of the items of x, then of y */
};

/* A step of pairing: the items that become partners. */
struct step {
	enum likeness alike;
	bool named;    /* their ids with partners have to be each other's partners */
	bool anywhere; /* they may have any order */
};

/* The key of an item: its digest; with step->named, joined with its ids that have partners. */
static uint64_t
make_key(const struct diff *d, const struct diff_item *item, const struct step *step)
{
	uint64_t key = item->alike[step->alike];
	const struct name *n;

	/*
	 * Below MATCH_PARAMS, items with equal values are better partners only in the same order, except that a directory
	 * identifies its session.
	 */
	if (step->alike == FULL && step->anywhere && d->options->match < MATCH_PARAMS &&
		!(item->kind == MSG_REQUEST && acp_opens_session((enum acp_method)item->what)))
		return (uintptr_t)item;
	for (size_t i = 0; step->named && i < item->nnames; i++) {
		n = item_name(d, item, i);
		if (n->partner)
			key = digest_join(key, (uintptr_t)(item_side(item) == RECORDED ? n : n->partner));
	}
	return key;
}

/* Makes the keys of items. Returns how many items have no partner. */
static size_t
make_keys(const struct diff *d, const struct list *items, const struct step *step, uint64_t *keys)
{
	const struct diff_item *item;
	size_t n = 0;

	for (size_t i = 0; i < items->n; i++) {
		item = items->at[i];
		keys[i] = item->partner ? (uintptr_t)item : make_key(d, item, step);
		n += !item->partner;
	}
	return n;
}

/* Pairs items with equal keys: in their order, between the items that have partners; or anywhere. */
static void
pair_alike(struct diff *d, struct rows *r, const struct step *step)
{
	const size_t n = r->x.n, m = r->y.n;
	uint64_t *a = r->keys, *b = a + n;

	if (make_keys(d, &r->x, step, a) == 0 || make_keys(d, &r->y, step, b) == 0)
		return;
	memcpy(r->found, r->partner, n * sizeof(*r->found));
	diff_must(step->anywhere ? rows_match_any(a, n, b, m, r->found) : rows_fill(a, n, b, m, r->found));
	for (size_t i = 0; i < n; i++) {
		if (r->found[i] == ROWS_ALONE || r->partner[i] != ROWS_ALONE)
			continue;
		r->partner[i] = r->found[i];
		pair_items(d, r->x.at[i], r->y.at[r->found[i]]);
	}
}

/* Pairs the items of turns of both sides, step by step. */
static void
pair_rows(struct diff *d, const struct list *a, const struct list *b, enum acp_direction dir, bool introducing,
	const struct step *steps, size_t nsteps)
{
	struct rows rows = {0};

	collect(a, dir, introducing, &rows.x);
	collect(b, dir, introducing, &rows.y);
	rows.partner = diff_new(rows.x.n, sizeof(*rows.partner));
	rows.found = diff_new(rows.x.n, sizeof(*rows.found));
	rows.keys = diff_new(rows.x.n + rows.y.n, sizeof(*rows.keys));
	for (size_t i = 0; i < rows.x.n; i++)
		rows.partner[i] = ROWS_ALONE;
	for (size_t i = 0; i < nsteps; i++)
		pair_alike(d, &rows, &steps[i]);
	free(rows.x.at);
	free(rows.y.at);
	free(rows.partner);
	free(rows.found);
	free(rows.keys);
}

/* Pairs a direction of two turns. introducing: only the first items that name an id: later items find its partner. */
static void
pair_direction(struct diff *d, struct turn *a, struct turn *b, enum acp_direction dir, bool introducing)
{
	/* A changed item has more likely kept its place than moved. */
	static const struct step steps[] = {{FULL, true, false}, {FULL, true, true}, {CONTENT, true, false}, {CONTENT, true, true},
		{SHAPE, true, false}, {KIND, true, false}, {CONTENT, false, false}, {CONTENT, false, true}, {SHAPE, false, false},
		{KIND, false, false}, {SHAPE, false, true}, {KIND, false, true}};
	const struct list x = {.at = (void *[]){a}, .n = 1}, y = {.at = (void *[]){b}, .n = 1};

	pair_rows(d, &x, &y, dir, introducing, steps, sizeof(steps) / sizeof(*steps));
}

static int
by_line(const void *x, const void *y)
{
	const struct diff_item *a = *(struct diff_item *const *)x, *b = *(struct diff_item *const *)y;

	return (a->line > b->line) - (a->line < b->line);
}

/* A key that equal items have in common that are identical with their partners; any other item has a key of its own. */
static uint64_t
identical_key(const struct diff *d, const struct diff_item *item)
{
	static const struct step how = {FULL, true, false};
	uint64_t key = make_key(d, item, &how);

	return !item->request && key == make_key(d, item->partner, &how) ? key : (uintptr_t)item;
}

/* Pairs identical items again, in their order, so that none has moved past another. items: sorted by line. */
static void
uncross(struct diff *d, const struct list *items)
{
	const size_t n = items->n;
	uint64_t *keys = diff_new(2 * n, sizeof(*keys));
	size_t *found = diff_new(n, sizeof(*found));
	struct diff_item **partners = diff_new(n, sizeof(*partners));

	for (size_t i = 0; i < n; i++)
		partners[i] = ((struct diff_item *)items->at[i])->partner;
	qsort(partners, n, sizeof(*partners), by_line);
	for (size_t i = 0; i < n; i++) {
		keys[i] = identical_key(d, items->at[i]);
		keys[n + i] = identical_key(d, partners[i]);
		found[i] = ROWS_ALONE;
	}
	diff_must(rows_match_any(keys, n, keys + n, n, found));
	for (size_t i = 0; i < n; i++)
		if (found[i] != ROWS_ALONE)
			pair_items(d, items->at[i], partners[found[i]]);
	free(keys);
	free(found);
	free(partners);
}

/* Finds the fewest items that have moved in their direction if all others keep their order. */
static void
find_moved(struct diff *d, const struct diff_session *s, enum acp_direction dir)
{
	/* Responses to requests outside sessions may come in any order, as sessions interleave. */
	const bool responses = d->options->match == MATCH_EXACT && s->number > 0;
	struct list items = {0};
	struct diff_item *item;
	size_t *lines;

	for (size_t i = 0; i < s->turns.n; i++)
		DL_FOREACH(((struct turn *)s->turns.at[i])->items, item)
			if (is_in_direction(item, dir) && item->partner && (!item->request || responses))
				list_add(&items, item);
	if (items.n == 0)
		return;
	/* A response belongs to the turn of its request, and may have come in a later one. */
	qsort(items.at, items.n, sizeof(void *), by_line);
	uncross(d, &items);
	lines = diff_new(items.n, sizeof(*lines));
	for (size_t i = 0; i < items.n; i++)
		lines[i] = (size_t)((struct diff_item *)items.at[i])->partner->line;
	diff_must(rows_rising(lines, items.n));
	for (size_t i = 0; i < items.n; i++)
		((struct diff_item *)items.at[i])->moved = lines[i] == ROWS_ALONE;
	free(lines);
	free(items.at);
}

/* --- turns --- */

/* Adds a section for two paired turns, or for one turn alone, and pairs their items. */
static void
add_section(struct diff *d, struct turn *a, struct turn *b)
{
	struct section *s;

	if ((!a || !a->items) && (!b || !b->items))
		return;
	s = diff_new(1, sizeof(*s));
	list_add(&d->sections, s);
	s->turn[RECORDED] = a;
	s->turn[LIVE] = b;
	for (int introducing = 1; a && b && introducing >= 0; introducing--) {
		pair_direction(d, a, b, ACP_DOWN, introducing);
		pair_direction(d, a, b, ACP_UP, introducing);
	}
}

/*
 * The steps that pair turns: first turns that are equal at the level and have identical prompts; then those with identical prompts;
 * turns that are equal at the level; turns with prompts that are equal at the level; the others in their order.
 */
enum { BY_BOTH, BY_PROMPT, BY_SUM, BY_PROMPT_LEVEL, BY_ORDER, STEPS };

static uint64_t
turn_key(const struct turn *t, int step)
{
	const uint64_t *alike = t->prompt ? t->prompt->alike : NULL;

	switch (step) {
	case BY_BOTH: return digest_join(t->sum, alike ? alike[FULL] : 0);
	case BY_PROMPT: return alike ? alike[FULL] : 0;
	case BY_SUM: return t->sum;
	case BY_PROMPT_LEVEL: return alike ? alike[CONTENT] : 0;
	default: return 0;
	}
}

/* Sets partner[i] to the index of the turn of b that turn i of a is paired with, or to ROWS_ALONE. */
static void
match_turns(const struct list *a, const struct list *b, size_t *partner)
{
	const size_t n = a->n + b->n;
	uint64_t *keys = diff_new(n, sizeof(*keys));

	/* The items before the first prompts are always paired. */
	for (size_t i = 0; i < a->n; i++)
		partner[i] = i == 0 ? 0 : ROWS_ALONE;
	for (int step = BY_BOTH; step < STEPS; step++) {
		for (size_t i = 0; i < n; i++)
			keys[i] = turn_key(i < a->n ? a->at[i] : b->at[i - a->n], step);
		diff_must(rows_fill(keys, a->n, keys + a->n, b->n, partner));
	}
	free(keys);
}

/* Pairs the turns of two sessions, and adds their sections in the order of the recorded one. */
static void
pair_turns(struct diff *d, struct diff_session *x, struct diff_session *y)
{
	const struct list *a = &x->turns, *b = &y->turns;
	const enum likeness alike = d->options->match < MATCH_PARAMS ? CONTENT : FULL;
	const struct step steps[] = {{alike, true, false}, {alike, true, true}};
	size_t *partner = diff_new(a->n, sizeof(*partner)), next = 0;

	match_turns(a, b, partner);
	for (size_t i = 0; i < a->n; i++) {
		for (; partner[i] != ROWS_ALONE && next < partner[i]; next++)
			add_section(d, NULL, b->at[next]);
		add_section(d, a->at[i], partner[i] == ROWS_ALONE ? NULL : b->at[next++]);
	}
	for (; next < b->n; next++)
		add_section(d, NULL, b->at[next]);
	free(partner);
	/* Messages of the agent may come in different turns. */
	pair_rows(d, a, b, ACP_UP, false, steps, 2);
	find_moved(d, x, ACP_DOWN);
	find_moved(d, x, ACP_UP);
}

/* --- sessions --- */

/* The live session without a partner that corresponds to a recorded one, by the ids that have been learned; or NULL. */
static struct diff_session *
partner_by_id(struct diff *d, const struct diff_session *a)
{
	const struct ids_scope sessions = {.what = ACP_ID_SESSION};
	struct slice id = ids_live(d->ids, sessions, a->id);
	struct file *live = &d->file[LIVE];
	uint32_t number = ITEM_NONE;
	struct diff_session *b;

	/* Sessions of both sides with equal ids correspond, unless the id is known to correspond to another one. */
	if (!id.p && ids_judge(d->ids, sessions, a->id, a->id) == IDS_NEW)
		id = a->id;
	if (id.p)
		number = items_find_session(&live->items, id);
	b = number == ITEM_NONE ? NULL : live->sessions[number];
	return b && !b->partner ? b : NULL;
}

static void
join_sessions(struct diff *d, struct diff_session *a, struct diff_session *b)
{
	a->partner = b;
	b->partner = a;
	diff_must(ids_learn(d->ids, (struct ids_scope){.what = ACP_ID_SESSION}, a->id, b->id));
}

/* Pairs sessions by their ids, and the others in the order of the recordings. */
static void
pair_sessions(struct diff *d)
{
	const struct list *x = &d->file[RECORDED].order, *y = &d->file[LIVE].order;
	struct diff_session *a, *b;
	size_t j = 1;

	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		b = partner_by_id(d, a);
		if (b)
			join_sessions(d, a, b);
	}
	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		while (j < y->n && ((struct diff_session *)y->at[j])->partner)
			j++;
		if (!a->partner && j < y->n)
			join_sessions(d, a, y->at[j]);
	}
}

static void
add_unpaired(struct diff *d, struct diff_session *s)
{
	for (size_t i = 0; i < s->turns.n; i++)
		add_section(d, s->side == RECORDED ? s->turns.at[i] : NULL, s->side == LIVE ? s->turns.at[i] : NULL);
}

/* Compares the sections from this one on. */
static void
compare_sections(struct diff *d, size_t section)
{
	for (; section < d->sections.n; section++)
		compare_section(d, d->sections.at[section]);
}

void
diff_run(struct diff *d)
{
	const struct list *x = &d->file[RECORDED].order, *y = &d->file[LIVE].order;
	struct diff_session *a = x->at[0], *b = y->at[0];
	size_t first;

	a->partner = b;
	b->partner = a;
	/* The items of no session come first, because they show which sessions and directories correspond. */
	make_digests(d, true);
	pair_turns(d, a, b);
	compare_sections(d, 0);
	pair_sessions(d);
	make_digests(d, false);
	first = d->sections.n;
	for (size_t i = 1; i < x->n; i++) {
		a = x->at[i];
		if (a->partner)
			pair_turns(d, a, a->partner);
		else
			add_unpaired(d, a);
	}
	for (size_t i = 1; i < y->n; i++) {
		b = y->at[i];
		if (!b->partner)
			add_unpaired(d, b);
	}
	compare_sections(d, first);
}
