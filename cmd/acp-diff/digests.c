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
	diff_must(buf_add(key, &(char){(char)what}, 1));
	diff_must(msg_id_key(id, key));
	HASH_FIND(hh, s->names, key->p, key->n, n);
	if (!n) {
		n = diff_new(1, sizeof(*n) + key->n);
		memcpy(n->key, key->p, key->n);
		HASH_ADD(hh, s->names, key, key->n, n);
		item->introduces = true;
	}
	item->nnames++;
	list_add(&naming->d->file[item_side(item)].names, n);
	return true;
}

struct name *
item_name(const struct diff *d, const struct diff_item *item, size_t i)
{
	return d->file[item_side(item)].names.at[item->names + i];
}

/* Returns the digest of an item at a level; of a streamed text, with all its pieces. */
static uint64_t
digest_item(struct diff *d, struct diff_item *item, struct digest *how)
{
	struct acp_chunk c = {0};
	struct msg m, joined = {.kind = MSG_NOISE};
	uint64_t h, of_text;

	item_message(d, item, &m);
	if (item->streamed && acp_chunk(m.params, &c))
		how->excluded = c.text;
	diff_must(digest_message(how, &m, &h));
	how->excluded = slice(NULL, 0);
	if (!item->streamed || how->match < MATCH_PARAMS)
		return h;
	item_text(d, item, &d->text[item_side(item)]);
	joined.text = buf_slice(&d->text[item_side(item)]);
	diff_must(digest_message(how, &joined, &of_text));
	return digest_join(h, of_text);
}

static void
digest(struct diff *d, struct diff_item *item)
{
	struct diff_session *s = item->turn->session;
	const enum side side = item_side(item);
	const struct slice session = side == LIVE && s->partner ? s->partner->id : s->id;
	struct naming naming = {d, item};
	struct digest how = {.ids = d->ids, .live = side == LIVE, .what = (enum acp_method)item->what, .session = session};
	enum match match = d->options->match;

	d->scratch.n = 0;
	item_label(d, item, &d->scratch);
	item->alike[KIND] = digest_join(digest_bytes(buf_slice(&d->scratch)), item->kind);
	how.match = match < MATCH_SHAPE ? match : MATCH_SHAPE;
	item->alike[SHAPE] = digest_join(item->alike[KIND], digest_item(d, item, &how));
	/* FULL includes values even below MATCH_PARAMS, because items with equal values are the better partners. */
	how.match = match > MATCH_PARAMS ? match : MATCH_PARAMS;
	how.id = note_name;
	how.arg = &naming;
	item->names = d->file[side].names.n;
	item->alike[FULL] = digest_join(item->alike[KIND], digest_item(d, item, &how));
	item->alike[CONTENT] = item->alike[match < MATCH_PARAMS ? SHAPE : FULL];
	for (size_t i = 0; i < item->nnames; i++)
		item_name(d, item, i)->sum += item->alike[FULL];
}

static bool
is_selected(const struct diff_item *item, bool common)
{
	return item && !item->continues && (item->turn->session->number == 0) == common;
}

void
make_digests(struct diff *d, bool common)
{
	struct digest how = {.match = MATCH_PARAMS};
	struct diff_item *item;
	uint64_t names;

	for (int side = 0; side < SIDES; side++) {
		const struct file *f = &d->file[side];

		for (size_t i = 0; i < f->items.n; i++)
			if (is_selected(f->entries[i], common))
				digest(d, f->entries[i]);
		for (size_t i = 0; i < f->items.n; i++) {
			item = f->entries[i];
			if (!is_selected(item, common))
				continue;
			how.what = (enum acp_method)item->what;
			/* A session may have any directory, but a session with the same directory is the better partner. */
			names = item->kind == MSG_REQUEST && acp_opens_session(how.what) ? digest_item(d, item, &how) : 0;
			for (size_t k = 0; k < item->nnames; k++)
				names += digest_join(item_name(d, item, k)->sum, 1);
			if (item->response)
				names += digest_join(item->response->alike[CONTENT], 2);
			item->alike[FULL] = digest_join(item->alike[FULL], names);
			item->turn->sum = digest_join(item->turn->sum, item->alike[CONTENT]);
		}
	}
}
