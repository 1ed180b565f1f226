/*
 * The filter. It works on lines as they leave: what hits a batch hits all of it, and a line that is hurt goes through
 * the queue of its lane, with all that is behind it.
 */
#include "cmd/acp-fault/fault.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/acp-fault/damage.h"
#include "cmd/acp-fault/queue.h"
#include "cmd/acp-fault/report.h"
#include "lib/cli.h"

/* What may wait in a lane, in bytes of memory; above it the lane is not read. */
enum { QUEUE_MOST = 1024 * 1024 };

const char fault_name[] = "acp-fault";

/* Who a line is, in the report. */
struct named {
	struct subject subject; /* its slices point into the two */
	struct buf method, id;
};

struct track {
	struct queue queue;
	uint64_t n;            /* lines of messages so far */
	uint64_t number;       /* of the line whose messages are being shown */
	bool shown, selected;  /* it has not left yet; one of its messages is selected */
	struct named now;
	struct parcel *behind; /* reordered: waits for a line to go ahead of it ... */
	uint64_t behind_until; /* ... until then */
	struct named behind_name;
};

struct fault_state {
	const struct options *options;
	struct frame *frame;
	struct report *report;
	struct track tracks[LANES];
	uint64_t count;     /* selected lines of both lanes */
	bool dead;
	bool where_failed;  /* it has been said that the jq program fails */
};

static enum verdict
give_up(struct fault_state *x)
{
	frame_say(x->frame, "out of memory");
	frame_quit(x->frame, EXIT_FAILED);
	x->dead = true;
	return VERDICT_DROP;
}

/* --- which lines --- */

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
name(struct named *n, const struct seen *s, uint64_t line)
{
	n->subject.from = s->from;
	n->subject.t = s->t;
	n->subject.n = line;
	if (copy(&n->method, seen_method(s), &n->subject.method) < 0)
		return -1;
	return copy(&n->id, s->msg.id, &n->subject.id);
}

static bool
is_selected(struct fault_state *x, const struct seen *s)
{
	char *why = NULL;
	bool yes = select_match(x->options->select, s, &why);

	if (why && !x->where_failed) {
		frame_say(x->frame, "--where: %s", why);
		x->where_failed = true;
	}
	free(why);
	return yes;
}

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *s)
{
	struct fault_state *x = state;
	struct track *t = &x->tracks[lane];

	(void)f;
	if (!t->shown || t->number != s->number) {
		t->shown = true;
		t->selected = false;
		t->number = s->number;
		t->n++;
	}
	if (t->selected || !is_selected(x, s))
		return VERDICT_PASS;
	t->selected = true;
	return name(&t->now, s, t->n) < 0 ? give_up(x) : VERDICT_PASS;
}

/* --- what waits --- */

/* Lets go what is due. */
static void
send_due(struct fault_state *x, enum lane lane, uint64_t now)
{
	struct track *t = &x->tracks[lane];
	struct parcel *p;

	while (!x->dead && (p = queue_take(&t->queue, now))) {
		if (frame_put(x->frame, lane, buf_slice(&p->text)) < 0)
			give_up(x);
		if (p->last) {
			frame_quit(x->frame, EXIT_NEGATIVE);
			x->dead = true;
		}
		parcel_free(p);
	}
}

/* The line that waits for another to go ahead of it goes. overtaken: one has. */
static void
send_behind(struct fault_state *x, struct track *t, bool overtaken)
{
	if (!t->behind)
		return;
	if (overtaken)
		report_add(x->report, &t->behind_name.subject, FAULT_REORDER, ",\"behind\":%" PRIu64, t->n);
	else
		report_add(x->report, &t->behind_name.subject, FAULT_REORDER, ",\"behind\":null");
	queue_add(&t->queue, t->behind);
	t->behind = NULL;
}

static enum frame_debt
debt(const struct track *t)
{
	if (t->queue.stalls || t->queue.size > QUEUE_MOST)
		return FRAME_OWES_FULL;
	return t->queue.first || t->behind ? FRAME_OWES : FRAME_EVEN;
}

/* Lets go what is due, and sees to it that we are called when more is. */
static void
settle(struct fault_state *x)
{
	uint64_t now = frame_now(x->frame), next = UINT64_MAX;
	struct track *t;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		t = &x->tracks[lane];
		send_due(x, lane, now);
		frame_owe(x->frame, lane, debt(t));
		if (t->queue.first && t->queue.first->due < next)
			next = t->queue.first->due;
		if (t->behind && t->behind_until < next)
			next = t->behind_until;
	}
	if (next != UINT64_MAX && !x->dead && frame_alarm(x->frame, next) < 0)
		give_up(x);
}

/* --- what is done to a line --- */

/* A line as a parcel. What is torn stays so, unless another comes behind it. NULL when out of memory. */
static struct parcel *
parcel_of(const struct fault_state *x, struct slice text, bool torn)
{
	struct parcel *p = parcel_new(frame_now(x->frame));

	if (p && (buf_add_slice(&p->text, text) < 0 || (!torn && buf_add(&p->text, "\n", 1) < 0))) {
		parcel_free(p);
		return NULL;
	}
	return p;
}

/* A line of its own, ahead of the one that is selected. */
static int
add_noise(struct fault_state *x, struct track *t, const struct chance *c)
{
	struct slice text = damage_noise(c);
	struct parcel *p = parcel_of(x, text, false);
	struct buf quoted = {0};

	if (!p)
		return -1;
	queue_add(&t->queue, p);
	if (json_quote(text, &quoted) < 0)
		return -1;
	report_add(x->report, &t->now.subject, FAULT_NOISE, ",\"text\":%.*s", (int)quoted.n, quoted.p);
	buf_free(&quoted);
	return 0;
}

/* Inside an envelope, where there is one. */
static void
corrupt(struct fault_state *x, struct track *t, const struct chance *c, const struct leaving *l, struct parcel *p)
{
	size_t from = (size_t)(l->inside.p - l->text.p), at;
	unsigned char was, is;

	at = from + damage_byte(c, p->text.p + from, l->inside.n, &was);
	is = (unsigned char)p->text.p[at];
	report_add(x->report, &t->now.subject, FAULT_CORRUPT, ",\"byte\":%zu,\"was\":%u,\"is\":%u", at + 1, was, is);
}

/* The newline stays: the next line is not hurt. */
static void
truncate_line(struct fault_state *x, struct track *t, const struct chance *c, const struct leaving *l, struct parcel *p)
{
	size_t kept = damage_cut(c, l->text.n);

	p->text.n = kept;
	if (!l->torn)
		p->text.p[p->text.n++] = '\n';
	report_add(x->report, &t->now.subject, FAULT_TRUNCATE, ",\"kept\":%zu,\"of\":%zu", kept, l->text.n);
}

static int
duplicate(struct fault_state *x, struct track *t, struct parcel *p, bool torn)
{
	size_t n = p->text.n;

	if (torn && buf_add(&p->text, "\n", 1) < 0)
		return -1;
	if (buf_reserve(&p->text, n) < 0 || buf_add(&p->text, p->text.p, n) < 0)
		return -1;
	report_add(x->report, &t->now.subject, FAULT_DUPLICATE, "%s", "");
	return 0;
}

static void
delay(struct fault_state *x, struct track *t, const struct chance *c, struct parcel *p)
{
	const struct options *o = x->options;
	uint64_t wait = o->delay - o->jitter + chance_below(c, FAULT_DELAY, 1, o->jitter * 2 + 1);

	p->ready += wait;
	report_add(x->report, &t->now.subject, FAULT_DELAY, ",\"for\":%" PRIu64 ".%06" PRIu64, wait / 1000000, wait % 1000000);
}

static void
stall(struct fault_state *x, struct track *t, struct parcel *p)
{
	p->stall = x->options->stall;
	report_add(x->report, &t->now.subject, FAULT_STALL, ",\"for\":%" PRIu64 ".%06" PRIu64, p->stall / 1000000,
		p->stall % 1000000);
}

/* It waits for the next line of its lane, if none waits already. */
static void
fall_behind(struct fault_state *x, struct track *t, struct parcel *p)
{
	struct named name = t->behind_name;

	t->behind_name = t->now;
	t->now = name;
	t->behind = p;
	t->behind_until = frame_now(x->frame) + x->options->late;
}

/* Does what is said to a line that is not dropped, with those faults that hit it. 0, or -1 out of memory. */
static int
hurt(struct fault_state *x, struct track *t, const struct chance *c, const struct leaving *l, const bool *hits)
{
	struct parcel *p = parcel_of(x, l->text, l->torn);

	if (!p)
		return -1;
	if (hits[FAULT_CORRUPT] && l->inside.n > 0)
		corrupt(x, t, c, l, p);
	if (hits[FAULT_TRUNCATE])
		truncate_line(x, t, c, l, p);
	if (hits[FAULT_DUPLICATE] && duplicate(x, t, p, l->torn) < 0) {
		parcel_free(p);
		return -1;
	}
	if (hits[FAULT_DELAY])
		delay(x, t, c, p);
	if (hits[FAULT_STALL])
		stall(x, t, p);
	if (hits[FAULT_EXIT])
		report_add(x->report, &t->now.subject, FAULT_EXIT, "%s", "");
	p->last = hits[FAULT_EXIT];
	if (hits[FAULT_REORDER] && !t->behind) {
		fall_behind(x, t, p);
		return 0;
	}
	queue_add(&t->queue, p);
	send_behind(x, t, true);
	return 0;
}

/* Which faults hit this line. False: none. */
static bool
draw(struct fault_state *x, const struct chance *c, bool *hits)
{
	const struct options *o = x->options;
	bool any = false;
	enum fault f;

	for (f = 0; f < FAULTS; f++)
		hits[f] = chance_hits(c, f, o->probability[f]);
	hits[FAULT_DELAY] = o->delay || o->jitter;
	hits[FAULT_STALL] = o->stall > 0;
	hits[FAULT_EXIT] = ++x->count == o->exit_after;
	for (f = 0; f < FAULTS; f++)
		any |= hits[f];
	return any;
}

/* A line that no fault hits, or that is no message: behind those that wait, or on. */
static enum verdict
follow(struct fault_state *x, struct track *t, const struct leaving *l, bool overtakes)
{
	struct parcel *p;

	if (!t->queue.first && !(overtakes && t->behind))
		return VERDICT_PASS;
	p = parcel_of(x, l->text, l->torn);
	if (!p)
		return give_up(x);
	queue_add(&t->queue, p);
	if (overtakes)
		send_behind(x, t, true);
	return VERDICT_HOLD;
}

static enum verdict
drop(struct fault_state *x, struct track *t, bool last)
{
	report_add(x->report, &t->now.subject, FAULT_DROP, "%s", "");
	if (last) {
		report_add(x->report, &t->now.subject, FAULT_EXIT, "%s", "");
		frame_quit(x->frame, EXIT_NEGATIVE);
		x->dead = true;
	}
	return VERDICT_DROP;
}

static enum verdict
treat(struct fault_state *x, enum lane lane, const struct leaving *l)
{
	struct track *t = &x->tracks[lane];
	struct chance c = {x->options->seed, (uint64_t)lane, t->n};
	bool hits[FAULTS];

	if (!draw(x, &c, hits))
		return follow(x, t, l, true);
	if (hits[FAULT_NOISE] && add_noise(x, t, &c) < 0)
		return give_up(x);
	if (hits[FAULT_DROP])
		return drop(x, t, hits[FAULT_EXIT]);
	return hurt(x, t, &c, l, hits) < 0 ? give_up(x) : VERDICT_HOLD;
}

/* --- the filter --- */

static int
start(void *state, struct frame *f)
{
	struct fault_state *x = state;

	x->frame = f;
	return report_watch(x->report, f);
}

static enum verdict
leave(void *state, struct frame *f, enum lane lane, const struct leaving *l)
{
	struct fault_state *x = state;
	struct track *t = &x->tracks[lane];
	bool shown = t->shown && t->number == l->number;
	enum verdict v;

	(void)f;
	if (x->dead)
		return VERDICT_DROP;
	t->shown = false;
	v = shown && t->selected ? treat(x, lane, l) : follow(x, t, l, shown);
	settle(x);
	return v;
}

static void
timer(void *state, struct frame *f)
{
	struct fault_state *x = state;
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++)
		if (x->tracks[lane].behind_until <= frame_now(f))
			send_behind(x, &x->tracks[lane], false);
	settle(x);
	report_flush(x->report);
}

/* Behind the last line nothing comes: what waits for it does not wait any longer. */
static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct fault_state *x = state;

	(void)f;
	if (e->kind != FRAME_EOF || x->dead)
		return;
	if (e->from != ACP_AGENT)
		send_behind(x, &x->tracks[LANE_DOWN], false);
	if (e->from != ACP_CLIENT)
		send_behind(x, &x->tracks[LANE_UP], false);
	settle(x);
}

static void
flush(void *state, struct frame *f)
{
	struct fault_state *x = state;

	(void)f;
	report_flush(x->report);
}

/* All that waits still goes out, whatever its time. */
static int
end(void *state, struct frame *f)
{
	struct fault_state *x = state;
	enum lane lane;

	(void)f;
	for (lane = LANE_DOWN; lane < LANES; lane++) {
		if (!x->dead)
			send_behind(x, &x->tracks[lane], false);
		send_due(x, lane, UINT64_MAX);
	}
	report_flush(x->report);
	report_unwatch(x->report);
	return 0;
}

static void
free_track(struct track *t)
{
	queue_free(&t->queue);
	parcel_free(t->behind);
	buf_free(&t->now.method);
	buf_free(&t->now.id);
	buf_free(&t->behind_name.method);
	buf_free(&t->behind_name.id);
}

int
fault_run(const struct options *o)
{
	struct fault_state x = {.options = o};
	struct filter filter = {.name = fault_name, .needs = FRAME_WATCH, .state = &x, .start = start, .message = message,
		.event = event, .leave = leave, .timer = timer, .flush = flush, .end = end};
	enum lane lane;
	int status;

	x.report = report_open(o->report, o->seed);
	if (!x.report)
		return EXIT_FAILED;
	for (lane = LANE_DOWN; lane < LANES; lane++)
		queue_init(&x.tracks[lane].queue);
	status = frame_run(&filter, &o->frame);
	for (lane = LANE_DOWN; lane < LANES; lane++)
		free_track(&x.tracks[lane]);
	if (report_close(x.report) < 0 && status == 0)
		status = EXIT_FAILED;
	return status;
}
