/* Short names for sessions. */
#include "cmd/acp-tap/pretty.h"

#include <stdio.h>
#include <stdlib.h>

/* Copies the beginning of a text; a label has no characters beyond ASCII. */
static void
copy(char *to, size_t size, struct slice from)
{
	size_t i;

	for (i = 0; i < size && i < from.n; i++)
		to[i] = from.p[i] > ' ' && from.p[i] < 0x7f ? from.p[i] : '?';
	to[i] = '\0';
}

static bool
is_used(const struct sessions *all, const char *text, size_t size)
{
	const struct session *s = NULL;
	const struct label *l;

	while ((s = sessions_next(all, s)))
		if ((l = s->data) && strcmp(size == LABEL ? l->text : l->brief, text) == 0)
			return true;
	return false;
}

/* Makes a name from the beginning of the id, or from its end (ids with a time begin alike), or from the session's number. */
static void
name(const struct sessions *all, char *to, size_t size, struct slice id, unsigned number)
{
	copy(to, size, id);
	if (!is_used(all, to, size))
		return;
	if (id.n > size)
		copy(to, size, slice(id.p + id.n - size, size));
	if (is_used(all, to, size))
		snprintf(to, size + 1, "~%u", number % 1000);
}

struct label *
label_new(const struct sessions *all, const struct session *s, unsigned number)
{
	struct label *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->number = number;
	name(all, l->text, LABEL, slice(s->id, s->n), number);
	name(all, l->brief, LABEL_SHORT, slice(s->id, s->n), number);
	return l;
}
