/* Short names for sessions. */
#include <stdio.h>

#include "lib/session/session.h"

enum { IDS_MOST = 1024 * 1024 }; /* bytes of the ids that are remembered */

/* Is this text the beginning or the end of an id that is in the list before this id? Sets *known: this id is in the list. */
static bool
is_taken(const struct buf *ids, struct slice id, struct slice text, bool *known)
{
	bool taken = false;
	struct slice one;

	*known = false;
	for (size_t i = 0; i < ids->n && !*known; i += one.n + 1) {
		one = slice_of(ids->p + i);
		*known = slice_eq(one, id);
		taken |= !*known && one.n >= text.n &&
			(memcmp(one.p, text.p, text.n) == 0 || memcmp(one.p + one.n - text.n, text.p, text.n) == 0);
	}
	return taken;
}

void
session_label(struct buf *ids, const struct session *s, char *to, size_t size)
{
	struct slice id = slice_of(s->id), part = {id.p, id.n < size ? id.n : size};
	bool known;
	size_t i;

	/* Ids that are made from the time begin alike. */
	if (is_taken(ids, id, part, &known) && id.n > size)
		part.p = id.p + id.n - size;
	for (i = 0; i < part.n; i++)
		to[i] = part.p[i] > ' ' && part.p[i] < 0x7f ? part.p[i] : '?';
	to[i] = '\0';
	if (is_taken(ids, id, part, &known))
		snprintf(to, size + 1, "~%u", (unsigned)(s->number % 1000));
	if (!known && ids->n + id.n < IDS_MOST)
		buf_add(ids, id.p, id.n + 1);
}
