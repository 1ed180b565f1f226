/* Short names for sessions. */
#include <stdio.h>

#include "lib/session/session.h"

/* Is this text the beginning or the end of the id of an earlier session? */
static bool
is_taken(const struct sessions *all, const struct session *s, struct slice text)
{
	for (const struct session *one = sessions_next(all, NULL); one && one != s; one = sessions_next(all, one))
		if (slice_eq(slice(one->id, one->n < text.n ? one->n : text.n), text) ||
			(one->n > text.n && memcmp(one->id + one->n - text.n, text.p, text.n) == 0))
			return true;
	return false;
}

void
session_label(const struct sessions *all, const struct session *s, char *to, size_t size)
{
	struct slice part = slice(s->id, s->n < size ? s->n : size);
	size_t i;

	/* Ids that are made from the time begin alike. */
	if (s->n > size && is_taken(all, s, part))
		part.p = s->id + s->n - size;
	for (i = 0; i < part.n; i++)
		to[i] = part.p[i] > ' ' && part.p[i] < 0x7f ? part.p[i] : '?';
	to[i] = '\0';
	if (is_taken(all, s, part))
		snprintf(to, size + 1, "~%u", (unsigned)(s->number % 1000));
}
