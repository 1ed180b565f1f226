#include "lib/match/ids_parts.h"

#include <stdlib.h>

/* An id of one side. The two ids of a pair follow each other in the table, the recorded one first. */
struct id {
	UT_hash_handle hh;
	struct id *twin;
	struct slice value; /* as it was spelled; it lies after the key */
	enum acp_id what;
	char key[];
};

struct ids *
ids_new(bool keep_paths)
{
	struct ids *ids = calloc(1, sizeof(*ids));

	if (ids)
		ids->keep_paths = keep_paths;
	return ids;
}

/* Are the oldest ids of this kind forgotten, because a long session has any number of them? */
static bool
is_temporary(enum acp_id what)
{
	return acp_id_of_session(what) || what == ACP_ID_REQUEST || what == ACP_ID_MCP_REQUEST;
}

static void
forget(struct ids *ids, struct id *id)
{
	struct id *twin = id->twin;

	ids->temporary -= is_temporary(id->what);
	ids->renamed -= !slice_eq(id->value, twin->value);
	HASH_DEL(ids->all, id);
	HASH_DEL(ids->all, twin);
	free(id);
	free(twin);
}

void
ids_free(struct ids *ids)
{
	if (!ids)
		return;
	while (ids->all)
		forget(ids, ids->all);
	ids_free_directories(ids);
	buf_free(&ids->key[RECORDED]);
	buf_free(&ids->key[LIVE]);
	free(ids);
}

/* Makes the key of an id, in ids->key: side, kind, scope, value. 0, or -1 out of memory. */
static int
make_key(struct ids *ids, enum side side, const struct ids_scope *at, struct slice value)
{
	const char kind[] = {(char)side, (char)at->what, (char)(at->what == ACP_ID_REQUEST ? at->from : ACP_UNKNOWN)};
	struct buf *key = &ids->key[side];
	size_t length;

	key->n = 0;
	if (buf_add(key, kind, sizeof(kind)) < 0)
		return -1;
	if (acp_id_of_session(at->what) && at->session.p && msg_id_key(at->session, key) < 0)
		return -1;
	/* A session's id may hold any bytes: the length says where it ends. */
	length = key->n;
	if (buf_add(key, &length, sizeof(length)) < 0)
		return -1;
	return msg_id_key(value, key);
}

/* Finds the id with the side's latest key; or NULL. */
static struct id *
find(const struct ids *ids, enum side side)
{
	struct id *id;

	HASH_FIND(hh, ids->all, ids->key[side].p, ids->key[side].n, id);
	return id;
}

enum ids_verdict
ids_judge(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	struct id *a, *b;

	if (make_key(ids, RECORDED, &at, recorded) < 0 || make_key(ids, LIVE, &at, live) < 0)
		return IDS_FAILED;
	a = find(ids, RECORDED);
	b = find(ids, LIVE);
	if (!a && !b)
		return IDS_NEW;
	return a && a->twin == b ? IDS_SAME : IDS_CONFLICT;
}

/* Adds an id with the side's latest key. NULL out of memory. */
static struct id *
add(struct ids *ids, enum side side, enum acp_id what, struct slice value)
{
	const struct buf *key = &ids->key[side];
	struct id *id = calloc(1, sizeof(*id) + key->n + value.n);

	if (!id)
		return NULL;
	id->what = what;
	memcpy(id->key, key->p, key->n);
	id->value = slice(memcpy(id->key + key->n, value.p, value.n), value.n);
	HASH_ADD(hh, ids->all, key, key->n, id);
	if (id->hh.tbl)
		return id;
	free(id);
	return NULL;
}

/* Adds a pair with the latest keys of both sides. 0, or -1 out of memory. */
static int
add_pair(struct ids *ids, enum acp_id what, struct slice recorded, struct slice live)
{
	struct id *a = add(ids, RECORDED, what, recorded), *b = a ? add(ids, LIVE, what, live) : NULL;

	if (a && !b)
		HASH_DEL(ids->all, a);
	if (!b) {
		free(a);
		return -1;
	}
	a->twin = b;
	b->twin = a;
	ids->temporary += is_temporary(what);
	ids->renamed += !slice_eq(recorded, live);
	return 0;
}

/* Makes room for a pair. A forgotten pair can be learned again; only a conflict with it stays unnoticed. */
static void
forget_oldest(struct ids *ids)
{
	struct id *id = ids->all, *next;

	for (; id && ids->temporary >= IDS_MOST; id = next) {
		next = id->twin->hh.next;
		if (is_temporary(id->what))
			forget(ids, id);
	}
}

enum ids_verdict
ids_learn(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	enum ids_verdict v = ids_judge(ids, at, recorded, live);

	if (v != IDS_NEW)
		return v;
	if (is_temporary(at.what))
		forget_oldest(ids);
	return add_pair(ids, at.what, recorded, live) < 0 ? IDS_FAILED : v;
}

int
ids_renew(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	struct id *id;

	if (ids_judge(ids, at, recorded, live) == IDS_CONFLICT)
		while ((id = find(ids, RECORDED)) || (id = find(ids, LIVE)))
			forget(ids, id);
	return ids_learn(ids, at, recorded, live) == IDS_FAILED ? -1 : 0;
}

struct slice
ids_live(struct ids *ids, struct ids_scope at, struct slice recorded)
{
	struct id *id = make_key(ids, RECORDED, &at, recorded) < 0 ? NULL : find(ids, RECORDED);

	return id ? id->twin->value : slice(NULL, 0);
}

struct slice
ids_recorded(struct ids *ids, struct ids_scope at, struct slice live)
{
	struct id *id = make_key(ids, LIVE, &at, live) < 0 ? NULL : find(ids, LIVE);

	return id ? id->twin->value : slice(NULL, 0);
}
