/* --at: when the context has reached a level, a text is sent before the client's next prompt. */
#include "cmd/acp-budget/budget.h"

static bool
is_at(const struct session *s, unsigned level)
{
	const struct usage_session *u = s->usage;

	return u && u->has_used && u->has_size && usage_reaches(u->used, u->size, level, true);
}

static void
warn(struct tool *t, struct session *s, size_t i)
{
	const struct at *at = &t->options->at[i];

	if (at->text[0] != '/' || (s->warned & 1u << i) || commands_has(t->commands, s->id, at->text))
		return;
	s->warned |= 1u << i;
	session_report(t, s, "--at %u%%: the agent does not list %.*s among its commands", at->level,
		(int)strcspn(at->text, " \t\r\n"), at->text);
}

/* A compaction that runs is not requested once more. */
static bool
is_busy_with(const struct session *s, const struct at *at)
{
	static const char compact[] = "/compact";

	return s->compacting && strncmp(at->text, compact, strlen(compact)) == 0 && strchr(" \t\n", at->text[strlen(compact)]);
}

bool
ahead_ask(struct tool *t, struct session *s)
{
	const struct options *o = t->options;
	size_t i;

	/* A text may bring the context below its level and above again: once for a prompt is enough. */
	for (i = 0; i < o->nat && (((s->fired | s->tried) & 1u << i) || !is_at(s, o->at[i].level) || is_busy_with(s, &o->at[i])); i++)
		;
	if (i == o->nat || session_runs(s) || limits_reached(t, s, false, NULL))
		return false;
	s->fired |= 1u << i;
	s->tried |= 1u << i;
	warn(t, s, i);
	s->asked = true;
	s->accepted = false;
	if (session_ask(t, s, slice_of(o->at[i].text), &s->at_tag) == 0)
		return true;
	s->asked = false;
	return false;
}

void
ahead_give_up(struct tool *t, struct session *s)
{
	s->asked = false;
	prompts_release(t, s);
}

void
ahead_answered(struct tool *t, struct session *s)
{
	/* ahead_give_up may have been called. */
	if (!s->asked)
		return;
	s->asked = s->accepted = false;
	s->deadline = 0;
	if (s->waiting && ahead_ask(t, s))
		return;
	s->tried = 0;
	prompts_release(t, s);
}

void
ahead_rearm(const struct tool *t, struct session *s)
{
	size_t i;

	for (i = 0; i < t->options->nat; i++)
		if (!is_at(s, t->options->at[i].level))
			s->fired &= ~(1u << i);
}
