#include "pieces.h"

#include <stdlib.h>

enum {
	ARENA = 16 * 1024, /* a block of short pieces */
	SHORT = 1024,      /* what is not longer is copied: it would hold a whole block of input */
};

void
arena_free(struct arena *a)
{
	if (a->block)
		block_drop(a->block);
	*a = (struct arena){0};
}

/* Room for n bytes in a row. */
static char *
arena_room(struct arena *a, size_t n)
{
	char *room;

	if (a->block && a->block->owners == 1)
		a->used = 0;
	if (!a->block || a->block->cap - a->used < n) {
		arena_free(a);
		a->block = block_new(n > ARENA ? n : ARENA);
		if (!a->block)
			return NULL;
	}
	room = a->block->data + a->used;
	a->used += n;
	return room;
}

static struct output_part *
parts_of(const struct pieces *t)
{
	return t->more ? t->more : (struct output_part *)&t->one;
}

/* Extends the last part if that is at the end of the arena. */
static int
add_copy(struct pieces *t, struct output_part *at, struct arena *a, struct slice text)
{
	char *room = arena_room(a, text.n);
	struct output_part *last = t->n ? &at[t->n - 1] : NULL;

	if (!room)
		return -1;
	memcpy(room, text.p, text.n);
	t->size += text.n;
	if (last && last->block == a->block && last->text.p + last->text.n == room) {
		last->text.n += text.n;
		return 0;
	}
	at[t->n++] = (struct output_part){block_hold(a->block), slice(room, text.n)};
	return 0;
}

static void
add_held(struct pieces *t, struct output_part *at, struct block *b, struct slice text)
{
	t->size += text.n;
	at[t->n++] = (struct output_part){block_hold(b), text};
}

static bool
lies_in(const struct block *b, struct slice text)
{
	return b && text.p >= b->data && text.p + text.n <= b->data + b->cap;
}

int
pieces_make(struct pieces *t, struct arena *a, struct block *block, const struct iovec *parts, size_t n)
{
	struct output_part *at = &t->one;
	struct slice text;
	size_t i, size = 1;
	char *room;

	*t = (struct pieces){0};
	for (i = 0; i < n; i++)
		size += parts[i].iov_len;
	if (size <= SHORT) {
		room = arena_room(a, size);
		if (!room)
			return -1;
		t->one = (struct output_part){block_hold(a->block), slice(room, size)};
		t->n = 1;
		t->size = size;
		for (i = 0; i < n; room += parts[i++].iov_len)
			memcpy(room, parts[i].iov_base, parts[i].iov_len);
		*room = '\n';
		return 0;
	}
	at = t->more = malloc((n + 1) * sizeof(*at));
	if (!at)
		return -1;
	for (i = 0; i < n; i++) {
		text = slice(parts[i].iov_base, parts[i].iov_len);
		if (text.n > SHORT && lies_in(block, text))
			add_held(t, at, block, text);
		else if (add_copy(t, at, a, text) < 0)
			goto fail;
	}
	if (add_copy(t, at, a, slice("\n", 1)) == 0)
		return 0;
fail:
	pieces_drop(t);
	return -1;
}

int
pieces_hold(struct pieces *to, const struct pieces *t)
{
	*to = *t;
	if (t->more) {
		to->more = malloc(t->n * sizeof(*t->more));
		if (!to->more) {
			*to = (struct pieces){0};
			return -1;
		}
		memcpy(to->more, t->more, t->n * sizeof(*t->more));
	}
	for (unsigned i = 0; i < t->n; i++)
		block_hold(parts_of(to)[i].block);
	return 0;
}

int
pieces_put(const struct pieces *t, struct endpoint *out)
{
	const struct output_part *at = parts_of(t);

	for (unsigned i = 0; i < t->n; i++)
		if (endpoint_put(out, at[i].block, at[i].text) < 0)
			return -1;
	return 0;
}

int
pieces_write(const struct pieces *t, struct buf *to)
{
	const struct output_part *at = parts_of(t);

	for (unsigned i = 0; i < t->n; i++)
		if (buf_add_slice(to, at[i].text) < 0)
			return -1;
	return 0;
}

void
pieces_drop(struct pieces *t)
{
	for (unsigned i = 0; i < t->n; i++)
		block_drop(parts_of(t)[i].block);
	free(t->more);
	*t = (struct pieces){0};
}
