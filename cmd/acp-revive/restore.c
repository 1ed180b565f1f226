#include "memory.h"

#include <utlist.h>

#include "lib/base/cli.h"
#include "revive.h"

/* How many processes may die of the restoration of one session. */
enum { TRIES = 2 };

static int
ask(struct restore *r, enum acp_method method, struct slice params)
{
	return r->ask(r->arg, acp_name(method, ACP_PLAIN), params);
}

/* The session cannot be restored. error: the agent's, or p NULL. */
static int
lose(struct revive_session *s, const char *why, struct slice error)
{
	s->lost.n = s->refusal.n = 0;
	cli_warn(revive_name, "session %.*s could not be restored: %s%s%.*s", (int)slice_cut(buf_slice(&s->id), SHOWN).n, s->id.p, why,
		error.p ? ": " : "", (int)slice_cut(error, SHOWN).n, error.p ? error.p : "");
	return buf_printf(&s->lost, "This session was lost when the agent ended: %s. Please start a new session.", why) < 0 ||
			!buf_string(&s->lost) || (error.p && buf_add_slice(&s->refusal, error) < 0)
		? -1 : 0;
}

static int
restore_next(struct restore *r)
{
	struct memory *m = r->memory;
	struct revive_session *s;

	DL_FOREACH(m->sessions, s) {
		if (s->restored || s->lost.n)
			continue;
		if (m->resumes || m->loads) {
			if (s->tries < TRIES)
				break;
			if (lose(s, "the agent died again while it was restoring the session", slice(NULL, 0)) < 0)
				return -1;
		} else if (lose(s, "the agent can neither resume nor load sessions", slice(NULL, 0)) < 0) {
			return -1;
		}
	}
	r->session = s;
	r->step = s ? RESTORE_OPEN : RESTORE_DONE;
	if (!s)
		return 0;
	s->tries++;
	return ask(r, m->resumes ? ACP_SESSION_RESUME : ACP_SESSION_LOAD, buf_slice(&s->params));
}

/* --- settings --- */

/* The current value of an option: a string or a boolean; else p NULL. */
static struct slice
current_value(struct slice option)
{
	struct slice value = json_get(option, "currentValue");
	enum json_type type = value.p ? json_type(value) : JSON_NONE;

	return type == JSON_STRING || type == JSON_TRUE || type == JSON_FALSE ? value : slice(NULL, 0);
}

/* Version 1 calls it id, version 2 configId. */
static struct slice
option_id(struct slice option)
{
	struct slice id = memory_get(option, "configId", JSON_STRING);

	return id.p ? id : memory_get(option, "id", JSON_STRING);
}

static bool
same_value(struct slice a, struct slice b)
{
	return slice_eq(a, b) || json_string_eq(a, b);
}

/* Has the new process this option, with another value? */
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

/* Asks for the next setting that differs; one option may depend on another. Then for the next session. */
static int
set_next(struct restore *r)
{
	static const struct {
		const char *method, *member;
	} simple[] = {[SETTING_MODE] = {"session/set_mode", "modeId"}, [SETTING_MODEL] = {"session/set_model", "modelId"}};
	struct revive_session *s = r->session;
	struct slice id = buf_slice(&s->id), key, option, name, value, was, now;
	struct json_iter it = {.in = buf_slice(&s->settings[SETTING_OPTIONS])};
	SCOPED struct buf params = {0};
	const char *type;

	r->step = RESTORE_SET;
	while (r->set < SETTING_OPTIONS) {
		was = buf_slice(&s->settings[r->set]);
		now = buf_slice(&r->settings[r->set++]);
		if (was.n && !same_value(was, now))
			return buf_printf(&params, "{\"%s\":%.*s,\"%s\":%.*s}", acp_session_id, (int)id.n, id.p, simple[r->set - 1].member,
				       (int)was.n, was.p) < 0
				? -1 : r->ask(r->arg, simple[r->set - 1].method, buf_slice(&params));
	}
	for (size_t i = SETTING_OPTIONS; it.in.n && json_next(&it, &key, &option); i++) {
		value = current_value(option);
		name = value.p ? option_id(option) : value;
		if (i < r->set || !name.p || !differs(buf_slice(&r->settings[SETTING_OPTIONS]), name, value))
			continue;
		r->set = i + 1;
		type = json_type(value) != JSON_STRING ? "\"type\":\"boolean\"," : r->memory->version2 ? "\"type\":\"id\"," : "";
		return buf_printf(&params, "{\"%s\":%.*s,\"configId\":%.*s,%s\"value\":%.*s}", acp_session_id, (int)id.n, id.p, (int)name.n,
			       name.p, type, (int)value.n, value.p) < 0
			? -1 : ask(r, ACP_SESSION_SET_CONFIG, buf_slice(&params));
	}
	s->restored = true;
	s->tries = 0;
	return restore_next(r);
}

/* --- the steps --- */

ssize_t
restore_begin(struct restore *r)
{
	struct revive_session *s;
	ssize_t n = 0;

	r->session = NULL;
	r->step = RESTORE_INITIALIZE;
	DL_FOREACH(r->memory->sessions, s) {
		s->restored = false;
		n += !s->lost.n;
	}
	return ask(r, ACP_INITIALIZE, buf_slice(&r->memory->initialize)) < 0 ? -1 : n;
}

int
restore_response(struct restore *r, const struct msg *m)
{
	struct revive_session *s = r->session;
	SCOPED struct buf method = {0};

	switch (r->step) {
	case RESTORE_INITIALIZE:
		if (m->error.p)
			return 1;
		r->step = RESTORE_LOGIN;
		if (!r->memory->login_method.n)
			return restore_next(r);
		return json_unescape(buf_slice(&r->memory->login_method), &method) < 0 || !buf_string(&method)
			? -1 : r->ask(r->arg, method.p, buf_slice(&r->memory->login));
	case RESTORE_LOGIN:
		if (m->error.p)
			cli_warn(revive_name, "authentication failed after the restart: %.*s", (int)slice_cut(m->error, SHOWN).n, m->error.p);
		return restore_next(r);
	case RESTORE_OPEN:
		r->set = 0;
		if (m->error.p)
			return lose(s, "the agent refused to restore the session", m->error) < 0 ? -1 : restore_next(r);
		return memory_read_settings(m->result, SETTING_MODE, r->settings) < 0 ? -1 : set_next(r);
	case RESTORE_SET:
		if (m->error.p)
			return lose(s, "the agent refused the mode, the model or an option of the session", m->error) < 0 ? -1 : restore_next(r);
		if (memory_get(m->result, "configOptions", JSON_ARRAY).p &&
			memory_read_settings(m->result, SETTING_OPTIONS, r->settings) < 0)
			return -1;
		return set_next(r);
	case RESTORE_DONE:
		break;
	}
	return 0;
}

void
restore_free(struct restore *r)
{
	for (size_t i = 0; i < SETTINGS; i++)
		buf_free(&r->settings[i]);
}
