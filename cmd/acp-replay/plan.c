#include "cmd/acp-replay/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cli.h"
#include "lib/match/digest.h"
#include "lib/run/proc.h"
#include "lib/session/session.h"

/* The state while the recording is read. */
struct reading {
	struct plan *plan;
	const struct replay_options *options;
	struct record record;
	struct buf *states;   /* if we are the agent: the items (uint32_t) that may report a state, or announce a sub-agent's session */
	bool started, ended; /* started: there was an item at or after --start; ended: --until was reached */
};

/* --- amounts of the agent's messages --- */

/*
 * No agent sends a text, or the output of a tool, twice in the same pieces. So texts are measured by their length, tool calls by the
 * numbers of begun and ended ones, and other messages by their number.
 */
uint64_t
plan_measure(struct items *items, const struct msg *m, uint32_t *amount, bool *text)
{
	struct slice kind = msg_update_kind(m);
	struct acp_chunk c;

	*amount = 1;
	*text = kind.p && acp_chunk(m->params, &c);
	if (*text) {
		items->key.n = 0;
		*amount = json_unescape(c.text, &items->key) < 0 ? 0 : (uint32_t)items->key.n;
	} else if (json_string_is(kind, "tool_call_update")) {
		*amount = session_status_is_final(json_path(m->params, "update.status"));
	}
	return items_method(items, kind.p ? kind : m->method);
}

/* Finds or adds a kind in the plan's table. Returns its index; 0 out of memory. */
static uint16_t
add_measure(struct plan *p, uint64_t kind, bool text)
{
	struct measure *more;
	size_t i;

	for (i = 1; i < p->nmeasures; i++)
		if (p->measures[i].kind == kind)
			return (uint16_t)i;
	/* All kinds above this number share an index. */
	if (i == UINT16_MAX)
		return UINT16_MAX - 1;
	more = reallocarray(p->measures, i + 1, sizeof(*more));
	if (!more)
		return 0;
	p->measures = more;
	p->nmeasures = i + 1;
	more[i] = (struct measure){.kind = kind, .text = text};
	return (uint16_t)i;
}

/* --- reading --- */

/* The flags of an item: its side, and whether it is needed; 0: it is not played. */
static uint8_t
flags_of(const struct plan *p, const struct item *item, uint64_t start)
{
	const bool before = item->line < start, ours = item->from == p->us;
	/* These requests are played before --start, too, because the sessions must begin. */
	const bool begins = item->from == ACP_CLIENT && item->kind == MSG_REQUEST &&
		(item->what == ACP_INITIALIZE || acp_opens_session((enum acp_method)item->what));
	const struct part *request = item->kind == MSG_RESPONSE && item->pair != ITEM_NONE ? &p->parts[item->pair] : NULL;

	if (item->record == RECORD_STDERR)
		return p->us == ACP_AGENT && !before ? PART_OURS : 0;
	if (item->record == RECORD_NOISE)
		return ours && !before ? PART_OURS : 0;
	if (item->from == ACP_UNKNOWN || (request && !request->flags))
		return 0;
	if (request)
		return ours ? PART_OURS : PART_THEIRS | PART_NEEDED;
	if (item->kind == MSG_RESPONSE && !ours)
		return 0; /* we do not send its request */
	if (before && !begins)
		return 0;
	if (ours)
		return PART_OURS;
	/* The agent's notifications are not needed one by one, but measured (player_send.c). */
	return PART_THEIRS | (p->us == ACP_AGENT && !before ? PART_NEEDED : 0);
}

/* Sets the flags of an item, and notes the session that it begins. 0, or -1 with errno. */
static int
open_item(struct plan *p, uint32_t i, uint64_t start)
{
	const struct item *item = &p->items.at[i];
	uint32_t opened;
	struct msg m;

	p->parts[i].next = ITEM_NONE;
	p->parts[i].flags = item->record == RECORD_EOF ? 0 : flags_of(p, item, start);
	if (item->kind == MSG_REQUEST && item->from == ACP_CLIENT && (item->what == ACP_SESSION_LOAD || item->what == ACP_SESSION_RESUME) &&
		i < p->lanes[item->session].loaded)
		p->lanes[item->session].loaded = i;
	if (!p->parts[i].flags || item->kind != MSG_RESPONSE || item->pair == ITEM_NONE ||
		(item->session && item->what != ACP_SESSION_FORK))
		return 0;
	if (items_message(&p->items, i, &m) < 0)
		return -1;
	opened = items_find_session(&p->items, msg_session(&m));
	if (opened && opened != ITEM_NONE && p->lanes[opened].opener == ITEM_NONE)
		p->lanes[opened].opener = i;
	return 0;
}

/* Sets the lane and the amount of an item. *latest: the lane of the item before. 0, or -1 with errno. */
static int
plan_item(struct plan *p, uint32_t i, uint32_t *latest)
{
	const struct item *item = &p->items.at[i];
	struct part *part = &p->parts[i];
	const bool responds = item->kind == MSG_RESPONSE && item->pair != ITEM_NONE;
	struct lane *l;
	uint32_t *last;
	bool ours, text = false;
	struct msg m;

	if (!part->flags)
		return 0;
	ours = part->flags & PART_OURS;
	/* An item of ours without a session goes into the lane of the item before; but a client's message does not. */
	if (responds)
		part->lane = p->parts[item->pair].lane;
	else if (ours && !item->session && !(p->us == ACP_CLIENT && item->record == RECORD_MESSAGE))
		part->lane = *latest;
	else
		part->lane = plan_root(p, item->session);
	*latest = part->lane;
	l = plan_lane(p, i);
	if (l->first == ITEM_NONE)
		l->first = i;
	else if (!ours && p->us == ACP_CLIENT && item->t > l->recorded && item->t - l->recorded > l->pause)
		l->pause = item->t - l->recorded;
	l->recorded = item->t;
	l->turns |= item->kind == MSG_REQUEST && item->what == ACP_SESSION_PROMPT;
	if (!ours || !responds) {
		last = &l->last[!ours];
		*(*last == ITEM_NONE ? &l->begin[!ours] : &p->parts[*last].next) = i;
		*last = i;
	}
	if (ours || p->us == ACP_AGENT || item->kind == MSG_RESPONSE)
		return 0;
	if (items_message(&p->items, i, &m) < 0)
		return -1;
	/* The idle state that ends a turn in version 2 is needed. */
	if (l->turns && items_is_idle(&m)) {
		part->flags |= PART_NEEDED | PART_IDLE;
		l->turns = 0;
	}
	part->measure = add_measure(p, plan_measure(&p->items, &m, &part->amount, &text), text);
	return part->measure ? 0 : -1;
}

/* Is this record the last one, by --until? */
static bool
ends_after(const struct reading *r)
{
	struct message message;
	char *why = NULL;
	bool yes;

	if (!r->options->glob || r->record.number < r->options->start || r->record.kind != RECORD_MESSAGE)
		return r->options->until && r->record.number == r->options->until;
	message = (struct message){.from = r->record.from, .line = r->record.text, .msg = r->record.msg};
	yes = select_match(r->options->glob, &message, &why);
	free(why);
	return yes;
}

/* Handles the recorded end of a side. Returns 1 if the play ends there, else 0. */
static int
read_end(struct reading *r)
{
	struct plan *p = r->plan;
	const struct record *record = &r->record;

	if (r->options->loop || record->number < r->options->start) {
		p->items.n--;
		return 0;
	}
	if (record->kind == RECORD_EXIT && p->us == ACP_AGENT) {
		p->exit_status = proc_status(recording_status(record));
		p->items.n--;
		return 1;
	}
	p->items.n -= record->kind != RECORD_EOF || !(record->from == p->us || (record->from == p->them && p->us == ACP_AGENT));
	return 0;
}

/* Reads a record. 0; 1: the recording ends; 2: it cannot be read, which was reported; -1 with errno. */
static int
read_next(struct reading *r)
{
	static const char *const states[] = {acp_state_update, "subagent_update", NULL};
	struct items *items = &r->plan->items;
	const struct record *record = &r->record;
	uint32_t item;
	int result = items_next(items, &r->record, &item);

	if (result < 0)
		return -1;
	if (record->kind != RECORD_END && r->options->until && record->number > r->options->until) {
		items->n -= item != ITEM_NONE;
		return 1;
	}
	if (result > 0 || record->kind == RECORD_END)
		return result > 0 ? 2 : 1;
	r->plan->header |= record->kind == RECORD_HEADER && record->number == 1;
	r->plan->several |= record->at.p != NULL;
	if (!r->started && record->number >= r->options->start && item != ITEM_NONE) {
		r->started = true;
		r->plan->start = items->at[item].t;
	}
	if ((record->kind == RECORD_EXIT || record->kind == RECORD_EOF) && read_end(r))
		return 1;
	if (record->kind == RECORD_MESSAGE && items->at[item].from == ACP_UNKNOWN) {
		cli_warn(replay_name, "%s:%llu: left out: the sender is unknown", items->path, (unsigned long long)record->number);
		r->plan->missed = true;
	}
	if (record->kind == RECORD_MESSAGE && items->at[item].from == ACP_AGENT && r->plan->us == ACP_AGENT &&
		json_string_in(msg_update_kind(&record->msg), states) && buf_add(r->states, (char *)&item, sizeof(item)) < 0)
		return -1;
	r->ended |= ends_after(r);
	return r->ended;
}

/* Checks that --start and --until name records. 0; 1: they do not, which was reported. */
static int
check_range(const struct reading *r)
{
	const struct items *items = &r->plan->items;
	const char *path = items->path;

	if (items_missed(items))
		return 1;
	if (r->options->until && r->options->until < r->options->start)
		cli_warn(replay_name, "--until %llu: that is before --start", (unsigned long long)r->options->until);
	else if (r->options->start && !r->started)
		cli_warn(replay_name, "--start %llu: %s has no message at or after record %llu", (unsigned long long)r->options->start, path,
			(unsigned long long)r->options->start);
	else if (r->options->until_word && !r->ended && !(r->options->until && r->record.number > r->options->until))
		cli_warn(replay_name, r->options->glob ? "--until %s: no message of %s matches it%s" : "--until %s: %s has no such record%s",
			r->options->until_word, path, r->options->glob && r->options->start ? " from --start on" : "");
	else
		return 0;
	return 1;
}

/* Notes the states of sessions, and the parents of sub-agents. 0, or -1 with errno. */
static int
read_states(struct plan *p, struct slice states)
{
	uint32_t item, parent, child;
	struct slice update, state;
	uint8_t flag;
	bool own;
	struct msg m;

	for (size_t at = 0; at < states.n; at += sizeof(item)) {
		memcpy(&item, states.p + at, sizeof(item));
		if (items_message(&p->items, item, &m) < 0)
			return -1;
		update = json_get(m.params, acp_update);
		own = json_string_is(msg_update_kind(&m), acp_state_update);
		state = json_get_string(own ? update : json_get(update, acp_state), acp_state);
		flag = !state.p || !p->parts[item].flags ? 0 : json_string_is(state, acp_idle) ? PART_IDLE : PART_WORKS;
		if (own) {
			p->parts[item].flags |= flag;
			continue;
		}
		child = items_find_session(&p->items, json_get_string(update, acp_session_id));
		parent = p->items.at[item].session;
		/* No session started itself, or one that the client began. */
		if (!parent || !child || child == ITEM_NONE || p->lanes[child].opener != ITEM_NONE ||
			(p->lanes[child].parent == ITEM_NONE && p->lanes[child].loaded < item))
			continue;
		/* It may be announced several times. */
		if (p->lanes[child].parent == ITEM_NONE && plan_root(p, parent) != child) {
			p->lanes[child].parent = parent;
			p->lanes[child].announced = item;
		}
		p->parts[item].announces = child;
		p->parts[item].flags |= flag;
	}
	return 0;
}

int
plan_read(struct plan *p, const struct replay_options *o)
{
	SCOPED struct buf states = {0};
	struct reading r = {.plan = p, .options = o, .states = &states};
	uint32_t latest = 0;
	int result;

	p->us = o->us;
	p->them = acp_other_side(o->us);
	p->exit_status = -1;
	do
		result = read_next(&r);
	while (result == 0);
	if (result < 0 || result == 2)
		return result < 0 ? -1 : 1;
	if (check_range(&r))
		return 1;
	p->nmeasures = 1;
	p->nlanes = p->items.nsessions;
	p->measures = calloc(1, sizeof(*p->measures));
	p->lanes = calloc(p->nlanes, sizeof(*p->lanes));
	p->parts = calloc(p->items.n, sizeof(*p->parts));
	if (!p->measures || !p->lanes || !p->parts)
		return -1;
	for (size_t i = 0; i < p->nlanes; i++)
		p->lanes[i] = (struct lane){.session = items_session(&p->items, (uint32_t)i), .first = ITEM_NONE, .opener = ITEM_NONE,
			.loaded = ITEM_NONE, .parent = ITEM_NONE, .begin = {ITEM_NONE, ITEM_NONE}, .last = {ITEM_NONE, ITEM_NONE}};
	for (size_t i = 0; i < p->items.n; i++)
		if (open_item(p, (uint32_t)i, o->start) < 0)
			return -1;
	if (read_states(p, buf_slice(&states)) < 0)
		return -1;
	for (size_t i = 0; i < p->items.n; i++)
		if (plan_item(p, (uint32_t)i, &latest) < 0)
			return -1;
	for (size_t i = 0; o->us == ACP_CLIENT && i < p->nlanes; i++)
		if (!(p->lanes[i].amounts = calloc(p->nmeasures, sizeof(*p->lanes[i].amounts))))
			return -1;
	plan_rewind(p);
	return 0;
}

/* --- playing --- */

void
plan_pass(struct plan *p)
{
	uint32_t n = (uint32_t)p->items.n;

	/* At first end is ITEM_NONE, and ITEM_NONE + 1 is 0. */
	for (p->end++; p->end < n && p->items.at[p->end].record != RECORD_EOF; p->end++)
		;
}

/* The first item of the lane from this one on that has all flags of `with` and none of `without`; or ITEM_NONE. */
static uint32_t
skip(const struct plan *p, uint32_t item, unsigned with, unsigned without)
{
	while (item != ITEM_NONE && ((p->parts[item].flags & with) != with || p->parts[item].flags & without))
		item = p->parts[item].next;
	return item;
}

uint32_t
plan_own(struct plan *p, struct lane *l)
{
	return l->own = skip(p, l->own, 0, PART_DONE);
}

uint32_t
plan_needed(struct plan *p, struct lane *l)
{
	return l->needed = skip(p, l->needed, PART_NEEDED, PART_DONE | PART_RELAXED);
}

uint32_t
plan_first(struct plan *p)
{
	const struct part *part;
	const struct item *item;

	for (; p->first < p->end; p->first++) {
		part = &p->parts[p->first];
		item = &p->items.at[p->first];
		if (!(part->flags & PART_OURS) ? part_is_awaited(part)
			: !(part->flags & PART_DONE) && (item->kind != MSG_RESPONSE || item->pair == ITEM_NONE))
			break;
	}
	return p->first;
}

/* Can a live message be this item? An agent's notifications are only measured. */
static bool
is_open(const struct plan *p, uint32_t item)
{
	uint8_t flags = p->parts[item].flags;

	return flags & PART_THEIRS && !(flags & PART_DONE) &&
		p->items.at[item].kind != (p->us == ACP_CLIENT ? MSG_NOTIFICATION : MSG_RESPONSE);
}

uint32_t
plan_next_theirs(struct plan *p, struct lane *l, uint32_t item)
{
	uint32_t *from = l ? &l->theirs : &p->first_theirs, at;

	while (*from < p->items.n && !is_open(p, *from))
		*from = l ? p->parts[*from].next : *from + 1;
	at = item == ITEM_NONE ? *from : l ? p->parts[item].next : item + 1;
	while (at < p->end && !is_open(p, at))
		at = l ? p->parts[at].next : at + 1;
	return at < p->end ? at : ITEM_NONE;
}

static void
begin_lane(struct plan *p, struct lane *l)
{
	/* A client that named its session before the response did not get the id from there. */
	if (l->opener != ITEM_NONE && (!p->parts[l->opener].flags || (p->us == ACP_CLIENT && l->begin[0] < l->opener)))
		l->opener = ITEM_NONE;
	l->own = l->begin[0];
	l->theirs = l->needed = l->walked = l->begin[1];
	l->open = l == p->lanes;
	l->known = ITEM_NONE;
	l->live = l->moved = 0;
	l->recorded = l->first == ITEM_NONE ? 0 : p->items.at[l->first].t;
	l->turns = 0;
	if (l->amounts)
		memset(l->amounts, 0, p->nmeasures * sizeof(*l->amounts));
}

void
plan_rewind(struct plan *p)
{
	for (size_t i = 0; i < p->items.n; i++)
		p->parts[i].flags &= (uint8_t)~(PART_DONE | PART_RELAXED);
	for (size_t i = 0; i < p->nlanes; i++)
		begin_lane(p, &p->lanes[i]);
	p->first = p->first_theirs = 0;
	p->end = ITEM_NONE;
	plan_pass(p);
}

void
plan_close(struct plan *p)
{
	for (size_t i = 0; p->lanes && i < p->nlanes; i++)
		free(p->lanes[i].amounts);
	free(p->lanes);
	free(p->parts);
	free(p->measures);
	items_close(&p->items);
}
