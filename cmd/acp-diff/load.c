/* Reads a recording into sessions, turns and items. */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "cmd/acp-diff/diff.h"
#include "lib/base/cli_line.h"
#include "lib/session/session.h"

static const char name[] = "acp-diff";

/* A streamed text that may continue, by turn, kind and message id; or a tool call, by session and id. */
struct chain {
	UT_hash_handle hh;
	struct diff_item *last; /* its latest message */
	bool ended;        /* of a tool call: it has ended */
	char key[];
};

void
diff_must(int r)
{
	if (r < 0)
		cli_die(EXIT_FAILED, name, "%s", strerror(errno));
}

void *
diff_new(size_t n, size_t size)
{
	void *array = calloc(n ? n : 1, size);

	diff_must(array ? 0 : -1);
	return array;
}

void
list_add(struct list *l, void *p)
{
	/* The array has room for one more than twice the last power of two. */
	if ((l->n & (l->n - 1)) == 0)
		l->at = cli_grow(name, l->at, 2 * l->n, sizeof(*l->at));
	l->at[l->n++] = p;
}

struct slice
diff_keep(struct slice s)
{
	char *copy = diff_new(s.n, 1);

	return slice_keep(&copy, s);
}

/* --- sessions and turns --- */

static struct turn *
add_turn(struct diff_session *s)
{
	struct turn *t = diff_new(1, sizeof(*t));

	list_add(&s->turns, t);
	t->session = s;
	t->number = s->turns.n - 1;
	t->begun = ITEM_NONE;
	t->ended = t->number == 0;
	return t;
}

/* The session of a number, which is made if it is missing; 0: the items that belong to none. */
static struct diff_session *
get_session(struct diff *d, enum side side, uint32_t number)
{
	struct file *f = &d->file[side];
	struct diff_session *s = f->sessions[number];

	if (s)
		return s;
	f->sessions[number] = s = diff_new(1, sizeof(*s));
	list_add(&f->order, s);
	add_turn(s);
	s->side = side;
	s->number = f->order.n - 1;
	s->id = items_session(&f->items, number);
	return s;
}

/* --- items --- */

static struct diff_item *
add_entry(struct diff *d, enum side side, uint32_t index, struct turn *t)
{
	struct file *f = &d->file[side];
	const struct item *item = &f->items.at[index];
	struct diff_item *e = diff_new(1, sizeof(*e));

	*e = (struct diff_item){.from = item->from, .kind = item->kind, .what = item->what, .line = item->line, .index = index, .turn = t};
	f->entries[index] = e;
	DL_APPEND(t->items, e);
	d->nentries++;
	return e;
}

/* Makes the key of the chain that an update belongs to, in d->scratch. False: it belongs to none. */
static bool
make_chain_key(struct diff *d, struct diff_item *item, const struct msg *m)
{
	static const char *const of_calls[] = {"tool_call", "tool_call_update", "tool_call_content_chunk", NULL};
	struct slice call = json_path(m->params, "update.toolCallId"), kind = msg_update_kind(m);
	const bool called = call.p && kind.p && json_type(call) == JSON_STRING && json_string_in(kind, of_calls);
	const void *owner = called ? (const void *)item->turn->session : item->turn;
	struct acp_chunk c;

	d->scratch.n = 0;
	diff_must(buf_add(&d->scratch, &owner, sizeof(owner)));
	/* At MATCH_EXACT, an empty chunk with _meta is no piece of a text: the _meta may report usage, for example. */
	if (acp_chunk(m->params, &c) &&
		!(d->options->match == MATCH_EXACT && c.text.n == 2 && json_path(m->params, "update._meta").p)) {
		item->streamed = true;
		item->around = digest_join(digest_bytes(slice_between(m->text.p, c.text.p)),
			digest_bytes(slice_between(c.text.p + c.text.n, m->text.p + m->text.n)));
		diff_must(json_unescape(c.kind, &d->scratch));
		diff_must(buf_add(&d->scratch, "", 1));
		diff_must(c.message.p ? json_unescape(c.message, &d->scratch) : 0);
		return true;
	}
	item->called = called && d->options->match < MATCH_EXACT;
	diff_must(item->called ? msg_id_key(call, &d->scratch) : 0);
	return item->called;
}

/* Adds an item to its chain: the pieces of a text, or the messages of a tool call, whatever comes between them. */
static void
join_chain(struct diff *d, struct diff_item *item, const struct msg *m)
{
	struct file *f = &d->file[item_side(item)];
	struct chain *t;

	if (m->what != ACP_SESSION_UPDATE || !make_chain_key(d, item, m))
		return;
	HASH_FIND(hh, f->chains, d->scratch.p, d->scratch.n, t);
	/* After a tool call has ended, an agent may give its id to another one. */
	if (t && !(t->ended && json_string_is(msg_update_kind(m), "tool_call"))) {
		item->continues = true;
		t->last->piece = item;
	} else if (!t) {
		t = diff_new(1, sizeof(*t) + d->scratch.n);
		memcpy(t->key, d->scratch.p, d->scratch.n);
		HASH_ADD(hh, f->chains, key, d->scratch.n, t);
	}
	t->last = item;
	t->ended = item->called && ((item->continues && t->ended) || session_status_is_final(json_path(m->params, "update.status")));
}

/* --- messages --- */

/* Runs --normalize on a message, which is then in d->text. False: the program leaves the message out. */
static bool
normalize(struct diff *d, enum side side, uint32_t index, struct msg *m)
{
	struct file *f = &d->file[side];
	const struct item *item = &f->items.at[index];
	struct request request = {.session = items_session(&f->items, item->session)};
	SCOPED struct buf method = {0};
	enum normalized result;
	struct msg of;
	char *why;

	d->text[side].n = 0;
	if (item->kind == MSG_RESPONSE && item->pair != ITEM_NONE) {
		/* The message is read again, because reading its request overwrites it. */
		diff_must(items_message(&f->items, item->pair, &of));
		diff_must(buf_add_slice(&method, of.method));
		diff_must(items_message(&f->items, index, m));
		request.method = buf_slice(&method);
	}
	result = normalize_message(d->normalize, (enum acp_side)item->from, m, method.n ? &request : NULL, &d->text[side], &why);
	if (result == NORMALIZE_FAILED) {
		normalize_free(d->normalize);
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "%s:%llu: --normalize: %s", f->path, (unsigned long long)item->line,
			why ? why : strerror(ENOMEM));
	}
	if (result == NORMALIZE_DONE && msg_scan(buf_slice(&d->text[side]), m, NULL) == MSG_NOISE)
		*m = (struct msg){.text = buf_slice(&d->text[side])};
	return result == NORMALIZE_DONE;
}

/* The turn of a message; a response belongs to the turn of its request. */
static struct turn *
turn_of(struct diff *d, enum side side, uint32_t index, const struct diff_item *request)
{
	const struct item *item = &d->file[side].items.at[index];
	/* A request that begins a session belongs to no session, though it may name one. */
	const bool outside = item->kind != MSG_RESPONSE && acp_opens_session((enum acp_method)item->what);
	struct diff_session *s;
	struct turn *t;

	if (request)
		return request->turn;
	s = get_session(d, side, outside ? 0 : item->session);
	if (item->kind == MSG_REQUEST && item->what == ACP_SESSION_PROMPT && s->id.p) {
		t = add_turn(s);
		t->begun = index;
		t->ended = item->pair == ITEM_NONE;
		return t;
	}
	/* --normalize may have left out the prompt that this responds to. */
	for (size_t i = s->turns.n; item->kind == MSG_RESPONSE && item->what == ACP_SESSION_PROMPT && i-- > 0;)
		if (((struct turn *)s->turns.at[i])->begun == item->pair)
			return s->turns.at[i];
	if (item->from != ACP_AGENT || item->kind == MSG_RESPONSE)
		return s->turns.at[s->turns.n - 1];
	/* The agent works on the first turn that has not ended: a prompt may be queued while an earlier one goes on. */
	while (s->working + 1 < s->turns.n && ((struct turn *)s->turns.at[s->working])->ended)
		s->working++;
	return s->turns.at[s->working];
}

/* Ends the turns that a message ends: a prompt's response, if it does not only accept the prompt, or an idle state. */
static void
end_turns(struct file *f, struct turn *t, const struct item *item, const struct msg *m)
{
	const struct list *turns = &t->session->turns;
	uint64_t version;

	if (item->kind == MSG_RESPONSE && item->what == ACP_INITIALIZE)
		f->v2 = json_u64(json_get(m->result, acp_protocol_version), &version) && version == 2;
	if (item->kind == MSG_RESPONSE && item->what == ACP_SESSION_PROMPT && item->pair == t->begun)
		*(session_accepts(m->result, f->v2) ? &t->accepted : &t->ended) = true;
	if (!t->accepted || t->ended || !items_is_idle(m))
		return;
	for (size_t i = t->session->working; i < turns->n; i++) {
		t = turns->at[i];
		t->ended |= t->accepted;
	}
}

static void
put_message(struct diff *d, enum side side, uint32_t index)
{
	struct file *f = &d->file[side];
	const struct item *item = &f->items.at[index];
	const bool responds = item->kind == MSG_RESPONSE && item->pair != ITEM_NONE;
	struct diff_item *request = responds ? f->entries[item->pair] : NULL, *e;
	struct turn *t = turn_of(d, side, index, request);
	struct msg m;

	diff_must(items_message(&f->items, index, &m));
	end_turns(f, t, item, &m);
	/* If the request is left out, the response is, too. */
	if ((responds && !request) || (d->normalize && !normalize(d, side, index, &m)))
		return;
	e = add_entry(d, side, index, t);
	e->text = d->normalize ? diff_keep(m.text) : slice(NULL, 0);
	e->kind = (uint8_t)m.kind;
	e->what = (uint16_t)(responds ? item->what : m.what);
	if (request) {
		request->response = e;
		e->request = request;
	}
	if (e->what == ACP_SESSION_PROMPT && !responds && !t->prompt)
		t->prompt = e;
	join_chain(d, e, &m);
}

/* Adds a line that is not a message. It counts from MATCH_SHAPE on, a blank one at MATCH_EXACT only. */
static void
put_noise(struct diff *d, enum side side, uint32_t index)
{
	struct diff_session *s = get_session(d, side, 0);
	struct slice text;

	diff_must(items_text(&d->file[side].items, index, &text));
	if (d->options->match < MATCH_SHAPE || (d->options->match < MATCH_EXACT && slice_is_blank(text)))
		return;
	d->text[side].n = 0;
	diff_must(json_quote(text, &d->text[side]));
	add_entry(d, side, index, s->turns.at[0])->text = diff_keep(buf_slice(&d->text[side]));
}

/* --- all of it --- */

void
load(struct diff *d, enum side side)
{
	const struct diff_options *o = d->options;
	struct file *f = &d->file[side];
	struct record record;
	uint32_t index;
	int r;

	f->path = strcmp(o->path[side], "-") == 0 ? "standard input" : o->path[side];
	if (items_open(&f->items, name, o->path[side], o->limit, o->hop, o->environment && side == RECORDED) < 0)
		cli_die(EXIT_USAGE, name, "%s: %s", f->path, strerror(errno));
	f->items.path = f->path;
	do
		r = items_next(&f->items, &record, &index);
	while (r == 0 && record.kind != RECORD_END);
	if (r < 0)
		cli_die(errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE, name, "%s: %s", f->path, strerror(errno));
	if (r > 0 || items_missed(&f->items))
		exit(EXIT_USAGE);
	f->sessions = diff_new(f->items.nsessions, sizeof(struct diff_session *));
	f->entries = diff_new(f->items.n, sizeof(struct diff_item *));
	get_session(d, side, 0);
	for (size_t i = 0; i < f->items.n; i++) {
		if (f->items.at[i].record == RECORD_MESSAGE)
			put_message(d, side, (uint32_t)i);
		else if (f->items.at[i].record == RECORD_NOISE)
			put_noise(d, side, (uint32_t)i);
	}
}

/* --- the contents of items --- */

enum side
item_side(const struct diff_item *item)
{
	return item->turn->session->side;
}

static void
read_message(struct diff *d, const struct diff_item *item, struct msg *m)
{
	if (!item->text.p)
		diff_must(items_message(&d->file[item_side(item)].items, item->index, m));
	else if (item->kind == MSG_NOISE || msg_scan(item->text, m, NULL) == MSG_NOISE)
		*m = (struct msg){.text = item->text};
	if (item->kind == MSG_RESPONSE)
		m->what = (enum acp_method)item->what;
}

static struct slice
find_member(struct slice object, struct slice wanted)
{
	struct json_iter it = {.in = object};
	struct slice key, value;

	while (json_next(&it, &key, &value))
		if (json_string_eq(key, wanted))
			return value;
	return slice(NULL, 0);
}

/* Appends the state of a tool call after an update: the members of the update, and the unchanged ones. */
static void
update_state(struct slice state, struct slice update, struct buf *to)
{
	const struct slice both[] = {state, update};
	struct slice key, value, other;
	bool kind;

	diff_must(buf_add(to, "{", 1));
	for (int i = 0; i < 2; i++) {
		struct json_iter it = {.in = both[i]};

		while (json_next(&it, &key, &value)) {
			other = find_member(both[!i], key);
			kind = json_string_is(key, acp_update_kind);
			if (i == 1 && (other.p || json_type(value) == JSON_NULL))
				continue;
			if (other.p && !kind && json_type(other) != JSON_NULL)
				value = other;
			diff_must(json_format(to, to->p[to->n - 1] == '{' ? "%b:%b" : ",%b:%b", key, value));
		}
	}
	diff_must(buf_add(to, "}", 1));
}

void
item_message(struct diff *d, const struct diff_item *item, struct msg *m)
{
	SCOPED struct buf head = {0}, state = {0}, next = {0};
	struct buf *whole = &d->state[item_side(item)], swap;
	struct slice update;
	size_t before;

	read_message(d, item, m);
	if (!item->called || !item->piece)
		return;
	update = json_get(m->params, acp_update);
	before = (size_t)(update.p - m->text.p);
	diff_must(buf_add_slice(&head, m->text));
	diff_must(buf_add_slice(&state, update));
	for (const struct diff_item *piece = item->piece; piece; piece = piece->piece) {
		next.n = 0;
		read_message(d, piece, m);
		update_state(buf_slice(&state), json_get(m->params, acp_update), &next);
		swap = state;
		state = next;
		next = swap;
	}
	whole->n = 0;
	diff_must(json_format(whole, "%b%b%b", slice(head.p, before), buf_slice(&state),
		slice_between(head.p + before + update.n, head.p + head.n)));
	msg_scan(buf_slice(whole), m, NULL);
}

void
item_text(struct diff *d, const struct diff_item *item, struct buf *to)
{
	struct acp_chunk c;
	struct msg m;

	to->n = 0;
	diff_must(buf_add(to, "\"", 1));
	for (; item; item = item->piece) {
		read_message(d, item, &m);
		if (acp_chunk(m.params, &c))
			diff_must(buf_add(to, c.text.p + 1, c.text.n - 2));
	}
	diff_must(buf_add(to, "\"", 1));
}

void
item_label(struct diff *d, const struct diff_item *item, struct buf *to)
{
	const struct diff_item *request = item->request ? item->request : item->kind == MSG_RESPONSE ? NULL : item;
	struct slice kind;
	struct msg m;

	if (item->kind == MSG_NOISE || item->kind == MSG_RESPONSE)
		diff_must(buf_add_string(to, item->kind == MSG_NOISE ? "noise" : request ? "response to " : "response"));
	if (item->kind == MSG_NOISE || !request)
		return;
	read_message(d, request, &m);
	kind = msg_update_kind(&m);
	diff_must(m.method.p ? json_unescape(m.method, to) : 0);
	diff_must(kind.p ? buf_add(to, " ", 1) : 0);
	diff_must(kind.p ? json_unescape(kind, to) : 0);
}
