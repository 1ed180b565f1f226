/*
 * The frame's batches. An array reaches the filter entry by entry and leaves as an array; what was
 * answered here for one of its requests joins the array of answers that comes back for it.
 */
#include <stdlib.h>

#include "lib/frame_parts.h"

enum fate { AS_IT_CAME, MADE_ANEW, GONE };

struct entry {
	size_t from, to;   /* in the batch's text */
	struct buf made;
	enum fate fate;
	struct request *request;
};

struct batch {
	struct batch *next;
	enum lane lane;
	struct buf text;    /* the array; freed when it has gone on */
	struct entry *entries;
	size_t n, cap;
	size_t waiting;     /* entries that are held */
	size_t open;        /* requests of it that have no answer yet */
	size_t noise;       /* entries that are no messages */
	struct slice first_noise;
	bool sent;
	struct buf answers; /* made here, with commas between */
	struct buf joining; /* answers that go with this array when its held entries let it */
};

static void
free_entries(struct batch *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		buf_free(&b->entries[i].made);
	free(b->entries);
	b->entries = NULL;
	b->n = b->cap = 0;
	buf_free(&b->text);
}

static void
batch_free(struct frame *f, struct batch *b)
{
	struct batch **at = &f->batches;

	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	free_entries(b);
	buf_free(&b->answers);
	buf_free(&b->joining);
	free(b);
}

void
batch_free_all(struct frame *f)
{
	while (f->batches)
		batch_free(f, f->batches);
}

static struct batch *
batch_new(struct frame *f, enum lane lane, struct slice text)
{
	struct batch *b = calloc(1, sizeof(*b)), **at = &f->batches;

	if (!b || buf_add_slice(&b->text, text) < 0) {
		free(b);
		return NULL;
	}
	b->lane = lane;
	while (*at)
		at = &(*at)->next;
	*at = b;
	return b;
}

static int
add_entry(struct batch *b, struct slice text)
{
	struct entry *e;
	size_t cap = b->cap ? b->cap * 2 : 8;

	if (b->n == b->cap) {
		e = realloc(b->entries, cap * sizeof(*e));
		if (!e)
			return -1;
		b->entries = e;
		b->cap = cap;
	}
	e = &b->entries[b->n++];
	*e = (struct entry){.from = (size_t)(text.p - b->text.p)};
	e->to = e->from + text.n;
	return 0;
}

static struct slice
entry_text(const struct batch *b, const struct entry *e)
{
	if (e->fate == MADE_ANEW)
		return buf_slice(&e->made);
	return slice(b->text.p + e->from, e->to - e->from);
}

/* An entry in the form that the way wants. 1: it is not sent. */
static int
entry_out(struct frame *f, struct batch *b, struct entry *e, struct buf *to)
{
	struct slice text = entry_text(b, e);
	struct hopwise h = {0};
	struct json_error error;
	struct msg m;
	int r;

	if (f->way != FRAME_PROXY)
		return buf_add_slice(to, text);
	if (msg_scan(text, &m, &error) == MSG_NOISE || m.kind == MSG_BATCH)
		return 1;
	r = proxy_out(f, b->lane, &m, e->request, &h);
	if (r == 0)
		r = splice_write(text, h.splices.at, h.splices.n, to);
	buf_free(&h.with);
	return r;
}

/* What stands before an entry: the array's own bytes, or a comma where the first ones are gone. */
static struct slice
gap_before(const struct batch *b, size_t i, bool first)
{
	size_t from = i > 0 && !first ? b->entries[i - 1].to : 0;
	size_t to = i > 0 && first ? b->entries[0].from : b->entries[i].from;

	return slice(b->text.p + from, to - from);
}

static int
compose(struct frame *f, struct batch *b, struct slice joined, struct buf *to)
{
	bool first = true;
	size_t i, before;
	int r;

	for (i = 0; i < b->n; i++) {
		if (b->entries[i].fate == GONE)
			continue;
		before = to->n;
		if (buf_add_slice(to, gap_before(b, i, first)) < 0)
			return -1;
		r = entry_out(f, b, &b->entries[i], to);
		if (r < 0)
			return -1;
		if (r > 0)
			to->n = before;
		else
			first = false;
	}
	if (first && joined.n == 0) {
		to->n = 0;
		return 0;
	}
	if (joined.n && (buf_add_string(to, first ? "[" : ",") < 0 || buf_add_slice(to, joined) < 0))
		return -1;
	i = b->n ? b->entries[b->n - 1].to : 0;
	return joined.n ? buf_add_string(to, "]") : buf_add_slice(to, slice(b->text.p + i, b->text.n - i));
}

static int
put_array(struct frame *f, enum lane lane, const struct buf *text)
{
	return text->n ? lane_put_line(f, lane, NULL, buf_slice(text), false) : 0;
}

/* Once all is over: sends what was answered here and found no array to join. */
static int
finish(struct frame *f, struct batch *b)
{
	struct buf all = {0};
	int r = 0;

	if (!b->sent || b->open > 0)
		return 0;
	if (b->answers.n > 0) {
		r = buf_printf(&all, "[%.*s]", (int)b->answers.n, b->answers.p);
		if (r == 0)
			r = put_array(f, b->lane == LANE_DOWN ? LANE_UP : LANE_DOWN, &all);
		buf_free(&all);
	}
	batch_free(f, b);
	return r;
}

static int
send_array(struct frame *f, struct batch *b, struct slice joined)
{
	struct buf text = {0};
	int r = compose(f, b, joined, &text);

	if (r == 0)
		r = put_array(f, b->lane, &text);
	buf_free(&text);
	b->sent = true;
	free_entries(b);
	return r < 0 ? -1 : finish(f, b);
}

int
batch_closed_one(struct frame *f, struct batch *b)
{
	if (b->open > 0)
		b->open--;
	return finish(f, b);
}

int
batch_answer(struct batch *b, struct slice answer)
{
	if (b->answers.n > 0 && buf_add(&b->answers, ",", 1) < 0)
		return -1;
	return buf_add_slice(&b->answers, answer);
}

/* The answers that were made here for the array that this response belongs to go with it. */
static int
join(struct frame *f, const struct shown *s, struct buf *joined)
{
	struct pending *p = s->request ? s->request->owner : NULL;
	struct batch *asked = p ? p->batch : NULL;

	if (s->seen.msg.kind != MSG_RESPONSE || !asked)
		return 0;
	if (asked->answers.n > 0) {
		if ((joined->n > 0 && buf_add(joined, ",", 1) < 0) ||
			buf_add_slice(joined, buf_slice(&asked->answers)) < 0)
			return -1;
		asked->answers.n = 0;
	}
	return batch_closed_one(f, asked);
}

static int
show_entry(struct frame *f, struct batch *b, struct shown *s, struct buf *joined)
{
	struct entry *e = &b->entries[s->entry];
	enum verdict verdict = VERDICT_PASS;
	int r;

	if (s->seen.msg.kind == MSG_NOISE) {
		e->fate = frame_edits(f) ? GONE : AS_IT_CAME;
		if (b->noise++ == 0)
			b->first_noise = s->seen.msg.text;
		return 0;
	}
	if (s->seen.msg.kind == MSG_REQUEST)
		b->open++;
	r = lane_show(f, s, &verdict);
	e->request = s->seen.msg.kind == MSG_REQUEST ? s->request : NULL;
	if (r == 0 && verdict == VERDICT_PASS && s->nedits > 0) {
		e->fate = MADE_ANEW;
		r = shown_edited(s, &e->made);
	} else if (verdict == VERDICT_DROP) {
		e->fate = GONE;
	} else if (verdict == VERDICT_HOLD) {
		b->waiting++;
	}
	if (r == 0)
		r = join(f, s, joined);
	return r;
}

/* One line for all of them: there may be millions. */
static void
say_noise(struct frame *f, const struct batch *b, enum acp_side from)
{
	const struct source *src = &f->sources[f->way == FRAME_PROXY ? 0 : b->lane];
	int shown = b->first_noise.n < 512 ? (int)b->first_noise.n : 512;

	if (b->noise && frame_edits(f))
		frame_say(f, "%s: line %llu: entries of a batch that are no messages, dropped: %zu, the first: %.*s",
			acp_side_name(from), (unsigned long long)src->in.lines, b->noise, shown, b->first_noise.p);
}

static bool
untouched(const struct frame *f, const struct batch *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (b->entries[i].fate != AS_IT_CAME)
			return false;
	return f->way != FRAME_PROXY;
}

static int
show_entries(struct frame *f, struct batch *b, enum acp_side from, struct slice line, struct buf *joined)
{
	struct json_iter it = {.in = buf_slice(&b->text)};
	struct msg entry;
	struct shown s;
	size_t i, last = 0;
	int r = 0;

	while (r == 0 && msg_next(&it, &entry)) {
		if (entry.kind != MSG_NOISE)
			last = b->n;
		r = add_entry(b, entry.text);
	}
	it.at = NULL;
	for (i = 0; r == 0 && msg_next(&it, &entry); i++) {
		s = (struct shown){.lane = b->lane, .batch = b, .entry = i};
		s.seen = (struct seen){.from = from, .t = frame_now(f), .line = line, .msg = entry, .batch = true,
			.last = i == last, .number = lane_source(f, b->lane)->in.lines};
		r = show_entry(f, b, &s, joined);
		shown_done(f, &s);
	}
	say_noise(f, b, from);
	return r;
}

/* To a filter that changes nothing: nothing has to be kept, and what is no message is shown as well. */
static int
watch_entries(struct frame *f, enum lane lane, enum acp_side from, struct slice line, struct slice array)
{
	struct json_iter it = {.in = array};
	enum verdict verdict;
	struct msg entry, next;
	struct shown s;
	bool more = msg_next(&it, &entry);
	int r = 0;

	for (; r == 0 && more; entry = next) {
		more = msg_next(&it, &next);
		s = (struct shown){.lane = lane};
		s.seen = (struct seen){.from = from, .t = frame_now(f), .line = line, .msg = entry, .batch = true,
			.last = !more, .number = lane_source(f, lane)->in.lines};
		r = lane_show(f, &s, &verdict);
		shown_done(f, &s);
	}
	return r;
}

static bool
only_watched(const struct frame *f)
{
	return f->way == FRAME_ATTACH || (!(f->filter->needs & (FRAME_EDIT | FRAME_ANSWER | FRAME_SEND)) && f->way != FRAME_PROXY);
}

static int
take_array(struct frame *f, enum lane lane, enum acp_side from, struct block *block, struct slice text,
	const struct msg *m, bool torn)
{
	struct batch *b = batch_new(f, lane, m->text);
	struct buf joined = {0};
	int r;

	if (!b)
		return -1;
	/* An entry may let go of an earlier one: the array stays until all are shown. */
	b->waiting = 1;
	r = show_entries(f, b, from, text, &joined);
	b->waiting--;
	if (r == 0 && b->waiting > 0) {
		if (joined.n > 0)
			r = buf_add_slice(&b->joining, buf_slice(&joined));
	} else if (r == 0 && joined.n == 0 && untouched(f, b)) {
		r = lane_put(f, lane, block, text, m, NULL, torn);
		b->sent = true;
		free_entries(b);
		if (r == 0)
			r = finish(f, b);
	} else if (r == 0) {
		r = send_array(f, b, buf_slice(&joined));
	}
	buf_free(&joined);
	return r;
}

int
batch_line(struct frame *f, enum lane lane, enum acp_side from, struct block *block, struct slice text,
	const struct msg *m, bool torn)
{
	if (!only_watched(f))
		return take_array(f, lane, from, block, text, m, torn);
	if (watch_entries(f, lane, from, text, m->text) < 0)
		return -1;
	return f->way == FRAME_ATTACH ? 0 : lane_put(f, lane, block, text, m, NULL, torn);
}

int
batch_released(struct frame *f, struct held *h, enum verdict verdict, struct slice text)
{
	struct batch *b = h->batch;
	struct entry *e = &b->entries[h->entry];

	b->waiting--;
	if (verdict == VERDICT_DROP) {
		e->fate = GONE;
		if (h->request)
			b->open--;
		e->request = NULL;
	} else if (text.p) {
		e->fate = MADE_ANEW;
		if (buf_add_slice(&e->made, text) < 0)
			return -1;
	}
	return b->waiting == 0 ? send_array(f, b, buf_slice(&b->joining)) : 0;
}

int
batch_refused(struct frame *f, enum lane lane, const struct msg *m)
{
	struct request *r, *next;
	struct pending *p;
	struct batch *b;

	if (!m->error.p || !msg_null_id(m) || json_type(m->error) != JSON_OBJECT ||
		!slice_is(json_get(m->error, "code"), "-32600"))
		return 0;
	for (b = f->batches; b && !(b->lane != lane && b->sent && b->open > 0); b = b->next)
		;
	if (!b)
		return 0;
	for (r = requests_next(f->requests, NULL); r; r = next) {
		next = requests_next(f->requests, r);
		p = r->owner;
		if (p && p->batch == b)
			request_forget(f, r);
	}
	b->open = 0;
	return finish(f, b);
}
