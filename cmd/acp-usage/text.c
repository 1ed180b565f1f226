/* Levels, figures and names for all files of the tool, as people and tables have them. */
#include <time.h>

#include "cmd/acp-usage/tool.h"
#include "lib/base/people.h"

enum { SHORT_ID = 8, MANY_SESSIONS = 256 };

const char *const level_names[] = {"", "normal", "yellow", "orange", "red"};

bool
tool_wants(struct tool *t, const struct usage_session *s)
{
	bool yes = !t->watch->session;

	for (; s && !yes; s = s->parent)
		yes = watch_wants(t->watch, slice(s->id, s->id_length));
	return yes;
}

struct usage_session *
tool_parent(struct tool *t, const struct usage_session *s)
{
	return s->parent && tool_wants(t, s->parent) ? s->parent : NULL;
}

bool
tool_adds(struct tool *t, const struct usage_session *s)
{
	return tool_wants(t, s) && !(tool_parent(t, s) && usage_is_covered(t->usage, s));
}

void
tool_fail(struct tool *t, const char *what)
{
	if (!t->watch->failed)
		watch_say(t->watch, "%s", what);
	t->watch->failed = true;
}

enum level
tool_level(const struct options *o, const struct usage_session *s)
{
	if (!s->size)
		return LEVEL_UNKNOWN;
	if (usage_reaches(s->used, s->size, o->warn[2], false))
		return LEVEL_RED;
	if (usage_reaches(s->used, s->size, o->warn[1], true))
		return LEVEL_ORANGE;
	return usage_reaches(s->used, s->size, o->warn[0], true) ? LEVEL_YELLOW : LEVEL_NORMAL;
}

uint64_t
tokens_left(const struct usage_session *s)
{
	return s->size > s->used ? s->size - s->used : 0;
}

int
put_tokens(struct buf *to, uint64_t n)
{
	char text[PEOPLE_FIGURE];

	return buf_add_string(to, people_count(text, n));
}

int
put_clock(struct buf *to, const struct tool *t, uint64_t us)
{
	time_t seconds = (time_t)(t->started + (double)us / 1e6);
	char text[40];
	struct tm tm;

	if (!t->timed)
		return buf_printf(to, "-");
	if (t->started > 0 && localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return buf_add_string(to, text);
	return buf_printf(to, "%llu.%03llus", (unsigned long long)(us / 1000000), (unsigned long long)(us / 1000 % 1000));
}

/* Is it the session, or one below it? */
static bool
is_below(const struct usage_session *child, const struct usage_session *s)
{
	while (child && child != s)
		child = child->parent;
	return child == s;
}

int
put_session(struct buf *to, const struct tool *t, const struct usage_session *s)
{
	size_t n = s->id_length, same;

	if (n == 0)
		return buf_add(to, "-", 1);
	if (n > SHORT_ID && usage_count(t->usage) <= MANY_SESSIONS) {
		n = SHORT_ID;
		for (const struct usage_session *other = usage_sessions(t->usage); other; other = other->hh.next) {
			/* The id of a child may begin with this session's id, without being mistaken for it. */
			if (other == s || is_below(other, s))
				continue;
			for (same = 0; same < s->id_length && same < other->id_length && s->id[same] == other->id[same]; same++)
				;
			if (same >= n)
				n = same < s->id_length ? same + 1 : same;
		}
		/* A character of several bytes must not be cut. */
		while (n < s->id_length && ((unsigned char)s->id[n] & 0xc0) == 0x80)
			n++;
	}
	return text_plain(to, slice(s->id, n));
}

const char *
level_color(enum level l, bool wanted)
{
	static const char *const colors[] = {"", "", "\033[33m", "\033[38;5;208m", "\033[31m"};

	return wanted ? colors[l] : "";
}
