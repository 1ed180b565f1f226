/* The bare lines. Noise is a line of the stream, too. */
#include "cmd/acp-tap/format.h"

static int
put(struct buf *to, struct slice line)
{
	if (buf_reserve(to, line.n + 1) < 0)
		return -1;
	buf_add_slice(to, line);
	return buf_add(to, "\n", 1);
}

static int
put_line(struct writer *w, struct buf *to, const struct message *s, struct slice line)
{
	(void)w;
	(void)s;
	return put(to, line);
}

static int
put_event(struct writer *w, struct buf *to, const struct record *e)
{
	(void)w;
	return e->kind == RECORD_NOISE && e->text.p ? put(to, e->text) : 0;
}

const struct format format_raw = {.name = "raw", .line = put_line, .event = put_event};
