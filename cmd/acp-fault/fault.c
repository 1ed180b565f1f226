/*
 * The filter. It works on lines as they leave: a line that is hit goes through
 * the queue of its direction, with all that comes after it.
 */
#include "cmd/acp-fault/fault.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cmd/acp-fault/work.h"
#include "lib/base/cli.h"

enum { OWN = 1024 * 1024 /* bytes that wait in the place of dropped lines: beyond this nothing more is read */ };

static enum verdict
give_up(struct fault_state *x)
{
	frame_warn(x->frame, "out of memory");
	frame_exit(x->frame, EXIT_FAILED);
	x->failed = true;
	return VERDICT_DROP;
}

/* Nothing more is read or written. */
static bool
is_dead(const struct fault_state *x)
{
	return x->death || x->failed;
}

/* --- which faults hit a message --- */

static int
copy(struct buf *to, struct slice from, struct slice *is)
{
	to->n = 0;
	*is = slice(NULL, 0);
	if (!from.p)
		return 0;
	if (buf_add_slice(to, from) < 0)
		return -1;
	*is = buf_slice(to);
	return 0;
}

static int
name(struct named *n, const struct message *s, uint64_t number)
{
	n->subject.from = s->from;
	n->subject.t = s->t;
	n->subject.n = number;
	if (copy(&n->method, message_method(s), &n->subject.method) < 0)
		return -1;
	return copy(&n->id, s->msg.id, &n->subject.id);
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *s)
{
	struct fault_state *x = state;
	struct track *t = &x->tracks[dir];
	size_t i;

	(void)f;
	t->n++;
	t->shown = true;
	t->number = s->number;
	t->response = s->msg.kind == MSG_RESPONSE;
	t->hit = false;
	memset(t->hits, 0, sizeof(t->hits));
	if (is_dead(x) || t->closed)
		return VERDICT_PASS;
	for (i = 0; i < x->options->nrules; i++)
		match_rule(x, &x->options->rules[i], dir, s);
	return t->hit && name(&t->now, s, t->n) < 0 ? give_up(x) : VERDICT_PASS;
}

/* --- what waits --- */

/* The lines that wait for another to go before them go. passed_by: the number of the one that has; 0: none has. */
static void
send_behind(struct fault_state *x, struct track *t, uint64_t passed_by, bool lost)
{
	const struct subject *first = &t->behind_name.subject;

	if (!t->behind.first)
		return;
	if (passed_by)
		report_add(x->report, first, t->behind_rule, t->behind_why, ",\"behind\":%" PRIu64, passed_by);
	else
		report_add(x->report, first, t->behind_rule, t->behind_why, ",\"behind\":null%s", lost ? ",\"lost\":true" : "");
	while (t->behind.first)
		queue_add(&t->queue, queue_take(&t->behind));
}

/* What of its text leaves now. */
static int
send_text(struct fault_state *x, enum acp_direction dir, struct parcel *p, uint64_t now, bool *all)
{
	struct slice text = p->held && !p->changed ? frame_held_text(p->held) : buf_slice(&p->text), piece;
	bool more = p->sent > 0;

	piece = slice(text.p + p->sent, queue_piece(&x->tracks[dir].queue, text.n, now, now == UINT64_MAX));
	p->sent += piece.n;
	*all = p->sent == text.n;
	if (piece.n == 0)
		return 0;
	return more ? frame_put_more(x->frame, dir, piece) : frame_put(x->frame, dir, piece);
}

/* All of it has left, or will not. */
static void
send_end(struct fault_state *x, enum acp_direction dir, struct parcel *p)
{
	struct track *t = &x->tracks[dir];

	if (p->held)
		frame_release(x->frame, p->held, VERDICT_DROP, slice(NULL, 0));
	if (p->close && !t->closed) {
		t->closed = true;
		frame_close(x->frame, dir);
		send_behind(x, t, 0, true);
	}
	if (p->exit) {
		x->death = p->exit;
		frame_exit(x->frame, p->exit->exit_status);
		for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
			send_behind(x, &x->tracks[dir], 0, true);
	}
	parcel_free(p);
}

/* Where both directions have one pipe: is it in the middle of a line of the other one? */
static bool
is_blocked(const struct fault_state *x, enum acp_direction dir)
{
	const struct parcel *other = x->tracks[dir == ACP_DOWN ? ACP_UP : ACP_DOWN].queue.first;

	return frame_is_shared(x->frame) && other && other->sent > 0;
}

/* Lets go what is due. now UINT64_MAX: all. */
static void
send_direction(struct fault_state *x, enum acp_direction dir, uint64_t now)
{
	struct track *t = &x->tracks[dir];
	bool all = true;

	while (!is_dead(x) && !is_blocked(x, dir) && t->queue.first && queue_time(&t->queue) <= now) {
		if (!t->closed && send_text(x, dir, t->queue.first, now, &all) < 0)
			give_up(x);
		else if (t->closed || all)
			send_end(x, dir, queue_take(&t->queue));
	}
}

/* The first once more: it may have waited for the end of a line of the second. */
static void
send_due(struct fault_state *x, uint64_t now)
{
	send_direction(x, ACP_DOWN, now);
	send_direction(x, ACP_UP, now);
	send_direction(x, ACP_DOWN, now);
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something of this direction has to be done. */
static uint64_t
direction_time(const struct fault_state *x, enum acp_direction dir)
{
	const struct track *t = &x->tracks[dir];
	uint64_t next = is_blocked(x, dir) ? UINT64_MAX : queue_time(&t->queue);

	if (t->behind.first)
		next = least(next, t->behind_until);
	return t->linger_until ? least(next, t->linger_until) : next;
}

/* Lets go what is due, and sees to it that we are called when more is. */
static void
settle(struct fault_state *x)
{
	uint64_t now = frame_now(x->frame), next = UINT64_MAX;
	const struct rule *r;
	enum acp_direction dir;
	size_t i;

	send_due(x, now);
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		frame_pause(x->frame, dir, x->tracks[dir].queue.stalls > 0 || x->tracks[dir].queue.own > OWN);
		next = least(next, direction_time(x, dir));
	}
	for (i = 0; i < x->options->nrules; i++) {
		r = &x->options->rules[i];
		if (r->alone && !r->struck)
			next = least(next, rule_time(r));
	}
	if (next != UINT64_MAX && !is_dead(x) && frame_timer(x->frame, next) < 0)
		give_up(x);
}

/* --- what is done to a line --- */

/* The line leaves as its parcel says: held until then. */
static int
hold(struct work *w)
{
	if (w->line && !w->gone)
		w->parcel->held = frame_hold(w->x->frame);
	return !w->line || w->gone || w->parcel->held ? 0 : -1;
}

/* Does the line of a message, or another, go before those that wait? */
static bool
goes_before(const struct track *t, bool is_message)
{
	return is_message && (t->behind_why == FAULT_REORDER || t->response);
}

/* It waits for another of its direction to go before it, if none does already. */
static void
begin_to_wait(struct work *w)
{
	struct track *t = w->track;
	struct named name = t->behind_name;

	t->behind_name = t->now;
	t->now = name;
	t->behind_why = w->waits;
	t->behind_rule = t->hits[w->waits];
	t->behind_until = frame_now(w->x->frame) + t->behind_rule->of[w->waits].us;
	queue_add(&t->behind, w->parcel);
}

/* Is there nothing left of a line that would have to wait? */
static bool
is_empty(const struct parcel *p)
{
	return !p->held && p->text.n == 0 && !p->stall && !p->close && !p->exit;
}

/* Puts the line, or what is left of it, in its place. */
static void
place(struct work *w)
{
	struct track *t = w->track;

	if (w->gone && is_empty(w->parcel)) {
		parcel_free(w->parcel);
	} else if (!w->gone && w->waits != FAULTS && !t->behind.first) {
		begin_to_wait(w);
	} else if (!w->gone && w->line && t->behind.first && !goes_before(t, true)) {
		queue_add(&t->behind, w->parcel);
	} else {
		queue_add(&t->queue, w->parcel);
		if (!w->gone && w->line)
			send_behind(w->x, t, t->n, false);
	}
}

/* Does these faults, each of the rule that has it. 0, or -1 out of memory. */
static int
hurt(struct work *w, struct rule *const *rules)
{
	const struct fault_kind *k;
	size_t i;

	w->parcel = parcel_new(frame_now(w->x->frame));
	if (!w->parcel)
		return -1;
	for (i = 0; i < FAULTS; i++) {
		k = &fault_kinds[i];
		w->rule = rules[k->fault];
		if (!w->rule || (w->gone && !(k->flags & KIND_COUNTS)))
			continue;
		w->chance = match_chance(w->x, w->rule, w->dir, w->subject.n);
		if (k->act(w) < 0)
			break;
	}
	if (i == FAULTS && hold(w) == 0) {
		place(w);
		return 0;
	}
	parcel_free(w->parcel);
	return -1;
}

/* A line that no fault hits, or that is no message: after those that wait, or on. */
static enum verdict
follow(struct fault_state *x, enum acp_direction dir, bool is_message)
{
	struct track *t = &x->tracks[dir];
	bool before = goes_before(t, is_message), joins = t->behind.first && t->behind_why == FAULT_OVERTAKE && !before;
	struct parcel *p;

	if (!t->queue.first && !joins && !(before && t->behind.first) && !is_blocked(x, dir))
		return VERDICT_PASS;
	p = parcel_new(frame_now(x->frame));
	if (p)
		p->held = frame_hold(x->frame);
	if (!p || !p->held) {
		parcel_free(p);
		return give_up(x);
	}
	queue_add(joins ? &t->behind : &t->queue, p);
	if (before)
		send_behind(x, t, t->n, false);
	return VERDICT_HOLD;
}

static enum verdict
treat(struct fault_state *x, enum acp_direction dir, const struct outgoing_line *l)
{
	struct track *t = &x->tracks[dir];
	struct work w = {.x = x, .dir = dir, .track = t, .line = l, .subject = t->now.subject,
		.message_at = (size_t)(l->message.p - l->text.p), .message_n = l->message.n, .waits = FAULTS};

	if (hurt(&w, t->hits) < 0)
		return give_up(x);
	return w.gone ? VERDICT_DROP : VERDICT_HOLD;
}

/* --- what happens at a time, to no message --- */

static void
strike_direction(struct fault_state *x, struct rule *r, enum acp_direction dir)
{
	struct track *t = &x->tracks[dir];
	struct rule *rules[FAULTS] = {NULL};
	struct work w = {.x = x, .dir = dir, .track = t, .waits = FAULTS};
	const struct fault_kind *k;
	bool any = false;
	size_t i;

	for (i = 0; i < FAULTS; i++) {
		k = &fault_kinds[i];
		if (r->of[k->fault].given && !match_is_for_messages(r, k) && k->act) {
			rules[k->fault] = r;
			any = true;
		}
	}
	if (!any)
		return;
	w.subject = (struct subject){.from = dir == ACP_UP ? ACP_AGENT : ACP_CLIENT, .t = frame_now(x->frame), .n = t->n, .alone = true};
	if (frame_is_one_way(x->frame))
		w.subject.from = ACP_UNKNOWN;
	rule_hit(r, frame_now(x->frame));
	if (hurt(&w, rules) < 0)
		give_up(x);
}

static void
strike(struct fault_state *x, struct rule *r)
{
	bool one_way = frame_is_one_way(x->frame);

	r->struck = true;
	if (one_way || select_match_other(r->select, ACP_CLIENT))
		strike_direction(x, r, ACP_DOWN);
	if (!one_way && select_match_other(r->select, ACP_AGENT))
		strike_direction(x, r, ACP_UP);
}

/* --- the filter --- */

/* The first record of the report, or the one that says what was lost before it. */
static int
begin_report(void *state, struct frame *f, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	const struct fault_state *x = state;

	(void)f;
	if (!resumed)
		return buf_printf(to, "{\"acp-fault\":1,\"seed\":%" PRIu64 "}\n", x->options->seed);
	if (buf_printf(to, "{\"lost\":%" PRIu64 ",\"why\":", lost) < 0 || json_quote(slice_of(why), to) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

static bool
has_fault(const struct options *o, enum fault fault)
{
	size_t i;

	for (i = 0; i < o->nrules; i++)
		if (o->rules[i].of[fault].given)
			return true;
	return false;
}

static int
start(void *state, struct frame *f)
{
	struct fault_state *x = state;
	const char *why = NULL;

	x->frame = f;
	x->report = frame_log(f);
	if (has_fault(x->options, FAULT_ERROR) && frame_is_one_way(f))
		why = "--error sends responses: a one-way pipe cannot carry them back (use -- COMMAND, acp-conduct -f, or a proxy chain)";
	if (has_fault(x->options, FAULT_CLOSE) && frame_is_shared(f) && !frame_is_one_way(f))
		why = "--close-after ends one direction: in a proxy chain both have one pipe (use -- COMMAND, or acp-conduct -f)";
	if (why) {
		frame_warn(f, "%s", why);
		x->failed = true;
		frame_exit(f, EXIT_USAGE);
	} else {
		settle(x);
	}
	return 0;
}

static enum verdict
line(void *state, struct frame *f, enum acp_direction dir, const struct outgoing_line *l)
{
	struct fault_state *x = state;
	struct track *t = &x->tracks[dir];
	bool shown = t->shown && t->number == l->number;
	enum verdict v;

	(void)f;
	if (is_dead(x) || t->closed)
		return VERDICT_DROP;
	t->shown = false;
	v = shown && t->hit ? treat(x, dir, l) : follow(x, dir, shown);
	settle(x);
	return v;
}

static void
time_has_come(struct fault_state *x)
{
	uint64_t now = frame_now(x->frame);
	struct track *t;
	enum acp_direction dir;
	size_t i;

	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		t = &x->tracks[dir];
		if (t->behind.first && t->behind_until <= now)
			send_behind(x, t, 0, false);
		if (t->linger_until && t->linger_until <= now) {
			t->linger_until = 0;
			frame_keep_open(x->frame, dir, false);
		}
	}
	for (i = 0; i < x->options->nrules && !is_dead(x); i++)
		if (x->options->rules[i].alone && !x->options->rules[i].struck && rule_time(&x->options->rules[i]) <= now)
			strike(x, &x->options->rules[i]);
	settle(x);
}

static void
linger(struct fault_state *x, enum acp_direction dir, enum acp_side from)
{
	struct subject s = {.from = from, .t = frame_now(x->frame), .n = x->tracks[dir].n, .alone = true};
	const struct rule *r;
	uint64_t us;
	size_t i;

	for (i = 0; i < x->options->nrules; i++) {
		r = &x->options->rules[i];
		us = r->of[FAULT_LINGER].us;
		if (us == 0 || (from != ACP_UNKNOWN && !select_match_other(r->select, from)))
			continue;
		x->tracks[dir].linger_until = s.t + us;
		frame_keep_open(x->frame, dir, true);
		report_add(x->report, &s, r, FAULT_LINGER, ",\"for\":%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
		return;
	}
}

/* After the last line nothing comes: what waits for it does not wait any longer. */
static void
side_ended(struct fault_state *x, enum acp_side from)
{
	if (from != ACP_AGENT)
		send_behind(x, &x->tracks[ACP_DOWN], 0, false);
	if (from != ACP_CLIENT)
		send_behind(x, &x->tracks[ACP_UP], 0, false);
	linger(x, from == ACP_AGENT ? ACP_UP : ACP_DOWN, from);
	settle(x);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct fault_state *x = state;

	(void)f;
	if (e->kind == FRAME_TIMER)
		time_has_come(x);
	if (e->kind == FRAME_EOF && !is_dead(x))
		side_ended(x, e->from);
}

/* All that waits still goes out, whatever its time. */
static int
end(void *state, struct frame *f)
{
	struct fault_state *x = state;
	enum acp_direction dir;

	(void)f;
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS && !is_dead(x); dir++)
		send_behind(x, &x->tracks[dir], 0, false);
	send_due(x, UINT64_MAX);
	return 0;
}

static void
free_track(struct track *t)
{
	queue_free(&t->queue);
	queue_free(&t->behind);
	buf_free(&t->now.method);
	buf_free(&t->now.id);
	buf_free(&t->behind_name.method);
	buf_free(&t->behind_name.id);
}

/* As a crash would, but without a core. */
static void
die_by(int number)
{
	const struct rlimit none = {0, 0};
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, number);
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

int
fault_run(const struct options *o)
{
	struct fault_state x = {.options = o};
	const struct frame_log log = {.path = o->report, .begin = begin_report, .inputs = o->inputs};
	const struct filter filter = {.name = fault_name, .state = &x, .log = o->report ? &log : NULL, .start = start,
		.message = message, .event = event, .line = line, .end = end};
	enum acp_direction dir;
	int status;

	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		queue_init(&x.tracks[dir].queue);
		queue_init(&x.tracks[dir].behind);
	}
	status = frame_run(&filter, &o->frame);
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		free_track(&x.tracks[dir]);
	if (x.death && x.death->exit_signal)
		die_by(x.death->exit_signal);
	return status;
}
