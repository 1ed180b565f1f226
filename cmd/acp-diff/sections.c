/* Compares partners, and notes missing, unexpected and moved items. */
#include <utlist.h>

#include "cmd/acp-diff/diff.h"

struct pair {
	struct diff *d;
	struct section *section;
	struct diff_item *recorded, *live;
	const char *path; /* the path to report for a text that is compared alone; or NULL */
	uint64_t line;    /* the line of all differences, also of those in a text's later pieces */
};

/* --- differences --- */

/* Adds a copy of a difference to the section, and counts it. */
static void
add_found(struct diff *d, struct section *s, const struct found *f)
{
	struct found *c = diff_new(1, sizeof(*c) + f->path.n + f->value[0].n + f->value[1].n);
	bool counts = !f->moved || f->kind == DIFFERENCE_ORDER;
	char *to = (char *)(c + 1);

	*c = *f;
	c->path = slice_keep(&to, f->path);
	c->value[RECORDED] = slice_keep(&to, f->value[RECORDED]);
	c->value[LIVE] = slice_keep(&to, f->value[LIVE]);
	DL_APPEND(s->found, c);
	for (int side = 0; side < SIDES; side++)
		if (f->item[side])
			f->item[side]->differs = true;
	s->differences += counts;
	d->differences += counts;
	d->moved += f->moved;
}

static bool
note_difference(void *arg, const struct difference *difference)
{
	struct pair *p = arg;
	struct found f = {
		.kind = difference->kind,
		.item = {p->recorded, p->live},
		.path = p->path ? slice_of(p->path) : difference->path,
		.value = {difference->recorded, difference->live},
		.line = p->line,
	};

	add_found(p->d, p->section, &f);
	return true;
}

/* --- two items --- */

/* The next piece that differs from this one in more than the text; or NULL. */
static struct diff_item *
next_change(const struct diff_item *piece)
{
	struct diff_item *next = piece->piece;

	while (next && next->around == piece->around)
		next = next->piece;
	return next;
}

/*
 * Compares two streamed texts: their pieces without the text, each time that these change, and the whole texts. Agents do not cut a
 * text twice into the same pieces: if one side has no further change, its last changed piece is compared again.
 */
static void
compare_pieces(struct pair *p, struct compare *c)
{
	struct diff *d = p->d;
	struct diff_item *a = p->recorded, *b = p->live, *more_a, *more_b;
	struct pair one = *p;
	struct acp_chunk x, y;
	struct msg m, n;

	c->arg = &one;
	do {
		item_message(d, a, &m);
		item_message(d, b, &n);
		one.recorded = a;
		one.live = b;
		c->excluded[0] = acp_chunk(m.params, &x) ? x.text : slice(NULL, 0);
		c->excluded[1] = acp_chunk(n.params, &y) ? y.text : slice(NULL, 0);
		diff_must(compare_messages(c, &m, &n));
		more_a = next_change(a);
		more_b = next_change(b);
		a = more_a ? more_a : a;
		b = more_b ? more_b : b;
	} while (more_a || more_b);
	c->arg = p;
	c->excluded[0] = c->excluded[1] = slice(NULL, 0);
	p->path = ".params.update.content.text";
	item_text(d, p->recorded, &d->text[RECORDED]);
	item_text(d, p->live, &d->text[LIVE]);
	diff_must(compare_values(c, buf_slice(&d->text[RECORDED]), buf_slice(&d->text[LIVE])));
}

static void
compare_items(struct diff *d, struct section *s, struct diff_item *recorded, struct diff_item *live)
{
	struct pair p = {.d = d, .section = s, .recorded = recorded, .live = live, .line = recorded->line};
	struct compare c = {.match = d->options->match, .ids = d->ids, .learn = true, .from = (enum acp_side)recorded->from,
		.what = (enum acp_method)recorded->what, .session = recorded->turn->session->id, .differs = note_difference, .arg = &p};
	struct msg a, b;

	if (recorded->streamed && live->streamed) {
		compare_pieces(&p, &c);
		return;
	}
	item_message(d, recorded, &a);
	item_message(d, live, &b);
	diff_must(compare_messages(&c, &a, &b));
}

/* --- moved items --- */

/* Of a response, the client's request, if later messages may depend on the response. NULL for all other items. */
static const struct diff_item *
client_request(const struct diff_item *item)
{
	const struct diff_item *k = item->request;

	if (!k || k->from != ACP_CLIENT || !k->partner || (k->turn->session->number == 0 && k->what != ACP_INITIALIZE))
		return NULL;
	return k;
}

/*
 * Marks the client's messages that come before a response they may depend on, and the client's requests that come after messages
 * which may depend on them. All other messages may come in another order, as acp-replay accepts it.
 */
static void
note_broken_order(const struct turn *t)
{
	/* Live lines: of the latest request that has its response by now; of the first of the client's later messages. */
	uint64_t last = 0, first = UINT64_MAX;
	const struct diff_item *k;
	struct diff_item *item;

	DL_FOREACH(t->items, item) {
		k = client_request(item);
		if (k && k->partner->line > last)
			last = k->partner->line;
		if (item->from == ACP_CLIENT && item->partner)
			item->out_of_order = item->partner->line < last;
	}
	for (item = t->items ? t->items->prev : NULL; item; item = item == t->items ? NULL : item->prev) {
		k = client_request(item);
		if (k && first < k->partner->line)
			item->request->out_of_order = true;
		if (item->from == ACP_CLIENT && item->partner && item->partner->line < first)
			first = item->partner->line;
	}
}

/* --- a section --- */

static bool
is_unpaired(const struct diff_item *item)
{
	if (item->continues || item->partner)
		return false;
	if (!item->request)
		return true;
	/* A response is unpaired only if both sides have the request. */
	return item->request->partner && !item->request->partner->response;
}

static void
note_unpaired(struct diff *d, struct section *s, struct diff_item *item, uint64_t line)
{
	struct found f = {
		.kind = item_side(item) == RECORDED ? DIFFERENCE_MISSING : DIFFERENCE_UNEXPECTED,
		.whole = true,
		.path = slice_of("."),
		.line = line,
	};

	f.item[item_side(item)] = item;
	s->messages++;
	add_found(d, s, &f);
}

static void
compare_recorded(struct diff *d, struct section *s, struct diff_item *item)
{
	struct found moved = {
		.kind = item->out_of_order || d->options->match == MATCH_EXACT ? DIFFERENCE_ORDER : DIFFERENCE_VALUE,
		.whole = true,
		.moved = true,
		.item = {item, item->partner},
		.path = slice_of("."),
		.line = item->line,
	};

	if (is_unpaired(item))
		note_unpaired(d, s, item, item->line);
	if (!item->partner)
		return;
	s->messages++;
	compare_items(d, s, item, item->partner);
	/* A response moves with its request. */
	if (item->moved && !(item->request && item->request->moved))
		add_found(d, s, &moved);
}

/* Compares by the recorded line; an unexpected message has the line of the message before it in its direction. */
static int
by_line(const struct found *a, const struct found *b)
{
	return (a->line > b->line) - (a->line < b->line);
}

void
compare_section(struct diff *d, struct section *s)
{
	const struct turn *a = s->turn[RECORDED], *b = s->turn[LIVE];
	uint64_t line[ACP_AGENT + 1] = {0};
	struct diff_item *item;

	if (a)
		note_broken_order(a);
	for (item = a ? a->items : NULL; item; item = item->next)
		compare_recorded(d, s, item);
	for (item = b ? b->items : NULL; item; item = item->next) {
		if (item->partner && item->partner->turn == a)
			line[item->from] = item->partner->line;
		else if (is_unpaired(item))
			note_unpaired(d, s, item, line[item->from]);
	}
	DL_SORT(s->found, by_line);
	d->messages += s->messages;
	d->differing += s->differences > 0;
}
