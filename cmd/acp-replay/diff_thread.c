/* The messages of a session on both sides, lane by lane, and how they find each other. */
#include "cmd/acp-replay/diff_parts.h"

#include <stdlib.h>

/*
 * Where two rows do not go on in the same way, so many prompts more are waited for on both sides before
 * it is decided what is missing and what is not: then even a whole turn may be.
 */
enum { LOOK_AHEAD = 2 };

/* What a lane of a session may hold until then. */
enum { QUEUE_MOST = 2 * ALIGN_MOST, QUEUE_BYTES = 32 * 1024 * 1024 };

/* --- queues --- */

static void
push(struct queue *q, struct item *item)
{
	item->next = NULL;
	if (q->last)
		q->last->next = item;
	else
		q->first = item;
	q->last = item;
	q->n++;
	q->bytes += item->size;
}

static struct item *
pop(struct diff *d, enum diff_side side, struct queue *q)
{
	struct item *item = q->first;

	q->first = item->next;
	if (!q->first)
		q->last = NULL;
	q->n--;
	q->bytes -= item->size;
	d->waiting[side]--;
	item->next = NULL;
	return item;
}

/* How many of a queue are whole; at most so many as can be aligned. */
static size_t
whole(const struct queue *q)
{
	size_t n = q->n - (q->last && q->last->open);

	return n < ALIGN_MOST ? n : ALIGN_MOST;
}

int
thread_put(struct diff *d, struct thread *t, enum diff_side side, enum lane lane, struct item *item)
{
	struct queue *q = &t->queue[side][lane];
	size_t before;
	int r;

	item->turn = t->now[side];
	if (q->last && q->last->open) {
		before = q->last->size;
		r = item_join(q->last, item);
		q->bytes += q->last->size - before;
		if (r == 0)
			r = item_close(q->last) < 0 ? -1 : 0;
		if (r < 0)
			item_free(item);
		if (r != 0)
			return r < 0 ? -1 : 0;
	}
	push(q, item);
	d->waiting[side]++;
	return 0;
}

int
thread_close_texts(struct thread *t, enum diff_side side)
{
	for (int lane = 0; lane < LANES; lane++)
		if (t->queue[side][lane].last && item_close(t->queue[side][lane].last) < 0)
			return -1;
	return 0;
}

/* --- partners --- */

/* Items to be taken from both queues. */
struct cut {
	size_t a, b;
};

static int
mark_all(struct diff *d, const struct thread *t, enum diff_side side, const struct queue *q, size_t n, struct mark *marks)
{
	struct item *item = q->first;

	for (size_t i = 0; i < n; i++, item = item->next) {
		if (item_mark(d, t, side, item) < 0)
			return -1;
		marks[i] = item->mark;
	}
	return 0;
}

/*
 * How much of an alignment is certain: up to the last two that are the same, for what comes may still
 * change what is behind them. Where there are none, half of it has to do.
 */
static struct cut
certain(const struct mark *a, size_t n, const struct mark *b, size_t m, const size_t *partner)
{
	struct cut cut = {(n + 1) / 2, n ? 0 : (m + 1) / 2};
	size_t i;

	for (i = n; i-- > 0;)
		if (partner[i] != ALIGN_ALONE && align_same(&a[i], &b[partner[i]]))
			return (struct cut){i + 1, partner[i] + 1};
	for (i = 0; i < cut.a; i++)
		if (partner[i] != ALIGN_ALONE)
			cut.b = partner[i] + 1;
	return cut;
}

/* Takes the items up to the cut out of their queues, two by two or alone. */
static int
take(struct diff *d, struct thread *t, int lane, struct cut cut, const size_t *partner)
{
	struct queue *recorded = &t->queue[DIFF_RECORDED][lane], *live = &t->queue[DIFF_LIVE][lane];
	size_t i, j = 0, to;
	struct item *item;
	int r = 0;

	for (i = 0; r == 0 && i <= cut.a; i++) {
		to = i == cut.a ? cut.b : partner[i] == ALIGN_ALONE ? j : partner[i];
		for (; r == 0 && j < to; j++)
			r = pair_alone(d, t, DIFF_LIVE, pop(d, DIFF_LIVE, live));
		if (r < 0 || i == cut.a)
			break;
		item = pop(d, DIFF_RECORDED, recorded);
		if (partner[i] == ALIGN_ALONE) {
			r = pair_alone(d, t, DIFF_RECORDED, item);
		} else {
			r = pair_items(d, t, item, pop(d, DIFF_LIVE, live));
			j++;
		}
	}
	return r;
}

/* Aligns what both queues hold, and takes what is certain of it, or all. */
static int
take_aligned(struct diff *d, struct thread *t, int lane, bool all)
{
	const struct queue *recorded = &t->queue[DIFF_RECORDED][lane], *live = &t->queue[DIFF_LIVE][lane];
	size_t n = whole(recorded), m = whole(live);
	struct mark *a = calloc(n + 1, sizeof(*a)), *b = calloc(m + 1, sizeof(*b));
	size_t *partner = calloc(n + 1, sizeof(*partner));
	struct cut cut = {n, m};
	int r = -1;

	if (a && b && partner && mark_all(d, t, DIFF_RECORDED, recorded, n, a) == 0 &&
		mark_all(d, t, DIFF_LIVE, live, m, b) == 0 && align(a, n, b, m, partner) == 0) {
		if (!all || recorded->n > n || live->n > m)
			cut = certain(a, n, b, m, partner);
		r = take(d, t, lane, cut, partner);
	}
	free(a);
	free(b);
	free(partner);
	return r;
}

/* May what stands first be judged: has the side gone on long enough? */
static bool
has_gone_on(const struct diff *d, const struct thread *t, enum diff_side side, int lane)
{
	const struct item *first = t->queue[side][lane].first, *across = t->queue[other(side)][lane].first;
	uint64_t from;

	if (d->ended[side] || t->queue[side][lane].n >= ALIGN_MOST)
		return true;
	if (first && first->open)
		return false; /* it may be what the other side waits for */
	if (first)
		from = first->turn;
	else if (side == DIFF_LIVE)
		from = across->turn - (uint64_t)t->shift;
	else
		from = turn_of_live(t, across->turn);
	return t->now[side] >= from + LOOK_AHEAD;
}

/* Is nothing more to come? */
static bool
is_over(const struct diff *d, const struct thread *t, enum diff_side side, int lane)
{
	return t->queue[side][lane].n == 0 && d->ended[side] && (thread_paired(t) || d->closing);
}

static bool
is_full(const struct queue *q)
{
	return q->n >= QUEUE_MOST || q->bytes >= QUEUE_BYTES;
}

/* One step: 1 where there was something to do, 0, or -1. */
static int
step(struct diff *d, struct thread *t, int lane)
{
	struct queue *recorded = &t->queue[DIFF_RECORDED][lane], *live = &t->queue[DIFF_LIVE][lane];
	struct item *a = whole(recorded) ? recorded->first : NULL, *b = whole(live) ? live->first : NULL;
	bool forced = is_full(recorded) || is_full(live);

	if (!a && !b)
		return 0;
	if (!thread_paired(t) && !d->closing && !forced)
		return 0;
	if (a && b) {
		if (item_mark(d, t, DIFF_RECORDED, a) < 0 || item_mark(d, t, DIFF_LIVE, b) < 0)
			return -1;
		if (align_same(&a->mark, &b->mark))
			return pair_items(d, t, pop(d, DIFF_RECORDED, recorded), pop(d, DIFF_LIVE, live)) < 0 ? -1 : 1;
	}
	if (!b && is_over(d, t, DIFF_LIVE, lane))
		return pair_alone(d, t, DIFF_RECORDED, pop(d, DIFF_RECORDED, recorded)) < 0 ? -1 : 1;
	if (!a && is_over(d, t, DIFF_RECORDED, lane))
		return pair_alone(d, t, DIFF_LIVE, pop(d, DIFF_LIVE, live)) < 0 ? -1 : 1;
	if (!forced && !(has_gone_on(d, t, DIFF_RECORDED, lane) && has_gone_on(d, t, DIFF_LIVE, lane)))
		return 0;
	return take_aligned(d, t, lane, d->ended[DIFF_RECORDED] && d->ended[DIFF_LIVE]) < 0 ? -1 : 1;
}

int
thread_settle(struct diff *d, struct thread *t)
{
	int r, lane;

	for (lane = 0; lane < LANES; lane++) {
		while ((r = step(d, t, lane)) > 0)
			;
		if (r < 0)
			return -1;
	}
	return turn_finish(d, t);
}

/* --- sessions --- */

static struct name *
find_name(struct diff *d, enum diff_side side, struct slice session)
{
	struct name *n = NULL;

	d->key.n = 0;
	if (msg_id_key(session, &d->key) == 0)
		HASH_FIND(hh, d->names[side], d->key.p, d->key.n, n);
	return n;
}

/* Notes that a session of this side is this thread. Its id is kept where nothing moves it. */
static int
add_name(struct diff *d, struct thread *t, enum diff_side side, struct slice session)
{
	struct name *n;

	d->key.n = 0;
	if (msg_id_key(session, &d->key) < 0)
		return -1;
	n = malloc(sizeof(*n) + d->key.n + session.n);
	if (!n)
		return -1;
	n->thread = t;
	memcpy(n->key, d->key.p, d->key.n);
	t->session[side] = slice(memcpy(n->key + d->key.n, session.p, session.n), session.n);
	t->here[side] = true;
	HASH_ADD_KEYPTR(hh, d->names[side], n->key, d->key.n, n);
	if (n->hh.tbl)
		return 0;
	free(n);
	return -1;
}

static void
free_queues(struct thread *t)
{
	struct item *item, *next;

	for (int i = 0; i < DIFF_SIDES * LANES; i++) {
		for (item = t->queue[i / LANES][i % LANES].first; item; item = next) {
			next = item->next;
			item_free(item);
		}
	}
}

static void
free_threads(struct thread *list)
{
	struct thread *t, *next;

	DL_FOREACH_SAFE(list, t, next) {
		turn_free_all(t);
		free_queues(t);
		free(t);
	}
}

void
thread_free_all(struct diff *d)
{
	struct name *n, *after;

	for (int side = 0; side < DIFF_SIDES; side++) {
		HASH_ITER(hh, d->names[side], n, after) {
			HASH_DEL(d->names[side], n);
			free(n);
		}
	}
	free_threads(d->paired);
	free_threads(d->single);
	turn_free_all(&d->connection);
	free_queues(&d->connection);
}

static void
move_exchanges(struct diff *d, struct thread *from, struct thread *to)
{
	for (struct exchange *e = d->exchanges; e; e = e->next)
		if (e->thread == from)
			e->thread = to;
}

/* A live session turns out to be this recorded one: what has come of it moves over. */
static int
merge(struct diff *d, struct thread *recorded, struct thread *live)
{
	struct ids_place session = {.what = ACP_ID_SESSION};
	struct name *n = find_name(d, DIFF_LIVE, live->session[DIFF_LIVE]);

	if (!n || turn_tell_all(d, live) < 0)
		return -1;
	if (d->spec.ids && ids_learn(d->spec.ids, session, recorded->session[DIFF_RECORDED], live->session[DIFF_LIVE]) == IDS_FAILED)
		return -1;
	n->thread = recorded;
	recorded->here[DIFF_LIVE] = true;
	recorded->foreign[DIFF_LIVE] = live->foreign[DIFF_LIVE];
	recorded->session[DIFF_LIVE] = live->session[DIFF_LIVE];
	recorded->now[DIFF_LIVE] = live->now[DIFF_LIVE];
	memcpy(recorded->queue[DIFF_LIVE], live->queue[DIFF_LIVE], sizeof(live->queue[DIFF_LIVE]));
	move_exchanges(d, live, recorded);
	DL_DELETE(d->single, live);
	DL_DELETE(d->single, recorded);
	DL_APPEND(d->paired, recorded);
	free(live);
	return thread_settle(d, recorded);
}

/* The thread of the other side that a new one of this side belongs to, by what is known of ids. */
static struct thread *
known_partner(struct diff *d, const struct thread *t, enum diff_side side)
{
	struct ids_place session = {.what = ACP_ID_SESSION};
	struct slice mine = t->session[side], theirs = mine;
	struct name *n;

	if (d->spec.ids) {
		theirs = side == DIFF_LIVE ? ids_recorded(d->spec.ids, session, mine) : ids_live(d->spec.ids, session, mine);
		/* The same id on both sides is the same session, unless it is known to be another. */
		if (!theirs.p && ids_judge(d->spec.ids, session, mine, mine) == IDS_NEW)
			theirs = mine;
	}
	n = theirs.p ? find_name(d, other(side), theirs) : NULL;
	return n && !n->thread->here[side] ? n->thread : NULL;
}

/* One that was never begun here, as this one was not: the recording may have started in the middle. */
static struct thread *
foreign_partner(const struct diff *d, const struct thread *t, enum diff_side side)
{
	struct thread *u = t->foreign[side] ? d->single : NULL;

	while (u && !u->foreign[other(side)])
		u = u->next;
	return u;
}

static int
find_partner(struct diff *d, struct thread *t, enum diff_side side, bool rest)
{
	struct thread *u = known_partner(d, t, side);

	if (!u && rest)
		u = foreign_partner(d, t, side);
	if (!u)
		return 0;
	return side == DIFF_LIVE ? merge(d, u, t) : merge(d, t, u);
}

static struct thread *
add_thread(struct diff *d, enum diff_side side, struct slice session)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (add_name(d, t, side, session) < 0) {
		free(t);
		return NULL;
	}
	t->foreign[side] = d->beginning[side] == 0;
	DL_APPEND(d->single, t);
	return t;
}

struct thread *
thread_get(struct diff *d, enum diff_side side, struct slice session)
{
	struct name *n = session.p ? find_name(d, side, session) : NULL;
	struct thread *t;

	if (!session.p)
		return &d->connection;
	if (n)
		return n->thread;
	t = add_thread(d, side, session);
	if (!t || find_partner(d, t, side, true) < 0)
		return NULL;
	/* It may have become another's. */
	n = find_name(d, side, session);
	return n ? n->thread : NULL;
}

int
thread_join_known(struct diff *d)
{
	struct thread *t, *next;

	for (t = d->single; t; t = next) {
		next = t->next;
		if (!t->here[DIFF_LIVE])
			continue;
		/* The partner goes out of the list, too. */
		while (next && next->here[DIFF_RECORDED])
			next = next->next;
		if (find_partner(d, t, DIFF_LIVE, false) < 0)
			return -1;
	}
	return 0;
}

int
thread_join_rest(struct diff *d)
{
	struct thread *recorded, *live;

	for (;;) {
		for (recorded = d->single; recorded && !recorded->here[DIFF_RECORDED]; recorded = recorded->next)
			;
		for (live = d->single; live && !live->here[DIFF_LIVE]; live = live->next)
			;
		if (!recorded || !live)
			return 0;
		if (merge(d, recorded, live) < 0)
			return -1;
	}
}
