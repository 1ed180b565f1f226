/* What the recording does not have. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

/* So much of a value is quoted to people. */
enum { QUOTED = 60 };

/* Among so many requests the nearest is looked for, and so many differences are far. */
enum { NEAR = 64, FAR = 32 };

int
player_refuse(struct player *p, struct slice id, int code, const char *why, struct slice data)
{
	struct buf text = {0};
	int r = msg_make_error(&text, id, code, why, data);

	return player_send_made(p, &text, r);
}

/* --- requests and notifications --- */

/* How a live request differs from the one that was expected. */
struct differences {
	struct first_difference first;
	struct buf *data;  /* all of them: what a JSON array holds */
	size_t n;
	bool failed;
};

static int
add_value(struct buf *to, const char *key, struct slice value)
{
	if (!value.p)
		return 0;
	return buf_printf(to, ",\"%s\":", key) < 0 ? -1 : buf_add_slice(to, value);
}

/* As much of a value as people want to see. */
static int
add_quoted(struct buf *to, struct slice value)
{
	struct slice start = slice_cut(value, QUOTED);

	if (!value.p)
		return buf_add_string(to, "nothing");
	return buf_printf(to, "%.*s%s", (int)start.n, start.p, start.n < value.n ? "..." : "");
}

bool
player_first_difference(void *arg, const struct difference *d)
{
	struct first_difference *f = arg;

	f->failed = buf_printf(f->text, "%.*s is ", (int)d->path.n, d->path.p) < 0 || add_quoted(f->text, d->live) < 0 ||
		buf_add_string(f->text, ", was ") < 0 || add_quoted(f->text, d->recorded) < 0;
	return false;
}

static bool
add_difference(void *arg, const struct difference *d)
{
	struct differences *a = arg;

	a->failed = buf_printf(a->data, "%s{\"path\":", a->n ? "," : "") < 0 || json_quote(d->path, a->data) < 0 ||
		add_value(a->data, "recorded", d->recorded) < 0 || add_value(a->data, "live", d->live) < 0 ||
		buf_add_string(a->data, "}") < 0;
	if (a->n++ == 0)
		player_first_difference(&a->first, d);
	return !a->failed && !a->first.failed;
}

/* Counts; more than a few differences are as far as any. */
static bool
count_difference(void *count, const struct difference *d)
{
	(void)d;
	return ++*(size_t *)count < FAR;
}

/* Of the requests of its method that have not come the one that differs least. 0 or -1. */
static int
find_nearest(struct player *p, const struct msg *live, struct cue **nearest)
{
	const struct wanted w = plan_wanted(&p->plan, live);
	size_t least = SIZE_MAX, n, looked = 0;
	struct cue *q = NULL;
	struct compare c;
	struct msg m;

	while (looked++ < NEAR && (q = plan_next_wanted(&p->plan, &w, NULL, q))) {
		c = player_comparison(p, q, count_difference, &n);
		n = 0;
		if (player_recorded(p, q, &m) < 0 || compare_messages(&c, &m, live) < 0)
			return -1;
		if (n < least || (n == least && q->number < (*nearest)->number))
			*nearest = q;
		least = n < least ? n : least;
	}
	return 0;
}

/* The request that was expected in place of this one: the nearest of its method, or the next of its session, or the next. */
static struct cue *
expected_request(struct player *p, const struct msg *live)
{
	struct conversation *c = player_conversation(p, msg_session(live));
	struct cue *first = NULL;

	if (find_nearest(p, live, &first) == 0 && first)
		return first;
	if (c)
		first = player_first_needed(p, c, true);
	return first ? first : player_first_needed(p, NULL, true);
}

/* Says what was expected: text for people, data for programs. 0 or -1. */
static int
describe_expected(struct player *p, const struct msg *live, struct cue *q, bool early, struct buf *text, struct buf *data)
{
	SCOPED struct buf first = {0}, all = {0};
	struct differences a = {.first.text = &first, .data = &all};
	struct compare c = player_comparison(p, q, add_difference, &a);
	struct msg m;
	bool same;

	if (player_recorded(p, q, &m) < 0)
		return -1;
	/* Two methods have nothing to be compared. */
	same = !early && json_string_eq(m.method, live->method);
	if (same && (compare_messages(&c, &m, live) < 0 || a.failed || a.first.failed))
		return -1;
	if (buf_printf(text, "%s is %.*s of %s:%llu", same ? "the nearest request" : "the next expected request",
		(int)m.method.n, m.method.p, p->plan.script->path, (unsigned long long)q->number) < 0)
		return -1;
	if (a.n && buf_printf(text, "; %.*s", (int)first.n, first.p) < 0)
		return -1;
	return buf_printf(data, "{\"expected\":{\"record\":%llu,\"method\":%.*s},\"differences\":[%.*s]}",
		(unsigned long long)q->number, (int)m.method.n, m.method.p, (int)all.n, all.n ? all.p : "");
}

static int
refuse_request(struct player *p, const struct msg *live, struct cue *expected)
{
	struct cue *q = expected ? expected : expected_request(p, live);
	SCOPED struct buf text = {0}, data = {0};
	int r;

	r = buf_printf(&text, "acp-replay: %s: ", expected ? "too early" : "not recorded");
	if (r == 0)
		r = q ? describe_expected(p, live, q, expected, &text, &data) : buf_add_string(&text, "no further request is expected");
	if (r < 0 || !buf_string(&text))
		return -1;
	player_warn_live(p, p->lines, "%.*s gets an error response: %s", (int)live->method.n, live->method.p,
		text.p + sizeof("acp-replay: ") - 1);
	return player_refuse(p, live->id, ACP_ERR_INTERNAL, text.p, data.n ? buf_slice(&data) : slice(NULL, 0));
}

static int
keep_request(struct player *p, const struct msg *live)
{
	struct waiting *w = malloc(sizeof(*w) + live->text.n);

	if (!w)
		return -1;
	w->line = p->lines;
	w->n = live->text.n;
	memcpy(w->text, live->text.p, live->text.n);
	DL_APPEND(p->waiting, w);
	return 0;
}

int
player_miss(struct player *p, const struct msg *live, struct cue *expected)
{
	/* A cancel is of no use later. */
	if (p->options->on_miss == MISS_WAIT && p->us == ACP_AGENT && live->what != ACP_SESSION_CANCEL)
		return keep_request(p, live);
	p->missed = true;
	if (live->kind == MSG_REQUEST)
		return refuse_request(p, live, expected);
	if (live->what == ACP_SESSION_CANCEL)
		player_warn_live(p, p->lines, "ignored: no turn is open that it could cancel");
	else
		player_warn_live(p, p->lines, "ignored: the rest of the recording has no matching notification %.*s",
			(int)live->method.n, live->method.p);
	return 0;
}

/* --- cancelled turns --- */

/* What is in (after, to] is not waited for, and not sent. */
static void
leave_out(struct player *p, struct conversation *c, uint64_t after, uint64_t to)
{
	plan_drop_own(&p->plan, c, after, to);
	for (struct cue *q = c->needed; q && q->number <= to; q = q->next)
		if (q->number > after)
			plan_relax(&p->plan, q);
}

/* The open turn of a conversation: a prompt that has come and is not answered; NULL where there is none. */
static struct cue *
open_turn(struct conversation *c)
{
	struct cue *q;

	DL_FOREACH(c->pending, q)
		if (q->what == ACP_SESSION_PROMPT)
			return q;
	return NULL;
}

/* Has the recording a cancel of the session in (after, to)? */
static bool
has_cancel(const struct conversation *c, uint64_t after, uint64_t to)
{
	const struct cue *q;

	DL_FOREACH(c->cues, q)
		if (q->what == ACP_SESSION_CANCEL && !q->optional && q->number > after && q->number < to)
			return true;
	return false;
}

static int
answer_cancelled(struct player *p, struct cue *q)
{
	SCOPED struct buf result = {0};
	struct buf text = {0};
	int r;

	r = buf_printf(&result, "{\"%s\":\"%s\"}", acp_stop_reason, acp_cancelled);
	if (r == 0)
		r = msg_make_result(&text, slice(q->id, q->nid), buf_slice(&result));
	r = player_send_made(p, &text, r);
	p->unanswered--;
	plan_forget(&p->plan, q);
	return r;
}

/* --- turns of v2: the prompt is answered at once, and the turn's end is an update --- */

/*
 * The end of a turn that goes on: the number of the first idle state among what is to be sent before
 * the next prompt; 0 where there is none, -1 with errno.
 */
static int64_t
end_of_turn(struct player *p, const struct conversation *c)
{
	const struct own *own;
	struct slice text;
	struct msg m;

	DL_FOREACH(c->own, own) {
		if (own->kind != RECORD_MESSAGE)
			continue;
		if (script_read(p->plan.script, own->place, &text) < 0)
			return -1;
		if (msg_scan(text, &m, NULL) == MSG_NOTIFICATION && plan_is_idle(&m))
			return (int64_t)own->number;
	}
	return 0;
}

static uint64_t
next_prompt(const struct conversation *c)
{
	const struct cue *q;

	DL_FOREACH(c->cues, q)
		if (q->what == ACP_SESSION_PROMPT && !q->optional)
			return q->number;
	return UINT64_MAX;
}

static int
send_idle(struct player *p, struct slice session)
{
	SCOPED struct buf params = {0};
	struct buf text = {0};
	int r;

	r = buf_printf(&params, "{\"%s\":%.*s,\"%s\":{\"%s\":\"%s\",\"%s\":\"%s\",\"%s\":\"%s\"}}", acp_session_id,
		(int)session.n, session.p, acp_update, acp_update_kind, acp_state_update, acp_state, acp_idle, acp_stop_reason,
		acp_cancelled);
	if (r == 0)
		r = msg_make_notification(&text, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params));
	return player_send_made(p, &text, r);
}

/* 1 where a turn of v2 goes on and has been cancelled, 0, or -1. */
static int
cancel_running(struct player *p, struct conversation *c, struct slice session)
{
	int64_t end;

	while ((end = end_of_turn(p, c)) == 0 && next_prompt(c) == UINT64_MAX && p->plan.end == PLAN_GOES_ON)
		if (player_read(p) < 0)
			return -1;
	if (end <= 0)
		return (int)end;
	if ((uint64_t)end > next_prompt(c) || has_cancel(c, 0, (uint64_t)end))
		return 0;
	leave_out(p, c, 0, (uint64_t)end);
	return send_idle(p, session) < 0 ? -1 : 1;
}

/* 1 where the open turns have been cancelled, 0 where none is open (or the recording has a cancel in it), -1. */
static int
cancel_open(struct player *p, struct conversation *c)
{
	struct cue *q;
	int done = 0;

	while ((q = open_turn(c))) {
		if (player_read_to(p, &q->response.number) < 0)
			return -1;
		if (has_cancel(c, q->number, q->response.number ? q->response.number : UINT64_MAX))
			break;
		leave_out(p, c, q->number, q->response.number ? q->response.number : q->number);
		if (answer_cancelled(p, q) < 0)
			return -1;
		done = 1;
	}
	return done;
}

int
player_cancel(struct player *p, const struct msg *live)
{
	struct slice session = msg_session(live);
	struct conversation *c = session.p ? player_conversation(p, session) : NULL;
	int r;

	if (!c)
		return 0;
	r = cancel_open(p, c);
	if (r == 0 && !open_turn(c))
		r = cancel_running(p, c, session);
	if (r != 1)
		return r;
	player_touch(p, c);
	p->moved = p->missed = true;
	player_warn_live(p, p->lines, "the recording has no session/cancel here: ended the turn as cancelled");
	return 1;
}
