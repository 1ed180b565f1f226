/* What the live side sends. */
#include <stdlib.h>

#include "cmd/acp-replay/player_parts.h"

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
	r = player_find(p, m, last, &f);
	if (r == 0 && !last)
		return RECEIVED_LATER;
	if (r == 0 && next) {
		f.cue = player_next_of_method(p, m);
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

/* Is the response what was recorded, at the level of --match? What differs first is reported. 0 or -1. */
static int
check_response(struct player *p, struct cue *q, const struct request *r, const struct msg *live)
{
	SCOPED struct buf text = {0};
	struct first_difference first = {.text = &text};
	struct compare c = player_comparison(p, q, player_first_difference, &first);
	struct msg m;
	int differ;

	if (player_recorded(p, q, &m) < 0)
		return -1;
	differ = player_compare(p, &c, r, &m, live);
	if (differ == 1) {
		p->missed = true;
		player_warn_live(p, p->lines, "the response to %.*s differs from %s:%llu: %.*s", (int)r->method.n, r->method.p,
			p->plan.script->path, (unsigned long long)q->number, (int)text.n, text.n ? text.p : "");
	}
	return differ < 0 || first.failed ? -1 : 0;
}

/* q: the recorded response, or NULL where its time is over. 0 or -1. */
static int
accept_response(struct player *p, struct cue *q, const struct request *r, const struct msg *m)
{
	if (!q)
		return 0;
	if (player_read_to(p, &q->number) < 0)
		return -1;
	/* In version 2 the response to a prompt is not the end of the turn. */
	if (r->what == ACP_SESSION_PROMPT && (!m->result.p || !json_get(m->result, "messageId").p))
		p->turn.n = 0;
	if (!q->number) {
		player_warn_live(p, p->lines, "the recording has no response to %.*s", (int)r->method.n, r->method.p);
		p->missed = true;
	}
	/* In a turn that was cancelled any response will do. */
	if (!q->number || q->optional) {
		plan_arrived(&p->plan, q);
		return 0;
	}
	if (p->options->on_miss != MISS_NEXT && check_response(p, q, r, m) < 0)
		return -1;
	return player_accept(p, q, m);
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
	failed = accept_response(p, r->owner, r, m);
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
		recorder_put(p->recorder, kind == MSG_NOISE ? RECORD_NOISE : RECORD_MESSAGE, p->them, line);
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
	recorder_put(p->recorder, RECORD_LOST, p->them, slice(NULL, 0));
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
	r = player_find(p, &m, true, &f);
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
