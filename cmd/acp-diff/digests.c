/* Makes digests: equal items have equal digests, so that partners are found without comparing all with all. */
#include "cmd/acp-diff/diff.h"

struct naming {
	struct diff *d;
	struct diff_item *item;
};

static bool
note_name(void *arg, enum acp_id what, struct slice id)
{
	struct naming *naming = arg;
	struct diff_item *item = naming->item;
	struct diff_session *s = item->turn->session;
	struct buf *key = &naming->d->scratch;
	struct name *n;

	/* Sessions have partners already, and each run makes ids of its own for requests. */
	if (what == ACP_ID_SESSION || what == ACP_ID_REQUEST)
		return true;
	key->n = 0;
	if (buf_add(key, &(char){(char)what}, 1) < 0 || msg_id_key(id, key) < 0)
		return false;
	HASH_FIND(hh, s->names, key->p, key->n, n);
	if (!n) {
		n = diff_new(naming->d, sizeof(*n) + key->n);
		if (!n)
			return false;
		memcpy(n->key, key->p, key->n);
		HASH_ADD(hh, s->names, key, key->n, n);
		if (!n->hh.tbl)
			return false;
		item->introduces = true;
	}
	item->nnames++;
	return list_add(&naming->d->file[item_side(item)].names, n) == 0;
}

struct name *
item_name(const struct diff *d, const struct diff_item *item, size_t i)
{
	return d->file[item_side(item)].names.at[item->names + i];
}

/* Makes the digest of an item at a level; of a streamed text, with all its pieces. 0 or -1. */
static int
digest_item(struct diff *d, struct diff_item *item, struct digest *how, uint64_t *h)
{
	struct acp_chunk c = {0};
	struct msg m, joined = {.kind = MSG_NOISE};
	uint64_t of_text = 0;

	if (item_message(d, item, &m) < 0)
		return -1;
	if (item->streamed && acp_chunk(m.params, &c))
		how->excluded = c.text;
	if (digest_message(how, &m, h) < 0)
		return -1;
	how->excluded = slice(NULL, 0);
	if (!item->streamed || how->match < MATCH_PARAMS)
		return 0;
	if (item_text(d, item, &d->text[item_side(item)]) < 0)
		return -1;
	joined.text = buf_slice(&d->text[item_side(item)]);
	if (digest_message(how, &joined, &of_text) < 0)
		return -1;
	*h = digest_join(*h, of_text);
	return 0;
}

static int
digest(struct diff *d, struct diff_item *item)
{
	struct diff_session *s = item->turn->session;
	const enum side side = item_side(item);
	const struct slice session = side == LIVE && s->partner ? s->partner->id : s->id;
	struct naming naming = {d, item};
	struct digest how = {.ids = d->ids, .live = side == LIVE, .what = (enum acp_method)item->what, .session = session};
	enum match match = d->options->match;

	d->scratch.n = 0;
	if (item_label(d, item, &d->scratch) < 0)
		return -1;
	item->alike[KIND] = digest_join(digest_bytes(buf_slice(&d->scratch)), item->kind);
	how.match = match < MATCH_SHAPE ? match : MATCH_SHAPE;
	if (digest_item(d, item, &how, &item->alike[SHAPE]) < 0)
		return -1;
	/* FULL includes values even below MATCH_PARAMS, because items with equal values are the better partners. */
	how.match = match > MATCH_PARAMS ? match : MATCH_PARAMS;
	how.id = note_name;
	how.arg = &naming;
	item->names = d->file[side].names.n;
	if (digest_item(d, item, &how, &item->alike[FULL]) < 0)
		return -1;
	item->alike[SHAPE] = digest_join(item->alike[KIND], item->alike[SHAPE]);
	item->alike[FULL] = digest_join(item->alike[KIND], item->alike[FULL]);
	item->alike[CONTENT] = item->alike[match < MATCH_PARAMS ? SHAPE : FULL];
	for (size_t i = 0; i < item->nnames; i++)
		item_name(d, item, i)->sum += item->alike[FULL];
	return 0;
}

static bool
is_selected(const struct diff_item *item, bool common)
{
	return item && !item->continues && (item->turn->session->number == 0) == common;
}

int
make_digests(struct diff *d, bool common)
{
	struct digest how = {.match = MATCH_PARAMS};
	struct diff_item *item;
	uint64_t names;

	for (int side = 0; side < SIDES; side++) {
		const struct file *f = &d->file[side];

		for (size_t i = 0; i < f->items.n; i++)
			if (is_selected(f->entries[i], common) && digest(d, f->entries[i]) < 0)
				return -1;
		for (size_t i = 0; i < f->items.n; i++) {
			item = f->entries[i];
			if (!is_selected(item, common))
				continue;
			names = 0;
			how.what = (enum acp_method)item->what;
			/* A session may have any directory, but a session with the same directory is the better partner. */
			if (item->kind == MSG_REQUEST && acp_opens_session(how.what) && digest_item(d, item, &how, &names) < 0)
				return -1;
			for (size_t k = 0; k < item->nnames; k++)
				names += digest_join(item_name(d, item, k)->sum, 1);
			if (item->response)
				names += digest_join(item->response->alike[CONTENT], 2);
			item->alike[FULL] = digest_join(item->alike[FULL], names);
			item->turn->sum = digest_join(item->turn->sum, item->alike[CONTENT]);
		}
	}
	return 0;
}
