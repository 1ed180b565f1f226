/* What the player sends: recorded bytes, with the live side's ids and paths in place of recorded ones. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

/* A line, which is ended here. */
static int
queue(struct player *p, struct slice text)
{
	if (p->watch && watch_live(p->watch, p->us, text) < 0)
		return -1;
	return output_copy(p->out, text) < 0 || output_copy(p->out, slice("\n", 1)) < 0 ? -1 : 0;
}

/* A line that the agent wrote on its standard error. */
static int
complain(struct player *p, struct slice text)
{
	if (p->watch && watch_stderr(p->watch, text) < 0)
		return -1;
	return output_copy(p->err, text) < 0 || output_copy(p->err, slice("\n", 1)) < 0 ? -1 : 0;
}

int
player_send_made(struct player *p, struct slice text)
{
	return queue(p, text);
}

/* Notes what the live side is going to answer. */
static int
open_request(struct player *p, const struct msg *m, struct entry_key key)
{
	struct request *r = requests_open(p->ours, p->us, 0, m);

	if (!r)
		return -1;
	r->owner = plan_call(&p->plan, key);
	return 0;
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
		player_happened(p, q->opens, q->answer.t);
	}
	p->asked--;
	plan_forget(&p->plan, q);
}

static int
send_entry(struct player *p, const struct own *own, struct slice line, const struct msg *m, uint64_t entry)
{
	struct entry_key key = {own->number, entry};
	struct cue *q = m->kind == MSG_RESPONSE ? plan_batched(&p->plan, key) : NULL;
	struct slice id = slice(NULL, 0);
	int failed;

	if (m->kind == MSG_REQUEST && open_request(p, m, key) < 0)
		return -1;
	if (q && q->come)
		id = live_id(q);
	failed = ids_write(p->ids, line, m, p->us, q ? q->conversation->session : slice(NULL, 0), id, &p->text);
	if (q && q->come)
		end_request(p, q);
	return failed;
}

static int
send_batch(struct player *p, const struct own *own, struct slice text, const struct msg *batch)
{
	struct json_iter it = {.in = batch->text};
	const char *at = text.p;
	uint64_t entry = 0;
	struct msg m;

	while (msg_next(&it, &m)) {
		if (m.kind == MSG_NOISE)
			continue;
		if (buf_add_slice(&p->text, slice_between(at, m.text.p)) < 0 || send_entry(p, own, m.text, &m, entry++) < 0)
			return -1;
		at = m.text.p + m.text.n;
	}
	return buf_add_slice(&p->text, slice_between(at, text.p + text.n));
}

bool
player_goes_as_it_is(struct player *p, const struct conversation *c, const struct own *own)
{
	return own->tells && ids_change_nothing(p->ids, c->session);
}

int
player_send(struct player *p, struct conversation *c, const struct own *own, struct slice text, const struct msg *m)
{
	int failed;

	player_happened(p, c, own->t);
	if (own->kind == RECORD_STDERR)
		return complain(p, text);
	if (own->kind == RECORD_NOISE || player_goes_as_it_is(p, c, own))
		return queue(p, text);
	p->text.n = 0;
	failed = own->batch ? send_batch(p, own, text, m) : send_entry(p, own, text, m, 0);
	return failed < 0 ? -1 : queue(p, buf_slice(&p->text));
}

int
player_send_answer(struct player *p, struct cue *q, struct slice text, const struct msg *m)
{
	player_happened(p, q->conversation, q->answer.t);
	p->text.n = 0;
	if (learn_session(p, m) < 0 || ids_write(p->ids, text, m, p->us, q->conversation->session, live_id(q), &p->text) < 0 ||
		queue(p, buf_slice(&p->text)) < 0)
		return -1;
	end_request(p, q);
	return 0;
}
