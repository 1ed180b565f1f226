/*
 * Gives a new process of the agent the sessions of the last one: initialize, authenticate, and then for one session after the other
 * session/resume if the agent has it, else session/load; then the mode, the model and the options that differ.
 */
#include <signal.h>
#include <utlist.h>

#include "revive.h"

/* How many processes may die while they restore the same session. */
enum { TRIES = 2 };

void
restore_put_id(struct revive *r, struct buf *to)
{
	need(json_format(to, "\"acp-revive-%u-%u\"", r->deaths.processes, ++r->asked));
}

static void
ask(struct revive *r, const char *method, struct slice params)
{
	struct buf *id = &r->restore.id;
	SCOPED struct buf line = {0};

	id->n = 0;
	if (!r->end.begun)
		loop_add_timer(r->loop, &r->timer, r->options->init_timeout);
	restore_put_id(r, id);
	need(msg_make_request(&line, buf_slice(id), method, params));
	need(endpoint_put_line(&r->agent.pipes, NULL, buf_slice(&line), false));
}

/* --- one session after the other --- */

/* Notes that the session cannot be restored. error: the agent's, or p NULL. */
static void
lose(struct revive *r, struct revive_session *s, const char *why, struct slice error)
{
	s->lost.n = s->refusal.n = 0;
	report_line(&r->report, "session %.*s could not be restored: %s%s%.*s", (int)slice_cut(buf_slice(&s->id), REVIVE_SHOWN).n, s->id.p, why,
		error.p ? ": " : "", (int)slice_cut(error, REVIVE_SHOWN).n, error.p ? error.p : "");
	need(buf_printf(&s->lost, "This session was lost when the agent ended: %s. Please start a new session.", why));
	need(!buf_string(&s->lost) || (error.p && buf_add_slice(&s->refusal, error) < 0) ? -1 : 0);
}

static void
restore_next(struct revive *r)
{
	static const struct slice none = {NULL, 0};
	struct memory *m = &r->memory;
	struct revive_session *s;

	DL_FOREACH(m->sessions, s) {
		if (s->restored || s->lost.n)
			continue;
		if (!m->resumes && !m->loads)
			lose(r, s, "the agent can neither resume nor load sessions", none);
		else if (s->tries == TRIES)
			lose(r, s, "the agent died again while it was restoring the session", none);
		else
			break;
	}
	r->restore.step = s ? RESTORE_OPEN : RESTORE_DONE;
	r->restore.session = s;
	if (!s)
		return;
	s->tries++;
	ask(r, acp_name(m->resumes ? ACP_SESSION_RESUME : ACP_SESSION_LOAD, ACP_PLAIN), buf_slice(&s->params));
}

/* --- settings --- */

/* The current value of an option: a string or a boolean; else p NULL. */
static struct slice
current_value(struct slice option)
{
	struct slice value = json_get(option, "currentValue");
	enum json_type type = json_type(value);

	return type == JSON_STRING || type == JSON_TRUE || type == JSON_FALSE ? value : slice(NULL, 0);
}

/* The id of an option, which version 1 calls id, and version 2 configId. */
static struct slice
option_id(struct slice option)
{
	struct slice id = json_get_string(option, "configId");

	return id.p ? id : json_get_string(option, "id");
}

static bool
same_value(struct slice a, struct slice b)
{
	return slice_eq(a, b) || json_string_eq(a, b);
}

/* Does the new process have this option, with another value? */
static bool
differs(struct slice options, struct slice id, struct slice value)
{
	struct json_iter it = {.in = options};
	struct slice key, option, now;

	while (options.n && json_next(&it, &key, &option)) {
		if (!json_string_eq(option_id(option), id))
			continue;
		now = current_value(option);
		return now.p && !same_value(now, value);
	}
	return false;
}

static void
ask_for(struct revive *r, const char *method, const struct json_member *members)
{
	SCOPED struct buf params = {0};

	need(json_add_object(&params, members));
	ask(r, method, buf_slice(&params));
}

/* Sends a request for the next setting that differs (one option may depend on another), or after the last for the next session. */
static void
set_next(struct revive *r)
{
	static const struct {
		const char *method, *member;
	} simple[] = {[SETTING_MODE] = {"session/set_mode", "modeId"}, [SETTING_MODEL] = {"session/set_model", "modelId"}};
	struct restore *to = &r->restore;
	struct revive_session *s = to->session;
	struct slice id = buf_slice(&s->id), key, option, name, value, type = {NULL, 0};
	struct json_iter it = {.in = buf_slice(&s->settings[SETTING_OPTIONS])};
	size_t i;

	to->step = RESTORE_SET;
	while (to->set < SETTING_OPTIONS) {
		i = to->set++;
		value = buf_slice(&s->settings[i]);
		if (!value.n || same_value(value, buf_slice(&to->settings[i])))
			continue;
		ask_for(r, simple[i].method, (struct json_member[]){{acp_session_id, id}, {simple[i].member, value}, {0}});
		return;
	}
	for (i = SETTING_OPTIONS; it.in.n && json_next(&it, &key, &option); i++) {
		value = current_value(option);
		name = option_id(option);
		if (i < to->set || !value.p || !name.p || !differs(buf_slice(&to->settings[SETTING_OPTIONS]), name, value))
			continue;
		to->set = i + 1;
		if (json_type(value) != JSON_STRING)
			type = slice_of("\"boolean\"");
		else if (r->memory.version2)
			type = slice_of("\"id\"");
		ask_for(r, acp_name(ACP_SESSION_SET_CONFIG, ACP_PLAIN),
			(struct json_member[]){{acp_session_id, id}, {"configId", name}, {"type", type}, {"value", value}, {0}});
		return;
	}
	s->restored = true;
	s->tries = 0;
	restore_next(r);
}

/* --- the steps --- */

size_t
restore_begin(struct revive *r)
{
	struct revive_session *s;
	size_t n = 0;

	r->restore.session = NULL;
	r->restore.step = RESTORE_INITIALIZE;
	DL_FOREACH(r->memory.sessions, s) {
		s->restored = false;
		n += !s->lost.n;
	}
	ask(r, acp_name(ACP_INITIALIZE, ACP_PLAIN), buf_slice(&r->memory.initialize));
	return n;
}

bool
restore_response(struct revive *r, const struct msg *m)
{
	struct restore *to = &r->restore;
	SCOPED struct buf method = {0};

	to->id.n = 0;
	if (to->step == RESTORE_INITIALIZE && m->error.p) {
		report_line(&r->report, "the agent refused to initialize again: %.*s", (int)slice_cut(m->error, REVIVE_SHOWN).n, m->error.p);
		agent_kill(&r->agent, SIGKILL, "refused to initialize");
	} else if (to->step == RESTORE_INITIALIZE && r->memory.login_method.n) {
		to->step = RESTORE_LOGIN;
		need(json_unescape(buf_slice(&r->memory.login_method), &method) < 0 || !buf_string(&method) ? -1 : 0);
		ask(r, method.p, buf_slice(&r->memory.login));
	} else if (to->step <= RESTORE_LOGIN) {
		if (m->error.p)
			report_line(&r->report, "authentication failed after the restart: %.*s", (int)slice_cut(m->error, REVIVE_SHOWN).n, m->error.p);
		restore_next(r);
	} else if (m->error.p) {
		lose(r, to->session, to->step == RESTORE_OPEN ? "the agent refused to restore the session"
			: "the agent refused the mode, the model or an option of the session", m->error);
		restore_next(r);
	} else if (to->step == RESTORE_OPEN) {
		to->set = 0;
		memory_read_settings(m->result, SETTING_MODE, to->settings);
		set_next(r);
	} else {
		if (memory_get(m->result, "configOptions", JSON_ARRAY).p)
			memory_read_settings(m->result, SETTING_OPTIONS, to->settings);
		set_next(r);
	}
	return to->step == RESTORE_DONE;
}

void
restore_free(struct restore *to)
{
	for (size_t i = 0; i < SETTINGS; i++)
		buf_free(&to->settings[i]);
	buf_free(&to->id);
}
