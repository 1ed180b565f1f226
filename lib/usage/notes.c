/* What is said about sessions, once each, and what is shown of their events. */
#include <stdarg.h>

#include "lib/usage/usage_parts.h"

void
usage_note(struct usage *u, struct usage_session *s, unsigned what, bool verbose, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list ap;

	if (s->noted & what)
		return;
	s->noted |= (uint16_t)what;
	if (!u->spec.note)
		return;
	va_start(ap, format);
	if (buf_vprintf(&text, format, ap) == 0 && buf_string(&text))
		u->spec.note(u->spec.arg, s, verbose, text.p);
	va_end(ap);
}

void
usage_note_malformed(struct usage *u, struct usage_session *s, const char *what)
{
	s->now->malformed++;
	usage_note(u, s, USAGE_NOTE_WRONG, false, "malformed usage: %s", what);
}

void
usage_emit(struct usage *u, const struct usage_event *e)
{
	if (u->spec.event)
		u->spec.event(u->spec.arg, e);
}
