/* Digests: numbers that are the same for items that are the same, so that partners are found without comparing all with all. */
#include <stdlib.h>

#include "cmd/acp-diff/diff.h"

struct naming {
	struct diff *d;
	struct item *item;
};

static struct name *
get_name(struct diff *d, struct session *s, enum acp_id what, struct slice id)
{
	struct name *n;

	d->scratch.n = 0;
	if (buf_add(&d->scratch, &(char){(char)what}, 1) < 0 || msg_id_key(id, &d->scratch) < 0)
		return NULL;
	HASH_FIND(hh, s->names, d->scratch.p, d->scratch.n, n);
	if (n)
		return n;
	n = calloc(1, sizeof(*n) + d->scratch.n);
	if (!n)
		return NULL;
	memcpy(n->key, d->scratch.p, d->scratch.n);
	HASH_ADD(hh, s->names, key, d->scratch.n, n);
	if (n->hh.tbl)
		return n;
	free(n);
	return NULL;
}

/* Sessions have partners already, and the ids of requests say nothing. */
static bool
note_name(void *arg, enum acp_id what, struct slice id)
{
	struct naming *naming = arg;
	struct item *item = naming->item;
	struct name *n;

	if (what == ACP_ID_SESSION || what == ACP_ID_REQUEST)
		return true;
	n = get_name(naming->d, item->turn->session, what, id);
	if (!n || list_add(&naming->d->file[item_side(item)].names, n) < 0)
		return false;
	item->nnames++;
	return true;
}

static struct name *
item_name(const struct diff *d, const struct item *item, size_t i)
{
	return d->file[item_side(item)].names.at[item->names + i];
}

/* The digest at a level, of a text's joined pieces too. */
static int
digest_item(struct diff *d, struct item *item, struct digest *how, uint64_t *h)
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
digest(struct diff *d, struct item *item)
{
	struct session *s = item->turn->session;
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
	/* Below params, too: rather what is the same altogether. */
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

/* Sessions may be in any directory, but those in the same belong together first. */
static int
digest_directory(struct diff *d, struct item *item, uint64_t *h)
{
	struct digest how = {.match = MATCH_PARAMS, .what = (enum acp_method)item->what};

	*h = 0;
	return item->kind == MSG_REQUEST && acp_opens_session(how.what) ? digest_item(d, item, &how, h) : 0;
}

static bool
is_selected(const struct item *item, bool common)
{
	return !item->continues && (item->turn->session->number == 0) == common;
}

int
make_digests(struct diff *d, bool common)
{
	struct item *item;
	uint64_t names;

	for (int side = 0; side < SIDES; side++) {
		const struct list *items = &d->file[side].items;

		for (size_t i = 0; i < items->n; i++)
			if (is_selected(items->at[i], common) && digest(d, items->at[i]) < 0)
				return -1;
		for (size_t i = 0; i < items->n; i++) {
			item = items->at[i];
			if (!is_selected(item, common))
				continue;
			if (digest_directory(d, item, &names) < 0)
				return -1;
			for (size_t k = 0; k < item->nnames; k++)
				names += digest_join(item_name(d, item, k)->sum, 1);
			item->alike[FULL] = digest_join(item->alike[FULL], names);
			item->turn->sum = digest_join(item->turn->sum, item->alike[CONTENT]);
		}
	}
	return 0;
}
