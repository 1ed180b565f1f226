/* Sessions: what is known of each, and what is sent in it. */
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

int
tool_check(struct tool *t, int r)
{
	if (r) {
		frame_warn(t->frame, "out of memory");
		frame_fail(t->frame, EXIT_FAILED);
	}
	return r;
}

/* --- the alarm --- */

/* The timer is set to the earliest of all deadlines; when it expires, clock_rings sets it again for a deadline that was put off. */
void
tool_alarm(struct tool *t, uint64_t when)
{
	if (t->alarm && t->alarm <= when)
		return;
	t->alarm = when;
	frame_timer(t->frame, when);
}

void
tool_deadline(struct tool *t, uint64_t *deadline)
{
	*deadline = frame_now(t->frame) + t->options->frame.grace;
	tool_alarm(t, *deadline);
}

void
session_heard(struct tool *t, struct budget_session *s)
{
	uint64_t silence = t->options->max_silence, now = frame_now(t->frame);

	if (!silence)
		return;
	*(s ? &s->silence.last : &t->last) = now;
	if (s)
		s->silence.acted = 0;
	tool_alarm(t, now + silence);
}

/* --- their data --- */

struct budget_session *
session_data(struct tool *t, struct session *session)
{
	struct budget_session *s = session->data;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (tool_check(t, !s || json_quote(slice(session->id, session->n), &s->id))) {
		free(s);
		return NULL;
	}
	s->session = session;
	s->usage = usage_find_session(t->usage, slice(session->id, session->n));
	s->at.tag = (struct tag){TAG_AT, s};
	s->at.waited = (struct tag){TAG_WAITED, s};
	return session->data = s;
}

struct budget_session *
session_of(struct tool *t, struct slice id, bool make)
{
	SCOPED struct buf room = {0};
	struct slice plain = json_type(id) == JSON_STRING ? json_text(id, &room) : slice(NULL, 0);
	struct session *session = plain.p ? sessions_find(t->sessions, plain) : NULL;

	return session && make ? session_data(t, session) : session ? session->data : NULL;
}

struct budget_session *
session_family(const struct session *s)
{
	while (s && !s->data)
		s = s->parent;
	return s ? s->data : NULL;
}

struct budget_session *
session_next(const struct tool *t, const struct budget_session *after)
{
	struct session *s = after ? after->session : NULL;

	while ((s = sessions_next(t->sessions, s)) && !s->data)
		;
	return s ? s->data : NULL;
}

struct slice
session_scope(const struct tool *t, const struct budget_session *s)
{
	switch (t->options->scope) {
	case SCOPE_PROJECT:
		return s->usage ? usage_name(t->usage, s->usage->cwd) : slice_of("");
	case SCOPE_AGENT:
		return s->usage ? usage_agent_name(t->usage, s->usage->agent) : slice_of("");
	case SCOPE_KEY:
		return slice_of(t->options->key);
	default:
		return slice_of("");
	}
}

void
session_free(struct budget_session *s)
{
	buf_free(&s->id);
	usage_figures_free(&s->counted);
	buf_free(&s->nudge);
	buf_free(&s->idle.received);
	buf_free(&s->idle.forwarded);
	free(s);
}

bool
session_runs(const struct budget_session *s)
{
	const struct session_turn *turn;
	struct budget *b;

	LL_FOREACH(s->session->turn, turn) {
		b = budget_of(turn->data);
		if (!turn->data || (b ? b->state != BUDGET_OVER || b->continuations == 0 : s->at.runs))
			return true;
	}
	return false;
}

bool
session_is_at(const struct budget_session *s, unsigned level)
{
	const struct usage_session *u = s->usage;

	return u && u->size && usage_reaches(u->used, u->size, level, true);
}

/* --- what messages mean --- */

void
tool_see(struct tool *t, const struct message *original, struct seen *to)
{
	const struct session_message *seen;
	struct message m = *original;
	struct turn_end *e = &to->end;
	struct budget_session *s;
	uint64_t next;

	/* In a proxy chain the id of a response is that of another hop. */
	if (m.request)
		m.msg.id = m.request->id;
	*to = (struct seen){0};
	t->seeing = to;
	tool_check(t, sessions_see(t->sessions, &m, &seen));
	to->about = seen->session;
	to->request = seen->request;
	to->kind = seen->kind;
	s = session_family(to->about);
	/* Most updates do not concern usage. */
	if (m.msg.what != ACP_SESSION_UPDATE || usage_may_matter(&t->words, m.msg.text)) {
		to->used = true;
		tool_check(t, usage_message(t->usage, seen) || usage_quiet(t->usage, UINT64_MAX, &next));
		if (s && !s->usage)
			s->usage = usage_find_session(t->usage, slice(s->session->id, s->session->n));
		/* Where the context has fallen below the level of an --at, its text may be sent again. */
		for (size_t i = 0; s && i < t->options->nat; i++)
			if (!session_is_at(s, t->options->at[i].level))
				s->at.fired &= ~(1u << i);
	}
	t->seeing = NULL;
	if (!e->session)
		return;
	e->idle = m.msg.kind != MSG_RESPONSE;
	e->outcome = e->idle ? json_get(m.msg.params, acp_update) : m.msg.result;
	t->counts = e->counted ? COUNTS_KNOWN : t->counts;
	if (!e->counted && t->options->estimate) {
		e->output = (e->session->streamed + 3) / 4;
		e->counted = e->estimated = true;
	}
	e->session->streamed = 0;
	if (__builtin_add_overflow(e->session->output, e->output, &e->session->output))
		e->session->output = UINT64_MAX;
}

void
tool_see_own(struct tool *t, struct slice text)
{
	struct message m = {.from = ACP_AGENT, .t = frame_now(t->frame), .line = text};

	if (msg_scan(text, &m.msg, NULL) != MSG_NOISE)
		tool_check(t, sessions_see(t->sessions, &m, NULL));
}

void
tool_tag(struct session_request *r, struct tag *tag)
{
	struct budget *b = budget_of(tag);

	if (!r || !r->turn)
		return;
	r->turn->data = tag;
	if (b)
		b->refs++;
}

/* --- what is sent --- */

int
session_prompt(struct tool *t, struct budget_session *s, struct slice prompt, struct tag *tag)
{
	SCOPED struct buf params = {0}, text = {0}, sent = {0};
	struct message m = {.from = ACP_CLIENT, .t = frame_now(t->frame)};
	struct seen seen;

	if (tool_check(t, json_format(&params, "{\"%s\":%b,\"%s\":[", acp_session_id, buf_slice(&s->id), acp_prompt)
			|| acp_put_text_block(&params, prompt) || buf_add_string(&params, "]}")
			|| msg_make_request(&text, slice_of("0"), acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), buf_slice(&params))
			|| frame_request_for(t->frame, ACP_DOWN, buf_slice(&text), tag, &sent)))
		return -1;
	m.line = buf_slice(&sent);
	msg_scan(m.line, &m.msg, NULL);
	session_heard(t, s);
	tool_see(t, &m, &seen);
	tool_tag(seen.request, tag);
	if (seen.request)
		seen.request->data = tag;
	return 0;
}

void
session_cancel(struct tool *t, const struct budget_session *s)
{
	SCOPED struct buf params = {0};

	tool_check(t, json_format(&params, "{\"%s\":%b}", acp_session_id, buf_slice(&s->id))
		|| frame_notify(t->frame, ACP_DOWN, acp_name(ACP_SESSION_CANCEL, ACP_PLAIN), buf_slice(&params)));
}

void
session_report(struct tool *t, const struct budget_session *s, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		frame_warn(t->frame, "%s: %s", s->session->id, text.p);
	va_end(args);
}
