/* The recording is read into the plan. */
#include "cmd/acp-replay/plan_parts.h"

#include <stdlib.h>

/* A request that is only there so that a session that began before --start can begin. */
static bool
sets_up(const struct msg *m)
{
	return m->kind == MSG_REQUEST && (m->what == ACP_INITIALIZE || acp_opens_session(m->what));
}

static bool
is_before_start(const struct plan *p)
{
	return p->last.number < p->range->start;
}

/* A new cue, which is in no list yet. NULL out of memory. */
static struct cue *
new_cue(enum msg_kind kind, enum acp_method what, struct conversation *c)
{
	struct cue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->conversation = c;
	q->kind = kind;
	q->what = what;
	return q;
}

/* The recorded request that a response of that side's answers; p->us or p->them. */
static struct request *
answered_request(const struct plan *p, enum acp_side from, const struct msg *m)
{
	if (msg_null_id(m) && m->error.p)
		return NULL;
	return requests_find(p->requests, acp_other_side(from), m->id);
}

/* Notes a request whose response is this cue, or belongs to it. 0 or -1. */
static int
open_request(struct plan *p, enum acp_side from, const struct msg *m, struct cue *q)
{
	struct request *r = requests_open(p->requests, from, 0, m);

	if (r)
		r->owner = q;
	return r ? 0 : -1;
}

/* What comes before --start is not played; a response to it finds a request without an owner. 0 or -1. */
static int
leave_out(struct plan *p, enum acp_side from, const struct msg *m)
{
	return m->kind == MSG_REQUEST ? open_request(p, from, m, NULL) : 0;
}

static void
close_request(struct plan *p, struct request *r)
{
	requests_take(p->requests, r);
	requests_done(r);
}

bool
plan_is_idle(const struct msg *m)
{
	struct slice state = m->params.p ? json_path(m->params, acp_update_state) : slice(NULL, 0);

	return m->what == ACP_SESSION_UPDATE && state.p && json_type(state) == JSON_STRING && json_string_is(state, acp_idle);
}

/* A response of the live side. */
static void
read_their_response(struct plan *p, const struct msg *m)
{
	struct request *r = answered_request(p, p->them, m);
	struct cue *q = r ? r->owner : NULL;

	if (r)
		close_request(p, r);
	if (!q)
		return; /* it answers nothing that we shall send */
	if (q->arrived) {
		free(q);
		return;
	}
	plan_add_cue(p, q);
	p->reading.cue = q;
	p->reading.conversation = q->conversation;
}

static int
read_theirs(struct plan *p, const struct msg *m)
{
	struct conversation *c;
	struct wanted w;
	struct cue *q;

	if (m->kind == MSG_RESPONSE) {
		read_their_response(p, m);
		return 0;
	}
	if (is_before_start(p) && !sets_up(m))
		return leave_out(p, p->them, m);
	c = plan_make_conversation(p, msg_session(m));
	w = plan_wanted(p, m);
	q = c && w.kind == m->kind ? new_cue(m->kind, m->what, c) : NULL;
	if (!q)
		return -1;
	q->method = w.method;
	plan_add_cue(p, q);
	if (is_before_start(p) && p->us == ACP_AGENT)
		plan_relax(p, q);
	p->reading.cue = q;
	p->reading.conversation = c;
	if (c->first_record == p->last.number)
		plan_begin(p, c);
	if (p->prompted.n && plan_is_idle(m) && msg_session(m).p && json_string_eq(msg_session(m), buf_slice(&p->prompted))) {
		q->ends_turn = true;
		p->prompted.n = 0;
	}
	return m->kind == MSG_REQUEST ? open_request(p, p->them, m, q) : 0;
}

/* The response that names a new session begins its conversation. */
static int
begin_conversation(struct plan *p, struct cue *q, const struct msg *response)
{
	struct slice session = msg_session(response);

	if (p->us != ACP_AGENT || !session.p || (q->what != ACP_SESSION_NEW && q->what != ACP_SESSION_FORK))
		return 0;
	q->opens = plan_make_conversation(p, session);
	if (!q->opens)
		return -1;
	q->opens->opened_by_response = true;
	/* What was sent in it before is not held up by what stands after. */
	if (q->opens->first_record < p->last.number && q->arrived)
		plan_begin(p, q->opens);
	return 0;
}

/* The record that has just been read, which is ours. */
static struct own
last_own(const struct plan *p)
{
	return (struct own){.place = p->place, .t = p->last.t, .number = p->last.number, .kind = (uint8_t)p->last.kind};
}

/* The response to a request of theirs. 0 or -1. */
static int
read_answer(struct plan *p, struct request *r, const struct msg *m)
{
	struct cue *q = r->owner;

	close_request(p, r);
	if (!q || q->number == 0) {
		free(q);
		return 0;
	}
	p->reading.conversation = q->conversation;
	q->response = last_own(p);
	if (q->arrived)
		p->unread--;
	return begin_conversation(p, q, m);
}

static int
read_our_request(struct plan *p, const struct msg *m, struct conversation *c, struct own *own)
{
	struct cue *q = new_cue(MSG_RESPONSE, m->what, c);

	if (!q)
		return -1;
	q->request = p->place;
	if (open_request(p, p->us, m, q) < 0) {
		free(q);
		return -1;
	}
	own->response = q;
	return 0;
}

/* What has no session goes with what it stands after: it was sent on account of that. */
static struct conversation *
own_conversation(struct plan *p, struct slice session)
{
	return session.p || !p->latest ? plan_make_conversation(p, session) : p->latest;
}

/* A message of ours. All but responses are sent in their order. */
static int
read_ours(struct plan *p, const struct msg *m)
{
	struct own own = last_own(p);
	struct conversation *c;
	struct slice session;
	struct request *r;

	r = m->kind == MSG_RESPONSE ? answered_request(p, p->us, m) : NULL;
	if (r)
		return read_answer(p, r, m);
	if (is_before_start(p) && !(p->us == ACP_CLIENT && sets_up(m)))
		return leave_out(p, p->us, m);
	session = m->kind == MSG_RESPONSE ? slice(NULL, 0) : msg_session(m);
	c = own_conversation(p, session);
	if (!c)
		return -1;
	own.names_session = m->kind == MSG_NOTIFICATION && session.p && c->session.p;
	p->reading.conversation = c;
	if (p->us == ACP_CLIENT && m->what == ACP_SESSION_PROMPT) {
		p->prompted.n = 0;
		if (buf_add_slice(&p->prompted, session) < 0)
			return -1;
	}
	if (m->kind == MSG_REQUEST && read_our_request(p, m, c, &own) < 0)
		return -1;
	return plan_keep(p, c, &own);
}

/* Who sent it: where the recording does not say so, who could have. */
static enum acp_side
sender(const struct plan *p, const struct msg *m)
{
	struct request *r;

	if (p->last.from != ACP_UNKNOWN)
		return p->last.from;
	if (m->kind != MSG_RESPONSE)
		return acp_sender(m->method);
	r = requests_find(p->requests, ACP_UNKNOWN, m->id);
	return r ? acp_other_side(r->from) : ACP_UNKNOWN;
}

static int
read_message(struct plan *p)
{
	const struct msg *m = &p->last.msg;
	enum acp_side from;

	p->begun = true;
	from = sender(p, m);
	if (from == p->us)
		return read_ours(p, m);
	p->reading.sender_unknown = from == ACP_UNKNOWN;
	return p->reading.sender_unknown ? 0 : read_theirs(p, m);
}

/* What is no message goes with what it stands after. */
static int
read_text(struct plan *p)
{
	const struct own own = last_own(p);

	if (is_before_start(p) || (own.kind == RECORD_NOISE ? p->last.from != p->us : p->us != ACP_AGENT))
		return 0;
	p->reading.conversation = own_conversation(p, slice(NULL, 0));
	return p->reading.conversation ? plan_keep(p, p->reading.conversation, &own) : -1;
}

/* Is this the record at which --until ends? */
static bool
is_last(const struct plan *p)
{
	struct message message;
	char *why = NULL;
	bool yes;

	if (!p->range->glob || is_before_start(p) || p->last.kind != RECORD_MESSAGE)
		return false;
	message = (struct message){.from = p->last.from, .line = p->last.text, .msg = p->last.msg};
	yes = select_match(p->range->glob, &message, &why);
	free(why);
	return yes;
}

/* Is it something that the play ends or pauses at? */
static enum plan_end
end_at(const struct plan *p)
{
	const struct record *r = &p->last;

	if (p->range->until && r->number > p->range->until)
		return PLAN_END;
	if (p->range->endless && (r->kind == RECORD_EXIT || r->kind == RECORD_EOF))
		return PLAN_GOES_ON;
	switch (r->kind) {
	case RECORD_END:
		return PLAN_END;
	case RECORD_BAD:
		return PLAN_BAD;
	case RECORD_EXIT:
		return p->us == ACP_AGENT && !is_before_start(p) ? PLAN_EXIT : PLAN_GOES_ON;
	case RECORD_EOF:
		if (is_before_start(p))
			return PLAN_GOES_ON;
		if (r->from == p->us)
			return PLAN_WE_LEAVE;
		return r->from == p->them && p->us == ACP_AGENT ? PLAN_THEY_LEAVE : PLAN_GOES_ON;
	default:
		return PLAN_GOES_ON;
	}
}

int
plan_read(struct plan *p)
{
	uint64_t t = p->last.t;
	int r = 0;

	p->reading = (struct reading){0};
	if (p->ending)
		p->end = PLAN_END;
	if (p->end != PLAN_GOES_ON)
		return 0;
	if (script_next(p->script, &p->last) < 0)
		return -1;
	if (!p->last.timed)
		p->last.t = p->last.kind == RECORD_HEADER ? 0 : t;
	p->end = end_at(p);
	if (p->end != PLAN_GOES_ON)
		return 0;
	switch (p->last.kind) {
	case RECORD_MESSAGE:
		p->place = script_place(&p->last);
		r = read_message(p);
		break;
	case RECORD_NOISE:
	case RECORD_STDERR:
		p->place = script_place(&p->last);
		r = read_text(p);
		break;
	default:
		break;
	}
	if (p->reading.conversation)
		p->latest = p->reading.conversation;
	p->ending = is_last(p);
	return r;
}

void
plan_pass(struct plan *p)
{
	if (p->end != PLAN_END && p->end != PLAN_BAD)
		p->end = PLAN_GOES_ON;
}
