/* Handles the live side's messages. A session/cancel that the recording does not have here ends the turn as cancelled. */
#include <stdlib.h>

#include "cmd/acp-replay/player.h"
#include "lib/session/session.h"

/* --- a cancel --- */

/* The next item of the same side and lane, from this one on, in (after, to] that is not done; or ITEM_NONE. */
static uint32_t
next_open(const struct player *p, uint32_t item, uint32_t after, uint32_t to)
{
	while (item <= to && (item <= after || p->plan.parts[item].flags & (PART_DONE | PART_RELAXED)))
		item = p->plan.parts[item].next;
	return item <= to ? item : ITEM_NONE;
}

/* The first item of theirs with this session and method in (after, to]; or ITEM_NONE. */
static uint32_t
next_of(const struct player *p, const struct lane *l, uint32_t session, enum acp_method what, uint32_t after, uint32_t to)
{
	uint32_t item = next_open(p, l->theirs, after, to);

	while (item != ITEM_NONE && (player_item(p, item)->what != what || player_item(p, item)->session != session))
		item = next_open(p, p->plan.parts[item].next, after, to);
	return item;
}

/*
 * Is an item up to `to` of a session, of a sub-agent of it, or of a sub-agent of that? Or of a sub-agent whose announcement was left out,
 * and that is not announced again before?
 */
static bool
leaves_out(const struct player *p, uint32_t item, uint32_t session, uint32_t to)
{
	const struct lane *lanes = p->plan.lanes;

	for (uint32_t of = player_item(p, item)->session; of != ITEM_NONE; of = lanes[of].parent)
		if ((of == session && item <= to) || (lanes[of].parent != ITEM_NONE && item < lanes[of].known &&
			p->plan.parts[lanes[of].announced].flags & PART_RELAXED))
			return true;
	/* The lane has items without a session, too. */
	return p->plan.parts[item].lane == session && item <= to;
}

/*
 * Leaves out the items of a session and its sub-agents in (after, to], and all of those that are not announced then: does not send them,
 * and does not wait for them. A prompt whose response comes later begins a turn of its own.
 */
static void
leave_out(struct player *p, struct lane *l, uint32_t session, uint32_t after, uint32_t to)
{
	uint32_t item, last = (uint32_t)p->plan.items.n - 1;
	struct lane *announced;
	bool own_turn;

	for (item = l->own; (item = next_open(p, item, after, last)) != ITEM_NONE; item = p->plan.parts[item].next) {
		/* Of an item that announces nobody this is the lane without a session, which is no sub-agent's. */
		announced = &p->plan.lanes[p->plan.parts[item].announces];
		if (!leaves_out(p, item, session, to)) {
			if (item < announced->known)
				announced->known = item;
			continue;
		}
		if (item == announced->known)
			announced->known = ITEM_NONE;
		p->plan.parts[item].flags |= PART_RELAXED;
		/* A request that is left out gets no response. */
		if (player_item(p, item)->kind == MSG_REQUEST && player_item(p, item)->pair < p->plan.items.n)
			player_done(p, player_item(p, item)->pair);
		player_done(p, item);
	}
	for (item = plan_needed(&p->plan, l); (item = next_open(p, item, after, last)) != ITEM_NONE; item = p->plan.parts[item].next) {
		own_turn = player_item(p, item)->what == ACP_SESSION_PROMPT && player_item(p, item)->pair > to;
		if (leaves_out(p, item, session, own_turn ? 0 : to))
			p->plan.parts[item].flags |= PART_RELAXED;
	}
}

/* The open turn of a session: a prompt that has come and has no response; or NULL. */
static struct pending *
open_turn(const struct player *p, struct lane *l, uint32_t session)
{
	struct pending *q;

	DL_FOREACH(l->pending, q)
		if (player_item(p, q->item)->what == ACP_SESSION_PROMPT && player_item(p, q->item)->session == session)
			return q;
	return NULL;
}

/* Cancels the open turns of a session. 1; 0: none is open, or the recording has a cancel in it; -1 with errno. */
static int
cancel_open(struct player *p, struct lane *l, uint32_t session)
{
	struct slice cancelled = slice_of("{\"stopReason\":\"cancelled\"}");
	struct buf text = {0};
	struct pending *q;
	uint32_t response;
	int done = 0, r;

	while ((q = open_turn(p, l, session))) {
		response = player_item(p, q->item)->pair;
		if (next_of(p, l, session, ACP_SESSION_CANCEL, q->item, response < p->plan.end ? response : p->plan.end - 1) != ITEM_NONE)
			break;
		leave_out(p, l, session, q->item, plan_has(&p->plan, response) ? response : q->item);
		if (plan_has(&p->plan, response))
			player_done(p, response);
		r = msg_make_result(&text, slice(q->id, q->n), cancelled);
		if (player_send_made(p, &text, r) < 0)
			return -1;
		player_forget(l, q);
		done = 1;
	}
	return done;
}

/* Is the item a state of the session: its own, or (parents) in its parent's report? */
static bool
is_state(const struct player *p, uint32_t item, uint32_t session, bool parents)
{
	const struct part *part = &p->plan.parts[item];

	if (!(part->flags & (PART_IDLE | PART_WORKS)))
		return false;
	return part->announces ? parents && part->announces == session : player_item(p, item)->session == session;
}

/* Has a sub-agent been announced, and not become idle? */
static bool
works_on(const struct player *p, const struct lane *l, uint32_t session)
{
	const struct part *parts = p->plan.parts;
	uint32_t announced = p->plan.lanes[session].announced;
	bool works = true;

	/* An announcement without flags is before --start. */
	if (p->plan.lanes[session].parent == ITEM_NONE || (parts[announced].flags && !(parts[announced].flags & PART_DONE)))
		return false;
	for (uint32_t i = l->begin[0]; plan_has(&p->plan, i); i = parts[i].next)
		if (parts[i].flags & PART_DONE && is_state(p, i, session, true))
			works = parts[i].flags & PART_WORKS;
	return works;
}

/*
 * Cancels the open turn of version 2, whose prompt has its response, and whose end is an idle state. 1; 0: no turn is open, or the
 * recording has a cancel in it; -1 with errno.
 */
static int
cancel_running(struct player *p, struct lane *l, uint32_t session, struct slice id)
{
	uint32_t prompt = ITEM_NONE, next, begin = 0, end = l->begin[0], turn;
	SCOPED struct buf params = {0};
	struct buf text = {0};
	bool works;
	int r;

	/* A sub-agent works in the turns of its parent; but one that is announced and not idle works on when these have ended. */
	for (uint32_t s = session; s != ITEM_NONE; s = works ? ITEM_NONE : p->plan.lanes[s].parent) {
		next = next_of(p, l, s, ACP_SESSION_PROMPT, 0, p->plan.end - 1);
		prompt = next < prompt ? next : prompt;
		works = works_on(p, l, s);
	}
	for (; plan_has(&p->plan, end); end = p->plan.parts[end].next) {
		if (!(p->plan.parts[end].flags & PART_IDLE) || !is_state(p, end, session, false))
			continue;
		if (!(p->plan.parts[end].flags & PART_DONE))
			break;
		begin = end;
	}
	if (!plan_has(&p->plan, end) || end > prompt || next_of(p, l, session, ACP_SESSION_CANCEL, 0, end) != ITEM_NONE)
		return 0;
	/* The turn begins with its prompt; without a prompt (a sub-agent's), after the end of the turn before. */
	for (turn = l->begin[1]; turn < end; turn = p->plan.parts[turn].next)
		if (turn > begin && player_item(p, turn)->what == ACP_SESSION_PROMPT && player_item(p, turn)->session == session)
			break;
	leave_out(p, l, session, turn < end ? turn : begin, end);
	r = json_format(&params, "{\"sessionId\":%b,\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"idle\",\"stopReason\":\"cancelled\"}}", id);
	if (r == 0)
		r = msg_make_notification(&text, acp_name(ACP_SESSION_UPDATE, ACP_PLAIN), buf_slice(&params));
	return player_send_made(p, &text, r) < 0 ? -1 : 1;
}

/* Cancels a turn that the recording does not cancel here. 1; 0: there is none; -1 with errno. */
static int
cancel(struct player *p, const struct msg *live)
{
	struct slice id = msg_session(live);
	uint32_t session = id.p ? player_session(p, id) : ITEM_NONE;
	struct lane *l;
	int r;

	if (session == ITEM_NONE || p->plan.end == 0)
		return 0;
	l = &p->plan.lanes[plan_root(&p->plan, session)];
	r = cancel_open(p, l, session);
	if (r == 0 && !open_turn(p, l, session))
		r = cancel_running(p, l, session, id);
	if (r != 1)
		return r;
	p->moved = p->missed = true;
	player_warn(p, true, p->lines, "the recording has no session/cancel here: ended the turn as cancelled");
	return 1;
}

/* --- requests and notifications --- */

/* Handles a request or notification. Returns an enum received. */
static int
receive_call(struct player *p, const struct msg *m, bool last)
{
	struct slice session;
	struct candidate f;
	int r;

	if (m->kind == MSG_NOTIFICATION && p->plan.them == ACP_AGENT) {
		player_reported(p, m);
		return 0;
	}
	if (m->what == ACP_SESSION_CANCEL && m->kind == MSG_NOTIFICATION) {
		/* The cancel may have come together with its prompt, so the turn is played first. */
		if (!last)
			return RECEIVED_LATER;
		r = cancel(p, m);
		if (r != 0)
			return r < 0 ? -1 : 0;
	}
	r = player_find(p, m, &f);
	if (r == 0 && !last)
		return RECEIVED_LATER;
	if (r == 0 && (p->plan.us == ACP_CLIENT || p->options->on_miss == MISS_NEXT)) {
		session = msg_session(m);
		f.item = player_next_of_method(p, m, session.p ? player_session(p, session) : ITEM_NONE, ITEM_NONE);
		if (f.item == ITEM_NONE && p->plan.us == ACP_CLIENT)
			f.item = player_next_of_method(p, m, ITEM_NONE, ITEM_NONE);
		if (f.item != ITEM_NONE && p->plan.us == ACP_AGENT)
			player_warn(p, true, p->lines, "treated as the next recorded %.*s, record %llu", (int)m->method.n, m->method.p,
				(unsigned long long)player_item(p, f.item)->line);
		r = f.item != ITEM_NONE;
	}
	if (r == 0)
		return player_miss(p, m, f.item != ITEM_NONE ? f.expected : ITEM_NONE);
	return r < 0 ? -1 : player_accept(p, f.item, m);
}

/* --- responses --- */

/* Compares a response with the recorded one, at the level of --match. Reports the first difference. 0, or -1 with errno. */
static int
check_response(struct player *p, uint32_t item, const struct request *r, const struct msg *live)
{
	SCOPED struct buf text = {0};
	struct differences first = {.text = &text};
	struct compare c = player_comparison(p, item, player_add_difference, &first);
	struct msg m;
	int differ;

	if (items_message(&p->plan.items, item, &m) < 0)
		return -1;
	differ = player_compare(p, &c, r, &m, live);
	if (differ == 1) {
		p->missed = true;
		player_warn(p, true, p->lines, "the response to %.*s differs from %s:%llu: %.*s", (int)r->method.n, r->method.p,
			p->plan.items.path, (unsigned long long)player_item(p, item)->line, (int)text.n, text.n ? text.p : "");
	}
	return differ < 0 || first.failed ? -1 : 0;
}

/* Handles that a response to a client's request may begin a session, or end a turn. 0, or -1 with errno. */
static int
note_client_response(struct player *p, uint32_t request, uint32_t response, const struct msg *live)
{
	const uint16_t what = player_item(p, request)->what;
	struct lane *l = plan_lane(&p->plan, request), *begun;
	uint64_t version;
	struct msg m;

	player_happened(p, l, plan_has(&p->plan, response) ? player_item(p, response)->t : l->recorded);
	if (plan_has(&p->plan, response)) {
		if (items_message(&p->plan.items, response, &m) < 0)
			return -1;
		begun = player_begun_by(p, response, &m);
		if (begun) {
			player_begin(p, begun);
			player_happened(p, begun, player_item(p, response)->t);
		}
	}
	if (what == ACP_INITIALIZE)
		p->v2 = json_u64(json_get(live->result, acp_protocol_version), &version) && version == 2;
	if (what != ACP_SESSION_PROMPT || session_accepts(live->result, p->v2))
		return 0;
	l->turns -= l->turns > 0;
	player_end_turn(p, l, response);
	return 0;
}

/* Handles a response. Returns an enum received. */
static int
receive_response(struct player *p, const struct msg *m, bool last)
{
	struct request *r;
	uint32_t request, response;
	bool any;
	int failed = 0;

	if (msg_null_id(m) && m->error.p) {
		player_warn(p, true, p->lines, "an error response without a request: %.*s", (int)m->error.n, m->error.p);
		return 0;
	}
	r = requests_find(p->ours, p->plan.us, m->id);
	if (!r && !last)
		return RECEIVED_LATER;
	if (!r) {
		player_warn(p, true, p->lines, "ignored: a response to no open request, id %.*s", (int)m->id.n, m->id.p);
		p->missed = true;
		return 0;
	}
	requests_remove(p->ours, r);
	if (!r->owner)
		goto done;
	request = (uint32_t)((uintptr_t)r->owner - 1);
	response = player_item(p, request)->pair;
	if (plan_has(&p->plan, response)) {
		/* In a cancelled turn any response is accepted. */
		any = p->plan.parts[response].flags & (PART_DONE | PART_RELAXED);
		player_done(p, response);
		if (!any && p->options->on_miss != MISS_NEXT)
			failed = check_response(p, response, r, m);
		if (!any && failed == 0)
			failed = player_accept(p, response, m);
	} else {
		player_warn(p, true, p->lines, "the recording has no response to %.*s", (int)r->method.n, r->method.p);
		p->missed = true;
	}
	if (failed == 0 && p->plan.us == ACP_CLIENT)
		failed = note_client_response(p, request, response, m);
done:
	requests_done(r);
	return failed;
}

/* --- lines --- */

enum received
player_receive(struct player *p, struct slice line, bool last)
{
	struct json_error error;
	struct slice id;
	struct msg m;
	enum msg_kind kind = msg_scan(line, &m, &error);
	int r = 0;

	if (!last) {
		p->lines++;
		recorder_put(p->recorder, kind == MSG_NOISE ? RECORD_NOISE : RECORD_MESSAGE, p->plan.them, line);
	}
	if (kind == MSG_RESPONSE) {
		r = receive_response(p, &m, last);
	} else if (kind != MSG_NOISE) {
		r = receive_call(p, &m, last);
	} else if (!slice_is_blank(line)) {
		player_warn(p, true, p->lines, "not a message at byte %zu: %s", error.at, error.what);
		/* A malformed request gets an error (HACKING.md, rule 5). */
		if (msg_guess_kind(line, &id) == MSG_REQUEST)
			r = player_refuse(p, id, ACP_ERR_INVALID_REQUEST, error.what, slice(NULL, 0));
	}
	return r < 0 ? RECEIVED_FAILED : (enum received)r;
}

int
player_receive_long(struct player *p)
{
	p->lines++;
	p->missed = true;
	recorder_put(p->recorder, RECORD_LOST, p->plan.them, slice_of("longer than the limit"));
	player_warn(p, true, p->lines, "longer than --max-line: refused");
	return player_refuse(p, slice_of("null"), ACP_ERR_INVALID_REQUEST, "acp-replay: the line is longer than --max-line",
		slice(NULL, 0));
}

/* --- waiting requests --- */

int
player_retry(struct player *p)
{
	struct waiting *w, *next;
	struct candidate f;
	struct msg m;
	int r;

	if (!p->moved)
		return 0;
	p->moved = false;
	DL_FOREACH_SAFE(p->waiting, w, next) {
		msg_scan(slice(w->text, w->n), &m, NULL);
		r = player_find(p, &m, &f);
		if (r == 1 && player_accept(p, f.item, &m) < 0)
			r = -1;
		if (r == 0)
			continue;
		DL_DELETE(p->waiting, w);
		free(w);
		return r;
	}
	return 0;
}
