/* Live messages are looked up in the recording. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

/* --- the other side of a pair --- */

int
player_recorded(struct player *p, const struct cue *q, struct msg *m)
{
	struct slice text;

	if (script_read(p->script, q->place, &text) < 0)
		return -1;
	if (msg_scan(text, m, NULL) == q->kind)
		return 0;
	errno = EIO; /* it was so when it was read first */
	return -1;
}

struct compare
player_comparison(const struct player *p, const struct cue *q, bool (*differs)(void *, const struct difference *), void *arg)
{
	return (struct compare){.match = p->options->match, .ids = p->ids, .from = p->them, .what = q->what,
		.session = q->conversation->session, .differs = differs, .arg = arg};
}

static bool
go_on(void *arg, const struct difference *d)
{
	(void)arg;
	(void)d;
	return true;
}

/* Learns which ids and directories stand for which from a recorded message and the live one. 0 or -1. */
static int
learn(struct player *p, const struct cue *q, const struct msg *live)
{
	struct compare c = player_comparison(p, q, go_on, NULL);
	struct msg m;

	c.match = MATCH_PARAMS;
	c.learn = true;
	if (player_recorded(p, q, &m) < 0)
		return -1;
	return compare_messages(&c, &m, live) < 0 ? -1 : 0;
}

/* --- looking for it --- */

/* What has been found for a live message. */
struct candidate {
	struct cue *cue;      /* the one that is meant, or NULL */
	struct cue *expected; /* what has to come before it: it is too early */
	bool close;           /* it fits in the letter */
};

/* Is it the cancel of this turn or of a later one? */
static bool
is_cancel_of_later(const struct cue *prompt, const struct cue *q)
{
	return q->what == ACP_SESSION_CANCEL && prompt->what == ACP_SESSION_PROMPT;
}

/* Another one that has to come first and has not come; or NULL. */
static struct cue *
find_earlier(struct player *p, const struct cue *q)
{
	struct conversation *c = q->conversation;

	if (p->us == ACP_CLIENT || q->optional)
		return NULL;
	if (!player_try_begin(p, c) && p->plan.common && p->plan.common->cues)
		return p->plan.common->cues;
	for (struct cue *k = c->cues; k && k->number < q->number; k = k->next)
		if (k->kind == MSG_REQUEST && (player_precedes(p, k, q) || is_cancel_of_later(k, q)))
			return k;
	return NULL;
}

/* Do they belong to sessions that can be the same? */
static bool
same_session(struct player *p, const struct cue *q, struct slice live)
{
	struct slice recorded = q->conversation->session;

	if (!recorded.p || !live.p)
		return true;
	return ids_judge(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, recorded, live) != IDS_CONFLICT;
}

/* A message through the program; one on which it fails is as it was. The same as normalize_message. */
static enum normalized
normalized(struct player *p, const struct request *r, const struct msg *m, struct buf *to)
{
	char *why = NULL;
	enum normalized n = normalize_message(p->options->normalize, p->them, m, r, to, &why);

	if (n != NORMALIZE_FAILED || !why)
		return n;
	player_warn_live(p, p->lines, "--normalize: %s", why);
	free(why);
	to->n = 0;
	return buf_add_slice(to, m->text) < 0 ? NORMALIZE_FAILED : NORMALIZE_DONE;
}

/* Do they differ when they have been through the program? r: of responses, their request. 1, 0, or -1. */
static int
differ_normalized(struct player *p, const struct compare *c, const struct request *r, const struct msg *recorded,
	const struct msg *live)
{
	SCOPED struct buf a = {0}, b = {0};
	enum normalized one = normalized(p, r, recorded, &a), other = normalized(p, r, live, &b);
	struct msg ma, mb;
	int differ;

	if (one == NORMALIZE_FAILED || other == NORMALIZE_FAILED)
		differ = -1;
	else if (one != other || one == NORMALIZE_NOTHING)
		differ = one != other;
	else if (msg_scan(buf_slice(&a), &ma, NULL) != MSG_NOISE && msg_scan(buf_slice(&b), &mb, NULL) != MSG_NOISE)
		differ = compare_messages(c, &ma, &mb);
	else
		differ = compare_values(c, buf_slice(&a), buf_slice(&b));
	return differ;
}

/*
 * 1, 0, or -1 with errno. *close: without that anything stands for something else, which makes a
 * difference where a session is begun: any directory may stand for any other.
 */
static int
fits(struct player *p, const struct cue *q, const struct msg *live, bool *close)
{
	struct compare c = player_comparison(p, q, NULL, NULL);
	struct msg m;
	int differ;

	*close = true;
	/* A client answers as well as it can: a request that does not fit is taken by its method. */
	if (p->us == ACP_CLIENT)
		c.match = MATCH_PARAMS;
	if (!same_session(p, q, msg_session(live)))
		return 0;
	if (c.match == MATCH_METHOD)
		return 1;
	if (player_recorded(p, q, &m) < 0)
		return -1;
	if (p->options->normalize) {
		differ = differ_normalized(p, &c, NULL, &m, live);
		return differ < 0 ? -1 : !differ;
	}
	differ = compare_messages(&c, &m, live);
	if (differ != 0 || !acp_opens_session(q->what))
		return differ < 0 ? -1 : !differ;
	c.ids = NULL;
	differ = compare_messages(&c, &m, live);
	*close = differ == 0;
	return differ < 0 ? -1 : 1;
}

/* Is the message meant by this cue? 1 yes; 0 no, or too early, or a closer one may be found; -1. */
static int
try_candidate(struct player *p, struct cue *q, const struct msg *live, struct candidate *f)
{
	struct cue *expected;
	bool close;
	int r = fits(p, q, live, &close);

	if (r <= 0)
		return r;
	expected = find_earlier(p, q);
	if (f->cue && (expected || (!f->expected && !close)))
		return 0;
	*f = (struct candidate){q, expected, close};
	return !expected && close;
}

static int
search_part(struct player *p, struct part *part, const struct msg *live, struct candidate *f)
{
	struct cue *q;
	int r;

	DL_FOREACH2(part->cues, q, after)
		if ((r = try_candidate(p, q, live, f)) != 0)
			return r;
	return 0;
}

struct conversation *
player_conversation(struct player *p, struct slice session)
{
	struct slice recorded = slice(NULL, 0);

	if (session.p)
		recorded = ids_recorded(p->ids, (struct ids_place){.what = ACP_ID_SESSION}, session);
	return plan_conversation(&p->plan, recorded.p ? recorded : session);
}

/* The conversation that a live message belongs to; NULL where it names no session. */
static struct conversation *
conversation_of(struct player *p, const struct msg *live)
{
	struct slice session = msg_session(live);

	if (p->us == ACP_CLIENT)
		return p->plan.common;
	return session.p ? player_conversation(p, session) : NULL;
}

/* Looks through what has been read. The same as try_candidate. */
static int
search_plan(struct player *p, const struct msg *live, struct candidate *f)
{
	struct conversation *c = conversation_of(p, live);
	struct part *part = NULL;
	int r = 0;

	while (r == 0 && (part = plan_next_part(&p->plan, live, c, part)))
		r = search_part(p, part, live, f);
	return r;
}

/* Looks through what is read now. */
static int
search_reading(struct player *p, const struct reading *read, const struct msg *live, struct candidate *f)
{
	struct cue *q = read->cue;

	if (!q || !q->part)
		return 0;
	if (q->kind == live->kind && plan_is_part_of(&p->plan, q->part, live))
		return try_candidate(p, q, live, f);
	return 0;
}

/*
 * Is more to be read? Without all only so much as is kept anyway, and no more for one that is only too
 * early, or that could fit better.
 */
static bool
is_worth_reading(const struct player *p, const struct candidate *f, bool all)
{
	if (p->plan.end != PLAN_GOES_ON || (f->cue && (f->expected || f->close)))
		return false;
	return p->plan.held < PLAYER_AHEAD || (all && !f->cue);
}

/* 1 found, 0 not (or too early), -1. Where nothing fits, with all, all of the recording is looked through. */
static int
find(struct player *p, const struct msg *live, bool all, struct candidate *f)
{
	struct reading read;
	int r;

	*f = (struct candidate){0};
	r = search_plan(p, live, f);
	while (r == 0 && is_worth_reading(p, f, all)) {
		if (player_read(p, false, &read) < 0)
			return -1;
		r = search_reading(p, &read, live, f);
	}
	return r < 0 ? r : f->cue && !f->expected;
}

/* --- what has come --- */

static int
keep_id(struct cue *q, const struct msg *live)
{
	q->id = malloc(live->id.n);
	if (!q->id)
		return -1;
	memcpy(q->id, live->id.p, live->id.n);
	q->nid = live->id.n;
	return 0;
}

int
player_accept(struct player *p, struct cue *q, const struct msg *live)
{
	if (learn(p, q, live) < 0 || (q->kind == MSG_REQUEST && keep_id(q, live) < 0))
		return -1;
	p->moved = p->played = true;
	p->taken = p->arrived;
	if (q->number > p->reached)
		p->reached = q->number;
	/* Who names a session knows it, whether the beginning was played or not. */
	if (q->conversation->session.p && msg_session(live).p)
		plan_begin(&p->plan, q->conversation);
	player_happened(p, q->conversation, q->t);
	plan_arrived(&p->plan, q);
	if (q->kind == MSG_REQUEST)
		p->unanswered++;
	else
		plan_forget(&p->plan, q);
	return 0;
}

/* The next one of the method, whatever it says. */
static struct cue *
next_of_method(struct player *p, const struct msg *live)
{
	struct conversation *c = conversation_of(p, live);
	struct part *part = NULL;
	struct cue *first = NULL;

	while ((part = plan_next_part(&p->plan, live, c, part)))
		if (!first || part->cues->number < first->number)
			first = part->cues;
	return first;
}

static enum received
receive_call(struct player *p, const struct msg *m, bool last)
{
	bool next = p->us == ACP_CLIENT || p->options->on_miss == MISS_NEXT;
	struct candidate f;
	int r;

	if (m->kind == MSG_NOTIFICATION && p->them == ACP_AGENT) {
		p->arrived++;
		p->last_notification = p->now;
		if (p->turn.n && plan_is_idle(m) && msg_session(m).p && json_string_eq(msg_session(m), buf_slice(&p->turn))) {
			p->idle++;
			p->turn.n = 0;
		}
		if (p->plan.common)
			player_touch(p, p->plan.common);
		return RECEIVED;
	}
	if (m->what == ACP_SESSION_CANCEL && p->us == ACP_AGENT && m->kind == MSG_NOTIFICATION) {
		r = player_cancel(p, m);
		if (r != 0)
			return r < 0 ? RECEIVED_FAILED : RECEIVED;
	}
	/* What has been read may be enough, and what can be played first need not be kept. */
	r = find(p, m, last, &f);
	if (r == 0 && !last)
		return RECEIVED_LATER;
	if (r == 0 && next) {
		f.cue = next_of_method(p, m);
		if (f.cue && p->us == ACP_AGENT)
			player_warn_live(p, p->lines, "treated as the next recorded %.*s, record %llu", (int)m->method.n, m->method.p,
				(unsigned long long)f.cue->number);
		r = f.cue != NULL;
	}
	if (r == 0)
		r = player_miss(p, m, f.cue ? f.expected : NULL);
	else if (r == 1)
		r = player_accept(p, f.cue, m);
	return r < 0 ? RECEIVED_FAILED : RECEIVED;
}

/* Reads on until the recorded response to a request of ours has been read. */
static int
read_response_to(struct player *p, const struct call *call)
{
	struct reading read;

	while (!call->read && p->plan.end == PLAN_GOES_ON)
		if (player_read(p, false, &read) < 0)
			return -1;
	return 0;
}

/* Is the response what was recorded, at the level of --match? What differs first is reported. 0 or -1. */
static int
check_response(struct player *p, struct cue *q, const struct request *r, const struct msg *live)
{
	struct first_difference first = {0};
	struct compare c = player_comparison(p, q, player_first_difference, &first);
	struct msg m;
	int differ;

	if (player_recorded(p, q, &m) < 0)
		return -1;
	c.what = r->what;
	differ = p->options->normalize ? differ_normalized(p, &c, r, &m, live) : compare_messages(&c, &m, live);
	if (differ == 1) {
		p->missed = true;
		player_warn_live(p, p->lines, "the response to %.*s differs from %s:%llu: %.*s", (int)r->method.n, r->method.p,
			p->script->path, (unsigned long long)q->number, (int)first.text.n, first.text.n ? first.text.p : "");
	}
	buf_free(&first.text);
	return differ < 0 || first.failed ? -1 : 0;
}

static int
end_call(struct player *p, struct call *call, const struct request *r, const struct msg *m)
{
	struct cue *q;

	if (!call)
		return 0; /* its time is over */
	if (read_response_to(p, call) < 0)
		return -1;
	/* In version 2 the response to a prompt is not the end of the turn. */
	if (r->what == ACP_SESSION_PROMPT && (!m->result.p || !json_get(m->result, "messageId").p))
		p->turn.n = 0;
	call->answered = true;
	q = call->cue;
	call->cue = NULL;
	if (!call->read) {
		player_warn_live(p, p->lines, "the recording has no response to %.*s", (int)r->method.n, r->method.p);
		p->missed = true;
	}
	plan_end_call(&p->plan, call);
	if (!q || p->options->on_miss == MISS_NEXT)
		return q ? player_accept(p, q, m) : 0;
	return check_response(p, q, r, m) < 0 ? -1 : player_accept(p, q, m);
}

static enum received
receive_response(struct player *p, const struct msg *m, bool last)
{
	struct request *r = NULL;
	int failed;

	if (msg_null_id(m) && m->error.p) {
		player_warn_live(p, p->lines, "an error response without a request: %.*s", (int)m->error.n, m->error.p);
		return RECEIVED;
	}
	r = requests_find(p->ours, p->us, m->id);
	if (!r && !last)
		return RECEIVED_LATER;
	if (!r) {
		player_warn_live(p, p->lines, "ignored: a response to no open request, id %.*s", (int)m->id.n, m->id.p);
		p->missed = true;
		return RECEIVED;
	}
	requests_take(p->ours, r);
	failed = end_call(p, r->owner, r, m);
	requests_done(r);
	return failed < 0 ? RECEIVED_FAILED : RECEIVED;
}

/* Noise is answered where its sender waits for that (DESIGN, rule 5). */
static int
refuse_noise(struct player *p, struct slice line, const struct json_error *error)
{
	struct slice id;

	if (slice_is_blank(line))
		return 0;
	player_warn_live(p, p->lines, "not a message at byte %zu: %s", error->at, error->what);
	if (msg_noise_meant(line, &id) != MSG_REQUEST)
		return 0;
	return player_refuse(p, id, ACP_ERR_INVALID_REQUEST, error->what, slice(NULL, 0));
}

enum received
player_receive(struct player *p, struct slice line, bool last)
{
	struct json_error error;
	struct msg m;
	enum msg_kind kind = msg_scan(line, &m, &error);

	if (!last) {
		p->lines++;
		recorder_line(p->recorder, p->them, line, kind == MSG_NOISE);
	}
	switch (kind) {
	case MSG_NOISE:
		return refuse_noise(p, line, &error) < 0 ? RECEIVED_FAILED : RECEIVED;
	case MSG_RESPONSE:
		return receive_response(p, &m, last);
	default:
		return receive_call(p, &m, last);
	}
}

int
player_receive_long(struct player *p)
{
	p->lines++;
	p->missed = true;
	recorder_lost(p->recorder, p->them);
	player_warn_live(p, p->lines, "longer than --max-line: refused");
	return player_refuse(p, slice_of("null"), ACP_ERR_INVALID_REQUEST, "acp-replay: the line is longer than --max-line",
		slice(NULL, 0));
}

/* --- those that wait --- */

static int
retry(struct player *p, struct waiting *w)
{
	struct candidate f;
	struct msg m;
	int r;

	if (msg_scan(slice(w->text, w->n), &m, NULL) == MSG_NOISE)
		return 0;
	r = find(p, &m, true, &f);
	if (r == 1 && player_accept(p, f.cue, &m) < 0)
		return -1;
	return r;
}

int
player_retry(struct player *p)
{
	struct waiting *w, *next;
	int r;

	if (!p->moved)
		return 0;
	p->moved = false;
	DL_FOREACH_SAFE(p->waiting, w, next) {
		r = retry(p, w);
		if (r == 0)
			continue;
		DL_DELETE(p->waiting, w);
		free(w);
		return r;
	}
	return 0;
}
