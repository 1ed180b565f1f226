/*
 * v2's states: a turn ends when its session becomes idle. Idle snapshots repeat, and one completion is counted once. In a piece of
 * a stream it is not known what came before; so the first states of a session are put off, until it is certain that a turn has
 * ended, and played when the piece is joined.
 */
#include <stdlib.h>

#include "lib/usage_parts.h"

struct usage_loose *
usage_loose_new(const struct usage_turn *turn, struct slice id)
{
	struct usage_loose *l = calloc(1, sizeof(*l) + id.n);

	if (!l)
		return NULL;
	l->turn = *turn;
	l->id_length = id.n;
	if (id.n)
		memcpy(l->id, id.p, id.n);
	return l;
}

void
usage_loose_free(struct usage_loose *l)
{
	struct usage_loose *next;

	for (; l; l = next) {
		next = l->next;
		free(l->rows);
		free(l->models);
		free(l);
	}
}

static uint32_t
hash(uint32_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n-- > 0)
		h = (h ^ *p++) * 16777619u;
	return h;
}

/* The same for the same idle state; never 0. */
static uint32_t
hash_of(const struct usage *u, const struct usage_turn *t)
{
	struct slice stop = usage_name(u, t->stop);
	uint32_t h = hash(2166136261u, t->answer.n, sizeof(t->answer.n));

	h = hash(h, stop.p, stop.n);
	return h ? h : 1;
}

void
usage_accepted(struct usage_session *s)
{
	s->v2 = s->stated = s->busy = true;
}

bool
usage_unsettled(const struct usage *u, const struct usage_session *s)
{
	return u->spec.partial && !u->begun && s->head && !s->head->settled;
}

/* What was collected so far belongs to a turn of the piece before. */
static int
take_off(struct usage_session *s, uint64_t t, struct usage_turn *to)
{
	*to = s->turn;
	to->cost = (struct decimal){0};
	return usage_begin_turn(s, t, false);
}

int
usage_settle(struct usage_session *s, uint64_t t)
{
	if (!s->head || s->head->settled)
		return 0;
	s->head->settled = true;
	s->head->before_used = s->used;
	s->head->before_has_used = s->has_used;
	return take_off(s, t, &s->head->before);
}

static int
run(struct usage *u, struct usage_session *s)
{
	s->busy = true;
	return s->turn.answered ? usage_judge(u, s) : 0;
}

/* Does it end a turn, by all that is known? */
static bool
ends(const struct usage *u, const struct usage_session *s, const struct usage_turn *t)
{
	return s->busy || (s->turn.prompted && !s->turn.answered) || (t->answer.has && hash_of(u, t) != s->idle);
}

static int
idle(struct usage *u, struct usage_session *s, struct usage_loose *l)
{
	if (!ends(u, s, &l->turn))
		return 0;
	s->busy = false;
	s->idle = hash_of(u, &l->turn);
	l->turn.began = s->turn.prompted && !s->turn.answered ? s->turn.began : l->turn.ended;
	if (usage_answer(u, s, &l->turn) < 0)
		return -1;
	return usage_take_rows(u, s, l->rows, l->models, l->nrows);
}

/* Behind the others in the session's head. */
static int
put_off(struct usage_session *s, struct usage_loose *l)
{
	struct usage_loose **end = &s->head->states;

	while (*end)
		end = &(*end)->next;
	*end = l;
	return take_off(s, l->turn.ended, &l->before);
}

static int
run_unsettled(struct usage_session *s, struct usage_loose *l)
{
	struct usage_head *h = s->head;
	int r = 0;

	s->busy = true;
	if (h->ended || h->running) {
		r = h->ended ? usage_settle(s, l->turn.ended) : 0;
		usage_loose_free(l);
		return r;
	}
	h->running = true;
	return put_off(s, l);
}

static int
idle_unsettled(struct usage *u, struct usage_session *s, struct usage_loose *l)
{
	struct usage_head *h = s->head;
	bool sure = h->ended || (h->idle && !h->running && !l->turn.answer.has);
	int r = 0;

	if (sure) {
		if (ends(u, s, &l->turn))
			r = usage_settle(s, l->turn.ended) < 0 ? -1 : idle(u, s, l);
		usage_loose_free(l);
		return r;
	}
	h->ended = h->running || l->turn.answer.has;
	h->running = false;
	h->idle = true;
	s->busy = false;
	if (h->ended)
		s->idle = hash_of(u, &l->turn);
	return put_off(s, l);
}

int
usage_state(struct usage *u, struct usage_session *s, struct usage_loose *l)
{
	int r;

	l->next = NULL;
	s->v2 = s->stated = true;
	if (usage_unsettled(u, s))
		return l->idle ? idle_unsettled(u, s, l) : run_unsettled(s, l);
	r = l->idle ? idle(u, s, l) : run(u, s);
	usage_loose_free(l);
	return r;
}
