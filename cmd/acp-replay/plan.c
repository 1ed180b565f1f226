#include "cmd/acp-replay/plan_parts.h"

#include <stdlib.h>

#include "lib/match/digest.h"

int
plan_open(struct plan *p, struct script *script, const struct plan_range *range, enum acp_side us)
{
	*p = (struct plan){.script = script, .range = range, .us = us, .them = acp_other_side(us)};
	p->requests = requests_new();
	return p->requests ? 0 : -1;
}

/* --- conversations --- */

/* Call it when the conversation's cues, or whether it is open, may have changed. */
static void
note_idle(struct plan *p, struct conversation *c)
{
	/* A session that goes on without anything of the live side, as far as is known. */
	bool idle = c != p->common && c->open && !c->needed;

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
	struct own *own, *next;

	free_cues(c->cues);
	free_cues(c->pending);
	DL_FOREACH_SAFE(c->own, own, next)
		free(own);
	free(c);
}

/* --- what we have to send --- */

int
plan_keep(struct plan *p, struct conversation *c, const struct own *own)
{
	struct own *kept = p->spare ? p->spare : malloc(sizeof(*kept));

	if (!kept)
		return -1;
	p->spare = NULL;
	*kept = *own;
	DL_APPEND(c->own, kept);
	p->held++;
	return 0;
}

void
plan_sent(struct plan *p, struct conversation *c)
{
	struct own *own = c->own;

	DL_DELETE(c->own, own);
	free(p->spare);
	p->spare = own;
	p->held--;
}

void
plan_drop_own(struct plan *p, struct conversation *c, uint64_t after, uint64_t to)
{
	struct own *own, *next;

	DL_FOREACH_SAFE(c->own, own, next) {
		if (own->number <= after || own->number > to)
			continue;
		/* A request that is not sent gets no response. */
		if (own->response)
			plan_arrived(p, own->response);
		DL_DELETE(c->own, own);
		free(own);
		p->held--;
	}
}

/* --- what they have to send --- */

struct wanted
plan_wanted(struct plan *p, const struct msg *m)
{
	p->key.n = 0;
	if (json_unescape(m->method, &p->key) < 0)
		return (struct wanted){0};
	return (struct wanted){m->kind, digest_bytes(buf_slice(&p->key))};
}

bool
plan_is_wanted(const struct wanted *w, const struct cue *q)
{
	return q->kind == w->kind && q->method == w->method;
}

struct cue *
plan_next_wanted(const struct plan *p, const struct wanted *w, const struct conversation *only, const struct cue *q)
{
	const struct conversation *c = q ? q->conversation : only ? only : plan_next(p, NULL);
	struct cue *next = q ? q->next : c ? c->cues : NULL;

	for (;;) {
		while (next && !plan_is_wanted(w, next))
			next = next->next;
		if (next || only || !c)
			return next;
		c = plan_next(p, c);
		next = c ? c->cues : NULL;
	}
}

void
plan_add_cue(struct plan *p, struct cue *q)
{
	struct conversation *c = q->conversation;

	q->number = p->last.number;
	q->t = p->last.t;
	q->place = p->place;
	DL_APPEND(c->cues, q);
	if (!c->needed)
		c->needed = q;
	p->held++;
	note_idle(p, c);
}

void
plan_relax(struct plan *p, struct cue *q)
{
	struct conversation *c = q->conversation;

	if (q->optional)
		return;
	q->optional = true;
	while (c->needed && c->needed->optional)
		c->needed = c->needed->next;
	p->held--;
	note_idle(p, c);
}

void
plan_arrived(struct plan *p, struct cue *q)
{
	struct conversation *c = q->conversation;

	q->arrived = true;
	if (q->number == 0)
		return;
	plan_relax(p, q);
	DL_DELETE(c->cues, q);
	if (q->kind != MSG_REQUEST) {
		free(q);
		return;
	}
	DL_APPEND(c->pending, q);
	if (!q->response.number)
		p->unread++;
}

void
plan_forget(struct plan *p, struct cue *q)
{
	DL_DELETE(q->conversation->pending, q);
	free(q->id);
	q->id = NULL;
	if (q->response.number) {
		free(q);
		return;
	}
	q->number = 0;
	p->unread--;
}

/* --- all of it --- */

static void
forget_all(struct plan *p)
{
	struct conversation *c, *next;
	struct request *r = NULL;

	while (p->requests && (r = requests_next(p->requests, r)))
		if (r->owner && ((struct cue *)r->owner)->number == 0)
			free(r->owner);
	requests_free(p->requests);
	p->requests = NULL;
	HASH_ITER(hh, p->conversations, c, next) {
		HASH_DEL(p->conversations, c);
		free_conversation(c);
	}
	if (p->common)
		free_conversation(p->common);
}

void
plan_close(struct plan *p)
{
	forget_all(p);
	free(p->spare);
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
