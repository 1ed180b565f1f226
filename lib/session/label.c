/* Short names of sessions. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/session/session.h"

enum { LABELS_MOST = 4096 };

struct session_label {
	UT_hash_handle hh;
	unsigned id; /* a hash: an id may be long */
	char text[];
};

/* Gives this name to the session, unless another one has it. Returns whether the session has it. */
static bool
take(struct session_label **all, const struct session *s, const char *text)
{
	struct session_label *l;
	unsigned id;

	HASH_VALUE(s->id, s->n, id);
	HASH_FIND_STR(*all, text, l);
	if (l || HASH_COUNT(*all) == LABELS_MOST)
		return l && l->id == id;
	l = calloc(1, sizeof(*l) + strlen(text) + 1);
	if (!l)
		return false;
	l->id = id;
	strcpy(l->text, text);
	HASH_ADD_STR(*all, text, l);
	if (!l->hh.tbl) {
		free(l);
		return false;
	}
	return true;
}

/* Copies at most `size` bytes of a text as ASCII. */
static void
copy(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i < size && from[i]; i++)
		to[i] = from[i] > ' ' && from[i] < 0x7f ? from[i] : '?';
	to[i] = '\0';
}

void
session_label(struct session_label **all, const struct session *s, char *to, size_t size)
{
	copy(to, size, s->id);
	if (take(all, s, to))
		return;
	/* Ids that are made from the time begin alike. */
	copy(to, size, s->n > size ? s->id + s->n - size : "");
	if (!*to || !take(all, s, to))
		snprintf(to, size + 1, "~%u", (unsigned)(s->number % (size < 8 ? 1000 : 10000000)));
}

void
session_labels_free(struct session_label *all)
{
	struct session_label *l, *next;

	HASH_ITER(hh, all, l, next) {
		HASH_DEL(all, l);
		free(l);
	}
}
