#include "cmd/acp-replay/diff_parts.h"

#include <errno.h>
#include <stdlib.h>

struct diff *
diff_new(const struct diff_spec *spec)
{
	struct diff *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->spec = *spec;
	d->connection.here[DIFF_RECORDED] = d->connection.here[DIFF_LIVE] = true;
	d->requests[DIFF_RECORDED] = requests_new();
	d->requests[DIFF_LIVE] = requests_new();
	if (d->requests[DIFF_RECORDED] && d->requests[DIFF_LIVE])
		return d;
	diff_free(d);
	return NULL;
}

void
diff_free(struct diff *d)
{
	if (!d)
		return;
	thread_free_all(d);
	exchange_free_all(d);
	requests_free(d->requests[DIFF_RECORDED]);
	requests_free(d->requests[DIFF_LIVE]);
	buf_free(&d->key);
	buf_free(&d->normal);
	free(d);
}

/* --- messages --- */

/* The oldest request that waits will have no answer. */
static int
forget_oldest(struct diff *d, enum diff_side side)
{
	struct request *r = requests_next(d->requests[side], NULL);
	struct exchange *e = r->owner;

	requests_take(d->requests[side], r);
	requests_done(r);
	return exchange_answer(d, e, NULL);
}

/* The exchange that a request begins. NULL when out of memory. */
static struct exchange *
begin_exchange(struct diff *d, const struct item_spec *spec, struct thread *t, const struct msg *m)
{
	struct request *r = requests_open(d->requests[spec->side], spec->from, 0, m);
	struct exchange *e;

	if (!r)
		return NULL;
	e = exchange_new(d, spec->side, t, m);
	r->owner = e;
	if (!e) {
		requests_take(d->requests[spec->side], r);
		requests_done(r);
	}
	return e;
}

/* A prompt begins a turn of its session, and of what belongs to none. */
static int
begin_turn(struct diff *d, struct thread *t, enum diff_side side)
{
	d->connection.now[side]++;
	if (t != &d->connection)
		t->now[side]++;
	return thread_close_texts(t, side) < 0 ? -1 : thread_close_texts(&d->connection, side);
}

/* A request or a notification, or an answer to nothing that we have seen. */
static int
put_message(struct diff *d, struct item_spec *spec, const struct msg *m, struct slice session)
{
	struct thread *t = thread_get(d, spec->side, session);
	bool prompt = m->kind == MSG_REQUEST && m->what == ACP_SESSION_PROMPT;
	struct exchange *e = NULL;
	struct item *item;

	if (!t || (prompt && begin_turn(d, t, spec->side) < 0))
		return -1;
	if (m->kind == MSG_REQUEST && !(e = begin_exchange(d, spec, t, m)))
		return -1;
	/* Who asks for what never gets an answer may do so without end. */
	if (requests_count(d->requests[spec->side]) > REQUESTS_ONE_WAY && forget_oldest(d, spec->side) < 0)
		return -1;
	if (item_new(d, spec, m, &item) < 0)
		return -1;
	if (!item) {
		if (e)
			e->alone = true; /* left out, and its answer with it */
		return 0;
	}
	item->exchange = e;
	if (thread_put(d, t, spec->side, spec->from == ACP_CLIENT ? LANE_DOWN : LANE_UP, item) < 0 ||
		thread_settle(d, t) < 0)
		return -1;
	return prompt ? thread_settle(d, &d->connection) : 0;
}

static int
put_answer(struct diff *d, struct item_spec *spec, const struct msg *m, struct request *r)
{
	struct exchange *e = r->owner;
	struct thread *t = e->thread;
	struct item *answer = NULL;
	int result = 0;

	spec->method = r->method;
	spec->session = r->session;
	spec->what = r->what;
	if (r->what == ACP_SESSION_PROMPT)
		result = thread_close_texts(t, spec->side);
	if (result == 0 && !e->alone)
		result = item_new(d, spec, m, &answer);
	if (result == 0)
		result = exchange_answer(d, e, answer);
	return result < 0 ? -1 : thread_settle(d, t);
}

static int
put_response(struct diff *d, struct item_spec *spec, const struct msg *m)
{
	struct requests *rs = d->requests[spec->side];
	struct request *r = NULL;
	int result;

	if (!(m->error.p && msg_null_id(m)))
		r = requests_find(rs, acp_other_side(spec->from), m->id);
	if (!r)
		return put_message(d, spec, m, msg_session(m));
	if (spec->from == ACP_UNKNOWN)
		spec->from = acp_other_side(r->from);
	requests_take(rs, r);
	result = put_answer(d, spec, m, r);
	requests_done(r);
	return result;
}

static int
put(struct diff *d, enum diff_side side, enum acp_side from, const struct msg *m, uint64_t line)
{
	struct item_spec spec = {.side = side, .from = from, .line = line};

	if (m->kind == MSG_NOISE)
		return 0;
	if (m->kind == MSG_RESPONSE)
		return put_response(d, &spec, m);
	if (from == ACP_UNKNOWN)
		spec.from = acp_sender(m->method);
	/* A request that begins a session stands outside of it, though it may name it. */
	return put_message(d, &spec, m, acp_begins_session(m->what) ? slice(NULL, 0) : msg_session(m));
}

int
diff_message(struct diff *d, enum diff_side side, enum acp_side from, const struct msg *m, uint64_t line)
{
	struct json_iter it = {.in = m->text};
	struct msg entry;
	int r = 0;

	if (m->kind != MSG_BATCH)
		return put(d, side, from, m, line);
	while (r == 0 && msg_next(&it, &entry))
		r = put(d, side, from, &entry, line);
	return r;
}

int
diff_begin(struct diff *d, enum diff_side side)
{
	while (requests_count(d->requests[side]) > 0)
		if (forget_oldest(d, side) < 0)
			return -1;
	return 0;
}

static bool
is_blank(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!strchr(" \t\r", text.p[i]) || text.p[i] == '\0')
			return false;
	return true;
}

int
diff_noise(struct diff *d, enum diff_side side, enum acp_side from, struct slice text, uint64_t line)
{
	struct item_spec spec = {.side = side, .from = from, .line = line};
	struct msg m = {.kind = MSG_NOISE};
	struct normalize *program = d->spec.normalize;
	struct buf quoted = {0};
	struct item *item;
	int r = -1;

	if (d->spec.match < MATCH_SHAPE || (d->spec.match < MATCH_EXACT && is_blank(text)))
		return 0;
	d->spec.normalize = NULL; /* it is for messages */
	if (json_quote(text, &quoted) == 0) {
		m.text = buf_slice(&quoted);
		r = item_new(d, &spec, &m, &item);
	}
	d->spec.normalize = program;
	buf_free(&quoted);
	if (r < 0 || thread_put(d, &d->connection, side, from == ACP_CLIENT ? LANE_DOWN : LANE_UP, item) < 0)
		return -1;
	return thread_settle(d, &d->connection);
}

/* --- the end --- */

static int
settle_list(struct diff *d, struct thread *list)
{
	struct thread *t;

	DL_FOREACH(list, t)
		if (thread_settle(d, t) < 0)
			return -1;
	return 0;
}

static int
settle_all(struct diff *d)
{
	if (thread_settle(d, &d->connection) < 0 || settle_list(d, d->paired) < 0)
		return -1;
	return settle_list(d, d->single);
}

static int
close_texts(struct thread *list, enum diff_side side)
{
	struct thread *t;

	DL_FOREACH(list, t)
		if (thread_close_texts(t, side) < 0)
			return -1;
	return 0;
}

int
diff_end(struct diff *d, enum diff_side side)
{
	d->ended[side] = true;
	if (thread_close_texts(&d->connection, side) < 0 || close_texts(d->paired, side) < 0 ||
		close_texts(d->single, side) < 0 || settle_all(d) < 0)
		return -1;
	if (!d->ended[other(side)])
		return 0;
	if (thread_join_rest(d) < 0)
		return -1;
	d->closing = true;
	if (settle_all(d) < 0 || exchange_settle_all(d) < 0)
		return -1;
	return settle_all(d);
}

size_t
diff_waiting(const struct diff *d, enum diff_side side)
{
	return d->waiting[side];
}

uint64_t
diff_count(const struct diff *d)
{
	return d->count;
}
