/* What the player sends: recorded bytes, with the live side's ids and paths in place of recorded ones. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

/* A line, which is ended here. */
static int
queue(struct player *p, enum record_kind kind, struct slice text)
{
	struct endpoint *to = kind == RECORD_STDERR ? p->err : p->out;

	recorder_put(p->recorder, kind, p->us, text);
	/* A client that does not read the agent's standard error is not to hang: the rest is lost. */
	if (kind == RECORD_STDERR && to->out.full)
		return 0;
	return endpoint_put_line(to, NULL, text, false);
}

int
player_send_made(struct player *p, struct buf *text, int failed)
{
	int r = failed ? -1 : queue(p, RECORD_MESSAGE, buf_slice(text));

	buf_free(text);
	return r;
}

/* Notes a request that the live side has to respond to. 0 or -1. */
static int
open_request(struct player *p, const struct msg *m, struct cue *response)
{
	struct request *r = requests_open(p->ours, p->us, 0, m);

	if (r)
		r->owner = response;
	return r ? 0 : -1;
}

static struct slice
live_id(const struct cue *q)
{
	return slice(q->id, q->nid);
}

/* Sessions that our side names for the first time are named so: another one is another one. */
static int
learn_session(struct player *p, const struct msg *m)
{
	struct slice session = msg_session(m);

	if (p->us != ACP_AGENT || !session.p)
		return 0;
	return ids_learn(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, session, session) == IDS_FAILED ? -1 : 0;
}

/* A request has been answered. */
static void
end_request(struct player *p, struct cue *q)
{
	if (q->opens) {
		plan_begin(&p->plan, q->opens);
		player_happened(p, q->opens, q->response.t);
	}
	p->unanswered--;
	plan_forget(&p->plan, q);
}

/* In which live session a turn begins. 0 or -1. */
static int
begin_turn(struct player *p, const struct msg *m)
{
	struct slice session = msg_session(m), live;

	p->turn.n = 0;
	p->idle = 0;
	if (!session.p)
		return 0;
	live = ids_live(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, session);
	return buf_add_slice(&p->turn, live.p ? live : session);
}

static int
write_message(struct player *p, const struct own *own, struct slice line, const struct msg *m)
{
	if (m->kind == MSG_REQUEST && open_request(p, m, own->response) < 0)
		return -1;
	if (ids_write(p->ids, line, m, p->us, slice(NULL, 0), slice(NULL, 0), &p->text) < 0)
		return -1;
	return p->us == ACP_CLIENT && m->what == ACP_SESSION_PROMPT ? begin_turn(p, m) : 0;
}

bool
player_is_unchanged(struct player *p, const struct conversation *c, const struct own *own)
{
	return own->names_session && ids_change_nothing(p->ids, c->session);
}

int
player_send(struct player *p, struct conversation *c, const struct own *own, struct slice text, const struct msg *m)
{
	player_happened(p, c, own->t);
	if (own->kind != RECORD_MESSAGE || player_is_unchanged(p, c, own))
		return queue(p, (enum record_kind)own->kind, text);
	p->text.n = 0;
	return write_message(p, own, text, m) < 0 ? -1 : queue(p, RECORD_MESSAGE, buf_slice(&p->text));
}

int
player_send_response(struct player *p, struct cue *q, struct slice text, const struct msg *m)
{
	player_happened(p, q->conversation, q->response.t);
	p->text.n = 0;
	if (learn_session(p, m) < 0 || ids_write(p->ids, text, m, p->us, q->conversation->session, live_id(q), &p->text) < 0 ||
		queue(p, RECORD_MESSAGE, buf_slice(&p->text)) < 0)
		return -1;
	end_request(p, q);
	return 0;
}
