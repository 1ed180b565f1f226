#include "cmd/acp-replay/plan_parts.h"

#include <stdlib.h>

int
plan_open(struct plan *p, struct script *script, const struct plan_range *range, enum acp_side us)
{
	*p = (struct plan){.script = script, .range = range, .us = us, .them = acp_other_side(us)};
	p->requests = requests_new();
	return p->requests ? 0 : -1;
}

/* --- conversations --- */

void
plan_note_idle(struct plan *p, struct conversation *c)
{
	/* A session that goes on without anything of the live side, as far as is known. */
	bool idle = c != p->common && c->open && !c->cues;

	p->idle += (size_t)idle - (size_t)c->idle;
	c->idle = idle;
}

struct conversation *
plan_make_conversation(struct plan *p, struct slice session)
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
	c->first_record = p->last.number;
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
	DL_APPEND(p->unopened, c);
	return c;
}

void
plan_begin(struct plan *p, struct conversation *c)
{
	if (c->open)
		return;
	DL_DELETE(p->unopened, c);
	c->open = true;
	plan_note_idle(p, c);
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

struct conversation *
plan_next(const struct plan *p, const struct conversation *c)
{
	if (!c && p->common)
		return p->common;
	return c && c != p->common ? c->hh.next : p->conversations;
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
	free_cues(c->pending);
	free_cues(c->optional);
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
	plan_arrived(p, q);
	plan_forget(p, q);
}

void
plan_drop_own(struct plan *p, struct conversation *c, uint64_t after, uint64_t to)
{
	size_t i, kept = c->first;
	uint64_t number;

	for (i = c->first; i < c->nown; i++) {
		number = c->own[i].number;
		if (number <= after || number > to) {
			c->own[kept++] = c->own[i];
			continue;
		}
		/* A request that is not sent gets no response. */
		if (c->own[i].call)
			drop_call(p, c->own[i].call);
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

bool
plan_is_part_of(struct plan *p, const struct part *part, const struct msg *m)
{
	return method_key(p, m) == 0 && slice_eq(slice(part->key, part->nmethod), buf_slice(&p->key));
}

struct part *
plan_next_part(struct plan *p, const struct msg *m, const struct conversation *c, const struct part *part)
{
	struct part *next = part ? part->hh.next : p->parts;

	if (c)
		return part || method_key(p, m) < 0 ? NULL : find_part(p, c);
	while (next && !plan_is_part_of(p, next, m))
		next = next->hh.next;
	return next;
}

int
plan_join_part(struct plan *p, struct cue *q, const struct msg *m)
{
	struct part *part = plan_next_part(p, m, q->conversation, NULL);

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
	DL_APPEND(q->conversation->optional, q);
	q->optional = true;
	p->held--;
	plan_note_idle(p, q->conversation);
}

void
plan_arrived(struct plan *p, struct cue *q)
{
	leave_part(p, q);
	plan_relax(p, q);
	q->arrived = true;
	if (q->kind != MSG_REQUEST)
		return;
	DL_DELETE(q->conversation->optional, q);
	DL_APPEND(q->conversation->pending, q);
	if (!q->response.number)
		p->unread++;
}

void
plan_forget(struct plan *p, struct cue *q)
{
	if (q->kind == MSG_REQUEST)
		DL_DELETE(q->conversation->pending, q);
	else
		DL_DELETE(q->conversation->optional, q);
	free(q->id);
	q->id = NULL;
	q->forgotten = q->kind == MSG_REQUEST && !q->response.number;
	if (q->forgotten)
		p->unread--;
	else
		free(q);
}

void
plan_end_call(struct plan *p, struct call *c)
{
	if (!c->answered || !c->read)
		return;
	DL_DELETE(p->calls, c);
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
		if (r->from == p->them && r->owner && ((struct cue *)r->owner)->forgotten)
			free(r->owner);
	requests_free(p->requests);
	p->requests = NULL;
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
	DL_FOREACH_SAFE(p->calls, call, more)
		free(call);
}

void
plan_close(struct plan *p)
{
	forget_all(p);
	buf_free(&p->key);
	buf_free(&p->prompted);
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
