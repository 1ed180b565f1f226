/*
 * Decides which item the player sends, and when. It sends the items of a lane in their recorded order, after the items on which they may
 * depend, with the recorded pauses if --speed is given.
 */
#include <stdlib.h>

#include "cmd/acp-replay/player.h"
#include "lib/base/cli.h"

/* us: the agent's pause after which we expect no more: MOMENT, but in a turn twice its longest recorded pause, at most MOMENT_MOST. */
enum { MOMENT = 500 * 1000, MOMENT_MOST = 5 * 1000 * 1000 };

/* --- reports --- */

void
player_warn(const struct player *p, bool live, uint64_t number, const char *format, ...)
{
	SCOPED struct buf text = {0};
	va_list args;

	va_start(args, format);
	if (buf_vprintf(&text, format, args) == 0)
		cli_warn(replay_name, "%s:%s%llu: %.*s", live ? acp_side_name(p->plan.them) : p->plan.items.path, live ? " line " : "",
			(unsigned long long)number, (int)text.n, text.p);
	va_end(args);
}

/* --- lanes --- */

void
player_happened(struct player *p, struct lane *l, uint64_t recorded)
{
	l->live = l->moved = p->now;
	l->recorded = recorded;
}

void
player_begin(struct player *p, struct lane *l)
{
	if (l->open)
		return;
	l->open = true;
	l->moved = p->now;
}

bool
player_try_begin(struct player *p, struct lane *l)
{
	struct plan *plan = &p->plan;
	struct lane *common = plan->lanes;
	uint32_t first = p->plan.us == ACP_CLIENT ? l->begin[0] : l->first;

	/* The lane without a session must be past that item. */
	if (!l->open && l->opener == ITEM_NONE && plan_needed(plan, common) >= first && plan_own(plan, common) >= first)
		player_begin(p, l);
	return l->open;
}

struct lane *
player_begun_by(struct player *p, uint32_t response, const struct msg *m)
{
	uint32_t session = items_find_session(&p->plan.items, msg_session(m));

	return session != ITEM_NONE && p->plan.lanes[session].opener == response ? &p->plan.lanes[session] : NULL;
}

uint32_t
player_session(struct player *p, struct slice session)
{
	struct slice recorded = slice(NULL, 0);

	if (session.p)
		recorded = ids_recorded(p->ids, (struct ids_scope){.what = ACP_ID_SESSION}, session);
	return items_find_session(&p->plan.items, recorded.p ? recorded : session);
}

struct lane *
player_lane(struct player *p, struct slice session)
{
	uint32_t number = player_session(p, session);

	return number != ITEM_NONE ? &p->plan.lanes[plan_root(&p->plan, number)] : NULL;
}

void
player_forget(struct lane *l, struct pending *q)
{
	DL_DELETE(l->pending, q);
	free(q);
}

/* --- waits of a client: for the responses before its message, and for the agent's notifications, while they come --- */

/* Sets p->wake to this time, unless it is earlier. */
static void
wake_at(struct player *p, uint64_t when)
{
	if (!p->wake || when < p->wake)
		p->wake = when;
}

/* May a message of the lane still come by itself? Then p->wake is set. */
static bool
still_moves(struct player *p, const struct lane *l)
{
	uint64_t moment = MOMENT;

	if (l->turns && 2 * l->pause > moment)
		moment = 2 * l->pause < MOMENT_MOST ? 2 * l->pause : MOMENT_MOST;
	if (p->left || l->moved + moment <= p->now)
		return false;
	wake_at(p, l->moved + moment);
	return true;
}

/* Adds the amounts that the agent sent in the recording before this item to the needed ones. */
static void
need_before(const struct player *p, struct lane *l, uint32_t item)
{
	const struct part *part;

	for (; l->walked < item; l->walked = part->next) {
		part = &p->plan.parts[l->walked];
		l->amounts[part->measure].need += part->amount;
	}
}

static void
add_amount(struct player *p, struct lane *l, size_t measure, uint32_t amount)
{
	l->amounts[measure].have += amount;
	l->moved = p->now;
}

void
player_requested(struct player *p, uint32_t item)
{
	add_amount(p, plan_lane(&p->plan, item), p->plan.parts[item].measure, 1);
}

void
player_reported(struct player *p, const struct msg *m)
{
	struct lane *l = player_lane(p, msg_session(m));
	const struct part *parts = p->plan.parts;
	uint32_t amount, item;
	uint64_t kind;
	size_t i;
	bool text;

	if (!l)
		return;
	kind = plan_measure(&p->plan.items, m, &amount, &text);
	for (i = p->plan.nmeasures - 1; i > 0 && p->plan.measures[i].kind != kind; i--)
		;
	add_amount(p, l, i, amount);
	if (!l->turns || !items_is_idle(m))
		return;
	item = plan_needed(&p->plan, l);
	while (plan_has(&p->plan, item) && (parts[item].flags & (PART_IDLE | PART_DONE)) != PART_IDLE)
		item = parts[item].next;
	l->turns = 0;
	player_end_turn(p, l, item);
}

void
player_end_turn(struct player *p, struct lane *l, uint32_t item)
{
	struct amount *a;

	if (!plan_has(&p->plan, item) || l->walked > item)
		return;
	player_done(p, item);
	need_before(p, l, item);
	/* Messages that came too early count for the next turn; texts do not, because each turn has its own. */
	for (size_t i = 1; i < p->plan.nmeasures; i++) {
		a = &l->amounts[i];
		a->have -= p->plan.measures[i].text || a->have < a->need ? a->have : a->need;
		a->need = 0;
	}
}

bool
player_wants_more(struct player *p, struct lane *l, uint32_t item)
{
	need_before(p, l, item);
	for (size_t i = 1; i < p->plan.nmeasures; i++)
		if (l->amounts[i].have < l->amounts[i].need)
			return still_moves(p, l);
	return false;
}

/* Does an item of ours wait for the agent's messages? */
static bool
client_waits(struct player *p, struct lane *l, uint32_t item)
{
	uint32_t first;
	struct lane *other;

	if (plan_needed(&p->plan, l) < item || player_wants_more(p, l, item))
		return true;
	/* Sessions do not depend on each other, but keep their recorded order while the other one moves. */
	first = plan_first(&p->plan);
	other = first < item ? plan_lane(&p->plan, first) : l;
	return other != l && other->open && still_moves(p, other);
}

/* --- items that are due --- */

bool
player_precedes(const struct player *p, uint32_t k, uint32_t q)
{
	/* Of the messages without a session, only initialize must come before all others. */
	if (plan_lane(&p->plan, k) == p->plan.lanes && player_item(p, k)->what != ACP_INITIALIZE)
		return false;
	return player_item(p, k)->pair < q;
}

/*
 * Can we send this response? It waits for the items of our side after the request. As the agent we also wait for the notifications and
 * responses that the client sent after the request; requests that the client sent in between may come later.
 */
static bool
response_is_ready(struct player *p, struct lane *l, const struct pending *q)
{
	const struct part *parts = p->plan.parts;
	uint32_t from = q->item, to = player_item(p, from)->pair, own = plan_own(&p->plan, l), k = plan_needed(&p->plan, l);
	const struct pending *other;

	if (!plan_has(&p->plan, to))
		return false;
	for (uint32_t i = own; i < to; i = parts[i].next)
		/* The agent may need this response before it sends the messages for which the client's other items wait. */
		if (i > from && !(parts[i].flags & PART_DONE))
			return p->plan.us == ACP_CLIENT && !still_moves(p, l);
	if (p->plan.us == ACP_CLIENT)
		return true;
	if (own < from && k >= own)
		return false; /* an item of ours before the response only waits for its time */
	for (; k < to; k = parts[k].next)
		if (k > from && player_item(p, k)->kind != MSG_REQUEST && part_is_awaited(&parts[k]))
			return false;
	DL_FOREACH(l->pending, other)
		if (other->item < from && player_precedes(p, other->item, from))
			return false;
	return true;
}

/* Is it time for an item that was recorded at t? Else p->wake is set. */
static bool
is_time(struct player *p, const struct lane *l, uint64_t t)
{
	/* The part before --start is not played. */
	const uint64_t from = l->recorded > p->plan.start ? l->recorded : p->plan.start;
	double pause;
	uint64_t due;

	if (p->options->speed <= 0 || t <= from)
		return true;
	pause = (double)(t - from) / p->options->speed;
	if (pause > (double)p->options->max_pause)
		pause = (double)p->options->max_pause;
	due = l->live + (uint64_t)pause;
	if (due <= p->now)
		return true;
	wake_at(p, due);
	return false;
}

/* The item that is due next in a lane. */
struct due {
	struct lane *lane;
	struct pending *request; /* the request whose response is due; NULL: the first item of ours is due */
	uint32_t item;           /* or ITEM_NONE */
};

static struct due
find_due(struct player *p, struct lane *l)
{
	struct due d = {.lane = l, .item = ITEM_NONE};
	uint32_t own = plan_own(&p->plan, l), response;
	struct pending *q;

	if (plan_has(&p->plan, own) && player_try_begin(p, l) &&
		!(p->plan.us == ACP_CLIENT ? client_waits(p, l, own) : plan_needed(&p->plan, l) < own) &&
		is_time(p, l, player_item(p, own)->t))
		d.item = own;
	DL_FOREACH(l->pending, q) {
		response = player_item(p, q->item)->pair;
		if (response >= d.item)
			break;
		if (response_is_ready(p, l, q) && is_time(p, l, player_item(p, response)->t)) {
			d.item = response;
			d.request = q;
		}
	}
	return d;
}

/* --- sending: the recorded bytes, with the live side's ids and paths in place of the recorded ones --- */

/* Queues a line, and records it. 0, or -1 with errno. */
static int
queue(struct player *p, enum record_kind kind, struct slice text)
{
	struct endpoint *to = kind == RECORD_STDERR ? p->err : p->out;

	recorder_put(p->recorder, kind, p->plan.us, text);
	/* A client may never read the agent's standard error, so lines without room are lost. */
	if (kind == RECORD_STDERR && to->out.full)
		return 0;
	return endpoint_put_line(to, NULL, text, false);
}

int
player_send_made(struct player *p, struct buf *text, int failed)
{
	int r = failed ? -1 : queue(p, RECORD_MESSAGE, buf_slice(text));

	buf_free(text);
	return r;
}

int
player_refuse(struct player *p, struct slice id, int code, const char *why, struct slice data)
{
	struct buf text = {0};
	int r = msg_make_error(&text, id, code, why, data);

	return player_send_made(p, &text, r);
}

/* Queues an item of ours. 0, or -1 with errno. */
static int
send_item(struct player *p, struct lane *l, uint32_t item)
{
	const struct item *own = player_item(p, item);
	const enum record_kind kind = (enum record_kind)own->record;
	struct request *r;
	struct slice text;
	struct msg m;

	player_happened(p, l, own->t);
	player_done(p, item);
	if (items_text(&p->plan.items, item, &text) < 0)
		return -1;
	if (kind != RECORD_MESSAGE || (own->kind == MSG_NOTIFICATION && ids_change_nothing(p->ids)))
		return queue(p, kind, text);
	if (msg_scan(text, &m, NULL) == MSG_REQUEST) {
		r = requests_open(p->ours, p->plan.us, 0, &m);
		if (!r)
			return -1;
		r->owner = (void *)((uintptr_t)item + 1);
	}
	p->text.n = 0;
	if (ids_write(p->ids, text, &m, p->plan.us, slice(NULL, 0), slice(NULL, 0), &p->text) < 0)
		return -1;
	l->turns += p->plan.us == ACP_CLIENT && m.kind == MSG_REQUEST && m.what == ACP_SESSION_PROMPT;
	return queue(p, RECORD_MESSAGE, buf_slice(&p->text));
}

/* Queues the recorded response to a live request, and removes the request. 0, or -1 with errno. */
static int
send_response(struct player *p, struct lane *l, struct pending *q)
{
	uint32_t response = player_item(p, q->item)->pair;
	struct slice text, session;
	struct lane *begun;
	struct msg m;

	player_happened(p, l, player_item(p, response)->t);
	player_done(p, response);
	p->text.n = 0;
	if (items_text(&p->plan.items, response, &text) < 0)
		return -1;
	msg_scan(text, &m, NULL);
	session = msg_session(&m);
	/* A session id that we, as the agent, make is the recorded one. */
	if (p->plan.us == ACP_AGENT && session.p &&
		ids_learn(p->ids, (struct ids_scope){.what = ACP_ID_SESSION}, session, session) == IDS_FAILED)
		return -1;
	session = items_session(&p->plan.items, player_item(p, response)->session);
	if (ids_write(p->ids, text, &m, p->plan.us, session, slice(q->id, q->n), &p->text) < 0 ||
		queue(p, RECORD_MESSAGE, buf_slice(&p->text)) < 0)
		return -1;
	begun = player_begun_by(p, response, &m);
	if (begun) {
		player_begin(p, begun);
		player_happened(p, begun, player_item(p, response)->t);
	}
	player_forget(l, q);
	return 0;
}

int
player_send_next(struct player *p)
{
	struct due first = {.item = ITEM_NONE}, d;
	struct plan *plan = &p->plan;
	int r;

	p->wake = 0;
	for (struct lane *l = plan->lanes; l < plan->lanes + plan->nlanes; l++) {
		if (!l->live)
			l->live = p->now;
		d = find_due(p, l);
		if (d.item < first.item)
			first = d;
	}
	if (first.item == ITEM_NONE)
		return 0;
	r = first.request ? send_response(p, first.lane, first.request) : send_item(p, first.lane, first.item);
	return r < 0 ? -1 : 1;
}
