/* Sessions: what is known of each. */
#define HASH_NONFATAL_OOM 1
#include <stdlib.h>

#include "cmd/acp-budget/budget.h"

void
tool_no_memory(struct tool *t)
{
	frame_warn(t->frame, "out of memory");
	frame_fail(t->frame, EXIT_FAILED);
}

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
	struct buf plain = {0};

	if (!id.p || json_type(id) != JSON_STRING)
		return NULL;
	/* An empty id is one, too. */
	if (buf_reserve(&plain, 1) < 0 || json_unescape(id, &plain) < 0) {
		tool_no_memory(t);
		return NULL;
	}
	HASH_FIND(hh, t->sessions, plain.p, plain.n, s);
	if (!s && make && !(s = session_new(t, buf_slice(&plain), id)))
		tool_no_memory(t);
	if (s && !s->usage)
		s->usage = usage_find_session(t->usage, buf_slice(&plain));
	buf_free(&plain);
	return s;
}

void
open_free(struct open *o)
{
	if (!o)
		return;
	buf_free(&o->id);
	buf_free(&o->key);
	free(o);
}

static void
session_free(struct session *s)
{
	struct waiting *w;
	struct open *o;

	while ((o = s->opened)) {
		s->opened = o->next;
		open_free(o);
	}
	clock_forget_calls(s);

	while ((w = s->waiting)) {
		s->waiting = w->next;
		buf_free(&w->id);
		free(w);
	}
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
		clock_forget_calls(s);
	clock_heard(t, s);
	if (usage_take(t->usage, frame_now(t->frame), &r) < 0)
		tool_no_memory(t);
	if (!s->usage)
		s->usage = usage_find_session(t->usage, slice(s->text, s->id_length));
}

int
session_ask(struct tool *t, struct session *s, struct slice text, void *tag)
{
	struct buf params = {0};
	int r;

	session_prompted(t, s);
	r = buf_printf(&params, "{\"%s\":", acp_session_id) || buf_add_slice(&params, s->id)
		|| buf_printf(&params, ",\"%s\":[{\"type\":\"text\",\"text\":", acp_prompt) || json_quote(text, &params)
		|| buf_add_string(&params, "}]}")
		|| frame_request(t->frame, ACP_DOWN, acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), buf_slice(&params), tag);
	buf_free(&params);
	if (r)
		tool_no_memory(t);
	return r ? -1 : 0;
}

bool
session_runs(const struct session *s)
{
	return s->open > 0 || s->busy || s->asked || (s->budget && s->budget->nudging);
}

void
session_cancel(struct tool *t, const struct session *s)
{
	struct buf params = {0};

	if (buf_printf(&params, "{\"%s\":", acp_session_id) || buf_add_slice(&params, s->id) || buf_add(&params, "}", 1)
		|| frame_notify(t->frame, ACP_DOWN, acp_name(ACP_SESSION_CANCEL, ACP_PLAIN), buf_slice(&params)))
		tool_no_memory(t);
	buf_free(&params);
}

void
session_report(struct tool *t, const struct session *s, const char *format, ...)
{
	struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0 && buf_string(&text))
		frame_warn(t->frame, "%s: %s", s->text, text.p);
	va_end(args);
	buf_free(&text);
}
