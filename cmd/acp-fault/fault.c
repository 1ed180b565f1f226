/*
 * The filter. It works on lines as they leave: a line that is hit goes through
 * the queue of its direction, and so does every line after it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cmd/acp-fault/fault.h"
#include "lib/base/cli.h"

enum { UNHELD_MOST = 1024 * 1024 /* bytes of queued text without a held line: above this nothing more is read */ };

static enum verdict
fail_no_memory(struct fault_state *x)
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

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *s)
{
	struct fault_state *x = state;
	struct track *t = &x->tracks[dir];

	(void)f;
	t->n++;
	t->pending = true;
	t->number = s->number;
	t->response = s->msg.kind == MSG_RESPONSE;
	t->hit = false;
	memset(t->hits, 0, sizeof(t->hits));
	if (is_dead(x) || t->queue.closes)
		return VERDICT_PASS;
	for (size_t i = 0; i < x->options->nrules; i++)
		match_rule(x, &x->options->rules[i], dir, s);
	t->id.n = 0;
	if (t->hit && (buf_add_slice(&t->id, s->msg.id) < 0 || report_begin(&t->about, x, s->from, t->n, s) < 0))
		return fail_no_memory(x);
	return VERDICT_PASS;
}

/* --- what waits --- */

/* Queues the lines that wait for another to pass them. passed_by: the number of the message that has passed them; 0: none has. */
static void
send_waiting(struct fault_state *x, struct track *t, uint64_t passed_by, bool lost)
{
	if (!t->waiting.first)
		return;
	if (passed_by)
		report_add(x->report, &t->waiting_about, t->waiting_rule, t->waiting_fault, ",\"behind\":%" PRIu64, passed_by);
	else
		report_add(x->report, &t->waiting_about, t->waiting_rule, t->waiting_fault, ",\"behind\":null%s", lost ? ",\"lost\":true" : "");
	while (t->waiting.first)
		queue_add(&t->queue, queue_remove_first(&t->waiting));
}

/* Sends the next piece of the parcel. *all: whether all of it has left. */
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
	return frame_put(x->frame, dir, piece, more);
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
		send_waiting(x, t, 0, true);
	}
	if (p->exit) {
		x->death = p->exit;
		frame_exit(x->frame, (int)p->exit->exit_status);
		for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
			send_waiting(x, &x->tracks[dir], 0, true);
	}
	parcel_free(p);
}

/* Where both directions have one pipe: is it in the middle of a line of the other one? */
static bool
is_blocked(const struct fault_state *x, enum acp_direction dir)
{
	const struct parcel *other = x->tracks[acp_back(dir)].queue.first;

	return frame_is_shared(x->frame) && other && other->sent > 0;
}

/* Sends what is due. now UINT64_MAX: sends all. */
static void
send_direction(struct fault_state *x, enum acp_direction dir, uint64_t now)
{
	struct track *t = &x->tracks[dir];
	bool all = true;

	while (!is_dead(x) && !is_blocked(x, dir) && t->queue.first && queue_time(&t->queue) <= now) {
		if (!t->closed && send_text(x, dir, t->queue.first, now, &all) < 0)
			fail_no_memory(x);
		else if (t->closed || all)
			send_end(x, dir, queue_remove_first(&t->queue));
	}
}

/* The first direction twice: it may have waited for the end of a line of the second. */
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

/* Sends what is due, and sets the timer for the next. */
static void
settle(struct fault_state *x)
{
	uint64_t now = frame_now(x->frame), next = UINT64_MAX;
	const struct track *t;
	const struct rule *r;

	send_due(x, now);
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		t = &x->tracks[dir];
		frame_pause(x->frame, dir, t->queue.stalls > 0 || t->queue.unheld > UNHELD_MOST);
		next = least(next, is_blocked(x, dir) ? UINT64_MAX : queue_time(&t->queue));
		next = least(next, t->waiting.first ? t->waiting_until : UINT64_MAX);
		next = least(next, t->linger_until ? t->linger_until : UINT64_MAX);
	}
	for (size_t i = 0; i < x->options->nrules; i++) {
		r = &x->options->rules[i];
		if (r->by_time && !r->happened)
			next = least(next, rule_time(r));
	}
	if (next != UINT64_MAX && !is_dead(x))
		frame_timer(x->frame, next);
}

/* --- what is done to a line --- */

/* Does the line of a message, or another, go before those that wait? */
static bool
goes_before(const struct track *t, bool is_message)
{
	return is_message && (t->waiting_fault == FAULT_REORDER || t->response);
}

static void
note_applied(const struct fault_state *x, struct rule *r, enum fault fault)
{
	r->of[fault].applied = true;
	r->first_hit = least(r->first_hit, frame_now(x->frame));
}

/* Queues the line, or what is left of it: it may have to wait for another to pass it. */
static void
add_to_queue(struct work *w)
{
	struct parcel *p = w->parcel;
	struct track *t = w->track;
	struct buf about = t->waiting_about;

	if (w->dropped && !p->held && p->text.n == 0 && !p->stall && !p->close && !p->exit) {
		parcel_free(p);
	} else if (!w->dropped && w->waits != FAULTS && !t->waiting.first) {
		t->waiting_about = t->about;
		t->about = about;
		t->waiting_fault = w->waits;
		t->waiting_rule = t->hits[w->waits];
		note_applied(w->x, t->hits[w->waits], w->waits);
		t->waiting_until = frame_now(w->x->frame) + t->waiting_rule->of[w->waits].us;
		queue_add(&t->waiting, p);
	} else if (!w->dropped && w->line && t->waiting.first && !goes_before(t, true)) {
		queue_add(&t->waiting, p);
	} else {
		queue_add(&t->queue, p);
		if (!w->dropped && w->line)
			send_waiting(w->x, t, t->n, false);
	}
}

/* Applies these faults; rules: by fault, the rule that has it, or NULL. 0, or -1 out of memory. */
static int
apply_faults(struct work *w, struct rule *const *rules)
{
	const struct fault_kind *k;
	size_t i;

	w->parcel = parcel_new(frame_now(w->x->frame));
	if (!w->parcel)
		return -1;
	for (i = 0; i < FAULTS; i++) {
		k = &fault_kinds[i];
		w->fault = k->fault;
		w->rule = rules[k->fault];
		if (!w->rule || (w->dropped && !(k->flags & KIND_COUNTS)))
			continue;
		w->chance = match_chance(w->x, w->rule, w->dir, w->track->n);
		if (k->act(w) < 0)
			break;
		/* A line cannot wait while another one waits, or for two things. */
		if (w->waits != k->fault)
			note_applied(w->x, w->rule, k->fault);
	}
	/* The line is held until its parcel leaves. */
	if (i == FAULTS && w->line && !w->dropped)
		w->parcel->held = frame_hold(w->x->frame, NULL);
	if (i < FAULTS || (w->line && !w->dropped && !w->parcel->held)) {
		parcel_free(w->parcel);
		return -1;
	}
	add_to_queue(w);
	return 0;
}

/* A line that no fault hits, or that is not a message: it is queued after lines that wait, or passed. */
static enum verdict
queue_or_pass(struct fault_state *x, enum acp_direction dir, bool is_message)
{
	struct track *t = &x->tracks[dir];
	bool before = goes_before(t, is_message), joins = t->waiting.first && t->waiting_fault == FAULT_OVERTAKE && !before;
	struct parcel *p;

	if (!t->queue.first && t->queue.busy <= frame_now(x->frame) && !joins && !(before && t->waiting.first) && !is_blocked(x, dir))
		return VERDICT_PASS;
	p = parcel_new(frame_now(x->frame));
	if (p)
		p->held = frame_hold(x->frame, NULL);
	if (!p || !p->held) {
		parcel_free(p);
		return fail_no_memory(x);
	}
	queue_add(joins ? &t->waiting : &t->queue, p);
	if (before)
		send_waiting(x, t, t->n, false);
	return VERDICT_HOLD;
}

/* --- what happens at a time, to no message --- */

static void
apply_timed_direction(struct fault_state *x, struct rule *r, enum acp_direction dir, enum acp_side from)
{
	struct track *t = &x->tracks[dir];
	struct rule *rules[FAULTS] = {NULL};
	SCOPED struct buf about = {0};
	struct work w = {.x = x, .dir = dir, .track = t, .about = &about, .waits = FAULTS};
	struct chance c = match_chance(x, r, dir, t->n);
	const struct fault_kind *k;
	bool any = false;

	for (size_t i = 0; i < FAULTS; i++) {
		k = &fault_kinds[i];
		if (r->of[k->fault].set && !match_is_for_messages(r, k) && k->act && chance_hits(&c, k->fault, r->of[k->fault].p)) {
			rules[k->fault] = r;
			any = true;
		}
	}
	if (!any)
		return;
	if (report_begin(&about, x, from, t->n, NULL) < 0 || apply_faults(&w, rules) < 0)
		fail_no_memory(x);
}

static void
apply_timed(struct fault_state *x, struct rule *r)
{
	bool one_way = frame_is_one_way(x->frame);

	r->happened = true;
	if (one_way || select_match_other(r->select, ACP_CLIENT))
		apply_timed_direction(x, r, ACP_DOWN, one_way ? ACP_UNKNOWN : ACP_CLIENT);
	if (!one_way && select_match_other(r->select, ACP_AGENT))
		apply_timed_direction(x, r, ACP_UP, ACP_AGENT);
}

/* --- the filter --- */

/* The first record of the report, or the one that says what was lost before it. */
static int
begin_report(void *state, struct frame *f, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	const struct fault_state *x = state;

	(void)f;
	return resumed ? json_format(to, "{\"lost\":%u,\"why\":%j}\n", lost, slice_of(why)) :
		json_format(to, "{\"acp-fault\":1,\"seed\":%u}\n", x->options->seed);
}

static bool
has_fault(const struct options *o, enum fault fault)
{
	for (size_t i = 0; i < o->nrules; i++)
		if (o->rules[i].of[fault].set)
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
	struct work w = {.x = x, .dir = dir, .track = t, .line = l, .about = &t->about,
		.message_at = (size_t)(l->message.p - l->text.p), .message_n = l->message.n, .waits = FAULTS};
	bool is_message = t->pending && t->number == l->number;
	enum verdict v;

	(void)f;
	if (is_dead(x) || t->queue.closes)
		return VERDICT_DROP;
	t->pending = false;
	if (!is_message || !t->hit)
		v = queue_or_pass(x, dir, is_message);
	else if (apply_faults(&w, t->hits) < 0)
		v = fail_no_memory(x);
	else
		v = w.dropped ? VERDICT_DROP : VERDICT_HOLD;
	settle(x);
	return v;
}

static void
timer_expired(struct fault_state *x)
{
	uint64_t now = frame_now(x->frame);
	struct track *t;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		t = &x->tracks[dir];
		if (t->waiting.first && t->waiting_until <= now)
			send_waiting(x, t, 0, false);
		if (t->linger_until && t->linger_until <= now) {
			t->linger_until = 0;
			frame_keep_open(x->frame, dir, false);
		}
	}
	for (size_t i = 0; i < x->options->nrules && !is_dead(x); i++)
		if (x->options->rules[i].by_time && !x->options->rules[i].happened && rule_time(&x->options->rules[i]) <= now)
			apply_timed(x, &x->options->rules[i]);
	settle(x);
}

static void
linger(struct fault_state *x, enum acp_direction dir, enum acp_side from)
{
	struct track *t = &x->tracks[dir];
	SCOPED struct buf about = {0};
	const struct rule *r;
	uint64_t us;

	for (size_t i = 0; i < x->options->nrules; i++) {
		r = &x->options->rules[i];
		us = r->of[FAULT_LINGER].us;
		if (us == 0 || (from != ACP_UNKNOWN && !select_match_other(r->select, from)))
			continue;
		t->linger_until = frame_now(x->frame) + us;
		frame_keep_open(x->frame, dir, true);
		if (report_begin(&about, x, from, t->n, NULL) < 0)
			fail_no_memory(x);
		report_add(x->report, &about, r, FAULT_LINGER, ",\"for\":%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
		return;
	}
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct fault_state *x = state;

	(void)f;
	if (e->kind == FRAME_TIMER)
		timer_expired(x);
	if (e->kind != FRAME_EOF || is_dead(x))
		return;
	/* No line will pass the lines that wait: they wait no longer. */
	if (e->from != ACP_AGENT)
		send_waiting(x, &x->tracks[ACP_DOWN], 0, false);
	if (e->from != ACP_CLIENT)
		send_waiting(x, &x->tracks[ACP_UP], 0, false);
	linger(x, e->from == ACP_AGENT ? ACP_UP : ACP_DOWN, e->from);
	settle(x);
}

/* Warns of a selection, or of the method of a fault, that fits none of the messages. */
static void
warn_of_missed(const struct fault_state *x, const struct rule *r)
{
	SCOPED struct buf text = {0};
	const struct fault_kind *k = NULL;
	char room[sizeof("line 4294967295 of the plan: ")] = "";

	if (!select_missed(r->select, &text)) {
		for (k = fault_kinds; k < fault_kinds + FAULTS; k++)
			if (r->of[k->fault].method && select_missed(r->of[k->fault].method, &text))
				break;
		if (k == fault_kinds + FAULTS)
			return;
	}
	if (r->line)
		snprintf(room, sizeof(room), "line %u of the plan: ", r->line);
	frame_warn(x->frame, "%s%s%s%s%s", room, k ? "--" : "", k ? k->option : "", k ? ": " : "",
		buf_string(&text) ? text.p : "no message is selected");
}

/* Sends everything that waits, whatever its time. */
static int
end(void *state, struct frame *f)
{
	struct fault_state *x = state;

	(void)f;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS && !is_dead(x); dir++)
		send_waiting(x, &x->tracks[dir], 0, false);
	send_due(x, UINT64_MAX);
	for (size_t i = 0; i < x->options->nrules && !is_dead(x); i++)
		warn_of_missed(x, &x->options->rules[i]);
	return 0;
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
	int status = frame_run(&filter, &o->frame);

	for (struct track *t = x.tracks; t < x.tracks + ACP_DIRECTIONS; t++) {
		queue_free(&t->queue);
		queue_free(&t->waiting);
		buf_free(&t->id);
		buf_free(&t->about);
		buf_free(&t->waiting_about);
	}
	if (x.death && x.death->exit_signal)
		die_by(x.death->exit_signal);
	return status;
}
