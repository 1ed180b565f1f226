/* What the other files need: messages for the user, and when to draw. */
#include <string.h>
#include <utlist.h>

#include "cmd/acp-top/top.h"
#include "lib/base/text.h"

enum { FRAME = 100 * 1000 /* us, at least, between two pictures */ };

struct stream *
stream_at(const struct top *t, const char *path, bool over)
{
	struct stream *st;

	DL_FOREACH(t->streams, st)
		if (st->over == over && strcmp(st->path, path) == 0)
			return st;
	return NULL;
}

uint64_t
stream_now(const struct stream *st)
{
	uint64_t now = loop_clock() + st->lead;

	return !st->over && (st->live || st->started > 0) && (int64_t)(now - st->t) > 0 ? now : st->t;
}

void
top_changed(struct top *t)
{
	uint64_t now = loop_now(t->loop), due = t->drawn + FRAME > now ? t->drawn + FRAME : now;

	if (!t->draw_timer.added || t->draw_timer.due > due)
		loop_add_timer(t->loop, &t->draw_timer, due - now);
}

void
top_say(struct top *t, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;
	int r;

	va_start(args, format);
	r = buf_vprintf(&text, format, args);
	va_end(args);
	if (r < 0 || !buf_string(&text)) {
		t->failed = true;
	} else if (t->display) {
		t->said.n = 0;
		t->failed |= text_plain(&t->said, buf_slice(&text)) < 0;
		top_changed(t);
	} else {
		cli_warn(top_name, "%s", text.p);
	}
}
