/* Sessions: what is known of each. */
#define HASH_NONFATAL_OOM 1
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-budget/budget.h"

/* A tool call that runs. */
struct call {
	UT_hash_handle hh;
	char id[];
};

int
tool_check(struct tool *t, int r)
{
	if (r) {
		frame_warn(t->frame, "out of memory");
		frame_fail(t->frame, EXIT_FAILED);
	}
	return r;
}

void
tool_reply_error(struct tool *t, struct held *held, int code, const char *why)
{
	SCOPED struct buf message = {0};

	tool_check(t, buf_printf(&message, "%s: %s", tool_name, why) || !buf_string(&message)
		|| frame_reply_error(t->frame, held, code, message.p));
	buf_free(&message);
}

/* --- the alarm --- */

/* It is set to the earliest of all deadlines; when it rings, a deadline that was put off sets it anew. */
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
session_heard(struct tool *t, struct session *s)
{
	uint64_t silence = t->options->max_silence, now = frame_now(t->frame);

	if (!silence)
		return;
	*(s ? &s->heard : &t->heard) = now;
	if (s)
		s->silent = 0;
	tool_alarm(t, now + silence);
}

/* --- tool calls --- */

static void
forget_calls(struct session *s)
{
	struct call *c, *next;

	HASH_ITER(hh, s->calls, c, next) {
		HASH_DEL(s->calls, c);
		free(c);
	}
}

void
session_note_call(struct tool *t, struct session *s, struct slice id, bool runs)
{
	struct call *c;

	HASH_FIND(hh, s->calls, id.p, id.n, c);
	if (c && !runs) {
		HASH_DEL(s->calls, c);
		free(c);
	}
	if (c || !runs)
		return;
	c = calloc(1, sizeof(*c) + id.n);
	if (c) {
		memcpy(c->id, id.p, id.n);
		HASH_ADD_KEYPTR(hh, s->calls, c->id, id.n, c);
	}
	if (tool_check(t, !c || !c->hh.tbl))
		free(c);
}

/* --- sessions --- */

static struct session *
session_new(struct tool *t, struct slice plain, struct slice id)
{
	struct session *s = calloc(1, sizeof(*s) + plain.n + 1 + id.n);

	if (!s)
		return NULL;
	if (plain.n)
		memcpy(s->text, plain.p, plain.n);
	memcpy(s->text + plain.n + 1, id.p, id.n);
	s->id_length = plain.n;
	s->id = slice(s->text + plain.n + 1, id.n);
	s->at_tag = (struct request_tag){TAG_AT, s};
	HASH_ADD_KEYPTR(hh, t->sessions, s->text, s->id_length, s);
	if (s->hh.tbl)
		return s;
	free(s);
	return NULL;
}

struct session *
session_of(struct tool *t, struct slice id, bool make)
{
	struct session *s = NULL;
	SCOPED struct buf plain = {0};

	if (json_type(id) != JSON_STRING)
		return NULL;
	/* An empty id is one, too. */
	if (tool_check(t, buf_reserve(&plain, 1) || json_unescape(id, &plain)))
		return NULL;
	HASH_FIND(hh, t->sessions, plain.p, plain.n, s);
	if (!s && make)
		tool_check(t, !(s = session_new(t, buf_slice(&plain), id)));
	if (s && !s->usage)
		s->usage = usage_find_session(t->usage, buf_slice(&plain));
	return s;
}

void
open_free(struct open *o)
{
	buf_free(&o->id);
	free(o);
}

static void
session_free(struct session *s)
{
	struct open *o, *next;

	LL_FOREACH_SAFE(s->opened, o, next)
		open_free(o);
	forget_calls(s);
	buf_free(&s->explanation.text);
	buf_free(&s->nudge.text);
	buf_free(&s->idle_received);
	buf_free(&s->idle_forwarded);
	free(s);
}

void
sessions_free(struct tool *t)
{
	struct session *s, *next;

	HASH_ITER(hh, t->sessions, s, next) {
		HASH_DEL(t->sessions, s);
		session_free(s);
	}
}

void
session_prompted(struct tool *t, struct session *s)
{
	struct usage_report r = {.what = USAGE_PROMPT, .session = s->id};

	/* What an earlier turn has left open says nothing of this one. */
	if (!session_runs(s))
		forget_calls(s);
	session_heard(t, s);
	tool_check(t, usage_take(t->usage, frame_now(t->frame), &r));
	if (!s->usage)
		s->usage = usage_find_session(t->usage, slice(s->text, s->id_length));
}

int
session_ask(struct tool *t, struct session *s, struct slice text, void *tag)
{
	SCOPED struct buf params = {0};
	int r;

	session_prompted(t, s);
	r = buf_printf(&params, "{\"%s\":%.*s,\"%s\":[", acp_session_id, (int)s->id.n, s->id.p, acp_prompt)
		|| acp_put_text_block(&params, text) || buf_add_string(&params, "]}")
		|| frame_request(t->frame, ACP_DOWN, acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), buf_slice(&params), tag);
	return tool_check(t, r);
}

void
session_update(struct tool *t, const struct session *s, struct slice update)
{
	SCOPED struct buf params = {0};

	tool_check(t, json_add_object(&params, (struct json_member[]){{acp_session_id, s->id}, {acp_update, update}, {0}})
		|| frame_notify(t->frame, ACP_UP, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params)));
}

bool
session_runs(const struct session *s)
{
	return s->open > 0 || s->busy || s->asked || (s->budget && s->budget->nudging);
}

void
session_cancel(struct tool *t, const struct session *s)
{
	SCOPED struct buf params = {0};

	tool_check(t, json_add_object(&params, (struct json_member[]){{acp_session_id, s->id}, {0}})
		|| frame_notify(t->frame, ACP_DOWN, acp_name(ACP_SESSION_CANCEL, ACP_PLAIN), buf_slice(&params)));
}

void
session_report(struct tool *t, const struct session *s, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		frame_warn(t->frame, "%s: %s", s->text, text.p);
	va_end(args);
}
