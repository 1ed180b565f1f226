/* Messages that wait for their partners. */
#include "cmd/acp-replay/diff_parts.h"

#include <errno.h>
#include <stdlib.h>

/* --- making --- */

/* The message as the program has it, in d->normal. 1; 0 where it is left out; -1. */
static int
normalize(struct diff *d, const struct item_spec *spec, const struct msg *m)
{
	struct normalize_about about = {spec->from, m->method.p ? m->method : spec->method, spec->session};
	char *why;

	d->normal.n = 0;
	if (!d->spec.normalize)
		return buf_add_slice(&d->normal, m->text) < 0 ? -1 : 1;
	switch (normalize_message(d->spec.normalize, m->text, &about, &d->normal, &why)) {
	case NORMALIZE_DONE:
		return 1;
	case NORMALIZE_NOTHING:
		return 0;
	default:
		break;
	}
	errno = why ? EINVAL : ENOMEM;
	if (why && d->spec.failed)
		d->spec.failed(d->spec.arg, spec->side, spec->line, why);
	free(why);
	return -1;
}

/* session/update tool_call; answer to session/prompt. The message is not normalized yet. */
static int
write_label(const struct item_spec *spec, const struct msg *m, struct buf *to)
{
	struct slice kind = msg_update_kind(m);

	to->n = 0;
	if (m->kind == MSG_NOISE)
		return buf_add_string(to, "noise");
	if (m->kind == MSG_RESPONSE && (buf_add_string(to, "answer") < 0 ||
		(spec->method.p && (buf_add_string(to, " to ") < 0 || json_unescape(spec->method, to) < 0))))
		return -1;
	if (m->method.p && json_unescape(m->method, to) < 0)
		return -1;
	if (kind.p && (buf_add(to, " ", 1) < 0 || json_unescape(kind, to) < 0))
		return -1;
	return 0;
}

/* The pieces of one message are one item; where it is no message any more, there is nothing to join. */
static int
begin_text(struct item *item)
{
	if (item->msg.what != ACP_SESSION_UPDATE || !acp_chunk(item->msg.params, &item->chunk))
		return 0;
	item->piece = item->open = true;
	return buf_add(&item->text, item->chunk.text.p, item->chunk.text.n - 1);
}

int
item_new(struct diff *d, const struct item_spec *spec, const struct msg *m, struct item **to)
{
	int r = normalize(d, spec, m);
	struct json_error error;
	struct item *item;

	*to = NULL;
	if (r <= 0)
		return r;
	if (write_label(spec, m, &d->key) < 0)
		return -1;
	item = calloc(1, sizeof(*item) + d->key.n + d->normal.n);
	if (!item)
		return -1;
	item->label = slice(item->bytes, d->key.n);
	memcpy(item->bytes, d->key.p, d->key.n);
	memcpy(item->bytes + d->key.n, d->normal.p, d->normal.n);
	item->size = d->normal.n;
	item->from = spec->from;
	item->line = spec->line;
	item->what = m->kind == MSG_RESPONSE ? spec->what : m->what;
	/* What is none, a line of noise or what a program has made, has its text all the same. */
	if (msg_scan(slice(item->bytes + d->key.n, d->normal.n), &item->msg, &error) == MSG_NOISE)
		item->msg = (struct msg){.text = slice(item->bytes + d->key.n, d->normal.n)};
	if (begin_text(item) < 0) {
		item_free(item);
		return -1;
	}
	*to = item;
	return 0;
}

void
item_free(struct item *item)
{
	struct item *next;

	for (; item; item = next) {
		next = item->others;
		for (struct item *o = next; o; o = next) {
			next = o->next;
			buf_free(&o->text);
			free(o);
		}
		buf_free(&item->text);
		free(item);
	}
}

/* --- pieces of a text --- */

static bool
same_bytes(struct slice a, struct slice b)
{
	return (!a.p && !b.p) || (a.p && b.p && slice_eq(a, b));
}

/* Are they the same but for the text? */
static bool
is_like(const struct item *a, const struct item *b)
{
	struct slice s = a->msg.text, t = b->msg.text, x = a->chunk.text, y = b->chunk.text;

	return slice_eq(slice_between(s.p, x.p), slice_between(t.p, y.p)) &&
		slice_eq(slice_between(x.p + x.n, s.p + s.n), slice_between(y.p + y.n, t.p + t.n));
}

int
item_join(struct item *before, struct item *piece)
{
	struct item *last = before->last_other ? before->last_other : before;

	if (!before->open || !piece->piece || !slice_eq(before->chunk.kind, piece->chunk.kind) ||
		!same_bytes(before->chunk.message, piece->chunk.message) || before->turn != piece->turn)
		return 0;
	if (buf_add(&before->text, piece->chunk.text.p + 1, piece->chunk.text.n - 2) < 0)
		return -1;
	before->size += piece->chunk.text.n;
	if (is_like(last, piece)) {
		item_free(piece);
		return 1;
	}
	before->size += piece->size;
	buf_free(&piece->text);
	if (before->last_other)
		before->last_other->next = piece;
	else
		before->others = piece;
	before->last_other = piece;
	return 1;
}

int
item_close(struct item *item)
{
	if (!item->open)
		return 0;
	item->open = false;
	return buf_add(&item->text, "\"", 1);
}

/* --- marks --- */

/* The digest at a level, of a text's joined pieces too. */
static int
digest(const struct item *item, struct digest *how, uint64_t *h)
{
	struct msg text = {.kind = MSG_NOISE, .text = buf_slice(&item->text)};
	uint64_t of_text;

	how->apart = item->piece ? item->chunk.text : slice(NULL, 0);
	if (digest_message(how, &item->msg, h) < 0)
		return -1;
	how->apart = slice(NULL, 0);
	if (!item->piece)
		return 0;
	if (digest_message(how, &text, &of_text) < 0)
		return -1;
	*h = digest_join(*h, of_text);
	return 0;
}

int
item_mark(const struct diff *d, const struct thread *t, enum diff_side side, struct item *item)
{
	struct digest how = {.ids = d->spec.ids, .live = side == DIFF_LIVE, .what = item->what,
		.session = t->session[DIFF_RECORDED]};
	enum match match = d->spec.match;

	if (item->marked)
		return 0;
	item->mark.head = digest_join(digest_bytes(item->label), item->msg.kind);
	how.match = match < MATCH_SHAPE ? match : MATCH_SHAPE;
	if (digest(item, &how, &item->mark.shape) < 0)
		return -1;
	how.match = match;
	if (match <= MATCH_SHAPE)
		item->mark.content = item->mark.shape;
	else if (digest(item, &how, &item->mark.content) < 0)
		return -1;
	item->marked = true;
	return 0;
}

struct slice
item_value(const struct item *item)
{
	return item->piece ? buf_slice(&item->text) : item->msg.text;
}
