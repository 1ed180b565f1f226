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

int
tool_see(struct tool *t, const struct message *s, int (*take)(void *, const struct message *, const struct usage_report *), void *arg)
{
	if (!usage_may_matter(&t->words, s->msg.text) && !(s->msg.kind == MSG_RESPONSE && usage_expects(t->usage, s->msg.text)))
		return 0;
	return usage_see(t->usage, s, take, arg);
}

int
tool_begin(struct tool *t, double started)
{
	t->started = started;
	return usage_begin(t->usage, started);
}

void
tool_fail(struct tool *t, const char *what)
{
	if (!t->failed)
		tool_warn(t, "%s", what);
	t->failed = true;
	if (t->frame)
		frame_fail(t->frame, EXIT_FAILED);
}

void
tool_warn(struct tool *t, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list ap;

	va_start(ap, format);
	if (buf_vprintf(&text, format, ap) == 0 && buf_string(&text)) {
		if (t->meter)
			meter_hide(t->meter);
		if (t->frame)
			frame_warn(t->frame, "%s", text.p);
		else
			cli_warn(tool_name, "%s", text.p);
	}
	va_end(ap);
	if (t->meter)
		meter_draw(t->meter, t);
}
