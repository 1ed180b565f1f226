#include "cmd/acp-replay/plan.h"

#include <errno.h>
#include <stdlib.h>

int
plan_open(struct plan *p, struct script *script, const struct plan_range *range, enum acp_side us)
{
	*p = (struct plan){.script = script, .range = range, .us = us, .them = acp_other_side(us)};
	p->requests = requests_new();
	return p->requests ? 0 : -1;
}

/* --- conversations --- */

/* A session goes on without anything of the live side, as far as is known. */
static void
note_idle(struct plan *p, struct conversation *c)
{
	bool idle = c != p->common && c->open && !c->cues;

	p->idle += (size_t)idle - (size_t)c->idle;
	c->idle = idle;
}

/* That of a session, or, p NULL, of none; it is made where it is not there. */
static struct conversation *
conversation(struct plan *p, struct slice session)
{
	struct conversation *c;
	char *copy;

	if (p->us == ACP_CLIENT)
		session = slice(NULL, 0);
	if (!session.p && p->common)
		return p->common;
	c = session.p ? plan_conversation(p, session) : NULL;
	if (c)
		return c;
	p->key.n = 0;
	if (session.p && json_unescape(session, &p->key) < 0)
		return NULL;
	c = calloc(1, sizeof(*c) + p->key.n + session.n);
	if (!c)
		return NULL;
	c->born = p->last.number;
	c->recorded = p->last.t;
	if (!session.p) {
		c->open = true;
		p->common = c;
		return c;
	}
	memcpy(c->key, p->key.p, p->key.n);
	copy = c->key + p->key.n;
	memcpy(copy, session.p, session.n);
	c->session = slice(copy, session.n);
	HASH_ADD_KEYPTR(hh, p->conversations, c->key, p->key.n, c);
	if (!c->hh.tbl) {
		free(c);
		return NULL;
	}
	DL_APPEND(p->shut, c);
	return c;
}

void
plan_begin(struct plan *p, struct conversation *c)
{
	if (c->open)
		return;
	DL_DELETE(p->shut, c);
	c->open = true;
	note_idle(p, c);
}

struct conversation *
plan_conversation(struct plan *p, struct slice session)
{
	struct conversation *c = NULL;

	if (!session.p)
		return p->common;
	if (p->latest && slice_eq(p->latest->session, session))
		return p->latest;
	p->key.n = 0;
	if (p->conversations && json_unescape(session, &p->key) == 0)
		HASH_FIND(hh, p->conversations, p->key.p, p->key.n, c);
	return c;
}

static void
free_cues(struct cue *list)
{
	struct cue *q, *next;

	DL_FOREACH_SAFE(list, q, next) {
		free(q->id);
		free(q);
	}
}

static void
free_conversation(struct conversation *c)
{
	free_cues(c->cues);
	free_cues(c->owed);
	free_cues(c->spare);
	free(c->own);
	free(c);
}

/* --- what we have to send --- */

int
plan_keep(struct plan *p, struct conversation *c, const struct own *own)
{
	size_t cap = c->cap ? c->cap + c->cap / 2 : 16;
	struct own *more;

	if (c->first > 0 && c->nown == c->cap) {
		memmove(c->own, c->own + c->first, (c->nown - c->first) * sizeof(*c->own));
		c->nown -= c->first;
		c->first = 0;
	}
	if (c->nown == c->cap) {
		more = realloc(c->own, cap * sizeof(*more));
		if (!more)
			return -1;
		c->own = more;
		c->cap = cap;
	}
	c->own[c->nown++] = *own;
	p->held++;
	return 0;
}

const struct own *
plan_first(const struct conversation *c)
{
	return c->first < c->nown ? &c->own[c->first] : NULL;
}

void
plan_sent(struct plan *p, struct conversation *c)
{
	p->held--;
	if (++c->first < c->nown)
		return;
	/* What a turn needed is not kept for ever. */
	free(c->own);
	c->own = NULL;
	c->first = c->nown = c->cap = 0;
}

static void
drop_call(struct plan *p, struct call *call)
{
	struct cue *q = call->cue;

	call->cue = NULL;
	call->answered = true;
	plan_end_call(p, call);
	if (!q)
		return;
	plan_come(p, q);
	plan_forget(p, q);
}

void
plan_drop_own(struct plan *p, struct conversation *c, uint64_t after, uint64_t to)
{
	size_t i, kept = c->first;
	struct entry_key key;
	struct call *call;

	for (i = c->first; i < c->nown; i++) {
		key = (struct entry_key){c->own[i].number, 0};
		if (key.number <= after || key.number > to) {
			c->own[kept++] = c->own[i];
			continue;
		}
		/* Nobody will answer what is not asked. */
		for (; (call = plan_call(p, key)); key.entry++)
			drop_call(p, call);
	}
	p->held -= c->nown - kept;
	c->nown = kept;
}

/* --- what they have to send --- */

/* Kind and method to p->key. */
static int
method_key(struct plan *p, const struct msg *m)
{
	p->key.n = 0;
	if (buf_add(&p->key, m->kind == MSG_REQUEST ? "r" : "n", 1) < 0 || json_unescape(m->method, &p->key) < 0)
		return -1;
	return buf_add(&p->key, "", 1);
}

static struct part *
find_part(struct plan *p, const struct conversation *c)
{
	struct part *part = NULL;

	if (buf_add(&p->key, &c, sizeof(c)) < 0)
		return NULL;
	HASH_FIND(hh, p->parts, p->key.p, p->key.n, part);
	return part;
}

struct part *
plan_part(struct plan *p, const struct msg *m, const struct conversation *c)
{
	return method_key(p, m) < 0 ? NULL : find_part(p, c);
}

bool
plan_is_part_of(struct plan *p, const struct part *part, const struct msg *m)
{
	return method_key(p, m) == 0 && slice_eq(slice(part->key, part->nmethod), buf_slice(&p->key));
}

/* Joins the part of its message. */
static int
join_part(struct plan *p, struct cue *q, const struct msg *m)
{
	struct part *part = plan_part(p, m, q->conversation);

	if (!part) {
		if (method_key(p, m) < 0)
			return -1;
		part = calloc(1, sizeof(*part) + p->key.n + sizeof(q->conversation));
		if (!part)
			return -1;
		part->conversation = q->conversation;
		part->nmethod = p->key.n;
		memcpy(part->key, p->key.p, p->key.n);
		memcpy(part->key + p->key.n, &q->conversation, sizeof(q->conversation));
		HASH_ADD_KEYPTR(hh, p->parts, part->key, part->nmethod + sizeof(q->conversation), part);
		if (!part->hh.tbl) {
			free(part);
			return -1;
		}
	}
	DL_APPEND2(part->cues, q, before, after);
	q->part = part;
	return 0;
}

static void
leave_part(struct plan *p, struct cue *q)
{
	struct part *part = q->part;

	if (!part)
		return;
	DL_DELETE2(part->cues, q, before, after);
	q->part = NULL;
	if (part->cues)
		return;
	HASH_DEL(p->parts, part);
	free(part);
}

void
plan_relax(struct plan *p, struct cue *q)
{
	if (q->optional)
		return;
	DL_DELETE(q->conversation->cues, q);
	DL_APPEND(q->conversation->spare, q);
	q->optional = true;
	p->held--;
	note_idle(p, q->conversation);
}

void
plan_come(struct plan *p, struct cue *q)
{
	leave_part(p, q);
	plan_relax(p, q);
	q->come = true;
	if (q->kind != MSG_REQUEST)
		return;
	DL_DELETE(q->conversation->spare, q);
	DL_APPEND(q->conversation->owed, q);
	if (!q->answer.number)
		p->unread++;
}

void
plan_forget(struct plan *p, struct cue *q)
{
	if (q->kind == MSG_REQUEST)
		DL_DELETE(q->conversation->owed, q);
	else
		DL_DELETE(q->conversation->spare, q);
	if (q->batched)
		HASH_DEL(p->batched, q);
	free(q->id);
	q->id = NULL;
	q->gone = q->kind == MSG_REQUEST && !q->answer.number;
	if (q->gone)
		p->unread--;
	else
		free(q);
}

struct cue *
plan_batched(struct plan *p, struct entry_key key)
{
	struct cue *q;

	HASH_FIND(hh, p->batched, &key, sizeof(key), q);
	return q;
}

struct call *
plan_call(struct plan *p, struct entry_key key)
{
	struct call *c;

	HASH_FIND(hh, p->calls, &key, sizeof(key), c);
	return c;
}

void
plan_end_call(struct plan *p, struct call *c)
{
	if (!c->answered || !c->read)
		return;
	HASH_DEL(p->calls, c);
	free(c);
}

/* --- all of it --- */

static void
forget_all(struct plan *p)
{
	struct conversation *c, *next;
	struct request *r = NULL;
	struct part *part, *other;
	struct call *call, *more;

	while (p->requests && (r = requests_next(p->requests, r)))
		if (r->from == p->them && r->owner && ((struct cue *)r->owner)->gone)
			free(r->owner);
	requests_free(p->requests);
	p->requests = NULL;
	HASH_CLEAR(hh, p->batched);
	HASH_ITER(hh, p->conversations, c, next) {
		HASH_DEL(p->conversations, c);
		free_conversation(c);
	}
	if (p->common)
		free_conversation(p->common);
	HASH_ITER(hh, p->parts, part, other) {
		HASH_DEL(p->parts, part);
		free(part);
	}
	HASH_ITER(hh, p->calls, call, more) {
		HASH_DEL(p->calls, call);
		free(call);
	}
}

void
plan_close(struct plan *p)
{
	forget_all(p);
	buf_free(&p->key);
}

int
plan_rewind(struct plan *p)
{
	struct script *script = p->script;
	const struct plan_range *range = p->range;
	enum acp_side us = p->us;

	plan_close(p);
	return plan_open(p, script, range, us) < 0 ? -1 : script_rewind(script);
}
/* --- reading --- */

static struct entry_key
key_at(const struct plan *p, uint64_t entry)
{
	return (struct entry_key){p->last.number, entry};
}

/* A request that is only there so that a session that began before --start can begin. */
static bool
sets_up(enum acp_method what)
{
	switch (what) {
	case ACP_INITIALIZE:
	case ACP_SESSION_NEW:
	case ACP_SESSION_LOAD:
	case ACP_SESSION_RESUME:
	case ACP_SESSION_FORK:
		return true;
	default:
		return false;
	}
}

static bool
is_before_start(const struct plan *p)
{
	return p->last.number < p->range->start;
}

/* A new cue, which is in its conversation, and in the part where it has one. NULL out of memory. */
static struct cue *
add_cue(struct plan *p, const struct msg *m, uint64_t entry, struct conversation *c)
{
	struct cue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->conversation = c;
	q->key = key_at(p, entry);
	q->t = p->last.t;
	q->place = p->place;
	q->kind = m->kind;
	q->what = m->what;
	if (m->kind != MSG_RESPONSE && join_part(p, q, m) < 0) {
		free(q);
		return NULL;
	}
	DL_APPEND(c->cues, q);
	p->held++;
	note_idle(p, c);
	if (is_before_start(p) && p->us == ACP_AGENT)
		plan_relax(p, q);
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

static void
close_request(struct plan *p, struct request *r)
{
	requests_take(p->requests, r);
	requests_done(r);
}

/* What comes before --start is not played; an answer to it is known by its lack of an owner. 0 or -1. */
static int
leave_out(struct plan *p, enum acp_side from, const struct msg *m)
{
	if (m->kind != MSG_REQUEST)
		return 0;
	return requests_open(p->requests, from, 0, m) ? 0 : -1;
}

/* A response of the live side. 0 or -1. */
static int
read_their_response(struct plan *p, const struct msg *m, uint64_t entry, struct reading *to)
{
	struct request *r = answered_request(p, p->them, m);
	struct call *call;

	if (!r)
		return 0; /* it answers nothing that we shall send */
	call = r->owner;
	close_request(p, r);
	if (!call)
		return 0;
	call->read = true;
	if (!call->answered) {
		to->cue = call->cue = add_cue(p, m, entry, call->conversation);
		if (!to->cue)
			return -1;
		to->cue->call = call;
		to->conversation = call->conversation;
	}
	plan_end_call(p, call);
	return 0;
}

static int
read_theirs(struct plan *p, const struct msg *m, uint64_t entry, struct reading *to)
{
	struct conversation *c;
	struct request *r;

	if (m->kind == MSG_NOISE)
		return 0;
	if (m->kind == MSG_RESPONSE)
		return read_their_response(p, m, entry, to);
	if (is_before_start(p) && !(m->kind == MSG_REQUEST && sets_up(m->what)))
		return leave_out(p, p->them, m);
	c = conversation(p, msg_session(m));
	if (!c || !(to->cue = add_cue(p, m, entry, c)))
		return -1;
	to->conversation = c;
	if (c->born == p->last.number)
		plan_begin(p, c);
	if (m->kind != MSG_REQUEST)
		return 0;
	r = requests_open(p->requests, p->them, 0, m);
	if (r)
		r->owner = to->cue;
	return r ? 0 : -1;
}

/* The answer that tells of a new session begins its conversation. */
static int
begin_conversation(struct plan *p, struct cue *q, const struct msg *answer)
{
	struct slice session = msg_session(answer);

	if (p->us != ACP_AGENT || !session.p || (q->what != ACP_SESSION_NEW && q->what != ACP_SESSION_FORK))
		return 0;
	q->opens = conversation(p, session);
	if (!q->opens)
		return -1;
	q->opens->opened_by_answer = true;
	/* What was sent in it before is not held up by what stands behind. */
	if (q->opens->born < p->last.number && q->come)
		plan_begin(p, q->opens);
	return 0;
}

/* The answer to a request of theirs, alone or in a batch. 0 or -1. */
static int
read_answer(struct plan *p, struct request *r, const struct msg *m, uint64_t entry, bool batched, struct reading *to)
{
	struct cue *q = r->owner;

	close_request(p, r);
	if (!q || q->gone) {
		free(q);
		return 0;
	}
	to->conversation = q->conversation;
	q->answer = to->own;
	if (q->come)
		p->unread--;
	if (begin_conversation(p, q, m) < 0)
		return -1;
	if (!batched) {
		to->answered = q;
		return 0;
	}
	q->batched = true;
	q->answer_key = key_at(p, entry);
	HASH_ADD(hh, p->batched, answer_key, sizeof(q->answer_key), q);
	return q->hh.tbl ? 0 : -1;
}

static int
read_our_request(struct plan *p, const struct msg *m, uint64_t entry, struct conversation *c)
{
	struct call *call = calloc(1, sizeof(*call));
	struct request *r;

	if (!call)
		return -1;
	call->key = key_at(p, entry);
	call->conversation = c;
	call->place = p->place;
	HASH_ADD(hh, p->calls, key, sizeof(call->key), call);
	if (!call->hh.tbl) {
		free(call);
		return -1;
	}
	r = requests_open(p->requests, p->us, 0, m);
	if (r)
		r->owner = call;
	return r ? 0 : -1;
}

/* What has no session goes with what it stands behind: it was sent on account of that. */
static struct conversation *
own_conversation(struct plan *p, const struct msg *m)
{
	struct slice session = m->kind == MSG_RESPONSE ? slice(NULL, 0) : msg_session(m);

	return session.p || !p->latest ? conversation(p, session) : p->latest;
}

/* A message of ours. What is no answer goes out in its order. */
static int
read_ours(struct plan *p, const struct msg *m, uint64_t entry, bool batched, struct reading *to)
{
	struct conversation *c;
	struct request *r;

	if (m->kind == MSG_NOISE)
		return 0;
	r = m->kind == MSG_RESPONSE ? answered_request(p, p->us, m) : NULL;
	if (r)
		return read_answer(p, r, m, entry, batched, to);
	if (is_before_start(p) && !(p->us == ACP_CLIENT && m->kind == MSG_REQUEST && sets_up(m->what)))
		return leave_out(p, p->us, m);
	c = own_conversation(p, m);
	if (!c)
		return -1;
	if (!to->conversation)
		to->conversation = c;
	return m->kind == MSG_REQUEST ? read_our_request(p, m, entry, c) : 0;
}

/* Who sent it: where the recording does not say, who could have. */
static enum acp_side
sender(const struct plan *p, const struct msg *m)
{
	struct request *r;

	if (p->last.from != ACP_UNKNOWN)
		return p->last.from;
	if (m->kind != MSG_RESPONSE)
		return acp_sender(m->method);
	r = requests_find(p->requests, p->them, m->id);
	if (!r)
		r = requests_find(p->requests, p->us, m->id);
	return r ? acp_other_side(r->from) : ACP_UNKNOWN;
}

static int
read_batch(struct plan *p, struct reading *to)
{
	struct json_iter it = {.in = p->last.msg.text};
	enum acp_side from = ACP_UNKNOWN;
	uint64_t entry = 0;
	struct msg m;
	int r = 0;

	while (r == 0 && msg_next(&it, &m)) {
		if (from == ACP_UNKNOWN && m.kind != MSG_NOISE)
			from = sender(p, &m);
		if (from == p->them)
			r = read_theirs(p, &m, entry++, to);
		else if (from == p->us)
			r = read_ours(p, &m, entry++, true, to);
	}
	to->doubtful = from == ACP_UNKNOWN;
	if (from != p->us)
		to->own.number = 0;
	return r;
}

static int
read_message(struct plan *p, struct reading *to)
{
	const struct msg *m = &p->last.msg;
	enum acp_side from;

	p->begun = true;
	to->own = (struct own){.place = p->place, .t = p->last.t, .number = (uint32_t)p->last.number,
		.kind = RECORD_MESSAGE, .batch = m->kind == MSG_BATCH};
	to->text = p->last.text;
	to->msg = m;
	if (m->kind == MSG_BATCH)
		return read_batch(p, to);
	from = sender(p, m);
	if (from == p->us)
		return read_ours(p, m, 0, false, to);
	to->own.number = 0;
	to->doubtful = from == ACP_UNKNOWN;
	return to->doubtful ? 0 : read_theirs(p, m, 0, to);
}

/* What is no message goes with what it stands behind. */
static int
read_text(struct plan *p, struct reading *to)
{
	const struct record *r = &p->last;

	if (is_before_start(p) || (r->kind == RECORD_NOISE ? r->from != p->us : p->us != ACP_AGENT))
		return 0;
	to->own = (struct own){.place = p->place, .t = r->t, .number = (uint32_t)r->number, .kind = (uint8_t)r->kind};
	to->text = r->text;
	to->conversation = p->latest ? p->latest : conversation(p, slice(NULL, 0));
	return to->conversation ? 0 : -1;
}

/* Is this the record at which --until ends? */
static bool
is_last(const struct plan *p)
{
	struct seen seen = {.from = p->last.from, .line = p->last.text, .msg = p->last.msg, .last = true};
	char *why = NULL;
	bool yes;

	if (!p->range->glob || is_before_start(p) || p->last.kind != RECORD_MESSAGE || p->last.msg.kind == MSG_BATCH)
		return false;
	yes = select_match(p->range->glob, &seen, &why);
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
plan_read(struct plan *p, struct reading *to)
{
	uint64_t t = p->last.t;
	int r = 0;

	*to = (struct reading){0};
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
		r = script_place(p->script, &p->last, &p->place) < 0 ? -1 : read_message(p, to);
		break;
	case RECORD_NOISE:
	case RECORD_STDERR:
		r = script_place(p->script, &p->last, &p->place) < 0 ? -1 : read_text(p, to);
		break;
	default:
		break;
	}
	if (to->conversation)
		p->latest = to->conversation;
	else
		to->own.number = 0;
	p->ending = is_last(p);
	return r;
}

void
plan_pass(struct plan *p)
{
	if (p->end != PLAN_END && p->end != PLAN_BAD)
		p->end = PLAN_GOES_ON;
}
