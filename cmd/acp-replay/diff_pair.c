/* Partners are compared, and those who have none are told; answers go with their requests. */
#include "cmd/acp-replay/diff_parts.h"

#include <stdlib.h>

/* What a difference that compare tells belongs to. */
struct pair {
	struct diff *d;
	struct turn *turn;
	const struct item *recorded, *live;
	const char *path; /* of a value that is compared alone, or NULL */
	bool failed;
};

static bool
note(void *arg, const struct difference *difference)
{
	struct pair *p = arg;
	struct found f = {
		.kind = difference->kind,
		.from = p->recorded->from,
		.line = {p->recorded->line, p->live->line},
		.what = p->recorded->label,
		.path = p->path ? slice_of(p->path) : difference->path,
		.value = {difference->recorded, difference->live},
	};

	p->failed = turn_add(p->d, p->turn, &f) < 0;
	return !p->failed;
}

/* --- two items --- */

static struct compare
comparing(struct pair *p, enum acp_method what, struct slice session)
{
	return (struct compare){
		.match = p->d->spec.match,
		.ids = p->d->spec.ids,
		.learn = p->d->spec.ids != NULL,
		.from = p->recorded->from,
		.what = what,
		.session = session,
		.differs = note,
		.arg = p,
	};
}

/* The text that their pieces make together. */
static int
compare_text(struct pair *p, struct compare *c)
{
	c->apart[0] = c->apart[1] = slice(NULL, 0);
	p->path = ".params.update.content.text";
	return compare_values(c, buf_slice(&p->recorded->text), buf_slice(&p->live->text));
}

/*
 * Two streamed texts: what their pieces say beside the text, each time that it changes, and the text. No
 * agent cuts its text twice into the same pieces: where one side has no further change, its last stands.
 */
static int
compare_pieces(struct pair *p, struct compare *c)
{
	const struct item *a = p->recorded, *b = p->live, *more_a = a->others, *more_b = b->others;
	struct pair one = *p;
	int r;

	c->arg = &one;
	for (;;) {
		one.recorded = a;
		one.live = b;
		c->apart[0] = a->chunk.text;
		c->apart[1] = b->chunk.text;
		r = compare_messages(c, &a->msg, &b->msg);
		if (r < 0 || (!more_a && !more_b))
			break;
		if (more_a) {
			a = more_a;
			more_a = a->next;
		}
		if (more_b) {
			b = more_b;
			more_b = b->next;
		}
	}
	c->arg = p;
	return r < 0 ? r : compare_text(p, c);
}

static int
compare_items(struct pair *p, enum acp_method what, struct slice session)
{
	struct compare c = comparing(p, what, session);
	int r;

	if (p->recorded->piece && p->live->piece)
		r = compare_pieces(p, &c);
	else
		r = compare_messages(&c, &p->recorded->msg, &p->live->msg);
	return r < 0 || p->failed ? -1 : 0;
}

static int
tell_alone(struct diff *d, struct turn *t, enum diff_side side, const struct item *item)
{
	struct found f = {
		.kind = side == DIFF_RECORDED ? DIFFERENCE_MISSING : DIFFERENCE_UNEXPECTED,
		.whole = true,
		.from = item->from,
		.what = item->label,
		.path = slice_of("."),
	};

	f.line[side] = item->line;
	f.value[side] = item_value(item);
	turn_count(t, side == DIFF_RECORDED ? item : NULL, side == DIFF_LIVE ? item : NULL);
	return turn_add(d, t, &f);
}

/* A turn is called by what the user said first. */
static int
name_turn(struct turn *t, const struct item *item)
{
	struct slice text = item->what == ACP_SESSION_PROMPT ? acp_prompt_text(item->msg.params) : slice(NULL, 0);

	return text.p && t->prompt.n == 0 ? buf_add_slice(&t->prompt, text) : 0;
}

/* --- exchanges --- */

struct exchange *
exchange_new(struct diff *d, enum diff_side side, struct thread *thread, const struct msg *m)
{
	struct slice session = msg_session(m);
	struct exchange *e = calloc(1, sizeof(*e) + session.n);

	if (!e)
		return NULL;
	e->side = side;
	e->thread = thread;
	e->what = m->what;
	e->begins = acp_begins_session(m->what);
	if (session.p)
		e->session = slice(memcpy(e->bytes, session.p, session.n), session.n);
	d->beginning[side] += e->begins;
	e->next = d->exchanges;
	e->link = &d->exchanges;
	if (e->next)
		e->next->link = &e->next;
	d->exchanges = e;
	return e;
}

static void
exchange_free(struct diff *d, struct exchange *e)
{
	d->beginning[e->side] -= e->begins;
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	item_free(e->answer);
	free(e);
}

void
exchange_free_all(struct diff *d)
{
	while (d->exchanges)
		exchange_free(d, d->exchanges);
}

static int
compare_answers(struct diff *d, struct turn *t, const struct exchange *recorded, const struct exchange *live)
{
	struct pair p = {.d = d, .turn = t, .recorded = recorded->answer, .live = live->answer};

	if (!p.recorded && !p.live)
		return 0;
	if (!p.live)
		return tell_alone(d, t, DIFF_RECORDED, p.recorded);
	if (!p.recorded)
		return tell_alone(d, t, DIFF_LIVE, p.live);
	turn_count(t, p.recorded, p.live);
	return compare_items(&p, recorded->what, recorded->session);
}

/* Both are answered, or will never be. */
static int
settle(struct diff *d, struct exchange *e)
{
	struct exchange *recorded = e->side == DIFF_RECORDED ? e : e->partner;
	struct exchange *live = recorded->partner;
	struct thread *thread = recorded->thread;
	bool begins = recorded->begins;
	int r = compare_answers(d, recorded->turn, recorded, live);

	recorded->turn->open--;
	exchange_free(d, recorded);
	exchange_free(d, live);
	if (r == 0 && begins)
		r = thread_join_known(d);
	return r < 0 ? r : turn_finish(d, thread);
}

int
exchange_answer(struct diff *d, struct exchange *e, struct item *answer)
{
	e->answered = true;
	e->answer = answer;
	if (e->alone) {
		exchange_free(d, e);
		return 0;
	}
	return e->partner && e->partner->answered ? settle(d, e) : 0;
}

int
exchange_settle_all(struct diff *d)
{
	struct exchange *e, *next;
	int r = 0;

	for (e = d->exchanges; r == 0 && e; e = next) {
		next = e->next;
		if (!e->partner)
			continue;
		if (next == e->partner)
			next = next->next;
		r = settle(d, e);
	}
	return r;
}

/* The requests have found each other: so will their answers. */
static int
join(struct diff *d, struct turn *t, struct exchange *recorded, struct exchange *live)
{
	recorded->partner = live;
	live->partner = recorded;
	recorded->turn = t;
	t->open++;
	return recorded->answered && live->answered ? settle(d, recorded) : 0;
}

/* --- what finds its partner, and what does not --- */

int
pair_items(struct diff *d, struct thread *thread, struct item *recorded, struct item *live)
{
	struct turn *t = turn_get(thread, recorded->turn);
	struct pair p = {.d = d, .turn = t, .recorded = recorded, .live = live};
	int r = -1;

	if (recorded->what == ACP_SESSION_PROMPT && recorded->exchange)
		thread->shift = (int64_t)recorded->turn - (int64_t)live->turn;
	if (t && name_turn(t, recorded) == 0) {
		turn_count(t, recorded, live);
		r = compare_items(&p, recorded->what, thread->session[DIFF_RECORDED]);
	}
	if (r == 0 && acp_begins_session(recorded->what))
		r = thread_join_known(d);
	if (r == 0 && recorded->exchange && live->exchange)
		r = join(d, t, recorded->exchange, live->exchange);
	item_free(recorded);
	item_free(live);
	return r;
}

int
pair_alone(struct diff *d, struct thread *thread, enum diff_side side, struct item *item)
{
	struct turn *t = turn_get(thread, side == DIFF_LIVE ? turn_of_live(thread, item->turn) : item->turn);
	struct exchange *e = item->exchange;
	int r = -1;

	if (t && (side == DIFF_LIVE && thread_paired(thread) ? 0 : name_turn(t, item)) == 0)
		r = tell_alone(d, t, side, item);
	if (e) {
		e->alone = true;
		if (e->answered)
			exchange_free(d, e);
	}
	item_free(item);
	return r;
}
