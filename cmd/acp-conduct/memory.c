#include "memory.h"

#include <stdlib.h>
#include <utlist.h>

#include "calls.h"

/* Beyond this the least recently used session is forgotten. */
enum { SESSIONS = 1000, BYTES = 16 * 1024 * 1024 };

/* --- sessions --- */

static void
state_free(struct state *s)
{
	for (size_t i = 0; i < STATE_PARTS; i++)
		buf_free(&s->parts[i]);
}

static void
session_close(struct memory *m, struct session *s)
{
	DL_DELETE(m->sessions, s);
	m->n--;
	m->bytes -= s->bytes;
	buf_free(&s->id);
	buf_free(&s->params);
	state_free(&s->state);
	buf_free(&s->why);
	buf_free(&s->refusal);
	free(s);
}

static struct session *
find(const struct memory *m, struct slice id)
{
	struct session *s;

	if (id.p)
		DL_FOREACH(m->sessions, s)
			if (json_string_eq(buf_slice(&s->id), id))
				return s;
	return NULL;
}

/* NULL out of memory. */
static struct session *
session_new(struct memory *m, struct slice id)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s || buf_add_slice(&s->id, id) < 0) {
		free(s);
		return NULL;
	}
	DL_APPEND(m->sessions, s);
	m->n++;
	return s;
}

static void
keep_bounds(struct memory *m, struct session *s)
{
	size_t bytes = sizeof(*s) + s->id.cap + s->params.cap;

	for (size_t i = 0; i < STATE_PARTS; i++)
		bytes += s->state.parts[i].cap;
	m->bytes += bytes - s->bytes;
	s->bytes = bytes;
	while (m->n > SESSIONS || m->bytes > BYTES)
		session_close(m, m->sessions);
}

struct session *
memory_use_session(struct memory *m, enum acp_method what, struct slice id)
{
	struct session *s = find(m, id);

	if (!s)
		return NULL;
	DL_DELETE(m->sessions, s);
	DL_APPEND(m->sessions, s);
	/* What takes a session up, or ends it, is the agent's to respond to. */
	if (acp_opens_session(what) || what == ACP_SESSION_CLOSE || what == ACP_SESSION_DELETE)
		return NULL;
	return s->lost ? s : NULL;
}

/* --- what messages say --- */

static int
set(struct buf *to, struct slice value)
{
	to->n = 0;
	return value.p ? buf_add_slice(to, value) : 0;
}

struct slice
memory_get(struct slice object, const char *path, enum json_type type)
{
	struct slice value = json_type(object) == JSON_OBJECT ? json_path(object, path) : slice(NULL, 0);

	return value.p && json_type(value) == type ? value : slice(NULL, 0);
}

int
memory_read_state(struct slice result, enum state_part first, struct state *s)
{
	static const struct {
		const char *path;
		enum json_type type;
	} places[STATE_PARTS] = {{"modes.currentModeId", JSON_STRING}, {"models.currentModelId", JSON_STRING}, {"configOptions", JSON_ARRAY}};

	for (size_t i = first; i < STATE_PARTS; i++)
		if (set(&s->parts[i], memory_get(result, places[i].path, places[i].type)) < 0)
			return -1;
	return 0;
}

/* The params by which a session is taken up: those that opened it, with its own id. */
static int
make_params(struct buf *to, struct slice id, struct slice params)
{
	struct json_iter it = {.in = params};
	struct slice key, value;
	int r;

	to->n = 0;
	r = buf_printf(to, "{\"%s\":", acp_session_id) < 0 ? -1 : buf_add_slice(to, id);
	while (r == 0 && json_type(params) == JSON_OBJECT && json_next(&it, &key, &value)) {
		if (json_string_is(key, acp_session_id))
			continue;
		if (buf_add(to, ",", 1) < 0 || buf_add_slice(to, key) < 0 || buf_add(to, ":", 1) < 0 || buf_add_slice(to, value) < 0)
			r = -1;
	}
	return r < 0 ? -1 : buf_add(to, "}", 1);
}

static int
opened(struct memory *m, const struct call *c, struct slice result)
{
	struct slice id = memory_get(result, acp_session_id, JSON_STRING);
	struct session *s;
	int r;

	/* The result may lack the id of a session that the request has named. */
	if (!id.p && c->what != ACP_SESSION_NEW && c->what != ACP_SESSION_FORK)
		id = c->session;
	if (!id.p)
		return 0;
	s = find(m, id);
	if (!s)
		s = session_new(m, id);
	if (!s)
		return -1;
	s->lost = s->notified = false;
	s->restored = true;
	s->tries = 0;
	r = make_params(&s->params, id, c->params);
	if (memory_read_state(result, STATE_MODE, &s->state) < 0)
		r = -1;
	keep_bounds(m, s);
	return r;
}

static int
changed(struct memory *m, struct slice id, enum state_part part, struct slice value)
{
	struct session *s = value.p ? find(m, id) : NULL;
	int r;

	if (!s)
		return 0;
	r = set(&s->state.parts[part], value);
	keep_bounds(m, s);
	return r;
}

static bool
is_login(struct slice method)
{
	return json_string_is(method, "authenticate") || json_string_is(method, "auth/login");
}

static bool
sets_model(struct slice method)
{
	return json_string_is(method, "session/set_model");
}

static int
other(struct memory *m, const struct call *c)
{
	if (sets_model(c->method))
		return changed(m, c->session, STATE_MODEL, memory_get(c->params, "modelId", JSON_STRING));
	if (is_login(c->method))
		return set(&m->login, c->params) < 0 ? -1 : set(&m->login_method, c->method);
	if (json_string_is(c->method, "logout") || json_string_is(c->method, "auth/logout"))
		m->login_method.n = 0;
	return 0;
}

bool
memory_needs_params(const struct msg *m)
{
	return acp_opens_session(m->what) || m->what == ACP_SESSION_SET_MODE ||
		(m->what == ACP_OTHER && (sets_model(m->method) || is_login(m->method)));
}

int
memory_note_response(struct memory *m, const struct call *c, const struct msg *response)
{
	struct session *s;

	if (!response->result.p)
		return 0;
	if (acp_opens_session(c->what))
		return opened(m, c, response->result);
	switch (c->what) {
	case ACP_SESSION_SET_MODE:
		return changed(m, c->session, STATE_MODE, memory_get(c->params, "modeId", JSON_STRING));
	case ACP_SESSION_SET_CONFIG:
		return changed(m, c->session, STATE_OPTIONS, memory_get(response->result, "configOptions", JSON_ARRAY));
	case ACP_SESSION_CLOSE:
	case ACP_SESSION_DELETE:
		s = find(m, c->session);
		if (s)
			session_close(m, s);
		return 0;
	case ACP_OTHER:
		return other(m, c);
	default:
		return 0;
	}
}

int
memory_note_update(struct memory *m, const struct msg *update)
{
	enum acp_part part = acp_part_of_update(update->params);

	if (part == ACP_PART_MODE)
		return changed(m, msg_session(update), STATE_MODE, memory_get(update->params, "update.currentModeId", JSON_STRING));
	if (part == ACP_PART_CONFIG)
		return changed(m, msg_session(update), STATE_OPTIONS, memory_get(update->params, "update.configOptions", JSON_ARRAY));
	return 0;
}

void
memory_free(struct memory *m)
{
	while (m->sessions)
		session_close(m, m->sessions);
	buf_free(&m->login);
	buf_free(&m->login_method);
	buf_free(&m->how);
	state_free(&m->now);
}
