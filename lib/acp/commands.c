#include "lib/acp/commands.h"

#define HASH_NONFATAL_OOM 1
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct commands {
	UT_hash_handle hh;
	struct buf list; /* the array in the last update */
	char session[];  /* the session's id, plain text */
};

static struct commands *
find(struct commands *all, struct slice session)
{
	struct commands *c = NULL;
	SCOPED struct buf room = {0};
	struct slice id = json_text(session, &room);

	if (id.p)
		HASH_FIND(hh, all, id.p, id.n, c);
	return c;
}

static struct commands *
add(struct commands **all, struct slice session)
{
	SCOPED struct buf room = {0};
	struct slice id = json_text(session, &room);
	struct commands *c = id.p ? calloc(1, sizeof(*c) + id.n) : NULL;

	if (c) {
		memcpy(c->session, id.p, id.n);
		HASH_ADD_KEYPTR(hh, *all, c->session, id.n, c);
	}
	if (!c || c->hh.tbl)
		return c;
	free(c);
	return NULL;
}

int
commands_see(struct commands **all, const struct msg *m)
{
	struct slice session = msg_session(m), kind = msg_update_kind(m), list;
	struct commands *c;

	c = m->kind == MSG_REQUEST && (m->what == ACP_SESSION_CLOSE || m->what == ACP_SESSION_DELETE) ? find(*all, session) : NULL;
	if (c) {
		HASH_DEL(*all, c);
		buf_free(&c->list);
		free(c);
	}
	if (!kind.p || !json_string_is(kind, "available_commands_update") || json_type(session) != JSON_STRING)
		return 0;
	c = find(*all, session);
	if (!c && !(c = add(all, session)))
		return -1;
	c->list.n = 0;
	list = json_get(json_get(m->params, acp_update), acp_commands);
	return list.p ? buf_add_slice(&c->list, list) : 0;
}

bool
commands_has(const struct commands *all, struct slice session, const char *text)
{
	const struct commands *c = text[0] == '/' ? find((struct commands *)all, session) : NULL;
	struct json_iter it = {.in = c ? buf_slice(&c->list) : slice(NULL, 0)};
	SCOPED struct buf command = {0};
	struct slice key, one;

	if (!c || buf_add(&command, text + 1, strcspn(text + 1, " \t\r\n")) < 0 || !buf_string(&command))
		return false;
	while (json_next(&it, &key, &one))
		if (json_string_is(json_get(one, "name"), command.p))
			return true;
	return false;
}

bool
commands_prompt(const struct commands *all, const struct msg *prompt)
{
	struct slice text = acp_prompt_text(prompt->params);
	SCOPED struct buf plain = {0};

	return all && text.p && json_unescape(text, &plain) == 0 && buf_string(&plain)
		&& commands_has(all, msg_session(prompt), plain.p);
}

void
commands_free(struct commands *all)
{
	struct commands *c = all, *next;

	HASH_CLEAR(hh, all);
	for (; c; c = next) {
		next = c->hh.next;
		buf_free(&c->list);
		free(c);
	}
}
