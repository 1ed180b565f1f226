/* Chunks of a text: most differ from one that was checked in nothing but the text, and have the same findings: none. */
#include "cmd/acp-check/check.h"

#include <string.h>

/* Does the string that these bytes go on with end with their last byte, in a text that is JSON? */
static bool
is_to_end(struct slice s)
{
	const char *end = s.p + s.n, *quote = memchr(s.p, '"', s.n), *p;

	for (; quote; quote = memchr(quote + 1, '"', (size_t)(end - quote - 1))) {
		for (p = quote; p > s.p && p[-1] == '\\'; p--)
			;
		if ((quote - p) % 2 == 0)
			return quote + 1 == end;
	}
	return false;
}

bool
shapes_have(const struct shapes *shapes, struct slice message)
{
	const struct shape *s = shapes->at, *end = s + shapes->n;

	for (; s < end; s++)
		if (message.n > s->before + s->after && memcmp(message.p, s->message.p, s->before) == 0 &&
			memcmp(message.p + message.n - s->after, s->message.p + s->message.n - s->after, s->after) == 0 &&
			is_to_end(slice(message.p + s->before, message.n - s->before - s->after + 1)))
			return true;
	return false;
}

int
shapes_add(struct shapes *shapes, struct slice message, struct slice text)
{
	struct shape *s = &shapes->at[shapes->next++ % SHAPES];

	shapes->n += shapes->n < SHAPES;
	s->before = (size_t)(text.p + 1 - message.p);
	s->after = message.n - s->before - (text.n - 2);
	s->message.n = 0;
	return buf_add_slice(&s->message, message);
}

void
shapes_free(struct shapes *shapes)
{
	for (size_t i = 0; i < SHAPES; i++)
		buf_free(&shapes->at[i].message);
	*shapes = (struct shapes){0};
}
