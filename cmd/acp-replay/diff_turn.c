/* What has been found, turn by turn. */
#include "cmd/acp-replay/diff_parts.h"

#include <stdlib.h>

struct turn *
turn_get(struct thread *thread, uint64_t number)
{
	struct turn **at = &thread->turns, *t;

	while (*at && (*at)->told.number < number)
		at = &(*at)->next;
	if (*at && (*at)->told.number == number)
		return *at;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->told.number = number;
	t->told.session = thread->session[thread->here[DIFF_RECORDED] ? DIFF_RECORDED : DIFF_LIVE];
	t->next = *at;
	*at = t;
	return t;
}

uint64_t
turn_of_live(const struct thread *t, uint64_t live)
{
	return t->shift < 0 && live < (uint64_t)-t->shift ? 0 : live + (uint64_t)t->shift;
}

static void
note_line(struct diff_turn *t, enum diff_side side, const struct item *item)
{
	if (item && (t->line[side] == 0 || item->line < t->line[side]))
		t->line[side] = item->line;
}

void
turn_count(struct turn *t, const struct item *recorded, const struct item *live)
{
	if (recorded)
		t->place[recorded->from] = recorded->line;
	t->told.messages++;
	note_line(&t->told, DIFF_RECORDED, recorded);
	note_line(&t->told, DIFF_LIVE, live);
}

/* --- what has been found --- */

static struct slice
keep(char **to, struct slice s)
{
	struct slice copy = slice(s.p ? *to : NULL, s.n);

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

static struct found *
copy(const struct found *f)
{
	struct found *c = malloc(sizeof(*c) + f->what.n + f->path.n + f->value[0].n + f->value[1].n);
	char *to;

	if (!c)
		return NULL;
	*c = *f;
	to = (char *)(c + 1);
	c->what = keep(&to, f->what);
	c->path = keep(&to, f->path);
	c->value[DIFF_RECORDED] = keep(&to, f->value[DIFF_RECORDED]);
	c->value[DIFF_LIVE] = keep(&to, f->value[DIFF_LIVE]);
	return c;
}

int
turn_add(struct diff *d, struct turn *t, const struct found *f)
{
	struct found **more, *c;

	if (t->told.nfound == t->cap) {
		more = reallocarray(t->found, t->cap ? 2 * t->cap : 8, sizeof(struct found *));
		if (!more)
			return -1;
		t->cap = t->cap ? 2 * t->cap : 8;
		t->found = more;
	}
	c = copy(f);
	if (!c)
		return -1;
	if (f->line[DIFF_RECORDED])
		t->place[f->from] = f->line[DIFF_RECORDED];
	c->place = t->place[f->from];
	c->nth = t->told.nfound;
	t->found[t->told.nfound++] = c;
	d->count++;
	return 0;
}

/* --- the end of a turn --- */

static void
turn_free(struct turn *t)
{
	for (size_t i = 0; i < t->told.nfound; i++)
		free(t->found[i]);
	free(t->found);
	buf_free(&t->prompt);
	free(t);
}

void
turn_free_all(struct thread *thread)
{
	struct turn *t, *next;

	for (t = thread->turns; t; t = next) {
		next = t->next;
		turn_free(t);
	}
	thread->turns = NULL;
}

/* Does a side still have something of this turn, or may it come? */
static bool
is_going_on(const struct diff *d, const struct thread *thread, enum diff_side side, uint64_t number)
{
	const struct item *first;
	uint64_t at;

	for (int lane = 0; lane < LANES; lane++) {
		first = thread->queue[side][lane].first;
		if (!first)
			continue;
		at = side == DIFF_LIVE ? turn_of_live(thread, first->turn) : first->turn;
		if (at <= number)
			return true;
	}
	at = side == DIFF_LIVE ? turn_of_live(thread, thread->now[side]) : thread->now[side];
	return !d->ended[side] && at <= number;
}

/* By the recording's lines; what is not in it stands behind what came before it in its lane. */
static int
by_place(const void *x, const void *y)
{
	const struct found *a = *(struct found *const *)x, *b = *(struct found *const *)y;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->nth > b->nth) - (a->nth < b->nth);
}

static int
tell(struct diff *d, struct turn *t)
{
	t->told.prompt = t->prompt.n ? buf_slice(&t->prompt) : slice(NULL, 0);
	t->told.found = t->found;
	if (t->told.nfound)
		qsort(t->found, t->told.nfound, sizeof(struct found *), by_place);
	return t->told.messages || t->told.nfound ? d->spec.turn(d->spec.arg, &t->told) : 0;
}

int
turn_tell_all(struct diff *d, struct thread *thread)
{
	int r = 0;

	for (struct turn *t = thread->turns; r == 0 && t; t = t->next)
		r = tell(d, t);
	turn_free_all(thread);
	return r;
}

int
turn_finish(struct diff *d, struct thread *thread)
{
	struct turn *t;
	int r = 0;

	while (r == 0 && (t = thread->turns)) {
		if (t->open || is_going_on(d, thread, DIFF_RECORDED, t->told.number) ||
			is_going_on(d, thread, DIFF_LIVE, t->told.number))
			break;
		r = tell(d, t);
		thread->turns = t->next;
		turn_free(t);
	}
	return r;
}
