/* What the table holds: the sessions of all streams, what each does, and their order. */
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "cmd/acp-top/top.h"
#include "lib/base/calendar.h"

enum {
	SILENT = 20 * 1000 * 1000, /* us: of a model that says nothing */
	MUTE = 2 * 1000 * 1000,    /* likewise: of an acp-share */
	QUIET = 2 * 1000 * 1000,   /* likewise: after which a turn gets no more tokens */
	SPENT = 16,                /* currencies in the sum of costs */
};

const char *const order_names[ORDERS] = {"state", "agent", "title", "turn", "context", "tokens", "cost"};

const char *
state_name(enum state state)
{
	static const char *const names[] = {"waiting", "no response", "silent", "tool", "model", "idle", "no session", "ended"};

	return names[state];
}

/* --- a row --- */

struct slice
row_title(const struct row *r)
{
	struct slice title = r->usage ? usage_name(r->stream->usage, r->usage->title) : slice(NULL, 0);

	return title.n || !r->session ? title : slice(r->session->id, r->session->n);
}

struct slice
row_directory(const struct row *r)
{
	return r->usage ? usage_name(r->stream->usage, r->usage->cwd) : slice(NULL, 0);
}

struct slice
row_detail(const struct row *r)
{
	const struct ask *a = r->question ? r->question->question->data : NULL;

	switch (r->state) {
	case STATE_WAITING:
		return a ? buf_slice(&a->text) : slice(NULL, 0);
	case STATE_TOOL:
		return r->call->data ? buf_slice(r->call->data) : slice(NULL, 0);
	case STATE_IDLE:
		return buf_slice(&r->seen->stop);
	case STATE_ENDED:
		return buf_slice(&r->stream->how);
	default:
		return slice(NULL, 0);
	}
}

/* The oldest question of the session that is open. */
static const struct session_request *
question_of(const struct session *s)
{
	const struct session_request *r;

	DL_FOREACH2(s->requests, r, after)
		if (r->question && !r->copy)
			return r;
	return NULL;
}

static enum state
state_of(struct row *r)
{
	const struct session *s = r->session;
	const struct seen *seen = r->seen;
	const struct session_turn *turn = session_turn_of(s);

	r->question = question_of(s);
	if (r->stream->over || r->question || seen->requires_action) {
		r->since = r->question ? r->question->question->begin : seen->changed;
		return r->stream->over ? STATE_ENDED : STATE_WAITING;
	}
	for (const struct session_call *c = s->calls; c; c = c->hh.next)
		r->call = !c->ended && (!r->call || c->begin >= r->call->begin) ? c : r->call;
	if (r->call) {
		r->since = r->call->begin;
		return STATE_TOOL;
	}
	if (!(s->parent && !s->turn ? turn && seen->works : turn != NULL)) {
		r->since = seen->ended;
		return STATE_IDLE;
	}
	r->since = r->now > seen->active + SILENT ? seen->active : turn->begin;
	return r->now > seen->active + SILENT ? STATE_SILENT : STATE_MODEL;
}

static int
count(struct row *r)
{
	const struct usage *u = r->stream->usage;
	const struct usage_cost *cost = usage_costs(r->usage);
	struct usage_figures f = {0};
	int e = usage_figures_session(u, r->usage, &f);

	r->has_tokens = f.own.has != 0;
	r->tokens = usage_clip(usage_total(&f.own));
	r->tokens_lower = f.own_lower;
	r->has_cost = cost && usage_cost_total(r->usage, cost->currency, &r->cost);
	usage_figures_free(&f);
	return e;
}

static struct row *
row_new(struct top *t, struct stream *st)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct row *more = t->nrows == t->room ? realloc(t->rows, room * sizeof(*more)) : t->rows;

	if (!more)
		return NULL;
	t->room = t->nrows == t->room ? room : t->room;
	t->rows = more;
	more[t->nrows] = (struct row){.stream = st, .now = stream_now(st), .number = t->nrows, .family = t->nrows, .first = STATE_ENDED};
	return &more[t->nrows++];
}

/* A session, and its sub-agents below it. */
static int
add_session(struct top *t, struct stream *st, struct session *s, unsigned depth, size_t family)
{
	const struct seen *seen = s->data;
	struct row *r;

	if (!seen || seen->closed || seen->connection != st->connection)
		return 0;
	if (!(r = row_new(t, st)))
		return -1;
	r->session = s;
	r->seen = s->data;
	r->depth = depth;
	for (const struct session_turn *turn = s->turn ? s->turn->next : NULL; turn; turn = turn->next)
		r->queued++;
	r->family = depth ? family : r->family;
	family = r->family;
	r->usage = usage_find_session(st->usage, slice(s->id, s->n));
	r->state = state_of(r);
	if (r->usage && count(r) < 0)
		return -1;
	for (struct session *child = s->children ? sessions_next(st->watch.sessions, NULL) : NULL; child;
		child = sessions_next(st->watch.sessions, child))
		if (child->parent == s && add_session(t, st, child, depth + 1, family) < 0)
			return -1;
	return 0;
}

/* What asks without a session; and a stream that has none. */
static int
add_others(struct top *t, struct stream *st, bool any)
{
	const struct session_request *q = NULL;
	struct row *r;

	while (st->watch.sessions && (q = sessions_request(st->watch.sessions, q))) {
		if (!q->question || q->session || q->copy)
			continue;
		if (!(r = row_new(t, st)))
			return -1;
		r->question = q;
		r->state = STATE_WAITING;
		r->since = q->question->begin;
		any = true;
	}
	if (any)
		return 0;
	if (!(r = row_new(t, st)))
		return -1;
	r->state = st->over ? STATE_ENDED : !st->shown && loop_clock() > st->asked + MUTE ? STATE_MUTE : STATE_NONE;
	return 0;
}

/* --- the order --- */

static int
compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

uint64_t
row_turn_time(const struct row *r)
{
	const struct session_turn *turn = r->session ? r->session->turn : NULL;

	return turn ? r->now - turn->begin : r->seen ? r->seen->lasted : 0;
}

/* Of two rows at the head of their families; what is more comes first, and texts in their order. */
static int
compare_by(enum order order, const struct row *a, const struct row *b)
{
	double x, y;

	switch (order) {
	case ORDER_AGENT:
		return slice_compare(buf_slice(&a->stream->agent), buf_slice(&b->stream->agent));
	case ORDER_TITLE:
		return slice_compare(row_title(a), row_title(b));
	case ORDER_TURN:
		return compare(row_turn_time(b), row_turn_time(a));
	case ORDER_CONTEXT:
		x = a->usage && a->usage->has_used && a->usage->size ? (double)a->usage->used / (double)a->usage->size : -1;
		y = b->usage && b->usage->has_used && b->usage->size ? (double)b->usage->used / (double)b->usage->size : -1;
		return (x < y) - (x > y);
	case ORDER_TOKENS:
		return compare(b->tokens, a->tokens);
	case ORDER_COST:
		return a->has_cost && b->has_cost ? decimal_compare(b->cost.amount, a->cost.amount) : b->has_cost - a->has_cost;
	default:
		return (int)a->first - (int)b->first;
	}
}

static int
compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int r = a->family != b->family ? compare_by(a->order, a->head, b->head) : 0;

	return r ? r : compare(a->number, b->number);
}

/* A family is where its head belongs, by the most urgent state of them all. */
static int
sort_rows(struct top *t)
{
	struct row *heads = t->nrows ? malloc(t->nrows * sizeof(*heads)) : NULL, *r;

	if (!heads)
		return t->nrows ? -1 : 0;
	memcpy(heads, t->rows, t->nrows * sizeof(*heads));
	for (r = t->rows; r < t->rows + t->nrows; r++) {
		r->order = t->order;
		r->head = &heads[r->family];
		heads[r->family].first = r->state < heads[r->family].first ? r->state : heads[r->family].first;
	}
	qsort(t->rows, t->nrows, sizeof(*t->rows), compare_rows);
	free(heads);
	return 0;
}

/* --- the sums --- */

/* What has been spent in a currency. */
struct spent {
	struct slice currency;
	struct usage_money money;
};

/* Adds a share; of more currencies than there is room for, none. */
static void
add_share(struct spent *all, size_t *n, struct slice currency, const struct usage_money *m, bool lower)
{
	size_t i = 0;

	while (i < *n && !slice_eq(all[i].currency, currency))
		i++;
	if (i == SPENT)
		return;
	if (i == *n)
		all[(*n)++] = (struct spent){.currency = currency};
	if (!decimal_add(all[i].money.amount, m->amount, &all[i].money.amount) || lower || usage_cost_is_bound(m))
		all[i].money.most.units = 1;
}

/* By the reports of today: of the first one of a session that is older it is not known how much of it is of today. */
static int
put_spent(const struct top *t, struct buf *to)
{
	int32_t day = calendar_day((double)time(NULL));
	struct spent all[SPENT];
	size_t n = 0;
	int e = 0;

	for (const struct row *r = t->rows; r < t->rows + t->nrows; r++) {
		if (!r->usage || (r->usage->parent && usage_is_covered(r->stream->usage, r->usage)))
			continue;
		for (const struct usage_part *p = r->usage->parts; p; p = p->next)
			for (const struct usage_share *s = p->shares; s; s = s->next)
				if (s->period == day)
					add_share(all, &n, usage_name(r->stream->usage, s->money.currency), &s->money,
						s->first && calendar_day(r->stream->started + (double)r->seen->began / 1e6) != day);
	}
	for (size_t i = 0; i < n; i++)
		e |= buf_add_string(to, i ? ", " : "") | buf_add_string(to, all[i].money.most.units ? "<=" : "")
			| decimal_put_money(all[i].money.amount, all[i].currency, to);
	return e;
}

static int
sum_up(const struct top *t, struct totals *to)
{
	for (const struct row *r = t->rows; r < t->rows + t->nrows; r++) {
		to->sessions += r->session && r->state != STATE_ENDED;
		to->running += r->state == STATE_SILENT || r->state == STATE_TOOL || r->state == STATE_MODEL;
		to->waiting += r->state == STATE_WAITING;
	}
	return put_spent(t, &to->cost);
}

int
rows_make(struct top *t, bool last, struct totals *to)
{
	struct stream *st;
	size_t before;
	uint64_t now, next;
	int r = 0;

	t->nrows = 0;
	*to = (struct totals){.shown = true, .over = !t->directory};
	DL_FOREACH(t->streams, st) {
		now = stream_now(st);
		r |= usage_quiet(st->usage, last ? UINT64_MAX : now > QUIET ? now - QUIET : 0, &next);
		to->more |= next > 0;
		to->shown &= st->shown;
		to->over &= st->over;
		if (!st->shown && stream_at(t, st->path, true))
			continue;
		before = t->nrows;
		for (struct session *s = st->watch.sessions ? sessions_next(st->watch.sessions, NULL) : NULL; s; s = sessions_next(st->watch.sessions, s))
			r |= s->parent ? 0 : add_session(t, st, s, 0, 0);
		r |= add_others(t, st, t->nrows > before);
	}
	r |= sort_rows(t);
	return r | sum_up(t, to) ? -1 : 0;
}
