/* Finds live messages in the recording, and handles those that it does not have, as --on-miss says. */
#include <stdlib.h>

#include "cmd/acp-replay/player.h"

/* Bytes of a value that are quoted to people. */
enum { QUOTED = 60 };

/* The request with the fewest differences is chosen from the next NEAR ones; at FAR differences counting ends. */
enum { NEAR = 64, FAR = 32 };

/* --- two messages --- */

struct compare
player_comparison(const struct player *p, uint32_t item, bool (*differs)(void *, const struct difference *), void *arg)
{
	return (struct compare){.match = p->options->match, .ids = p->ids, .from = p->plan.them,
		.what = (enum acp_method)player_item(p, item)->what,
		.session = items_session(&p->plan.items, player_item(p, item)->session), .differs = differs, .arg = arg};
}

/* normalize_message, but a message on which the program fails is left unchanged. */
static enum normalized
normalized(struct player *p, const struct request *r, const struct msg *m, struct buf *to)
{
	char *why = NULL;
	enum normalized n = normalize_message(p->options->normalize, p->plan.them, m, r, to, &why);

	if (n != NORMALIZE_FAILED || !why)
		return n;
	player_warn(p, true, p->lines, "--normalize: %s", why);
	free(why);
	to->n = 0;
	return buf_add_slice(to, m->text) < 0 ? NORMALIZE_FAILED : NORMALIZE_DONE;
}

int
player_compare(struct player *p, const struct compare *c, const struct request *r, const struct msg *recorded,
	const struct msg *live)
{
	SCOPED struct buf a = {0}, b = {0};
	enum normalized x, y;
	struct msg m, n;

	if (!p->options->normalize)
		return compare_messages(c, recorded, live);
	x = normalized(p, r, recorded, &a);
	y = normalized(p, r, live, &b);
	if (x == NORMALIZE_FAILED || y == NORMALIZE_FAILED)
		return -1;
	if (x != y || x == NORMALIZE_NOTHING)
		return x != y;
	if (msg_scan(buf_slice(&a), &m, NULL) != MSG_NOISE && msg_scan(buf_slice(&b), &n, NULL) != MSG_NOISE)
		return compare_messages(c, &m, &n);
	return compare_values(c, buf_slice(&a), buf_slice(&b));
}

/* --- finding an item --- */

/*
 * Can a live message be this item? 1; 0; -1 with errno. *close: with the same ids and directories. When a session begins, any directory may
 * stand for any other one, but the same directory is the better match.
 */
static int
fits(struct player *p, uint32_t item, const struct msg *live, bool *close)
{
	struct compare c = player_comparison(p, item, NULL, NULL);
	struct slice session = msg_session(live);
	struct msg m;
	int differ;

	*close = true;
	/* A client always responds: if nothing fits, as to the next request of the method. */
	if (p->plan.us == ACP_CLIENT)
		c.match = MATCH_PARAMS;
	if (c.session.p && session.p &&
		ids_judge(p->ids, (struct ids_scope){.what = ACP_ID_SESSION}, c.session, session) == IDS_CONFLICT)
		return 0;
	if (c.match == MATCH_METHOD)
		return 1;
	if (items_message(&p->plan.items, item, &m) < 0)
		return -1;
	differ = player_compare(p, &c, NULL, &m, live);
	if (differ != 0 || p->options->normalize || !acp_opens_session(c.what))
		return differ < 0 ? -1 : !differ;
	c.ids = NULL;
	differ = compare_messages(&c, &m, live);
	*close = differ == 0;
	return differ < 0 ? -1 : 1;
}

/* An item that must come before this one, and has not come; or ITEM_NONE. */
static uint32_t
find_earlier(struct player *p, uint32_t item)
{
	struct plan *plan = &p->plan;
	struct lane *l = plan_lane(plan, item);
	const bool cancel = player_item(p, item)->what == ACP_SESSION_CANCEL;
	uint32_t k;

	if (p->plan.us == ACP_CLIENT || !(plan->parts[item].flags & PART_NEEDED) || plan->parts[item].flags & PART_RELAXED)
		return ITEM_NONE;
	if (!player_try_begin(p, l) && plan_has(plan, k = plan_needed(plan, plan->lanes)))
		return k;
	for (k = plan_needed(plan, l); k < item; k = plan->parts[k].next)
		/* session/cancel cancels the open turn of its session, so every prompt before it must come first; and no other session matters. */
		if (player_item(p, k)->kind == MSG_REQUEST && part_is_awaited(&plan->parts[k]) &&
			(!cancel || player_item(p, k)->session == player_item(p, item)->session) &&
			(player_precedes(p, k, item) || (cancel && player_item(p, k)->what == ACP_SESSION_PROMPT)))
			return k;
	return ITEM_NONE;
}

/* Tries an item for a live message. 1: it is this one; 0: try others, because it does not fit, is too early or not close; -1 with errno. */
static int
try_candidate(struct player *p, uint32_t item, const struct msg *live, struct candidate *f)
{
	uint32_t expected;
	bool close;
	int r = fits(p, item, live, &close);

	if (r <= 0)
		return r;
	expected = find_earlier(p, item);
	if (f->item != ITEM_NONE && (expected != ITEM_NONE || (f->expected == ITEM_NONE && !close)))
		return 0;
	*f = (struct candidate){item, expected};
	return expected == ITEM_NONE && close;
}

uint32_t
player_next_of_method(struct player *p, const struct msg *live, uint32_t session, uint32_t item)
{
	const uint64_t method = items_method(&p->plan.items, live->method);
	struct lane *l = session != ITEM_NONE ? &p->plan.lanes[plan_root(&p->plan, session)] : NULL;

	do
		item = plan_next_theirs(&p->plan, l, item);
	while (item != ITEM_NONE && (player_item(p, item)->kind != live->kind || player_item(p, item)->method != method ||
		(l && player_item(p, item)->session != session)));
	return item;
}

int
player_find(struct player *p, const struct msg *live, struct candidate *f)
{
	struct slice session = msg_session(live);
	uint32_t number = session.p ? player_session(p, session) : ITEM_NONE, item = ITEM_NONE;
	int r = 0;

	*f = (struct candidate){ITEM_NONE, ITEM_NONE};
	while (r == 0 && (item = player_next_of_method(p, live, number, item)) != ITEM_NONE)
		r = try_candidate(p, item, live, f);
	return r < 0 ? r : f->item != ITEM_NONE && f->expected == ITEM_NONE;
}

/* --- accepting a message --- */

/* Adds a live request, which waits for its response. 0, or -1 with errno. */
static int
add_pending(struct player *p, struct lane *l, uint32_t item, const struct msg *live)
{
	struct pending *q = malloc(sizeof(*q) + live->id.n), *before = l->pending ? l->pending->prev : NULL;
	uint32_t response = player_item(p, item)->pair;
	struct lane *begun;
	struct msg m;

	if (!q)
		return -1;
	q->item = item;
	q->n = live->id.n;
	memcpy(q->id, live->id.p, live->id.n);
	/* The list is in the order of the recorded responses. */
	while (before && player_item(p, before->item)->pair > response)
		before = before == l->pending ? NULL : before->prev;
	DL_APPEND_ELEM(l->pending, before, q);
	if (p->plan.us == ACP_CLIENT)
		player_requested(p, item);
	if (p->plan.us == ACP_CLIENT || !plan_has(&p->plan, response) || msg_session(live).p)
		return 0;
	/* Items of a session before the response that names it do not wait for the response. */
	if (items_message(&p->plan.items, response, &m) < 0)
		return -1;
	begun = player_begun_by(p, response, &m);
	if (begun && begun->first < response)
		player_begin(p, begun);
	return 0;
}

int
player_accept(struct player *p, uint32_t item, const struct msg *live)
{
	struct compare c = player_comparison(p, item, NULL, NULL);
	struct lane *l = plan_lane(&p->plan, item);
	struct msg m;

	/* From now on the ids and directories in both messages stand for each other. */
	c.match = MATCH_PARAMS;
	c.learn = true;
	if (items_message(&p->plan.items, item, &m) < 0 || compare_messages(&c, &m, live) < 0)
		return -1;
	p->moved = p->played = true;
	player_done(p, item);
	/* The live side names the session, so it knows it, even if its beginning was not played. */
	if (l->session.p && msg_session(live).p)
		player_begin(p, l);
	player_happened(p, l, player_item(p, item)->t);
	return live->kind == MSG_REQUEST ? add_pending(p, l, item, live) : 0;
}

/* --- the expected request --- */

/* The beginning of a value, for people. */
static struct slice
quoted(struct slice value)
{
	return value.p ? slice_cut(value, QUOTED) : slice_of("nothing");
}

bool
player_add_difference(void *arg, const struct difference *d)
{
	struct differences *a = arg;

	if (a->n++ == 0)
		a->failed = json_format(a->text, "%b is %b%s, was %b%s", d->path, quoted(d->live), d->live.n > QUOTED ? "..." : "",
			quoted(d->recorded), d->recorded.n > QUOTED ? "..." : "") < 0;
	if (!a->data || a->failed)
		return false;
	a->failed = json_format(a->data, "%s{\"path\":%j", a->data->n ? "," : "", d->path) < 0 ||
		json_add_member(a->data, "recorded", d->recorded) < 0 || json_add_member(a->data, "live", d->live) < 0 ||
		buf_add_string(a->data, "}") < 0;
	return !a->failed;
}

static bool
count_difference(void *count, const struct difference *d)
{
	(void)d;
	return ++*(size_t *)count < FAR;
}

uint32_t
player_first_awaited(struct player *p, struct lane *only, bool request)
{
	struct plan *plan = &p->plan;
	uint32_t first = ITEM_NONE, item;

	for (size_t i = 0; i < plan->nlanes; i++) {
		if (only && only != &plan->lanes[i])
			continue;
		item = plan_needed(plan, &plan->lanes[i]);
		while (plan_has(plan, item) &&
			(!part_is_awaited(&plan->parts[item]) || (request && player_item(p, item)->kind != MSG_REQUEST)))
			item = plan->parts[item].next;
		if (plan_has(plan, item) && item < first)
			first = item;
	}
	return first;
}

/*
 * The request that was expected in place of this one: the one of its method with the fewest differences, or the next one of its session, or
 * the next one. ITEM_NONE: there is none.
 */
static uint32_t
expected_request(struct player *p, const struct msg *live)
{
	struct lane *l = player_lane(p, msg_session(live));
	uint32_t nearest = ITEM_NONE, item = ITEM_NONE;
	size_t least = SIZE_MAX, n;
	struct compare c;
	struct msg m;

	for (int i = 0; i < NEAR && (item = player_next_of_method(p, live, ITEM_NONE, item)) != ITEM_NONE; i++) {
		c = player_comparison(p, item, count_difference, &n);
		n = 0;
		if (items_message(&p->plan.items, item, &m) < 0 || compare_messages(&c, &m, live) < 0)
			break;
		if (n < least)
			nearest = item;
		least = n < least ? n : least;
	}
	if (nearest == ITEM_NONE && l)
		nearest = player_first_awaited(p, l, true);
	return nearest != ITEM_NONE ? nearest : player_first_awaited(p, NULL, true);
}

/* Appends a description of the expected item: text for people, data for programs. 0, or -1 with errno. */
static int
describe_expected(struct player *p, const struct msg *live, uint32_t item, bool early, struct buf *text, struct buf *data)
{
	SCOPED struct buf first = {0}, all = {0};
	struct differences a = {.text = &first, .data = &all};
	struct compare c = player_comparison(p, item, player_add_difference, &a);
	struct msg m;
	bool same;

	if (items_message(&p->plan.items, item, &m) < 0)
		return -1;
	/* Messages of different methods are not compared. */
	same = !early && json_string_eq(m.method, live->method);
	if (same && (compare_messages(&c, &m, live) < 0 || a.failed))
		return -1;
	if (json_format(text, "%s is %b of %s:%u%s%b", same ? "the nearest request" : "the next expected request", m.method,
		p->plan.items.path, player_item(p, item)->line, a.n ? "; " : "", buf_slice(&first)) < 0)
		return -1;
	return json_format(data, "{\"expected\":{\"record\":%u,\"method\":%b},\"differences\":[%b]}", player_item(p, item)->line, m.method,
		buf_slice(&all));
}

/* --- messages that the recording does not have --- */

static int
refuse_request(struct player *p, const struct msg *live, uint32_t expected)
{
	const bool early = expected != ITEM_NONE;
	uint32_t item = early ? expected : expected_request(p, live);
	SCOPED struct buf text = {0}, data = {0};

	if (buf_printf(&text, "acp-replay: %s: ", early ? "too early" : "not recorded") < 0 ||
		(item != ITEM_NONE ? describe_expected(p, live, item, early, &text, &data)
			: buf_add_string(&text, "no further request is expected")) < 0 || !buf_string(&text))
		return -1;
	player_warn(p, true, p->lines, "%.*s gets an error response: %s", (int)live->method.n, live->method.p,
		text.p + sizeof("acp-replay: ") - 1);
	return player_refuse(p, live->id, ACP_ERR_INTERNAL, text.p, data.n ? buf_slice(&data) : slice(NULL, 0));
}

int
player_miss(struct player *p, const struct msg *live, uint32_t expected)
{
	struct waiting *w;

	/* A session/cancel that comes later would be useless. */
	if (p->options->on_miss == MISS_WAIT && live->what != ACP_SESSION_CANCEL) {
		w = malloc(sizeof(*w) + live->text.n);
		if (!w)
			return -1;
		w->line = p->lines;
		w->n = live->text.n;
		memcpy(w->text, live->text.p, live->text.n);
		DL_APPEND(p->waiting, w);
		return 0;
	}
	p->missed = true;
	if (live->kind == MSG_REQUEST)
		return refuse_request(p, live, expected);
	if (live->what == ACP_SESSION_CANCEL)
		player_warn(p, true, p->lines, "ignored: no turn is open that it could cancel");
	else
		player_warn(p, true, p->lines, "ignored: the rest of the recording has no matching notification %.*s",
			(int)live->method.n, live->method.p);
	return 0;
}
