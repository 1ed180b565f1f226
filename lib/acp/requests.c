#include "lib/acp/requests.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

struct entry {
	struct request request;
	struct entry *older, *newer; /* the list of all open requests; older of the oldest is the newest */
	struct entry *before, *twin; /* the list of those with the same key, which begins in the table */
	UT_hash_handle hh;           /* of the oldest twin only */
	uint64_t number;             /* the number of requests that were opened before */
	unsigned keylen;
	char bytes[];                /* key, id, method, session, cwd */
};

struct requests {
	struct entry *table;
	struct entry *oldest;
	size_t n;
	uint64_t opened;
	struct buf key;
};

struct requests *
requests_new(void)
{
	return calloc(1, sizeof(struct requests));
}

void
requests_free(struct requests *rs)
{
	struct entry *newer;

	if (!rs)
		return;
	HASH_CLEAR(hh, rs->table);
	for (struct entry *e = rs->oldest; e; e = newer) {
		newer = e->newer;
		free(e);
	}
	buf_free(&rs->key);
	free(rs);
}

/* Makes the key of a request: the side and the id in its one spelling. 0, or -1 out of memory. */
static int
make_key(struct requests *rs, enum acp_side from, struct slice id)
{
	char side = (char)('0' + (int)from);

	rs->key.n = 0;
	if (buf_add(&rs->key, &side, 1) < 0)
		return -1;
	return msg_id_key(id, &rs->key);
}

static struct entry *
entry_new(struct slice key, const struct msg *m)
{
	struct slice session = msg_session(m), cwd = acp_opens_session(m->what) ? json_get_string(m->params, "cwd") : slice(NULL, 0);
	struct entry *e;
	char *to;

	e = calloc(1, sizeof(*e) + key.n + m->id.n + m->method.n + session.n + cwd.n);
	if (!e)
		return NULL;
	to = e->bytes;
	slice_keep(&to, key);
	e->keylen = (unsigned)key.n;
	e->request.what = m->what;
	e->request.id = slice_keep(&to, m->id);
	e->request.method = slice_keep(&to, m->method);
	e->request.session = slice_keep(&to, session);
	e->request.cwd = slice_keep(&to, cwd);
	return e;
}

/* Puts an entry behind its twins, or into the table. 0, or -1 out of memory. */
static int
insert(struct requests *rs, struct entry *e)
{
	struct entry *twins;

	HASH_FIND(hh, rs->table, e->bytes, e->keylen, twins);
	if (!twins) {
		HASH_ADD_KEYPTR(hh, rs->table, e->bytes, e->keylen, e);
		if (!e->hh.tbl)
			return -1;
	}
	DL_APPEND2(twins, e, before, twin);
	return 0;
}

struct request *
requests_open(struct requests *rs, enum acp_side from, uint64_t t, const struct msg *m)
{
	struct entry *e;

	if (make_key(rs, from, m->id) < 0)
		return NULL;
	e = entry_new(buf_slice(&rs->key), m);
	if (!e || insert(rs, e) < 0) {
		free(e);
		return NULL;
	}
	e->request.from = from;
	e->request.t = t;
	e->number = rs->opened++;
	DL_APPEND2(rs->oldest, e, older, newer);
	rs->n++;
	return &e->request;
}

static struct request *
find(struct requests *rs, enum acp_side from, struct slice id)
{
	struct entry *e = NULL;

	if (rs->n && make_key(rs, from, id) == 0)
		HASH_FIND(hh, rs->table, rs->key.p, rs->key.n, e);
	return e ? &e->request : NULL;
}

struct request *
requests_find(struct requests *rs, enum acp_side from, struct slice id)
{
	struct request *r, *latest = NULL;

	if (from != ACP_UNKNOWN)
		return find(rs, from, id);
	for (enum acp_side side = ACP_UNKNOWN; side <= ACP_AGENT; side++) {
		r = find(rs, side, id);
		if (r && (!latest || ((struct entry *)r)->number > ((struct entry *)latest)->number))
			latest = r;
	}
	return latest;
}

/* Takes an entry out of the table, and puts its next twin there. */
static void
withdraw(struct requests *rs, struct entry *e)
{
	struct entry *twins = e;
	/* Before the oldest twin is the newest, after which there is none. */
	bool oldest = !e->before->twin;

	if (!oldest)
		HASH_FIND(hh, rs->table, e->bytes, e->keylen, twins);
	DL_DELETE2(twins, e, before, twin);
	if (!oldest)
		return;
	/* The twin is added before the entry is deleted, because uthash frees an empty table. */
	if (twins)
		HASH_ADD_KEYPTR(hh, rs->table, twins->bytes, twins->keylen, twins);
	HASH_DEL(rs->table, e);
}

void
requests_remove(struct requests *rs, struct request *r)
{
	struct entry *e = (struct entry *)r;

	withdraw(rs, e);
	DL_DELETE2(rs->oldest, e, older, newer);
	e->older = e->newer = NULL;
	rs->n--;
}

void
requests_done(struct request *r)
{
	free(r);
}

size_t
requests_count(const struct requests *rs)
{
	return rs->n;
}

struct request *
requests_next(const struct requests *rs, const struct request *r)
{
	const struct entry *e = (const struct entry *)r;
	struct entry *next = e ? e->newer : rs->oldest;

	return next ? &next->request : NULL;
}

struct slice
message_method(const struct message *s)
{
	if (s->msg.kind == MSG_RESPONSE)
		return s->request ? s->request->method : slice(NULL, 0);
	return s->msg.method;
}

struct slice
message_session(const struct message *s)
{
	struct slice session = msg_session(&s->msg);

	return !session.p && s->request ? s->request->session : session;
}
