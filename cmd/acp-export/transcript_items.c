/* The sessions of a transcript, their turns and items. */
#include <stdlib.h>

#include "cmd/acp-export/transcript_parts.h"

/* --- values --- */

struct slice
transcript_get(struct slice object, const char *path, enum json_type type)
{
	struct slice v = object.n && json_type(object) == JSON_OBJECT ? json_path(object, path) : slice(NULL, 0);

	return v.p && json_type(v) == type ? v : slice(NULL, 0);
}

void
transcript_set(struct transcript *t, struct buf *to, struct slice json)
{
	if (!json.p || json_type(json) == JSON_NULL)
		return;
	to->n = 0;
	t->failed |= buf_add_slice(to, json) < 0;
}

void
transcript_add_plain(struct transcript *t, struct buf *to, struct slice string)
{
	if (string.p && json_type(string) == JSON_STRING)
		t->failed |= json_unescape(string, to) < 0;
}

void
transcript_set_plain(struct transcript *t, struct buf *to, struct slice string)
{
	if (!string.p || json_type(string) != JSON_STRING)
		return;
	to->n = 0;
	transcript_add_plain(t, to, string);
}

/* --- sessions, turns, items --- */

void *
transcript_allocate(struct transcript *t, size_t size)
{
	void *p = calloc(1, size);

	t->failed |= !p;
	return p;
}

struct session *
transcript_find_session(struct transcript *t, struct slice id)
{
	struct session *s;

	if (t->last_session && slice_eq(slice(t->last_session->id, t->last_session->length), id))
		return t->last_session;
	HASH_FIND(hh, t->sessions, id.p, (unsigned)id.n, s);
	if (s)
		t->last_session = s;
	return s;
}

static struct session *
new_session(struct transcript *t, struct slice id)
{
	struct session *s = transcript_allocate(t, sizeof(*s) + id.n + 1);

	if (!s)
		return NULL;
	memcpy(s->id, id.p, id.n);
	s->length = id.n;
	HASH_ADD(hh, t->sessions, id, (unsigned)id.n, s);
	if (!s->hh.tbl) {
		t->failed = true;
		free(s);
		return NULL;
	}
	t->failed |= buf_add_slice(&s->agent, buf_slice(&t->agent)) < 0 || buf_add_slice(&s->version, buf_slice(&t->version)) < 0;
	return s;
}

struct session *
transcript_session(struct transcript *t, struct slice id)
{
	struct session *s;

	if (!id.p || json_type(id) != JSON_STRING || id.n <= 2)
		return NULL;
	transcript_set_plain(t, &t->word, id);
	if (t->word.n == 0)
		return NULL;
	s = transcript_find_session(t, buf_slice(&t->word));
	return s ? s : new_session(t, buf_slice(&t->word));
}

struct turn *
transcript_new_turn(struct transcript *t, struct session *s, uint64_t when)
{
	struct turn *turn = transcript_allocate(t, sizeof(*turn));

	if (!turn)
		return NULL;
	turn->t = turn->end = when;
	turn->started = t->started;
	if (s->last)
		s->last->next = turn;
	else
		s->turns = turn;
	s->last = turn;
	if (!s->open)
		s->open = turn;
	if (!s->uncounted)
		s->uncounted = turn;
	return turn;
}

void
transcript_end_turn(struct session *s, struct turn *turn, uint64_t when)
{
	turn->ended = true;
	turn->end = when;
	while (s->open && s->open->ended)
		s->open = s->open->next;
}

struct turn *
transcript_turn(struct transcript *t, struct session *s, uint64_t when)
{
	return s->open ? s->open : transcript_new_turn(t, s, when);
}

struct item *
transcript_item(struct transcript *t, struct session *s, uint64_t when, enum item_kind kind)
{
	struct turn *turn = transcript_turn(t, s, when);
	struct item *item = turn ? transcript_allocate(t, sizeof(*item)) : NULL;

	if (!item)
		return NULL;
	item->kind = kind;
	item->t = item->end = turn->end = when;
	if (turn->last)
		turn->last->next = item;
	else
		turn->items = item;
	turn->last = item;
	return item;
}

void
transcript_note(struct transcript *t, struct session *s, uint64_t when, const char *severity, struct slice text)
{
	struct item *item = transcript_item(t, s, when, ITEM_NOTE);

	if (item)
		t->failed |= buf_add_slice(&item->text, text) < 0 || buf_add_string(&item->field[FIELD_KIND], severity) < 0;
}
