/* A recording becomes sessions, turns and items. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-diff/diff.h"
#include "lib/base/cli.h"

static const char name[] = "acp-diff";

/* A streamed text that may go on, by turn, kind and message id. */
struct text {
	UT_hash_handle hh;
	struct item *last;        /* its latest chunk */
	char key[];
};

int
list_add(struct list *l, void *p)
{
	size_t cap = l->cap ? 2 * l->cap : 8;
	void **more;

	if (l->n == l->cap) {
		more = reallocarray(l->at, cap, sizeof(*more));
		if (!more)
			return -1;
		l->at = more;
		l->cap = cap;
	}
	l->at[l->n++] = p;
	return 0;
}

void *
list_new(struct list *l, size_t size)
{
	void *p = calloc(1, size);

	if (p && list_add(l, p) == 0)
		return p;
	free(p);
	return NULL;
}

/* --- sessions and turns --- */

static struct turn *
add_turn(struct session *s)
{
	struct turn *t = list_new(&s->turns, sizeof(*t));

	if (!t)
		return NULL;
	t->session = s;
	t->number = s->turns.n - 1;
	return t;
}

/* key is that of the id. NULL out of memory. */
static struct session *
add_session(struct file *f, enum side side, struct slice key, struct slice id)
{
	struct session *s = list_new(&f->order, sizeof(*s) + key.n + id.n);

	if (!s || !add_turn(s))
		return NULL;
	s->side = side;
	s->number = f->order.n - 1;
	if (!id.p)
		return s;
	memcpy(s->key, key.p, key.n);
	s->id = slice(memcpy(s->key + key.n, id.p, id.n), id.n);
	HASH_ADD(hh, f->sessions, key, key.n, s);
	return s->hh.tbl ? s : NULL;
}

struct session *
find_session(struct diff *d, enum side side, struct slice id)
{
	struct session *s = NULL;

	d->scratch.n = 0;
	if (msg_id_key(id, &d->scratch) == 0)
		HASH_FIND(hh, d->file[side].sessions, d->scratch.p, d->scratch.n, s);
	return s;
}

/* The session of that id, or what belongs to none. NULL out of memory. */
static struct session *
get_session(struct diff *d, enum side side, struct slice id)
{
	struct file *f = &d->file[side];
	struct session *s;

	if (!id.p)
		return f->order.n ? f->order.at[0] : add_session(f, side, slice(NULL, 0), id);
	s = find_session(d, side, id);
	return s ? s : add_session(f, side, buf_slice(&d->scratch), id);
}

/* --- items --- */

static struct item *
add_item(struct diff *d, enum side side, const struct record *r, struct turn *t)
{
	struct item *item = list_new(&d->file[side].items, sizeof(*item));

	if (!item)
		return NULL;
	item->from = (uint8_t)r->from;
	item->line = r->number;
	item->turn = t;
	item->at = (uint32_t)t->items.n;
	item->place = script_place(r);
	return list_add(&t->items, item) < 0 ? NULL : item;
}

static int
keep_text(struct item *item, struct slice text)
{
	item->text = malloc(text.n + 1);
	if (!item->text)
		return -1;
	memcpy(item->text, text.p, text.n);
	item->place.n = (uint32_t)text.n;
	return 0;
}

/* The pieces of one message are one text, whatever comes between them. 0 or -1. */
static int
join_text(struct diff *d, struct item *item, const struct msg *m)
{
	struct file *f = &d->file[item_side(item)];
	struct acp_chunk c;
	struct text *t;

	if (m->what != ACP_SESSION_UPDATE || !acp_chunk(m->params, &c))
		return 0;
	item->streamed = true;
	item->rest = digest_join(digest_bytes(slice_between(m->text.p, c.text.p)),
		digest_bytes(slice_between(c.text.p + c.text.n, m->text.p + m->text.n)));
	d->scratch.n = 0;
	if (buf_add(&d->scratch, &item->turn, sizeof(item->turn)) < 0 || json_unescape(c.kind, &d->scratch) < 0 ||
		buf_add(&d->scratch, "", 1) < 0 || (c.message.p && buf_add_slice(&d->scratch, c.message) < 0))
		return -1;
	HASH_FIND(hh, f->texts, d->scratch.p, d->scratch.n, t);
	if (t) {
		item->continues = true;
		t->last->piece = item;
		t->last = item;
		return 0;
	}
	t = calloc(1, sizeof(*t) + d->scratch.n);
	if (!t)
		return -1;
	t->last = item;
	memcpy(t->key, d->scratch.p, d->scratch.n);
	HASH_ADD(hh, f->texts, key, d->scratch.n, t);
	if (t->hh.tbl)
		return 0;
	free(t);
	return -1;
}

/* --- messages --- */

/* The message as the program has it, in d->text. The same as normalize_message. */
static enum normalized
normalized(struct diff *d, enum side side, const struct record *r, enum acp_side from, const struct request *request)
{
	enum normalized result;
	char *why;

	d->text[side].n = 0;
	result = normalize_message(d->normalize, from, &r->msg, request, &d->text[side], &why);
	if (result != NORMALIZE_FAILED)
		return result;
	if (why)
		cli_warn(name, "%s:%llu: --normalize: %s", d->file[side].path, (unsigned long long)r->number, why);
	errno = why ? EINVAL : ENOMEM;
	free(why);
	return result;
}

/* The item of a message, or NULL where it is left out. 0 or -1. */
static int
put_item(struct diff *d, enum side side, const struct record *r, struct turn *t, const struct request *request,
	enum acp_side from, struct item **to)
{
	struct msg m = r->msg;
	enum normalized n = NORMALIZE_DONE;

	*to = NULL;
	if (d->normalize) {
		n = normalized(d, side, r, from, request);
		if (n != NORMALIZE_DONE)
			return n == NORMALIZE_FAILED ? -1 : 0;
		if (msg_scan(buf_slice(&d->text[side]), &m, NULL) == MSG_NOISE)
			m = (struct msg){.text = buf_slice(&d->text[side])};
	}
	*to = add_item(d, side, r, t);
	if (!*to || (d->normalize && keep_text(*to, m.text) < 0))
		return -1;
	(*to)->from = (uint8_t)from;
	(*to)->kind = (uint8_t)m.kind;
	(*to)->what = (uint16_t)(request ? request->what : m.what);
	return join_text(d, *to, &m);
}

static int
put_response(struct diff *d, enum side side, const struct record *r)
{
	struct file *f = &d->file[side];
	const struct msg *m = &r->msg;
	bool answers = !(m->error.p && msg_null_id(m));
	struct request *request = answers ? requests_find(f->requests, acp_other_side(r->from), m->id) : NULL;
	struct item *owner = request ? request->owner : NULL, *item;
	enum acp_side from = request ? acp_other_side(request->from) : r->from;
	struct session *s;
	int result = 0;

	if (!request) {
		s = get_session(d, side, msg_session(m));
		return s ? put_item(d, side, r, s->turns.at[s->turns.n - 1], NULL, from, &item) : -1;
	}
	requests_take(f->requests, request);
	if (owner) { /* else it is left out, and this with it */
		result = put_item(d, side, r, owner->turn, request, from, &item);
		owner->response = item;
		if (item)
			item->request = owner;
	}
	requests_done(request);
	return result;
}

static int
put_message(struct diff *d, enum side side, const struct record *r)
{
	struct file *f = &d->file[side];
	const struct msg *m = &r->msg;
	enum acp_side from = r->from == ACP_UNKNOWN ? acp_sender(m->method) : r->from;
	/* A request that begins a session stands outside of it, though it may name it. */
	struct session *s = get_session(d, side, acp_opens_session(m->what) ? slice(NULL, 0) : msg_session(m));
	struct request *request = NULL;
	struct turn *t;
	struct item *item;

	if (!s)
		return -1;
	t = s->turns.at[s->turns.n - 1];
	if (m->kind == MSG_REQUEST && m->what == ACP_SESSION_PROMPT && s->id.p)
		t = add_turn(s);
	if (m->kind == MSG_REQUEST && !(request = requests_open(f->requests, from, 0, m)))
		return -1;
	if (!t || put_item(d, side, r, t, NULL, from, &item) < 0)
		return -1;
	if (request)
		request->owner = item;
	if (item && item->what == ACP_SESSION_PROMPT && !t->prompt)
		t->prompt = item;
	return 0;
}

/* A line that is no message counts from MATCH_SHAPE up, a blank one where all has to be the same. */
static int
put_noise(struct diff *d, enum side side, const struct record *r)
{
	struct session *s = get_session(d, side, slice(NULL, 0));
	struct item *item;

	if (d->options->match < MATCH_SHAPE || (d->options->match < MATCH_EXACT && slice_is_blank(r->text)))
		return 0;
	d->text[side].n = 0;
	if (!s || json_quote(r->text, &d->text[side]) < 0)
		return -1;
	item = add_item(d, side, r, s->turns.at[0]);
	return item ? keep_text(item, buf_slice(&d->text[side])) : -1;
}

/* --- all of it --- */

static int
put_record(struct diff *d, enum side side, const struct record *r)
{
	switch (r->kind) {
	case RECORD_HEADER:
		/* A recording begins again: what is open will have no response. */
		requests_free(d->file[side].requests);
		d->file[side].requests = requests_new();
		return d->file[side].requests ? 0 : -1;
	case RECORD_MESSAGE:
		return r->msg.kind == MSG_RESPONSE ? put_response(d, side, r) : put_message(d, side, r);
	case RECORD_NOISE:
		return put_noise(d, side, r);
	case RECORD_LOST:
		cli_warn(name, "%s:%llu: %llu records are missing here", d->file[side].path, (unsigned long long)r->number,
			(unsigned long long)r->count);
		return 0;
	default:
		return 0;
	}
}

/* True where it is the torn end of a crash. */
static bool
report_bad(const struct file *f, const struct record *r, bool any)
{
	bool torn = r->torn && any;

	cli_warn(name, "%s:%llu: %s at byte %zu: %s", f->path, (unsigned long long)r->number,
		torn ? "the last line is torn" : "not a record", r->error.at, r->error.what);
	return torn;
}

static int
read_all(struct diff *d, enum side side)
{
	struct file *f = &d->file[side];
	bool any = false;
	struct record r;

	for (;;) {
		if (script_next(&f->script, &r) < 0) {
			cli_warn(name, "%s: %s", f->path, strerror(errno));
			return errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
		}
		if (r.kind == RECORD_END)
			break;
		if (r.kind == RECORD_BAD && !report_bad(f, &r, any))
			return EXIT_USAGE;
		any |= r.kind == RECORD_MESSAGE;
		if (put_record(d, side, &r) == 0)
			continue;
		if (errno == EINVAL)
			return EXIT_USAGE;
		cli_warn(name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	if (any)
		return 0;
	cli_warn(name, "%s: no message in it", f->path);
	return EXIT_USAGE;
}

/* Frees what only reading needs. */
static void
end_reading(struct file *f)
{
	struct text *t, *next;

	HASH_ITER(hh, f->texts, t, next) {
		HASH_DEL(f->texts, t);
		free(t);
	}
	requests_free(f->requests);
	f->requests = NULL;
}

int
load(struct diff *d, enum side side)
{
	const struct diff_options *o = d->options;
	struct file *f = &d->file[side];
	int status;

	f->path = strcmp(o->path[side], "-") == 0 ? "standard input" : o->path[side];
	if (script_open(&f->script, name, o->path[side], o->limit, o->hop,
		o->environment && side == RECORDED) < 0) {
		cli_warn(name, "%s: %s", f->path, strerror(errno));
		return EXIT_USAGE;
	}
	f->requests = requests_new();
	if (!f->requests || !get_session(d, side, slice(NULL, 0))) {
		cli_warn(name, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	status = read_all(d, side);
	end_reading(f);
	return status;
}

static void
free_session(struct session *s)
{
	struct name *n, *next;

	HASH_ITER(hh, s->names, n, next) {
		HASH_DEL(s->names, n);
		free(n);
	}
	for (size_t i = 0; i < s->turns.n; i++) {
		free(((struct turn *)s->turns.at[i])->items.at);
		free(s->turns.at[i]);
	}
	free(s->turns.at);
	free(s);
}

void
unload(struct diff *d, enum side side)
{
	struct file *f = &d->file[side];
	struct item *item;

	end_reading(f);
	HASH_CLEAR(hh, f->sessions);
	for (size_t i = 0; i < f->items.n; i++) {
		item = f->items.at[i];
		free(item->text);
		free(item);
	}
	free(f->items.at);
	for (size_t i = 0; i < f->order.n; i++)
		free_session(f->order.at[i]);
	free(f->order.at);
	free(f->names.at);
	script_close(&f->script);
	buf_free(&d->text[side]);
}

/* --- what an item says --- */

enum side
item_side(const struct item *item)
{
	return item->turn->session->side;
}

int
item_message(struct diff *d, const struct item *item, struct msg *m)
{
	struct slice text = slice(item->text, item->place.n);

	if (!item->text && script_read(&d->file[item_side(item)].script, item->place, &text) < 0)
		return -1;
	if (item->kind == MSG_NOISE || msg_scan(text, m, NULL) == MSG_NOISE)
		*m = (struct msg){.text = text};
	if (item->kind == MSG_RESPONSE)
		m->what = (enum acp_method)item->what;
	return 0;
}

int
item_text(struct diff *d, const struct item *item, struct buf *to)
{
	struct acp_chunk c;
	struct msg m;

	to->n = 0;
	if (buf_add(to, "\"", 1) < 0)
		return -1;
	for (; item; item = item->piece)
		if (item_message(d, item, &m) < 0 || !acp_chunk(m.params, &c) ||
			buf_add(to, c.text.p + 1, c.text.n - 2) < 0)
			return -1;
	return buf_add(to, "\"", 1);
}

int
item_value(struct diff *d, const struct item *item, struct buf *to)
{
	struct msg m;

	if (item->streamed)
		return item_text(d, item, to);
	to->n = 0;
	return item_message(d, item, &m) < 0 ? -1 : buf_add_slice(to, m.text);
}

int
item_label(struct diff *d, const struct item *item, struct buf *to)
{
	struct slice kind;
	struct msg m;

	if (item->kind == MSG_NOISE)
		return buf_add_string(to, "noise");
	if (item->kind == MSG_RESPONSE && buf_add_string(to, item->request ? "response to " : "response") < 0)
		return -1;
	if (item->kind == MSG_RESPONSE && !item->request)
		return 0;
	if (item_message(d, item->request ? item->request : item, &m) < 0)
		return -1;
	kind = msg_update_kind(&m);
	if (m.method.p && json_unescape(m.method, to) < 0)
		return -1;
	return !kind.p ? 0 : buf_add(to, " ", 1) < 0 ? -1 : json_unescape(kind, to);
}
