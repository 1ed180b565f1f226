/* What all files of the tool ask and say. */
#include "cmd/acp-usage/tool.h"

bool
tool_wants(struct tool *t, const struct usage_session *s)
{
	bool yes = !t->watch->session;

	for (; s && !yes; s = s->parent)
		yes = watch_wants(t->watch, slice(s->id, s->id_length));
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
	if (r == 0 && buf_string(&text))
		watch_say(t->watch, "%s", text.p);
}
