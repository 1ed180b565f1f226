/* What all files of the tool ask and say. */
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"

bool
tool_wants(struct tool *t, const struct usage_session *s)
{
	bool yes = !t->choice.asked;
	char *why;

	for (; s && !yes; s = s->parent) {
		yes = choice_is(&t->choice, slice(s->id, s->id_length), &why);
		if (why)
			tool_warn(t, "--session: %s", why);
		free(why);
	}
	return yes;
}

void
tool_fail(struct tool *t, const char *what)
{
	if (!t->watch->failed)
		tool_warn(t, "%s", what);
	t->watch->failed = true;
}

void
tool_warn(struct tool *t, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list ap;
	int r;

	va_start(ap, format);
	r = buf_vprintf(&text, format, ap);
	va_end(ap);
	if (r < 0 || !buf_string(&text))
		return;
	if (t->meter)
		meter_hide(t->meter);
	if (t->watch->stream)
		frame_warn(t->watch->stream, "%s", text.p);
	else
		cli_warn(tool_name, "%s", text.p);
	if (t->meter)
		meter_draw(t->meter, t);
}
