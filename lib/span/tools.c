/* Tool calls, and what is asked of the user. */
#include <stdlib.h>
#include <utlist.h>

#include "lib/span/span_parts.h"

/* --- what turns and messages need, too --- */

void
span_happened(struct span *sp, struct span_event e)
{
	sp->event(sp->arg, &e);
}

struct slice
span_plain(struct span *sp, struct slice string)
{
	return json_text(string, &sp->plain);
}

struct span_session *
span_root(struct span_session *s)
{
	while (s->parent)
		s = s->parent;
	return s;
}

void
span_turn_clock(struct span_turn *t, uint64_t now)
{
	uint64_t dt = now - t->at;

	t->at = now;
	if (t->waiting)
		t->user += dt;
	else if (t->running)
		t->tools += dt;
	else
		t->model += dt;
	if (!t->waiting)
		t->quiet += dt;
}

/* --- one call --- */

/* Nobody may point to it any more. */
static void
free_tool(struct span *sp, struct span_tool *t)
{
	struct request *r = NULL;
	struct span_wait *w;

	while (t->waiting && (r = requests_next(sp->requests, r))) {
		w = r->what == ACP_REQUEST_PERMISSION || r->what == ACP_ELICITATION_CREATE ? r->owner : NULL;
		if (w && w->tool == t)
			w->tool = NULL;
	}
	DL_DELETE2(sp->tools, t, older, newer);
	sp->ntools--;
	HASH_DEL(t->session->tools, t);
	buf_free(&t->kind);
	buf_free(&t->name);
	buf_free(&t->title);
	free(t);
}

/* It stops running, for a while or for good. */
static void
stop(struct span *sp, struct span_tool *t)
{
	t->ran += sp->now - t->since;
	span_happened(sp, (struct span_event){.kind = SPAN_RAN, .begin = t->since, .end = sp->now, .tool = t});
}

static void
end_tool(struct span *sp, struct span_tool *t, bool unfinished)
{
	if (t->done)
		return;
	if (t->turn) {
		span_turn_clock(t->turn, sp->now);
		t->turn->running--;
	}
	if (!t->waiting)
		stop(sp, t);
	t->done = true;
	t->unfinished = unfinished;
	t->end = sp->now;
	span_happened(sp, (struct span_event){.kind = SPAN_TOOL, .begin = t->begin, .end = t->end, .tool = t});
}

static struct span_tool *
new_tool(struct span *sp, struct span_session *s, struct slice id)
{
	struct span_tool *t = calloc(1, sizeof(*t) + id.n + 1);

	if (!t)
		return NULL;
	memcpy(t->id, id.p, id.n);
	t->n = id.n;
	t->session = s;
	HASH_ADD_KEYPTR(hh, s->tools, t->id, t->n, t);
	if (!t->hh.tbl) {
		free(t);
		return NULL;
	}
	t->begin = t->since = sp->now;
	t->turn = span_root(s)->turn;
	if (t->turn) {
		span_turn_clock(t->turn, sp->now);
		t->turn->running++;
	}
	DL_APPEND2(sp->tools, t, older, newer);
	if (++sp->ntools > TOOLS_MOST) {
		end_tool(sp, sp->tools, true);
		free_tool(sp, sp->tools);
	}
	return t;
}

static int
keep(struct buf *to, struct slice string)
{
	if (json_type(string) != JSON_STRING)
		return 0;
	to->n = 0;
	return json_unescape(string, to);
}

static int
describe(struct span_tool *t, struct slice update)
{
	struct slice name = json_get(update, "name");

	if (json_type(name) != JSON_STRING)
		name = json_path(update, "_meta.claudeCode.toolName");
	return -(keep(&t->kind, json_get(update, "kind")) || keep(&t->name, name) || keep(&t->title, json_get(update, "title")));
}

static bool
is_final(struct slice status)
{
	return json_type(status) == JSON_STRING && (json_string_is(status, "completed") || json_string_is(status, "failed") ||
		json_string_is(status, acp_cancelled));
}

int
span_tool_update(struct span *sp, struct span_session *s, struct slice update, bool first)
{
	struct slice string = json_get(update, "toolCallId"), status = json_get(update, "status"), id;
	struct span_tool *t = NULL;

	if (json_type(string) != JSON_STRING)
		return 0;
	id = span_plain(sp, string);
	if (!id.p)
		return -1;
	HASH_FIND(hh, s->tools, id.p, id.n, t);
	if (t && t->done) {
		/* What is said of a call that has ended, and perhaps an id that is used again. */
		if (!first)
			return 0;
		free_tool(sp, t);
		t = NULL;
	}
	/* The end of a call that was given up when its turn ended. */
	if (!t && !first && is_final(status) && !span_root(s)->turn)
		return 0;
	if (!t && !(t = new_tool(sp, s, id)))
		return -1;
	if (describe(t, update) < 0)
		return -1;
	if (is_final(status)) {
		t->failed = json_string_is(status, "failed");
		end_tool(sp, t, false);
	}
	return 0;
}

void
span_tools_leave(struct span *sp, struct span_turn *turn)
{
	struct span_tool *t, *newer;

	DL_FOREACH_SAFE2(sp->tools, t, newer, newer) {
		if (t->session == turn->session)
			end_tool(sp, t, true);
		if (t->turn == turn)
			t->turn = NULL;
		if (t->done && span_root(t->session) == turn->session)
			free_tool(sp, t);
	}
}

void
span_tools_end(struct span *sp, struct span_session *s)
{
	for (struct span_tool *t = s->tools; t; t = t->hh.next)
		end_tool(sp, t, true);
}

void
span_tools_free(struct span *sp)
{
	while (sp->tools)
		free_tool(sp, sp->tools);
}

/* --- the user --- */

static struct span_tool *
tool_of(struct span *sp, struct span_session *s, struct slice params)
{
	static const char *const places[] = {"toolCall.toolCallId", "subject.toolCall.toolCallId", "subject.toolCallId", "toolCallId"};
	struct slice string, id;
	struct span_tool *t = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		string = json_path(params, places[i]);
		if (json_type(string) != JSON_STRING)
			continue;
		id = span_plain(sp, string);
		if (id.p)
			HASH_FIND(hh, s->tools, id.p, id.n, t);
		return t && !t->done ? t : NULL;
	}
	return NULL;
}

int
span_wait_begin(struct span *sp, struct span_session *s, struct request *r, struct slice params)
{
	struct span_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->begin = sp->now;
	w->session = s;
	w->turn = s ? span_root(s)->turn : NULL;
	w->tool = s ? tool_of(sp, s, params) : NULL;
	w->method = r->method;
	if (w->turn) {
		span_turn_clock(w->turn, sp->now);
		w->turn->waiting++;
	}
	if (w->tool && w->tool->waiting++ == 0)
		stop(sp, w->tool);
	r->owner = w;
	return 0;
}

void
span_wait_end(struct span *sp, struct request *r, bool unfinished)
{
	struct span_wait *w = r->owner;

	if (!w)
		return;
	w->end = sp->now;
	w->unfinished = unfinished;
	if (w->turn) {
		span_turn_clock(w->turn, sp->now);
		w->turn->waiting--;
	}
	if (w->tool && --w->tool->waiting == 0)
		w->tool->since = sp->now;
	span_happened(sp, (struct span_event){.kind = SPAN_WAIT, .begin = w->begin, .end = w->end, .wait = w});
	free(w);
	r->owner = NULL;
}
