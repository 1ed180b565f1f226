#include "lib/span/span.h"

#include <stdlib.h>

#include "lib/acp/shape.h"
#include "lib/session/session.h"

struct span {
	void (*event)(void *arg, const struct span_event *);
	void *arg;
	struct sessions *sessions; /* their data: a span_turn, a span_tool; of a question the span_tool that waits for it */
	struct usage *usage;
	struct usage_words words;
	double started;
	const struct session *ending; /* the session whose turn is being ended; or NULL */
	struct usage_sums own;     /* the usage of that turn */
	uint64_t turns;            /* the number of turns that were asked for */
	bool failed;               /* out of memory */
};

static void
happened(struct span *sp, struct span_event e)
{
	if (sp->event)
		sp->event(sp->arg, &e);
}

/* Adds the time since its last call to the time of the user, of the tools or of the model. */
static void
clock_turn(struct span_turn *t, uint64_t now)
{
	uint64_t dt = now - t->at;

	t->at = now;
	t->times[t->waiting ? SPAN_USER : t->running ? SPAN_TOOLS : SPAN_MODEL] += dt;
	if (!t->waiting)
		t->quiet += dt;
}

static void
end_silence(struct span_turn *t)
{
	if (t->quiet > t->times[SPAN_SILENCE])
		t->times[SPAN_SILENCE] = t->quiet;
	t->quiet = 0;
}

static struct span_turn *
data_of(const struct session_turn *t)
{
	return t ? t->data : NULL;
}

/* --- usage --- */

static void
count(void *arg, const struct usage_event *e)
{
	struct span *sp = arg;

	if (e->kind == USAGE_EVENT_TURN && sp->ending
		&& slice_eq(slice(e->session->id, e->session->id_length), slice(sp->ending->id, sp->ending->n)))
		sp->own = e->own;
}

/* --- turns --- */

static void
begin_turn(struct span *sp, const struct session_event *e)
{
	struct span_turn *d = e->turn->data ? e->turn->data : calloc(1, sizeof(*d));
	struct slice parent;

	if (!d) {
		sp->failed = true;
		return;
	}
	if (!e->turn->data) {
		d->order = ++sp->turns;
		d->asked = e->t;
		parent = e->turn->prompted ? json_path(e->message->message.msg.params, "_meta.traceparent") : slice(NULL, 0);
		sp->failed |= json_type(parent) == JSON_STRING && json_unescape(parent, &d->parent) < 0;
	}
	e->turn->data = d;
	d->session = e->session;
	d->times[SPAN_FIRST_UPDATE] = d->times[SPAN_FIRST_TEXT] = SPAN_NEVER;
	d->begin = d->at = e->t;
	d->number = e->turn->number;
}

static void
end_turn(struct span *sp, const struct session_event *e)
{
	struct span_turn *d = e->turn->data;
	struct usage_session *u = usage_find_session(sp->usage, slice(e->session->id, e->session->n));

	if (!d)
		return;
	/* The turn gets the usage that was reported until now. */
	if (!e->turn->joined)
		sp->failed |= u && usage_finish(sp->usage, u) < 0;
	if (d->number > 0) {
		d->end = e->t;
		d->failed = e->turn->failed;
		d->unfinished = e->turn->unfinished;
		d->stop = e->turn->stop;
		d->error = e->turn->error;
		clock_turn(d, e->t);
		end_silence(d);
		d->times[SPAN_TOTAL] = d->end - d->begin;
		d->usage = u;
		d->own = sp->own;
		happened(sp, (struct span_event){.kind = SPAN_TURN, .begin = d->begin, .end = d->end, .turn = d});
	}
	buf_free(&d->parent);
	free(d);
	e->turn->data = NULL;
}

static bool
is_text(const struct session_message *m, struct span_turn *t)
{
	const struct shape *shape = m->message.msg.shape;
	static const char *const names[] = {"type", "text"};
	bool says = json_string_is(m->kind, "agent_message_chunk");
	struct json_iter it = {.in = m->members}, content;
	struct slice key, v[2];

	if (!says && !json_string_is(m->kind, "agent_thought_chunk"))
		return json_string_is(m->kind, "agent_message");
	if (shape) {
		t->chunks += shape->text;
		return says && shape->text;
	}
	while (json_step(&it, &key) && !json_string_is(key, acp_content))
		json_value(&it);
	if (!key.p || !json_enter(&it, &content))
		return false;
	json_pick(&content, names, 2, v);
	if (!json_string_is(v[0], "text") || json_type(v[1]) != JSON_STRING || v[1].n <= 2)
		return false;
	t->chunks++;
	return says;
}

/* Handles that the agent has sent a message. */
static void
end_wait_for_agent(const struct session_message *m)
{
	const struct session *s = m->session;
	struct session_turn *turn = s && !session_is_replayed(s) ? session_turn_of(s) : NULL;
	struct span_turn *t = data_of(turn);

	if (!t || m->role != ACP_AGENT || m->copy)
		return;
	clock_turn(t, m->message.t);
	end_silence(t);
	if (!m->kind.p || (m->update.p && json_string_is(m->kind, acp_state_update)))
		return;
	if (t->times[SPAN_FIRST_UPDATE] == SPAN_NEVER)
		t->times[SPAN_FIRST_UPDATE] = m->message.t - t->begin;
	if (s == turn->session && is_text(m, t) && t->times[SPAN_FIRST_TEXT] == SPAN_NEVER)
		t->times[SPAN_FIRST_TEXT] = m->message.t - t->begin;
}

/* --- tool calls --- */

/* Handles that a tool call does not run any more, for a while or for good. */
static void
stop(struct span *sp, struct span_tool *t, uint64_t now)
{
	t->ran += now - t->since;
	happened(sp, (struct span_event){.kind = SPAN_RAN, .begin = t->since, .end = now, .tool = t});
}

static int
keep(struct buf *to, struct slice string)
{
	if (json_type(string) != JSON_STRING)
		return 0;
	to->n = 0;
	return json_unescape(string, to);
}

static void
describe(struct span *sp, struct span_tool *t, const struct session_message *m)
{
	static const char *const names[] = {"kind", "name", "title", "_meta"};
	struct json_iter it = {.in = m->update.p ? m->update : json_get(m->message.msg.params, "toolCall")};
	struct slice v[4];

	json_pick(&it, names, 4, v);
	if (json_type(v[1]) != JSON_STRING)
		v[1] = json_path(v[3], "claudeCode.toolName");
	sp->failed |= keep(&t->kind, v[0]) || keep(&t->name, v[1]) || keep(&t->title, v[2]);
}

static void
begin_call(struct span *sp, const struct session_event *e)
{
	struct span_tool *t = e->call->data = calloc(1, sizeof(*t));

	if (!t) {
		sp->failed = true;
		return;
	}
	t->id = e->call->id;
	t->n = e->call->n;
	t->session = e->session;
	t->begin = t->since = e->t;
	t->turn = data_of(e->turn);
	if (t->turn) {
		clock_turn(t->turn, e->t);
		t->turn->running++;
	}
	describe(sp, t, e->message);
}

static void
end_call(struct span *sp, const struct session_event *e)
{
	struct span_tool *t = e->call->data;

	if (!t)
		return;
	/* The turn in which the call began may have ended. */
	t->turn = data_of(e->turn);
	if (t->turn) {
		clock_turn(t->turn, e->t);
		t->turn->running--;
	}
	if (e->message && !e->call->unfinished)
		describe(sp, t, e->message);
	if (!t->waiting)
		stop(sp, t, e->t);
	t->failed = e->call->failed;
	t->unfinished = e->call->unfinished;
	t->end = e->t;
	happened(sp, (struct span_event){.kind = SPAN_TOOL, .begin = t->begin, .end = t->end, .tool = t});
}

static void
forget_call(struct session_call *call)
{
	struct span_tool *t = call->data;

	if (!t)
		return;
	buf_free(&t->kind);
	buf_free(&t->name);
	buf_free(&t->title);
	free(t);
	call->data = NULL;
}

/* --- the user --- */

static void
begin_wait(struct span *sp, const struct session_event *e)
{
	struct span_turn *turn = data_of(e->turn);
	struct span_tool *tool = e->call && !e->call->ended ? e->call->data : NULL;

	if (turn) {
		clock_turn(turn, e->t);
		turn->waiting++;
	}
	e->question->data = tool;
	if (tool && tool->waiting++ == 0)
		stop(sp, tool, e->t);
}

static void
end_wait(struct span *sp, const struct session_event *e)
{
	struct span_turn *turn = data_of(e->turn);
	struct span_tool *tool = e->call && e->question->data ? e->call->data : NULL;
	struct span_wait ended = {.session = e->session, .turn = turn, .tool = tool,
		.begin = e->question->begin, .end = e->t, .method = e->request->request->method, .unfinished = e->question->unfinished};

	if (turn) {
		clock_turn(turn, e->t);
		turn->waiting--;
	}
	if (tool && --tool->waiting == 0)
		tool->since = e->t;
	happened(sp, (struct span_event){.kind = SPAN_WAIT, .begin = ended.begin, .end = ended.end, .wait = &ended});
}

/* --- requests --- */

/* Keeps the tool's name of a tools/call of MCP, because the response does not have it. */
static void
begin_request(struct span *sp, const struct session_event *e)
{
	struct slice tool = {NULL, 0};

	if (json_string_is(e->request->request->method, "tools/call"))
		tool = json_get_string(e->message->message.msg.params, "name");
	if (tool.p && !(e->request->data = strndup(tool.p, tool.n)))
		sp->failed = true;
}

static void
end_request(struct span *sp, const struct session_event *e)
{
	const struct request *r = e->request->request;
	const struct msg *msg = e->message && !e->unanswered ? &e->message->message.msg : NULL;
	struct span_request q = {.from = e->request->enveloped ? acp_other_side(r->from) : r->from, .kind = MSG_REQUEST, .at = e->session,
		.method = r->method, .begin = r->t, .end = e->t, .failed = msg && msg->error.p, .unfinished = e->unanswered};

	if (e->request->data) {
		q.tool = slice_of(e->request->data);
		q.tool_failed = msg && json_type(json_get(msg->result, "isError")) == JSON_TRUE;
	}
	if (!e->request->copy)
		happened(sp, (struct span_event){.kind = SPAN_REQUEST, .begin = q.begin, .end = q.end, .request = &q});
	free(e->request->data);
	e->request->data = NULL;
}

static void
see_event(void *arg, const struct session_event *e)
{
	struct span *sp = arg;

	if (e->kind == SESSION_TURN_ENDED) {
		sp->ending = e->session;
		sp->own = (struct usage_sums){0};
	}
	usage_happened(sp->usage, e);
	switch (e->kind) {
	case SESSION_REQUESTED:
		begin_request(sp, e);
		break;
	case SESSION_RESPONDED:
		/* The wait for the agent ends before the request, or the turn, that this response ends. */
		if (!e->unanswered)
			end_wait_for_agent(e->message);
		end_request(sp, e);
		break;
	case SESSION_TURN_QUEUED:
	case SESSION_TURN_BEGAN:
		begin_turn(sp, e);
		break;
	case SESSION_TURN_ENDED:
		end_turn(sp, e);
		break;
	case SESSION_CALL_BEGAN:
		begin_call(sp, e);
		break;
	case SESSION_CALL_CHANGED:
		if (e->call->data && !e->call->ended)
			describe(sp, e->call->data, e->message);
		break;
	case SESSION_CALL_ENDED:
		end_call(sp, e);
		break;
	case SESSION_CALL_FORGOTTEN:
		forget_call(e->call);
		break;
	case SESSION_ASKED:
		begin_wait(sp, e);
		break;
	case SESSION_ANSWERED:
		end_wait(sp, e);
		break;
	default:
		break;
	}
	sp->ending = NULL;
}

/* --- all --- */

struct span *
span_new(void (*event)(void *arg, const struct span_event *), void *arg)
{
	static const struct session_limits limits = {.sessions = 64 * 1024, .calls = 16 * 1024};
	struct span *sp = calloc(1, sizeof(*sp));
	const struct usage_spec spec = {.event = count, .arg = sp};

	if (!sp)
		return NULL;
	sp->event = event;
	sp->arg = arg;
	usage_words(&sp->words);
	sp->sessions = sessions_new(see_event, sp, &limits);
	sp->usage = usage_new(&spec);
	if (sp->sessions && sp->usage)
		return sp;
	span_free(sp);
	return NULL;
}

void
span_lost(struct span *sp)
{
	sessions_lost(sp->sessions);
}

double
span_started(const struct span *sp)
{
	return sp->started;
}

const struct sessions *
span_sessions(const struct span *sp)
{
	return sp->sessions;
}

const struct usage *
span_usage(const struct span *sp)
{
	return sp->usage;
}

int
span_see(struct span *sp, const struct message *original)
{
	const struct session_message *m;
	struct shape *shape = original->msg.shape;
	const struct msg *msg;
	struct span_request q;

	if (original->msg.kind == MSG_NOISE)
		return 0;
	if (sessions_see(sp->sessions, original, &m) < 0)
		return -1;
	/* A chunk has its usage beside its text; the mark says that there is none. */
	if (!(shape && shape->mark) && usage_may_matter(&sp->words, original->msg.text)) {
		if (usage_message(sp->usage, m) < 0)
			return -1;
	} else if (shape) {
		shape->mark = 1;
	}
	msg = &m->message.msg;
	if (msg->kind == MSG_NOTIFICATION && !m->copy) {
		q = (struct span_request){.from = m->role, .kind = MSG_NOTIFICATION, .method = msg->method,
			.at = m->session, .update = m->kind, .begin = m->message.t, .end = m->message.t};
		happened(sp, (struct span_event){.kind = SPAN_REQUEST, .begin = q.begin, .end = q.end, .request = &q});
	}
	if (msg->kind != MSG_RESPONSE)
		end_wait_for_agent(m);
	return sp->failed ? -1 : 0;
}

int
span_begin(struct span *sp, double started)
{
	sessions_begin(sp->sessions);
	sp->started = started;
	return usage_begin(sp->usage, started) < 0 || sp->failed ? -1 : 0;
}

int
span_end(struct span *sp)
{
	sessions_end(sp->sessions);
	return sp->failed ? -1 : 0;
}

void
span_free(struct span *sp)
{
	if (!sp)
		return;
	sp->event = NULL;
	sessions_free(sp->sessions);
	usage_free(sp->usage);
	free(sp);
}
