/* Stores what a later process needs, from the responses and updates of the present one. */
#include <stdlib.h>
#include <utlist.h>

#include "revive.h"

/* Beyond either of these bounds the least recently used session is forgotten. */
enum { SESSIONS = 1000, BYTES = 16 * 1024 * 1024 };

static void
set(struct buf *to, struct slice value)
{
	to->n = 0;
	if (value.p)
		need(buf_add_slice(to, value));
}

struct slice
memory_get(struct slice object, const char *path, enum json_type type)
{
	struct slice value = json_path(object, path);

	return value.p && json_type(value) == type ? value : slice(NULL, 0);
}

/* --- sessions --- */

static struct revive_session *
find(const struct memory *m, struct slice id)
{
	struct revive_session *s;

	if (id.p)
		DL_FOREACH(m->sessions, s)
			if (json_string_eq(buf_slice(&s->id), id))
				return s;
	return NULL;
}

static void
forget(struct memory *m, struct revive_session *s)
{
	DL_DELETE(m->sessions, s);
	m->n--;
	m->bytes -= s->bytes;
	buf_free(&s->id);
	buf_free(&s->params);
	for (size_t i = 0; i < SETTINGS; i++)
		buf_free(&s->settings[i]);
	buf_free(&s->lost);
	buf_free(&s->refusal);
	free(s);
}

static void
keep_bounds(struct memory *m, struct revive_session *s)
{
	size_t bytes = sizeof(*s) + s->id.cap + s->params.cap;

	for (size_t i = 0; i < SETTINGS; i++)
		bytes += s->settings[i].cap;
	m->bytes += bytes - s->bytes;
	s->bytes = bytes;
	while (m->n > SESSIONS || m->bytes > BYTES)
		forget(m, m->sessions);
}

struct revive_session *
memory_use_session(struct memory *m, const struct msg *msg)
{
	struct revive_session *s = find(m, msg_session(msg));

	if (!s)
		return NULL;
	DL_DELETE(m->sessions, s);
	DL_APPEND(m->sessions, s);
	/* A request that opens a lost session again, or ends it, goes to the agent. */
	if (acp_opens_session(msg->what) || msg->what == ACP_SESSION_CLOSE || msg->what == ACP_SESSION_DELETE)
		return NULL;
	return s->lost.n ? s : NULL;
}

void
memory_read_settings(struct slice result, enum setting first, struct buf settings[SETTINGS])
{
	static const struct {
		const char *path;
		enum json_type type;
	} members[SETTINGS] = {{"modes.currentModeId", JSON_STRING}, {"models.currentModelId", JSON_STRING}, {"configOptions", JSON_ARRAY}};

	for (size_t i = first; i < SETTINGS; i++)
		set(&settings[i], memory_get(result, members[i].path, members[i].type));
}

/* The params that restore a session: those that opened it, with the session's id, and without a request for its history. */
static void
set_params(struct revive_session *s, struct slice params)
{
	struct json_iter it = {.in = params};
	struct slice key, value;

	s->params.n = 0;
	need(json_add_object(&s->params, (struct json_member[]){{acp_session_id, buf_slice(&s->id)}, {0}}));
	s->params.n--;
	while (json_type(params) == JSON_OBJECT && json_next(&it, &key, &value))
		if (!json_string_is(key, acp_session_id) && !json_string_is(key, "replayFrom"))
			need(json_format(&s->params, ",%b:%b", key, value));
	need(buf_add(&s->params, "}", 1));
}

static void
note_opened(struct memory *m, const struct request *request, struct slice params, struct slice result)
{
	struct slice id = json_get_string(result, acp_session_id);
	struct revive_session *s;

	/* The result of a request that names a session may lack the id. */
	if (!id.p && request->what != ACP_SESSION_NEW && request->what != ACP_SESSION_FORK)
		id = request->session;
	if (!id.p)
		return;
	s = find(m, id);
	if (!s) {
		s = calloc(1, sizeof(*s));
		need(s ? buf_add_slice(&s->id, id) : -1);
		DL_APPEND(m->sessions, s);
		m->n++;
	}
	s->lost.n = 0;
	s->notified = s->running = false;
	s->restored = true;
	s->tries = 0;
	set_params(s, params);
	memory_read_settings(result, SETTING_MODE, s->settings);
	keep_bounds(m, s);
}

static void
note_setting(struct memory *m, struct slice id, enum setting which, struct slice value)
{
	struct revive_session *s = value.p ? find(m, id) : NULL;

	if (!s)
		return;
	set(&s->settings[which], value);
	keep_bounds(m, s);
}

/* --- messages --- */

static const char set_model[] = "session/set_model";
static const char *const logins[] = {"authenticate", "auth/login", NULL}, *const logouts[] = {"logout", "auth/logout", NULL};

struct slice
memory_params(const struct msg *m)
{
	return acp_opens_session(m->what) || m->what == ACP_SESSION_SET_MODE || m->what == ACP_INITIALIZE ||
			(m->what == ACP_OTHER && (json_string_is(m->method, set_model) || json_string_in(m->method, logins)))
		? m->params : slice(NULL, 0);
}

static void
note_initialized(struct memory *m, struct slice params, struct slice result)
{
	uint64_t version;

	m->version2 = json_u64(json_get(result, acp_protocol_version), &version) && version == 2;
	/* In version 2 an agent with sessions has session/resume. */
	m->resumes = memory_get(result, m->version2 ? "capabilities.session" : "agentCapabilities.sessionCapabilities.resume", JSON_OBJECT).p;
	m->loads = memory_get(result, "agentCapabilities.loadSession", JSON_TRUE).p;
	m->notices = memory_get(params, "clientCapabilities.session.notices", JSON_OBJECT).p ||
		memory_get(params, "capabilities.session.notices", JSON_OBJECT).p;
	set(&m->initialize, params);
}

void
memory_note_response(struct memory *m, const struct request *request, struct slice params, const struct msg *response)
{
	struct revive_session *s = find(m, request->session);

	if (!response->result.p)
		return;
	if (acp_opens_session(request->what)) {
		note_opened(m, request, params, response->result);
	} else if (request->what == ACP_INITIALIZE) {
		note_initialized(m, params, response->result);
	} else if (request->what == ACP_SESSION_PROMPT && s) {
		s->running = m->version2;
	} else if (request->what == ACP_SESSION_SET_MODE) {
		note_setting(m, request->session, SETTING_MODE, json_get_string(params, "modeId"));
	} else if (request->what == ACP_SESSION_SET_CONFIG) {
		note_setting(m, request->session, SETTING_OPTIONS, memory_get(response->result, "configOptions", JSON_ARRAY));
	} else if ((request->what == ACP_SESSION_CLOSE || request->what == ACP_SESSION_DELETE) && s) {
		forget(m, s);
	} else if (json_string_is(request->method, set_model)) {
		note_setting(m, request->session, SETTING_MODEL, json_get_string(params, "modelId"));
	} else if (json_string_in(request->method, logins)) {
		set(&m->login, params);
		set(&m->login_method, request->method);
	} else if (json_string_in(request->method, logouts)) {
		m->login_method.n = 0;
	}
}

void
memory_note_update(struct memory *m, const struct msg *update)
{
	enum acp_part part = acp_part_of_update(update->params);
	struct slice id = msg_session(update), state;
	struct revive_session *s;

	if (part == ACP_PART_MODE) {
		note_setting(m, id, SETTING_MODE, memory_get(update->params, "update.currentModeId", JSON_STRING));
	} else if (part == ACP_PART_CONFIG) {
		note_setting(m, id, SETTING_OPTIONS, memory_get(update->params, "update.configOptions", JSON_ARRAY));
	} else if (part == ACP_PART_STATE && m->version2 && (s = find(m, id))) {
		state = memory_get(update->params, acp_update_state, JSON_STRING);
		s->running = state.p && !json_string_is(state, acp_idle);
	}
}

void
memory_free(struct memory *m)
{
	while (m->sessions)
		forget(m, m->sessions);
	buf_free(&m->initialize);
	buf_free(&m->login);
	buf_free(&m->login_method);
}
