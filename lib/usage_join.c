/* Pieces of a stream: their states are read, and joined to those before. */
#include <stdlib.h>

#include "lib/usage_parts.h"

/* --- reading --- */

/* As many numbers as there are; what is missing is 0. */
static void
get_array(struct slice object, const char *name, uint64_t *n, size_t count)
{
	struct json_iter it = {.in = json_get(object, name)};
	struct slice key, value;
	size_t i;

	memset(n, 0, count * sizeof(*n));
	for (i = 0; i < count && json_next(&it, &key, &value); i++)
		if (json_type(value) != JSON_NUMBER || !json_u64(value, &n[i]))
			n[i] = 0;
}

static uint64_t
get_number(struct slice object, const char *name)
{
	struct slice v = json_get(object, name);
	uint64_t n = 0;

	return json_type(v) == JSON_NUMBER && json_u64(v, &n) ? n : 0;
}

static struct slice
get_string(struct slice object, const char *name)
{
	struct slice v = json_get(object, name);

	return json_type(v) == JSON_STRING ? v : slice(NULL, 0);
}

static void
get_counts(struct slice object, const char *name, struct usage_counts *c)
{
	uint64_t n[USAGE_TYPES + 1];

	get_array(object, name, n, USAGE_TYPES + 1);
	c->has = n[0] & ((1u << USAGE_TYPES) - 1);
	memcpy(c->n, n + 1, sizeof(c->n));
}

static void
get_sums(struct slice object, const char *name, struct usage_sums *s)
{
	uint64_t n[2 * USAGE_TYPES + 2];
	size_t i;

	get_array(object, name, n, 2 * USAGE_TYPES + 2);
	s->has = n[0] & ((1u << USAGE_TYPES) - 1);
	s->parts = n[1] & 63;
	for (i = 0; i < USAGE_TYPES; i++) {
		s->n[i] = n[2 + 2 * i];
		s->over[i] = (uint32_t)n[3 + 2 * i];
	}
}

static void
get_turn(struct usage *u, struct slice object, const char *name, struct usage_turn *t)
{
	struct slice in = json_get(object, name);
	uint64_t n[TURN_NUMBERS];

	get_array(in, "n", n, TURN_NUMBERS);
	*t = (struct usage_turn){.prompted = n[0] & 1, .answered = n[0] >> 1 & 1, .rows = n[0] >> 2 & 1,
		.enveloped = n[0] >> 3 & 1, .failed = n[0] >> 4 & 1, .heard = n[0] >> 5 & 1, .wrong = n[0] >> 6 & 1,
		.accepted = n[0] >> 7 & 1, .began = n[1], .ended = n[2],
		.last_call = n[3], .billed = n[4], .billed_output = n[5], .first_row = n[6], .ncalls = (uint32_t)n[7],
		.updates = (uint32_t)n[8]};
	get_counts(in, "answer", &t->answer);
	get_counts(in, "calls", &t->calls);
	t->stop = usage_intern_string(u, get_string(in, "stop"));
}

/* NULL when out of memory. */
static struct usage_loose *
get_loose(struct usage *u, struct slice in)
{
	struct json_iter it = {.in = json_get(in, "rows")};
	struct slice key, row;
	struct usage_turn turn;
	struct usage_loose *l;
	size_t n = 0;

	get_turn(u, in, "turn", &turn);
	l = usage_loose_new(&turn, json_get(in, "id"));
	if (!l)
		return NULL;
	l->idle = get_number(in, "idle") == 1;
	get_turn(u, in, "before", &l->before);
	while (json_next(&it, &key, &row))
		n++;
	if (n == 0)
		return l;
	l->rows = calloc(n, sizeof(*l->rows));
	l->models = calloc(n, sizeof(*l->models));
	if (!l->rows || !l->models) {
		usage_loose_free(l);
		return NULL;
	}
	for (it.at = NULL; l->nrows < n && json_next(&it, &key, &row); l->nrows++) {
		get_counts(row, "counts", &l->rows[l->nrows]);
		l->models[l->nrows] = usage_intern_string(u, get_string(row, "model"));
	}
	return l;
}

static int
get_decimal(struct slice object, const char *name, struct decimal *d)
{
	struct slice v = json_get(object, name);

	return v.p ? decimal_parse(v, d) : 1;
}

/* --- joining --- */

static uint32_t
get_agent(struct usage *u, struct slice partial)
{
	uint32_t name = usage_intern_string(u, get_string(partial, "agent"));

	if (!json_get(partial, "v2").p)
		return 0;
	return usage_agent(u, name, usage_intern_string(u, get_string(partial, "version")), get_number(partial, "v2") == 1);
}

/* What goes on in the turn that the piece before has begun. */
static void
go_on(struct usage_turn *t, const struct usage_turn *more)
{
	unsigned i;

	for (i = 0; i < USAGE_TYPES; i++)
		if ((more->calls.has & 1u << i) && __builtin_add_overflow(t->calls.n[i], more->calls.n[i], &t->calls.n[i]))
			t->calls.n[i] = UINT64_MAX;
	t->calls.has |= more->calls.has;
	if (more->ncalls)
		t->last_call = more->last_call;
	t->ncalls += more->ncalls;
	t->updates += more->updates;
	t->heard |= more->heard;
}

/* One currency's costs behind those that were. */
static int
join_cost(struct usage_session *s, struct usage_cost *c, struct slice in, bool ordered)
{
	struct decimal shown = {0}, first = {0}, last = {0}, closed = {0};
	bool given = get_number(in, "given") == 1;
	int r;

	r = -(get_decimal(in, "shown", &shown) || get_decimal(in, "first", &first) || get_decimal(in, "last", &last)
		|| get_decimal(in, "closed", &closed));
	if (r == 0)
		r = -(decimal_copy(&shown, &c->shown) || decimal_add(&c->closed, &closed, &c->closed));
	if (r == 0 && given && c->given) {
		if (ordered && decimal_compare(&first, &c->last) < 0) {
			s->restarts++;
			r = decimal_add(&c->closed, &c->last, &c->closed);
		}
		if (r == 0 && (ordered || decimal_compare(&last, &c->last) > 0))
			r = decimal_copy(&last, &c->last);
	} else if (r == 0 && given) {
		c->given = true;
		r = -(decimal_copy(&first, &c->first) || decimal_copy(&last, &c->last));
	}
	c->places = (uint16_t)get_number(in, "places");
	decimal_free(&shown);
	decimal_free(&first);
	decimal_free(&last);
	decimal_free(&closed);
	return r;
}

/* The list has the last currency first, so it is read from its end. */
static int
join_costs(struct usage *u, struct usage_session *s, struct slice partial, bool ordered)
{
	struct json_iter it = {.in = json_get(partial, "costs")};
	struct slice key, in, *all = NULL, *more;
	struct usage_cost *c;
	size_t n = 0;
	int r = 0;

	while (json_next(&it, &key, &in)) {
		more = realloc(all, (n + 1) * sizeof(*all));
		if (!more) {
			free(all);
			return -1;
		}
		all = more;
		all[n++] = in;
	}
	while (n-- > 0 && r == 0) {
		c = usage_cost_of(s, usage_intern_string(u, get_string(all[n], "currency")));
		r = c ? join_cost(s, c, all[n], ordered) : -1;
	}
	free(all);
	return r;
}

static int
join_models(struct usage *u, struct usage_session *s, struct slice partial)
{
	struct slice key, in, rowed = json_get(partial, "rowed");
	struct json_iter it = {.in = json_get(partial, "models")};
	struct usage_sums sums;
	int r = 0;

	while (r == 0 && json_next(&it, &key, &in)) {
		get_sums(in, "sums", &sums);
		r = usage_model_add(s, usage_intern_string(u, get_string(in, "name")), &sums, (uint32_t)get_number(in, "turns"));
	}
	if (r < 0 || !rowed.p)
		return r;
	if (usage_begin_rows(s) < 0)
		return -1;
	s->rowed->turns += (uint32_t)get_number(rowed, "turns");
	get_sums(rowed, "by_turn", &sums);
	usage_sums_add(&s->rowed->by_turn, &sums);
	get_sums(rowed, "by_call", &sums);
	usage_sums_add(&s->rowed->by_call, &sums);
	get_sums(rowed, "by_session", &sums);
	usage_sums_add(&s->rowed->by_session, &sums);
	return 0;
}

/* The state of a piece, but for what is allocated. */
static void
get_session(struct usage *u, struct slice partial, struct usage_session *s, struct usage_head *h)
{
	uint64_t n[SESSION_NUMBERS];
	unsigned f;

	get_array(partial, "n", n, SESSION_NUMBERS);
	f = (unsigned)n[0];
	*s = (struct usage_session){.has_used = f & HAS_USED, .has_size = f & HAS_SIZE, .has_peak = f & HAS_PEAK,
		.loaded = f & LOADED, .had_usage = f & HAD_USAGE, .busy = f & BUSY, .v2 = f & V2, .cleared = f & CLEARED,
		.unordered = f & UNORDERED, .uncalled = f & UNCALLED, .lifetime = f & LIFETIME, .stated = f & STATED, .first_t = n[1], .last_t = n[2],
		.used = n[3], .size = n[4], .peak = n[5], .peak_size = n[6], .turns = (uint32_t)n[7], .malformed = (uint32_t)n[8],
		.restarts = (uint32_t)n[9], .said = (uint16_t)n[10], .evidence = (uint8_t)n[11], .idle = (uint32_t)n[12], .head = h};
	*h = (struct usage_head){.first_used = n[13], .before_used = n[14], .judged = f & JUDGED, .loaded = f & FIRST_LOADED, .settled = f & SETTLED,
		.first_has_used = f & FIRST_HAS_USED, .before_has_used = f & BEFORE_HAS_USED};
	get_turn(u, partial, "turn", &s->turn);
	get_turn(u, partial, "before", &h->before);
	get_turn(u, partial, "first", &h->first);
	get_sums(partial, "by_turn", &s->by_turn);
	get_sums(partial, "by_call", &s->by_call);
	get_sums(partial, "by_session", &s->by_session);
	get_counts(partial, "last", &s->last);
	s->model = usage_intern_string(u, get_string(partial, "model"));
	s->agent = get_agent(u, partial);
}

/* What the first counts of the piece tell, now that it is known what was before them. */
static void
join_counts(struct usage_session *s, const struct usage_session *piece)
{
	const struct usage_head *h = piece->head;
	struct usage_session alone = {.loaded = h->loaded}, whole = {.loaded = s->loaded || h->loaded, .last = s->last};
	struct usage_counts own;

	if (h->judged && (!h->first.rows || s->rowed)) {
		s->evidence |= usage_evidence(&s->last, &h->first, h->first_used, h->first_has_used);
		/* What the piece took for its first turn's own, and what is. */
		if (usage_own(&alone, &h->first, USAGE_SESSION, &own)) {
			usage_sums_less(&s->by_session, &own);
			if (h->first.rows)
				usage_sums_less(&s->rowed->by_session, &own);
		}
		if (usage_own(&whole, &h->first, USAGE_SESSION, &own)) {
			usage_sums_count(&s->by_session, &own);
			if (h->first.rows)
				usage_sums_count(&s->rowed->by_session, &own);
		}
	}
	s->evidence |= piece->evidence;
	usage_sums_add(&s->by_turn, &piece->by_turn);
	usage_sums_add(&s->by_call, &piece->by_call);
	usage_sums_add(&s->by_session, &piece->by_session);
	if (piece->last.has)
		s->last = piece->last;
}

static void
join_context(struct usage_session *s, const struct usage_session *piece)
{
	if (piece->has_used) {
		s->has_used = true;
		s->used = piece->used;
		s->has_size = piece->has_size;
		s->size = piece->size;
	}
	if (piece->has_peak && (!s->has_peak || piece->peak >= s->peak)) {
		s->has_peak = true;
		s->peak = piece->peak;
		s->peak_size = piece->peak_size;
	}
}

static void
join_rest(struct usage_session *s, const struct usage_session *piece)
{
	s->last_t = piece->last_t;
	s->turns += piece->turns;
	s->malformed += piece->malformed;
	s->restarts += piece->restarts;
	s->said |= piece->said;
	s->loaded |= piece->loaded;
	s->had_usage |= piece->had_usage;
	s->v2 |= piece->v2;
	s->uncalled |= piece->uncalled;
	s->lifetime |= piece->lifetime;
	if (piece->stated)
		s->busy = piece->busy;
	s->stated |= piece->stated;
	s->unordered |= piece->unordered;
	s->idle = piece->idle ? piece->idle : s->idle;
	s->model = piece->model ? piece->model : s->model;
}

/* The states at the piece's beginning, now that it is known what was before them. */
static int
join_states(struct usage *u, struct usage_session *s, struct slice partial)
{
	struct json_iter it = {.in = json_get(partial, "states")};
	struct slice key, in;
	struct usage_loose *l;

	while (json_next(&it, &key, &in)) {
		l = get_loose(u, in);
		if (!l)
			return -1;
		go_on(&s->turn, &l->before);
		if (usage_state(u, s, l) < 0)
			return -1;
	}
	return 0;
}

/* The turn that is open at the piece's beginning, and the one at its end. */
static int
join_turn(struct usage *u, struct usage_session *s, const struct usage_session *piece, bool *replaced)
{
	const struct usage_head *h = piece->head;

	if (!h->settled && piece->turns == 0 && !piece->turn.answered) {
		go_on(&s->turn, &piece->turn);
		return 0;
	}
	if (h->settled)
		go_on(&s->turn, &h->before);
	if (h->settled && h->before_has_used) {
		s->has_used = true;
		s->used = h->before_used;
	}
	/* A prompt that the piece before has, at the next hop. */
	if (piece->turn.enveloped && piece->turns == 0 && s->turn.prompted && !s->turn.answered && !s->turn.enveloped) {
		go_on(&s->turn, &piece->turn);
		return 0;
	}
	*replaced = true;
	return usage_finish(u, s) < 0 || (h->settled && usage_settle(s, s->turn.began) < 0) ? -1 : 0;
}

/* The first counts that are not the first of the whole. */
static void
join_head(struct usage_session *s, const struct usage_head *h)
{
	if (!s->head || s->head->judged || !h->judged)
		return;
	s->head->judged = true;
	s->head->loaded = s->loaded || h->loaded;
	s->head->first = h->first;
	s->head->first_used = h->first_used;
	s->head->first_has_used = h->first_has_used;
}

int
usage_join_session(struct usage *u, struct slice id, struct slice partial, bool ordered)
{
	struct usage_session piece, *s;
	struct usage_head head;
	struct buf text = {0};
	bool first, replaced = false;
	int r;

	if (json_type(partial) != JSON_OBJECT || json_type(id) != JSON_STRING || !json_get(partial, "session").p)
		return 1;
	if (json_unescape(id, &text) < 0)
		return -1;
	s = usage_session_get(u, text.p ? buf_slice(&text) : slice_of(""));
	buf_free(&text);
	if (!s)
		return -1;
	get_session(u, partial, &piece, &head);
	first = !s->active;
	s->active = 1;
	if (first || !s->agent)
		s->agent = piece.agent ? piece.agent : u->agent_before;
	if (first)
		s->first_t = piece.first_t;
	else if (!ordered)
		s->unordered = true;
	s->v2 |= piece.v2;
	r = join_states(u, s, partial);
	if (r == 0)
		r = join_turn(u, s, &piece, &replaced);
	join_head(s, &head);
	if (r == 0)
		r = join_models(u, s, partial);
	join_counts(s, &piece);
	join_context(s, &piece);
	join_rest(s, &piece);
	if (piece.cleared || json_get(partial, "costs").p)
		s->cleared = piece.cleared;
	if (r == 0 && replaced) {
		decimal_free(&s->turn.cost);
		s->turn = piece.turn;
		s->turn.answered = false;
		if (piece.turn.answered)
			r = usage_answer(u, s, &piece.turn);
	}
	return r == 0 ? join_costs(u, s, partial, ordered) : r;
}

static int
add_open(struct usage *u, struct slice in)
{
	struct slice id = json_get(in, "id"), session = get_string(in, "session");
	struct open *o;

	if (!id.p || !session.p)
		return 0;
	o = calloc(1, sizeof(*o) + id.n + session.n);
	if (!o)
		return -1;
	o->t = get_number(in, "t");
	o->enveloped = get_number(in, "enveloped") == 1;
	o->id_length = id.n;
	o->session_length = session.n;
	memcpy(o->id, id.p, id.n);
	memcpy(o->id + id.n, session.p, session.n);
	*u->open_end = o;
	u->open_end = &o->next;
	return 0;
}

static int
answer(struct usage *u, struct usage_session *s, struct usage_loose *l)
{
	s->malformed += l->turn.wrong;
	if (l->turn.accepted) {
		usage_accepted(s);
		return 0;
	}
	if (usage_answer(u, s, &l->turn) < 0)
		return -1;
	return usage_take_rows(u, s, l->rows, l->models, l->nrows);
}

static int
answer_open(struct usage *u, const struct open *o, struct usage_loose *l)
{
	struct slice session = slice(o->id + o->id_length, o->session_length);
	struct usage_session *s;
	struct buf id = {0};

	if (json_unescape(session, &id) < 0)
		return -1;
	s = usage_session_get(u, id.p ? buf_slice(&id) : slice_of(""));
	buf_free(&id);
	if (!s)
		return -1;
	/* The same turn at the next hop. */
	if (o->enveloped && s->turn.prompted && !s->turn.enveloped)
		return 0;
	return answer(u, s, l);
}

/* Finds the prompts of loose answers among those that are open; the oldest of equal ids first. */
static int
pair(struct usage *u)
{
	struct usage_loose **p = &u->loose, *l;
	struct open **q, *o;
	int r = 0;

	while (r == 0 && (l = *p)) {
		for (q = &u->open; (o = *q) && !slice_eq(slice(o->id, o->id_length), slice(l->id, l->id_length)); q = &o->next)
			;
		if (!o) {
			p = &l->next;
			continue;
		}
		l->turn.began = o->t;
		r = answer_open(u, o, l);
		*q = o->next;
		*p = l->next;
		l->next = NULL;
		free(o);
		usage_loose_free(l);
	}
	u->loose_end = p;
	while (*u->loose_end)
		u->loose_end = &(*u->loose_end)->next;
	for (u->open_end = &u->open; *u->open_end; u->open_end = &(*u->open_end)->next)
		;
	return r;
}

/* Prompts of a stream that has ended are never answered. */
static void
forget_open(struct usage *u)
{
	struct open *o;

	while ((o = u->open)) {
		u->open = o->next;
		free(o);
	}
	u->open_end = &u->open;
}

int
usage_join_stream(struct usage *u, struct slice partial, bool ordered)
{
	struct json_iter loose = {.in = json_get(partial, "loose")}, open = {.in = json_get(partial, "open")};
	struct usage_loose *l;
	bool begun = get_number(partial, "begun") == 1;
	struct slice key, in;
	int r = 0;

	if (json_type(partial) != JSON_OBJECT || !json_get(partial, "stream").p)
		return 1;
	while (json_next(&loose, &key, &in)) {
		if (!json_get(in, "id").p)
			continue;
		l = get_loose(u, in);
		if (!l)
			return -1;
		*u->loose_end = l;
		u->loose_end = &l->next;
	}
	if (r == 0 && ordered)
		r = pair(u);
	if (begun && ordered)
		forget_open(u);
	while (r == 0 && json_next(&open, &key, &in))
		r = add_open(u, in);
	if (!u->heard && json_get(partial, "first").p) {
		u->heard = true;
		u->first_t = get_number(partial, "first");
	}
	u->agent_before = u->agent;
	if (begun || get_number(partial, "greeted") == 1) {
		u->agent = get_agent(u, partial);
		u->greeted |= get_number(partial, "greeted") == 1;
	}
	u->begun |= begun;
	return r;
}

bool
usage_piece_begins(struct slice partial, uint64_t *t, bool *more)
{
	*t = get_number(partial, "first");
	*more = get_number(partial, "begun") == 1;
	return json_get(partial, "first").p != NULL;
}

int
usage_join_end(struct usage *u)
{
	struct usage_loose *l;
	struct usage_session *s;

	if (pair(u) < 0)
		return -1;
	for (l = u->loose; l; l = l->next) {
		if (usage_unknown_answer(u, &l->turn, &s) < 0 || (s && answer(u, s, l) < 0))
			return -1;
	}
	return 0;
}
