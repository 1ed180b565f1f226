/* Values, turns and their items. */
#include "cmd/acp-export/transcript_parts.h"

#include <stdlib.h>

#include "lib/base/cli_line.h"

/* --- values --- */

void
export_must(int r)
{
	if (r < 0)
		cli_no_memory("acp-export");
}

void *
transcript_new(size_t size)
{
	void *new = calloc(1, size);

	export_must(new ? 0 : -1);
	return new;
}

struct slice
transcript_get(struct slice object, const char *path, enum json_type type)
{
	struct slice v = json_type(object) == JSON_OBJECT ? json_path(object, path) : slice(NULL, 0);

	return json_type(v) == type ? v : slice(NULL, 0);
}

void
transcript_set(struct buf *to, struct slice json)
{
	if (!json.p || json_type(json) == JSON_NULL)
		return;
	to->n = 0;
	export_must(buf_add_slice(to, json));
}

void
transcript_add_plain(struct buf *to, struct slice string)
{
	if (json_type(string) == JSON_STRING)
		export_must(json_unescape(string, to));
}

void
transcript_set_plain(struct buf *to, struct slice string)
{
	to->n = json_type(string) == JSON_STRING ? 0 : to->n;
	transcript_add_plain(to, string);
}

/* --- turns and items --- */

struct export_turn *
transcript_new_turn(struct transcript *t, struct export_session *x, enum turn_kind kind)
{
	struct export_turn *turn = transcript_new(sizeof(*turn));

	turn->kind = kind;
	turn->t = turn->end = t->now;
	turn->started = t->started;
	if (x->last)
		x->last->next = turn;
	else
		x->turns = turn;
	x->last = turn;
	if (!x->uncounted)
		x->uncounted = turn;
	return turn;
}

struct export_turn *
transcript_turn(struct transcript *t, const struct session *s)
{
	struct export_session *x = s->data;

	if (s->turn && !(s->history && x->loose))
		return s->turn->data;
	if (!x->loose)
		x->loose = transcript_new_turn(t, x, s->parent ? TURN_TASK : TURN_OUTSIDE);
	return x->loose;
}

struct item *
transcript_item(struct transcript *t, struct export_turn *turn, enum item_kind kind)
{
	struct item *item = transcript_new(sizeof(*item));

	item->kind = kind;
	item->t = item->end = turn->end = t->now;
	if (turn->last)
		turn->last->next = item;
	else
		turn->items = item;
	turn->last = item;
	return item;
}

void
transcript_note(struct transcript *t, const struct session *s, struct slice severity, struct slice text)
{
	struct item *item = transcript_item(t, transcript_turn(t, s), ITEM_NOTE);

	export_must(buf_add_slice(&item->text, text));
	export_must(buf_add_slice(&item->field[FIELD_KIND], severity));
}

struct item *
transcript_work(struct transcript *t, const struct session *s, enum item_kind kind, const struct session_turn *open)
{
	struct export_turn *turn = transcript_turn(t, s), *root = open ? open->data : NULL;
	struct item *item = transcript_item(t, turn, kind);

	export_must(buf_add(&turn->work, &item, sizeof(item)));
	if (root && root != turn)
		export_must(buf_add(&root->work, &item, sizeof(item)));
	return item;
}
