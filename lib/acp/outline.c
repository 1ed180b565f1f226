#include "lib/acp/outline.h"

/* Bytes of an outline at most. No real message has longer names, ids and other short values. */
enum { LONGEST = 4096 };

/* Moves the state past this byte. Does the byte belong to the outline? */
static bool
step(struct outline *o, char byte)
{
	unsigned before = o->depth;

	if (o->string) {
		o->string = o->escaped || byte != '"';
		o->escaped = !o->escaped && byte == '\\';
	} else if (byte == '"') {
		o->string = true;
	} else if (byte == '{' || byte == '[') {
		o->depth++;
	} else if ((byte == '}' || byte == ']') && o->depth > 0) {
		o->depth--;
	}
	return (before < o->depth ? before : o->depth) <= 1;
}

void
outline_add(struct outline *o, struct slice piece)
{
	for (size_t i = 0; i < piece.n && !o->failed; i++)
		if (step(o, piece.p[i]))
			o->failed = o->text.n == LONGEST || buf_add(&o->text, piece.p + i, 1) < 0;
}
