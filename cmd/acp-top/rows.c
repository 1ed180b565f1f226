/* Makes the rows of the table: the sessions of all streams, what each does, and their order. */
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "cmd/acp-top/top.h"
#include "lib/base/calendar.h"

enum {
	SILENT = 20 * 1000 * 1000, /* us without a message, after which a model counts as silent */
	MUTE = 2 * 1000 * 1000,    /* us without a response, after which an acp-share is said to have none */
	QUIET = 2 * 1000 * 1000,   /* us without a message, after which an ended turn gets no more tokens */
	SPENT = 16,                /* currencies, at most, in the sum of costs */
};

/* --- a row --- */

static void
set_state(struct row *r, enum state state, uint64_t since, const struct buf *detail)
{
	r->state = state;
	r->since = since;
	r->detail = detail ? buf_slice(detail) : slice(NULL, 0);
}

static void
find_state(struct row *r)
{
	const struct stream *st = r->stream;
	const struct session *s = r->session;
	const struct session_call *call = NULL;
	const struct session_turn *turn = s ? session_turn_of(s) : NULL;
	const struct ask *ask = r->question ? r->question->question->data : NULL;

	for (const struct session_call *c = s ? s->calls : NULL; c; c = c->hh.next)
		call = !c->ended && (!call || c->begin >= call->begin) ? c : call;
	if (st->over)
		set_state(r, STATE_ENDED, 0, &st->how);
	else if (r->question)
		set_state(r, STATE_WAITING, r->question->question->begin, ask ? &ask->text : NULL);
	else if (!s)
		set_state(r, !st->shown && loop_clock() > st->asked + MUTE ? STATE_MUTE : STATE_NONE, 0, NULL);
	else if (r->seen->requires_action)
		set_state(r, STATE_WAITING, r->seen->changed, NULL);
	else if (call)
		set_state(r, STATE_TOOL, call->begin, call->data);
	else if (!turn || (s->parent && !s->turn && !r->seen->works))
		set_state(r, STATE_IDLE, r->seen->ended, &r->seen->stop);
	else if (r->now > r->seen->active + SILENT)
		set_state(r, STATE_SILENT, r->seen->active, NULL);
	else
		set_state(r, STATE_MODEL, turn->begin, NULL);
}

/* Fills in tokens, cost, directory and title. 0, or -1 out of memory. */
static int
find_usage(struct row *r)
{
	const struct usage *u = r->stream->usage;
	const struct usage_cost *cost = usage_costs(r->usage);
	struct slice title = usage_name(u, r->usage->title);
	struct usage_figures f = {0};
	int e = usage_figures_session(u, r->usage, &f);

	r->has_tokens = f.own.has != 0;
	r->tokens = usage_clip(usage_total(&f.own));
	r->tokens_lower = f.own_lower;
	r->has_cost = cost && usage_cost_total(r->usage, cost->currency, &r->cost);
	usage_figures_free(&f);
	r->directory = usage_name(u, r->usage->cwd);
	r->title = title.n ? title : r->title;
	return e;
}

/* Adds the row of a session; without one (s NULL) of a question that names none (asks), or of the stream itself. 0, or -1 out of memory. */
static int
add_row(struct top *t, struct stream *st, const struct session *s, const struct session_request *asks, unsigned depth)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct row *r = t->nrows == t->room ? realloc(t->rows, room * sizeof(*r)) : t->rows;

	if (!r)
		return -1;
	/* The oldest question of the session that is open. */
	if (s)
		DL_FOREACH2(s->requests, asks, after)
			if (asks->question && !asks->copy)
				break;
	t->room = t->nrows == t->room ? room : t->room;
	t->rows = r;
	r += t->nrows;
	*r = (struct row){.stream = st, .session = s, .seen = s ? s->data : NULL, .question = asks, .depth = depth,
		.now = stream_now(st), .number = t->nrows, .head = depth ? r[-1].head : t->nrows, .first = STATE_ENDED};
	t->nrows++;
	find_state(r);
	if (!s)
		return 0;
	for (const struct session_turn *turn = s->turn ? s->turn->next : NULL; turn; turn = turn->next)
		r->queued++;
	r->turn = s->turn ? r->now - s->turn->begin : r->seen->lasted;
	r->title = slice(s->id, s->n);
	r->usage = usage_find_session(st->usage, r->title);
	return r->usage ? find_usage(r) : 0;
}

/* Adds the rows of a session and, below it, of its sub-agents. */
static int
add_family(struct top *t, struct stream *st, const struct session *s, unsigned depth)
{
	const struct seen *seen = s->data;

	if (!seen || seen->connection != st->connection)
		return 0;
	if (add_row(t, st, s, NULL, depth) < 0)
		return -1;
	for (const struct session *child = s->children ? sessions_next(st->watch.sessions, NULL) : NULL; child;
		child = sessions_next(st->watch.sessions, child))
		if (child->parent == s && add_family(t, st, child, depth + 1) < 0)
			return -1;
	return 0;
}

static int
add_stream(struct top *t, struct stream *st)
{
	const struct sessions *all = st->watch.sessions;
	const struct session_request *q = NULL;
	size_t before = t->nrows;
	int r = 0;

	for (const struct session *s = all ? sessions_next(all, NULL) : NULL; s; s = sessions_next(all, s))
		r |= s->parent ? 0 : add_family(t, st, s, 0);
	while (all && (q = sessions_request(all, q)))
		r |= q->question && !q->session && !q->copy ? add_row(t, st, NULL, q, 0) : 0;
	return r | (t->nrows == before ? add_row(t, st, NULL, NULL, 0) : 0);
}

/* --- the order --- */

/* Finds what a row is sorted by: greater figures come first, words in alphabetical order. */
static void
find_key(struct row *r, enum order order)
{
	const struct usage_session *u = r->usage;

	if (order == ORDER_AGENT)
		r->word = buf_slice(&r->stream->agent);
	else if (order == ORDER_TITLE)
		r->word = r->title;
	else if (order == ORDER_TURN)
		r->figure = (double)r->turn;
	else if (order == ORDER_CONTEXT)
		r->figure = u && u->size ? (double)u->used / (double)u->size : -1;
	else if (order == ORDER_TOKENS)
		r->figure = (double)r->tokens;
	else if (order == ORDER_COST)
		r->figure = r->has_cost ? (double)r->cost.amount.units : -1;
	else
		r->figure = -(double)r->first;
}

static int
compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int r = slice_compare(a->word, b->word);

	r = r ? r : (a->figure < b->figure) - (a->figure > b->figure);
	return r ? r : (a->number > b->number) - (a->number < b->number);
}

/* Sorts families by their heads, which take the most urgent state of the family. */
static void
sort_rows(struct top *t)
{
	struct row *r, *head, *end = t->rows + t->nrows;

	for (r = t->rows; r < end; r++) {
		head = &t->rows[r->head];
		head->first = r->state < head->first ? r->state : head->first;
	}
	for (r = t->rows; r < end; r++) {
		head = &t->rows[r->head];
		find_key(head, t->order);
		r->word = head->word;
		r->figure = head->figure;
	}
	if (t->nrows)
		qsort(t->rows, t->nrows, sizeof(*t->rows), compare_rows);
}

/* --- the sums --- */

/* The sum in a currency. */
struct spent {
	struct slice currency;
	struct usage_money money;
};

/* Adds a share to the sum of its currency; leaves it out if there are too many currencies. */
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

/* Appends the costs that were reported today. Of the first report of an older session it is not known how much is of today: <=. */
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
		e |= buf_add_string(to, i ? ", " : "") || buf_add_string(to, all[i].money.most.units ? "<=" : "")
			|| decimal_put_money(all[i].money.amount, all[i].currency, to);
	return e;
}

void
rows_make(struct top *t)
{
	const struct options *o = t->options;
	struct totals *sums = &t->sums;
	struct stream *st;
	uint64_t now, next;
	int r = 0;

	t->nrows = 0;
	sums->cost.n = 0;
	*sums = (struct totals){.shown = true, .over = !t->directory, .cost = sums->cost};
	DL_FOREACH(t->streams, st) {
		now = stream_now(st);
		/* A table that is printed once does not wait for more tokens. */
		r |= usage_quiet(st->usage, o->batch && o->delay == 0 ? UINT64_MAX : now > QUIET ? now - QUIET : 0, &next);
		sums->live |= next > 0;
		sums->shown &= st->shown;
		sums->over &= st->over;
		if (st->shown || !stream_at(t, st->path, true))
			r |= add_stream(t, st);
	}
	sort_rows(t);
	for (const struct row *row = t->rows; row < t->rows + t->nrows; row++) {
		sums->sessions += row->session && row->state != STATE_ENDED;
		sums->running += row->state == STATE_SILENT || row->state == STATE_TOOL || row->state == STATE_MODEL;
		sums->waiting += row->state == STATE_WAITING;
		sums->live |= row->state <= STATE_MODEL || (row->state == STATE_NONE && !row->stream->shown);
	}
	t->failed |= (r | put_spent(t, &sums->cost)) != 0;
}
