#include "lib/match/ids_parts.h"

#include <stdlib.h>

/* A pair. The keys name the place, too. */
struct id {
	UT_hash_handle by_recorded_hh, by_live_hh;
	struct slice recorded, live; /* as they were spelled */
	struct slice recorded_key, live_key;
	enum acp_id what;
	char bytes[];
};

struct ids *
ids_new(bool keep_paths)
{
	struct ids *ids = calloc(1, sizeof(*ids));

	if (ids)
		ids->keep_paths = keep_paths;
	return ids;
}

/* There is no end to them in a long session. */
static bool
is_temporary(enum acp_id what)
{
	return acp_id_of_session(what) || what == ACP_ID_REQUEST || what == ACP_ID_MCP_REQUEST;
}

static void
forget(struct ids *ids, struct id *id)
{
	HASH_DELETE(by_recorded_hh, ids->by_recorded, id);
	HASH_DELETE(by_live_hh, ids->by_live, id);
	ids->temporary -= is_temporary(id->what);
	ids->renamed -= !slice_eq(id->recorded, id->live);
	free(id);
}

void
ids_free(struct ids *ids)
{
	if (!ids)
		return;
	while (ids->by_recorded)
		forget(ids, ids->by_recorded);
	ids_free_directories(ids);
	buf_free(&ids->recorded);
	buf_free(&ids->live);
	free(ids);
}

/* What, whose, where, and the value. */
static int
make_key(struct buf *key, const struct ids_place *at, struct slice value)
{
	const char what[] = {(char)at->what, (char)(at->what == ACP_ID_REQUEST ? at->from : ACP_UNKNOWN)};
	size_t length;

	key->n = 0;
	if (buf_add(key, what, sizeof(what)) < 0)
		return -1;
	if (acp_id_of_session(at->what) && at->session.p && msg_id_key(at->session, key) < 0)
		return -1;
	/* A session's id may hold any bytes: the length says where it ends. */
	length = key->n;
	if (buf_add(key, &length, sizeof(length)) < 0)
		return -1;
	return msg_id_key(value, key);
}

static struct id *
find_recorded(struct ids *ids)
{
	struct id *id;

	HASH_FIND(by_recorded_hh, ids->by_recorded, ids->recorded.p, ids->recorded.n, id);
	return id;
}

static struct id *
find_live(struct ids *ids)
{
	struct id *id;

	HASH_FIND(by_live_hh, ids->by_live, ids->live.p, ids->live.n, id);
	return id;
}

enum ids_verdict
ids_judge(struct ids *ids, struct ids_place at, struct slice recorded, struct slice live)
{
	struct id *a, *b;

	if (make_key(&ids->recorded, &at, recorded) < 0 || make_key(&ids->live, &at, live) < 0)
		return IDS_FAILED;
	a = find_recorded(ids);
	b = find_live(ids);
	if (!a && !b)
		return IDS_NEW;
	return a == b ? IDS_SAME : IDS_CONFLICT;
}

static struct slice
keep(char **to, struct slice s)
{
	struct slice copy = slice(*to, s.n);

	memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

/* Puts a pair in whose keys have just been made. */
static int
insert(struct ids *ids, enum acp_id what, struct slice recorded, struct slice live)
{
	struct id *id = calloc(1, sizeof(*id) + recorded.n + live.n + ids->recorded.n + ids->live.n);
	char *to;

	if (!id)
		return -1;
	to = id->bytes;
	id->what = what;
	id->recorded = keep(&to, recorded);
	id->live = keep(&to, live);
	id->recorded_key = keep(&to, buf_slice(&ids->recorded));
	id->live_key = keep(&to, buf_slice(&ids->live));
	HASH_ADD_KEYPTR(by_recorded_hh, ids->by_recorded, id->recorded_key.p, id->recorded_key.n, id);
	if (!id->by_recorded_hh.tbl) {
		free(id);
		return -1;
	}
	HASH_ADD_KEYPTR(by_live_hh, ids->by_live, id->live_key.p, id->live_key.n, id);
	if (!id->by_live_hh.tbl) {
		HASH_DELETE(by_recorded_hh, ids->by_recorded, id);
		free(id);
		return -1;
	}
	ids->temporary += is_temporary(what);
	ids->renamed += !slice_eq(recorded, live);
	return 0;
}

/* What is forgotten can be learned again: no more is lost than that it was the same then. */
static void
forget_oldest(struct ids *ids)
{
	struct id *id = ids->by_recorded, *next;

	for (; id && ids->temporary >= IDS_MOST; id = next) {
		next = id->by_recorded_hh.next;
		if (is_temporary(id->what))
			forget(ids, id);
	}
}

enum ids_verdict
ids_learn(struct ids *ids, struct ids_place at, struct slice recorded, struct slice live)
{
	enum ids_verdict v = ids_judge(ids, at, recorded, live);

	if (v != IDS_NEW)
		return v;
	if (is_temporary(at.what))
		forget_oldest(ids);
	return insert(ids, at.what, recorded, live) < 0 ? IDS_FAILED : v;
}

int
ids_renew(struct ids *ids, struct ids_place at, struct slice recorded, struct slice live)
{
	struct id *id;

	if (ids_judge(ids, at, recorded, live) == IDS_CONFLICT)
		while ((id = find_recorded(ids)) || (id = find_live(ids)))
			forget(ids, id);
	return ids_learn(ids, at, recorded, live) == IDS_FAILED ? -1 : 0;
}

struct slice
ids_live(struct ids *ids, struct ids_place at, struct slice recorded)
{
	struct id *id = make_key(&ids->recorded, &at, recorded) < 0 ? NULL : find_recorded(ids);

	return id ? id->live : slice(NULL, 0);
}

struct slice
ids_recorded(struct ids *ids, struct ids_place at, struct slice live)
{
	struct id *id = make_key(&ids->live, &at, live) < 0 ? NULL : find_live(ids);

	return id ? id->recorded : slice(NULL, 0);
}
