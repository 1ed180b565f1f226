/* --at: when the context has come to a level, a text is asked ahead of the client's next prompt. */
#include "cmd/acp-budget/budget.h"

static bool
is_at(const struct session *s, unsigned level)
{
	const struct usage_session *u = s->usage;

	return u && u->has_used && u->has_size && usage_reaches(u->used, u->size, level, true);
}

static bool
runs(const struct session *s)
{
	return s->open > 0 || s->busy || s->asked || (s->budget && s->budget->nudging);
}

/* The name of a command, or nothing. */
static struct slice
command_of(const struct at *at)
{
	return at->text[0] == '/' ? slice(at->text + 1, strcspn(at->text + 1, " \t\n")) : slice(NULL, 0);
}

static void
warn(struct tool *t, struct session *s, size_t i)
{
	const struct at *at = &t->options->at[i];
	struct slice command = command_of(at);

	if (!command.p || (s->listed & 1u << i) || (s->warned & 1u << i))
		return;
	s->warned |= 1u << i;
	session_say(t, s, "--at %u%%: the agent does not list /%.*s among its commands", at->level, (int)command.n, command.p);
}

bool
ahead_ask(struct tool *t, struct session *s)
{
	const struct options *o = t->options;
	size_t i;

	/* A text may bring the context below its level and above again: once for a prompt is enough. */
	for (i = 0; i < o->nat && (((s->fired | s->tried) & 1u << i) || !is_at(s, o->at[i].level)); i++)
		;
	if (i == o->nat || runs(s) || limits_reached(t, s, false, NULL))
		return false;
	s->fired |= 1u << i;
	s->tried |= 1u << i;
	warn(t, s, i);
	s->asked = true;
	s->accepted = false;
	if (session_ask(t, s, slice_of(o->at[i].text), &s->asking) == 0)
		return true;
	s->asked = false;
	return false;
}

void
ahead_answered(struct tool *t, struct session *s)
{
	s->asked = s->accepted = false;
	if (s->waiting && ahead_ask(t, s))
		return;
	s->tried = 0;
	prompts_go(t, s);
}

void
ahead_rearm(const struct tool *t, struct session *s)
{
	size_t i;

	for (i = 0; i < t->options->nat; i++)
		if (!is_at(s, t->options->at[i].level))
			s->fired &= ~(1u << i);
}

static bool
is_command(struct slice command, struct slice name)
{
	struct buf plain = {0};
	bool yes = json_unescape(name, &plain) == 0 && slice_eq(buf_slice(&plain), command);

	buf_free(&plain);
	return yes;
}

void
ahead_commands(const struct tool *t, struct session *s, struct slice update)
{
	struct slice commands = json_get(update, acp_commands), key, one, name, command;
	struct json_iter it = {.in = commands};
	size_t i;

	s->listed = 0;
	if (!commands.p || json_type(commands) != JSON_ARRAY)
		return;
	while (json_next(&it, &key, &one)) {
		name = json_type(one) == JSON_OBJECT ? json_get(one, "name") : slice(NULL, 0);
		for (i = 0; name.p && json_type(name) == JSON_STRING && i < t->options->nat; i++) {
			command = command_of(&t->options->at[i]);
			if (command.p && is_command(command, name))
				s->listed |= 1u << i;
		}
	}
}
