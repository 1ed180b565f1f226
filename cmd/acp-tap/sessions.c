#include "cmd/acp-tap/sessions.h"

#include <stdio.h>

#include "lib/json/json.h"

static struct session *
find(struct sessions *all, struct slice id)
{
	for (size_t i = 0; i < all->n; i++)
		if (slice_eq(buf_slice(&all->at[i].id), id))
			return &all->at[i];
	return NULL;
}

/* Other than ASCII does not go into a label. */
static void
copy_label(char *to, size_t size, struct slice from)
{
	size_t i;

	for (i = 0; i < size && i < from.n; i++)
		to[i] = from.p[i] > ' ' && from.p[i] < 0x7f ? from.p[i] : '?';
	to[i] = '\0';
}

static bool
is_used(const struct sessions *all, const char *label, size_t size)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(size == SESSION_LABEL ? all->at[i].label : all->at[i].brief, label) == 0)
			return true;
	return false;
}

/* The beginning of the id, or its end (ids made from the time begin alike), or the session's number. */
static void
make_label(const struct sessions *all, char *to, size_t size, struct slice id)
{
	copy_label(to, size, id);
	if (!is_used(all, to, size))
		return;
	if (id.n > size)
		copy_label(to, size, slice(id.p + id.n - size, size));
	if (is_used(all, to, size))
		snprintf(to, size + 1, "~%u", all->message % 1000);
}

static struct session *
add(struct sessions *all, struct slice id)
{
	struct slice inside = slice(id.p + 1, id.n - 2);
	struct session new = {.number = ++all->message}, *s;

	if (buf_add_slice(&new.id, id) < 0)
		return NULL;
	make_label(all, new.label, SESSION_LABEL, inside);
	make_label(all, new.brief, SESSION_SHORT, inside);
	if (all->n < SESSIONS_MOST) {
		s = &all->at[all->n++];
	} else {
		s = &all->at[all->oldest];
		all->oldest = (all->oldest + 1) % SESSIONS_MOST;
		buf_free(&s->id);
	}
	*s = new;
	return s;
}

/* In v2 an answer only says that the prompt was taken; the turn ends when the session is idle. */
static bool
ends_turn(const struct message *s)
{
	const struct msg *m = &s->msg;

	if (m->kind == MSG_RESPONSE && s->request && s->request->what == ACP_SESSION_PROMPT)
		return m->error.p || json_get(m->result, acp_stop_reason).p || !json_get(m->result, "messageId").p;
	return json_string_is(msg_update_kind(m), acp_state_update) && json_string_is(json_path(m->params, acp_update_state), acp_idle);
}

struct session *
sessions_note(struct sessions *all, const struct message *message, enum turn *turn)
{
	struct slice id = message_session(message);
	struct session *s;

	*turn = TURN_NONE;
	if (!id.p || id.n < 2)
		return NULL;
	s = find(all, id);
	if (!s)
		s = add(all, id);
	if (!s)
		return NULL;
	if (s->open)
		*turn = TURN_WITHIN;
	if (message->msg.kind == MSG_REQUEST && message->msg.what == ACP_SESSION_PROMPT) {
		s->open++;
		*turn = TURN_BEGIN;
	} else if (s->open && ends_turn(message)) {
		s->open--;
		*turn = TURN_END;
	}
	return s;
}

void
sessions_free(struct sessions *all)
{
	for (size_t i = 0; i < all->n; i++)
		buf_free(&all->at[i].id);
}
