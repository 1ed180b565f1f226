#include "lib/match/ids_parts.h"

#include <stdlib.h>

/* Two ids that correspond: for each side its place in the side's table, and the id as it was spelled. */
struct pair {
	UT_hash_handle hh[SIDES];
	struct slice value[SIDES];
	enum acp_id what;
	char bytes[]; /* the keys and the values */
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
forget(struct ids *ids, struct pair *p)
{
	ids->temporary -= is_temporary(p->what);
	ids->renamed -= !slice_eq(p->value[RECORDED], p->value[LIVE]);
	for (int side = 0; side < SIDES; side++)
		HASH_DELETE(hh[side], ids->pairs[side], p);
	free(p);
}

void
ids_free(struct ids *ids)
{
	if (!ids)
		return;
	while (ids->pairs[RECORDED])
		forget(ids, ids->pairs[RECORDED]);
	ids_free_directories(ids);
	buf_free(&ids->key[RECORDED]);
	buf_free(&ids->key[LIVE]);
	free(ids);
}

/* Makes the key of an id, in ids->key: kind, scope, value. 0, or -1 out of memory. */
static int
make_key(struct ids *ids, enum side side, const struct ids_scope *at, struct slice value)
{
	const char kind[] = {(char)at->what, (char)(at->what == ACP_ID_REQUEST ? at->from : ACP_UNKNOWN)};
	struct buf *key = &ids->key[side];
	size_t length;

	key->n = 0;
	if (buf_add(key, kind, sizeof(kind)) < 0 ||
		(acp_id_of_session(at->what) && at->session.p && msg_id_key(at->session, key) < 0))
		return -1;
	/* A session's id may hold any bytes: the length says where it ends. */
	length = key->n;
	if (buf_add(key, &length, sizeof(length)) < 0)
		return -1;
	return msg_id_key(value, key);
}

/* Finds the pair with the side's latest key; or NULL. */
static struct pair *
find(const struct ids *ids, enum side side)
{
	struct pair *p;

	HASH_FIND(hh[side], ids->pairs[side], ids->key[side].p, ids->key[side].n, p);
	return p;
}

enum ids_verdict
ids_judge(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	struct pair *a, *b;

	if (make_key(ids, RECORDED, &at, recorded) < 0 || make_key(ids, LIVE, &at, live) < 0)
		return IDS_FAILED;
	a = find(ids, RECORDED);
	b = find(ids, LIVE);
	if (!a && !b)
		return IDS_NEW;
	return a == b ? IDS_SAME : IDS_CONFLICT;
}

/* Adds a pair with the latest keys of both sides. 0, or -1 out of memory. */
static int
add_pair(struct ids *ids, enum acp_id what, struct slice recorded, struct slice live)
{
	const struct slice value[SIDES] = {recorded, live};
	const struct buf *key = ids->key;
	struct pair *p = calloc(1, sizeof(*p) + key[RECORDED].n + key[LIVE].n + recorded.n + live.n);
	struct slice kept;
	char *to;

	if (!p)
		return -1;
	p->what = what;
	to = p->bytes;
	for (int side = 0; side < SIDES; side++) {
		p->value[side] = slice_keep(&to, value[side]);
		kept = slice_keep(&to, buf_slice(&key[side]));
		HASH_ADD_KEYPTR(hh[side], ids->pairs[side], kept.p, kept.n, p);
	}
	if (p->hh[RECORDED].tbl && p->hh[LIVE].tbl) {
		ids->temporary += is_temporary(what);
		ids->renamed += !slice_eq(recorded, live);
		return 0;
	}
	for (int side = 0; side < SIDES; side++)
		if (p->hh[side].tbl)
			HASH_DELETE(hh[side], ids->pairs[side], p);
	free(p);
	return -1;
}

enum ids_verdict
ids_learn(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	enum ids_verdict v = ids_judge(ids, at, recorded, live);
	struct pair *p = ids->pairs[RECORDED], *next;

	if (v != IDS_NEW)
		return v;
	/* Make room for the pair. A forgotten pair can be learned again; only a conflict with it stays unnoticed. */
	for (; is_temporary(at.what) && p && ids->temporary >= IDS_MOST; p = next) {
		next = p->hh[RECORDED].next;
		if (is_temporary(p->what))
			forget(ids, p);
	}
	return add_pair(ids, at.what, recorded, live) < 0 ? IDS_FAILED : v;
}

int
ids_renew(struct ids *ids, struct ids_scope at, struct slice recorded, struct slice live)
{
	struct pair *p;

	if (ids_judge(ids, at, recorded, live) == IDS_CONFLICT)
		while ((p = find(ids, RECORDED)) || (p = find(ids, LIVE)))
			forget(ids, p);
	return ids_learn(ids, at, recorded, live) == IDS_FAILED ? -1 : 0;
}

struct slice
ids_live(struct ids *ids, struct ids_scope at, struct slice recorded)
{
	struct pair *p = make_key(ids, RECORDED, &at, recorded) < 0 ? NULL : find(ids, RECORDED);

	return p ? p->value[LIVE] : slice(NULL, 0);
}

struct slice
ids_recorded(struct ids *ids, struct ids_scope at, struct slice live)
{
	struct pair *p = make_key(ids, LIVE, &at, live) < 0 ? NULL : find(ids, LIVE);

	return p ? p->value[RECORDED] : slice(NULL, 0);
}
