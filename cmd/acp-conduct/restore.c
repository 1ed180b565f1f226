#include "restore.h"

#include <stdlib.h>
#include <utlist.h>

#include "chain.h"
#include "memory.h"

enum {
	TRIES = 2, /* so many processes may die of the restoration of one session */
	SHOWN = 200,
};

static void
out_of_memory(struct port *p, int r)
{
	if (r < 0)
		route_no_memory(p->route);
}

/* --- sessions that cannot be restored --- */

static void
lose(struct port *p, struct session *s, const char *why, struct slice error)
{
	s->lost = true;
	s->why.n = s->refusal.n = 0;
	if (buf_printf(&s->why, "This session was lost when the agent ended: %s. Please start a new session.", why) < 0 || !buf_string(&s->why) ||
		(error.p && buf_add_slice(&s->refusal, error) < 0))
		route_no_memory(p->route);
	report_line(p->route->report, "%s: session %.*s could not be restored: %s%s%.*s", p->name, (int)(s->id.n < SHOWN ? s->id.n : SHOWN),
		s->id.p, why, error.p ? ": " : "", (int)(error.n < SHOWN ? error.n : SHOWN), error.p ? error.p : "");
}

/* Requests that wait for such a session are refused. */
static void
refuse_lost(struct port *p)
{
	struct call *next;
	struct session *s;

	for (struct call *c = p->calls; c; c = next) {
		next = c->next_open;
		s = memory_use_session(p->memory, c->what, c->session);
		if (s)
			route_fail_call(c, ACP_ERR_NOT_FOUND, s->why.p, buf_slice(&s->refusal));
	}
}

/* --- the notice for the client --- */

static bool
wants_notices(const struct port *p)
{
	struct msg m;

	return msg_scan(buf_slice(&p->init), &m, NULL) == MSG_REQUEST && m.params.p &&
		(memory_get(m.params, "clientCapabilities.session.notices", JSON_OBJECT).p ||
			memory_get(m.params, "capabilities.session.notices", JSON_OBJECT).p);
}

static int
make_notice(const struct memory *m, const struct session *s, struct buf *params)
{
	SCOPED struct buf text = {0};
	int r = buf_printf(&text, "The agent ended unexpectedly (%.*s) and was restarted. %s", (int)m->how.n, m->how.p,
		s->lost ? s->why.p : "This session continues; requests that were in progress have failed.");

	if (r == 0)
		r = buf_printf(params, "{\"%s\":%.*s,\"%s\":{\"%s\":\"notice\",\"severity\":\"%s\",\"title\":", acp_session_id, (int)s->id.n,
			s->id.p, acp_update, acp_update_kind, s->lost ? "error" : "warning");
	if (r == 0)
		r = json_quote(buf_slice(&text), params) < 0 ? -1 : buf_add_string(params, "}}");
	return r;
}

/* As if the agent had sent it. */
static void
send_notice(struct port *p, struct session *s)
{
	SCOPED struct buf params = {0}, text = {0};
	struct line line = {0};
	int r = make_notice(p->memory, s, &params);

	s->notified = s->lost;
	if (r == 0)
		r = msg_make_notification(&text, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params));
	line.text = buf_slice(&text);
	if (r == 0)
		route_line(p, INPUT_LINE, &line);
	out_of_memory(p, r);
}

static void
finish(struct port *p)
{
	struct memory *m = p->memory;
	struct session *s;

	loop_remove_timer(p->route->loop, &p->component->timer);
	p->state = PORT_READY;
	if (wants_notices(p))
		DL_FOREACH(m->sessions, s)
			if (!s->notified)
				send_notice(p, s);
	refuse_lost(p);
	out_of_memory(p, port_go_live(p));
}

/* --- the state of a session --- */

static void
ask(struct port *p, const char *method, struct slice params)
{
	out_of_memory(p, route_ask(p, method, params));
	/* Each response may take as long as an initialization. */
	loop_add_timer(p->route->loop, &p->component->timer, p->route->init_timeout);
}

static void
ask_to_set(struct port *p, const char *method, const char *member, struct slice value)
{
	SCOPED struct buf params = {0};
	struct slice id = buf_slice(&p->memory->at->id);

	out_of_memory(p, buf_printf(&params, "{\"%s\":%.*s,\"%s\":%.*s}", acp_session_id, (int)id.n, id.p, member, (int)value.n, value.p));
	ask(p, method, buf_slice(&params));
}

/* The current value of an option: a string or a boolean; else p NULL. */
static struct slice
current_value(struct slice option)
{
	struct slice value = json_type(option) == JSON_OBJECT ? json_get(option, "currentValue") : slice(NULL, 0);
	enum json_type type = value.p ? json_type(value) : JSON_NONE;

	return type == JSON_STRING || type == JSON_TRUE || type == JSON_FALSE ? value : slice(NULL, 0);
}

static bool
same_value(struct slice a, struct slice b)
{
	return slice_eq(a, b) || (json_type(a) == JSON_STRING && json_type(b) == JSON_STRING && json_string_eq(a, b));
}

/* Has the new process this option, with another value? */
static bool
differs(struct slice options, struct slice id, struct slice value)
{
	struct json_iter it = {.in = options};
	struct slice key, option, now;

	while (options.n && json_next(&it, &key, &option)) {
		if (json_type(option) != JSON_OBJECT || !json_string_eq(memory_get(option, "id", JSON_STRING), id))
			continue;
		now = current_value(option);
		return now.p && !same_value(now, value);
	}
	return false;
}

static void
ask_to_set_option(struct port *p, struct slice id, struct slice value)
{
	struct slice session = buf_slice(&p->memory->at->id);
	SCOPED struct buf params = {0};

	out_of_memory(p, buf_printf(&params, "{\"%s\":%.*s,\"configId\":%.*s,%s\"value\":%.*s}", acp_session_id, (int)session.n, session.p,
		(int)id.n, id.p, json_type(value) == JSON_STRING ? "" : "\"type\":\"boolean\",", (int)value.n, value.p));
	ask(p, acp_name(ACP_SESSION_SET_CONFIG, ACP_PLAIN), buf_slice(&params));
}

/* Asks for the next option that differs, since one may depend on another. False: there is none. */
static bool
set_next_option(struct port *p)
{
	struct memory *m = p->memory;
	struct json_iter it = {.in = buf_slice(&m->at->state.parts[STATE_OPTIONS])};
	struct slice key, option, id, value;

	for (size_t i = STATE_OPTIONS; it.in.n && json_next(&it, &key, &option); i++) {
		value = current_value(option);
		id = value.p ? memory_get(option, "id", JSON_STRING) : value;
		if (i < m->step || !id.p || !differs(buf_slice(&m->now.parts[STATE_OPTIONS]), id, value))
			continue;
		m->step = i + 1;
		ask_to_set_option(p, id, value);
		return true;
	}
	return false;
}

/* The first steps are the mode and the model; then come the options. */
static bool
set_next(struct port *p)
{
	static const struct {
		const char *method, *member;
	} steps[] = {[STATE_MODE] = {"session/set_mode", "modeId"}, [STATE_MODEL] = {"session/set_model", "modelId"}};
	struct memory *m = p->memory;
	struct slice was, now;
	size_t step;

	while (m->step < STATE_OPTIONS) {
		step = m->step++;
		was = buf_slice(&m->at->state.parts[step]);
		now = buf_slice(&m->now.parts[step]);
		if (was.n && !same_value(was, now)) {
			ask_to_set(p, steps[step].method, steps[step].member, was);
			return true;
		}
	}
	return set_next_option(p);
}

/* --- one session after the other --- */

static struct session *
next_session(struct port *p)
{
	struct memory *m = p->memory;
	struct session *s;

	DL_FOREACH(m->sessions, s) {
		if (s->restored || s->lost)
			continue;
		if (!m->resumes && !m->loads)
			lose(p, s, "the agent can neither resume nor load sessions", slice(NULL, 0));
		else if (s->tries >= TRIES)
			lose(p, s, "the agent died again while it was restoring the session", slice(NULL, 0));
		else
			return s;
	}
	return NULL;
}

static void
restore_next(struct port *p)
{
	struct memory *m = p->memory;

	m->at = next_session(p);
	if (!m->at) {
		finish(p);
		return;
	}
	m->at->tries++;
	m->step = 0;
	ask(p, acp_name(m->resumes ? ACP_SESSION_RESUME : ACP_SESSION_LOAD, ACP_PLAIN), buf_slice(&m->at->params));
}

static void
log_in(struct port *p)
{
	struct memory *m = p->memory;
	SCOPED struct buf method = {0};

	m->logging_in = m->login_method.n > 0;
	if (!m->logging_in) {
		restore_next(p);
		return;
	}
	if (json_unescape(buf_slice(&m->login_method), &method) == 0 && buf_string(&method))
		ask(p, method.p, m->login.n ? buf_slice(&m->login) : slice(NULL, 0));
	else
		route_no_memory(p->route);
}

size_t
restore_prepare(struct port *p, const char *how)
{
	struct memory *m = p->memory;
	struct session *s;
	size_t n = 0;

	m->how.n = 0;
	out_of_memory(p, buf_add_string(&m->how, how));
	m->at = NULL;
	m->logging_in = false;
	DL_FOREACH(m->sessions, s) {
		s->restored = false;
		n += !s->lost;
	}
	return n;
}

void
restore_begin(struct port *p, const struct msg *m)
{
	struct memory *to = p->memory;

	to->resumes = memory_get(m->result, "agentCapabilities.sessionCapabilities.resume", JSON_OBJECT).p ||
		memory_get(m->result, "capabilities.session.resume", JSON_OBJECT).p;
	to->loads = memory_get(m->result, "agentCapabilities.loadSession", JSON_TRUE).p;
	log_in(p);
}

void
restore_response(struct port *p, const struct msg *m)
{
	struct memory *to = p->memory;
	struct session *s = to->at;

	if (to->logging_in) {
		to->logging_in = false;
		if (m->error.p)
			report_line(p->route->report, "%s: authentication failed after the restart: %.*s", p->name,
				(int)(m->error.n < SHOWN ? m->error.n : SHOWN), m->error.p);
		restore_next(p);
		return;
	}
	if (!s)
		return;
	if (m->error.p) {
		lose(p, s, to->step == 0 ? "the agent refused to restore the session" : "the agent refused the mode, the model or an option of the session", m->error);
	} else if (to->step == 0) {
		out_of_memory(p, memory_read_state(m->result, STATE_MODE, &to->now));
	} else if (memory_get(m->result, "configOptions", JSON_ARRAY).p) {
		out_of_memory(p, memory_read_state(m->result, STATE_OPTIONS, &to->now));
	}
	if (!m->error.p && set_next(p))
		return;
	s->restored = !s->lost;
	s->tries = 0;
	restore_next(p);
}
