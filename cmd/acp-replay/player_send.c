/* What the player sends: recorded bytes, with the live side's ids in place of recorded ones. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

struct session {
	UT_hash_handle hh;
	char *live;     /* a JSON string with its quotes */
	size_t nlive;
	char recorded[]; /* unescaped, and the live one behind it */
};

static struct session *
find_session(const struct player *p, struct slice recorded)
{
	struct session *s = NULL;
	struct buf key = {0};

	if (p->sessions && json_unescape(recorded, &key) == 0)
		HASH_FIND(hh, p->sessions, key.p, key.n, s);
	buf_free(&key);
	return s;
}

void
player_forget_sessions(struct player *p)
{
	struct session *s, *next;

	HASH_ITER(hh, p->sessions, s, next) {
		HASH_DEL(p->sessions, s);
		free(s);
	}
}

int
player_learn(struct player *p, const struct request *r, const struct msg *recorded, const struct kept *live)
{
	struct slice id = msg_session(recorded);
	struct buf key = {0};
	struct session *s;

	switch (r->what) {
	case ACP_SESSION_NEW:
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
	case ACP_SESSION_FORK:
		break;
	default:
		return 0;
	}
	if (p->us != ACP_CLIENT || !id.p || !live->session.p)
		return 0;
	s = find_session(p, id);
	if (s) {
		HASH_DEL(p->sessions, s);
		free(s);
	}
	if (json_unescape(id, &key) < 0)
		return -1;
	s = calloc(1, sizeof(*s) + key.n + live->session.n);
	if (s) {
		memcpy(s->recorded, key.p, key.n);
		s->live = s->recorded + key.n;
		s->nlive = live->session.n;
		memcpy(s->live, live->session.p, live->session.n);
		HASH_ADD_KEYPTR(hh, p->sessions, s->recorded, key.n, s);
		if (!s->hh.tbl) {
			free(s);
			s = NULL;
		}
	}
	buf_free(&key);
	return s ? 0 : -1;
}

/* Queues text from *at to the value, and what stands for it; moves *at behind it. */
static int
put_replaced(struct player *p, const char **at, struct slice value, struct slice with)
{
	if (output_copy(p->out, slice_between(*at, value.p)) < 0 || output_copy(p->out, with) < 0)
		return -1;
	*at = value.p + value.n;
	return 0;
}

static int
put_rest(struct player *p, const char *at, struct slice text)
{
	if (output_copy(p->out, slice_between(at, text.p + text.n)) < 0)
		return -1;
	return output_copy(p->out, slice("\n", 1));
}

/* A request's or notification's session, where the live one has another id. */
static int
put_session(struct player *p, const char **at, const struct msg *m)
{
	struct slice id = p->sessions ? msg_session(m) : slice(NULL, 0);
	struct session *s = id.p ? find_session(p, id) : NULL;

	return s ? put_replaced(p, at, id, slice(s->live, s->nlive)) : 0;
}

static int
put_request(struct player *p, const char **at, const struct msg *m)
{
	if (!requests_open(p->ours, p->us, 0, m))
		return -1;
	p->unanswered++;
	return put_session(p, at, m);
}

static int
put_response(struct player *p, const char **at, const struct msg *m)
{
	struct request *r = requests_find(p->theirs, p->them, m->id);
	struct kept *live;
	int failed = 0;

	/* An answer to nothing, such as an error with a null id, goes as it was. */
	if (!r)
		return 0;
	live = r->owner;
	requests_take(p->theirs, r);
	if (put_replaced(p, at, m->id, live->id) < 0)
		failed = -1;
	else if (r->what == ACP_SESSION_PROMPT && p->us == ACP_AGENT && r->session.p)
		failed = player_drop_cancels(p, r->session);
	free(live);
	requests_done(r);
	return failed;
}

static int
put_message(struct player *p, const char **at, const struct msg *m)
{
	switch (m->kind) {
	case MSG_REQUEST:
		return put_request(p, at, m);
	case MSG_NOTIFICATION:
		return put_session(p, at, m);
	case MSG_RESPONSE:
		return put_response(p, at, m);
	default:
		return 0;
	}
}

int
player_send(struct player *p, struct slice text, const struct msg *m)
{
	const char *at = text.p;
	struct json_iter it;
	struct msg entry;

	if (m->kind != MSG_BATCH)
		return put_message(p, &at, m) < 0 ? -1 : put_rest(p, at, text);
	it = (struct json_iter){.in = m->text};
	while (msg_next(&it, &entry))
		if (put_message(p, &at, &entry) < 0)
			return -1;
	return put_rest(p, at, text);
}

int
player_send_answer(struct player *p, struct slice text, const struct msg *m, struct slice id)
{
	const char *at = text.p;

	return put_replaced(p, &at, m->id, id) < 0 ? -1 : put_rest(p, at, text);
}
