/* The frame's flow: what is read, what is written, when it waits, when it ends. */
#include <errno.h>
#include <string.h>

#include "lib/cli.h"
#include "lib/frame_parts.h"

/* The largest pipe that a process may have without privileges. */
enum { LEFT_BEHIND = 1024 * 1024 };

static void source_ready(void *arg, short revents);

int
source_open(struct frame *f, enum lane lane, enum acp_side from, int fd)
{
	struct source *s = &f->sources[lane];

	*s = (struct source){.frame = f, .lane = lane, .from = from};
	if (input_open(&s->in, fd, f->options->limit) < 0)
		return -1;
	s->open = true;
	s->watch = (struct loop_fd){.fd = s->in.io.fd, .events = POLLIN, .ready = source_ready, .arg = s};
	return loop_add_fd(f->loop, &s->watch);
}

static void sink_ready(void *arg, short revents);

int
sink_open(struct frame *f, enum lane lane, int fd)
{
	struct sink *k = &f->sinks[lane];

	*k = (struct sink){.frame = f};
	if (output_open(&k->out, fd) < 0)
		return -1;
	k->open = true;
	k->watch = (struct loop_fd){.fd = k->out.io.fd, .events = 0, .ready = sink_ready, .arg = k};
	return loop_add_fd(f->loop, &k->watch);
}

static void
sink_close(struct frame *f, struct sink *k)
{
	loop_remove_fd(f->loop, &k->watch);
	io_close(&k->out.io, k->shut);
	k->open = false;
	if (f->way == FRAME_WRAP && k == &f->sinks[LANE_DOWN])
		wrap_client_left(f);
}

void
source_end(struct frame *f, struct source *s, bool torn)
{
	struct frame_event e = {.kind = FRAME_EOF, .from = s->from, .torn = torn};

	if (!s->open)
		return;
	s->open = false;
	loop_remove_fd(f->loop, &s->watch);
	if (s->in.error) {
		frame_say(f, "%s: %s", source_name(f, s), strerror(s->in.error));
		frame_fail(f, EXIT_FAILED);
	}
	input_close(&s->in);
	/* A recording tells itself whose end it was; it may end before it has begun. */
	if (f->way == FRAME_ATTACH)
		attach_ended(f);
	else
		frame_tell(f, &e);
	/* An agent that has closed its output has nothing more to say: as if the client had left it. */
	if (f->way == FRAME_WRAP) {
		wrap_client_left(f);
		if (s->lane == LANE_UP && f->sources[LANE_DOWN].open)
			source_end(f, &f->sources[LANE_DOWN], false);
	}
}

static bool
held_in(const struct frame *f, enum lane lane)
{
	const struct held *h;

	for (h = f->held; h; h = h->next)
		if (h->lane == lane)
			return true;
	return false;
}

enum frame_debt
lane_owed(struct frame *f, enum lane lane)
{
	const struct sink *k = lane_sink(f, lane);

	return k->open && !k->out.error ? f->debts[lane] : FRAME_EVEN;
}

/* Does the filter want nothing more of what this source brings? */
static bool
stopped(struct frame *f, const struct source *s)
{
	enum lane lane;

	for (lane = LANE_DOWN; lane < LANES; lane++)
		if (s == lane_source(f, lane) && lane_owed(f, lane) == FRAME_OWES_FULL)
			return true;
	return f->quitting;
}

/* --- reading and writing --- */

static bool
drained(const struct sink *k)
{
	return !k->open || k->out.error || k->out.n == 0;
}

static struct sink *
other_sink(struct frame *f, const struct source *s)
{
	return lane_sink(f, s->lane == LANE_DOWN ? LANE_UP : LANE_DOWN);
}

/* All that was ever queued there. */
static uint64_t
queued_to(const struct sink *k)
{
	return k->out.written + k->out.discarded + k->out.queued;
}

/*
 * Only a lane whose messages did add to the other's full queue waits for it: were it any lane, an
 * agent that writes before it reads would wait for us, and we for it.
 */
static void
couple(struct frame *f, struct source *s, uint64_t before)
{
	struct sink *other = other_sink(f, s);

	s->coupled = other != lane_sink(f, s->lane) && other->out.full && queued_to(other) > before;
}

static bool
lacks_newline(const struct line *piece)
{
	return piece->text.n == 0 || piece->text.p[piece->text.n - 1] != '\n';
}

/* Reads once and shows all that came. False when there was nothing, or it was the end. */
static bool
read_once(struct frame *f, struct source *s)
{
	enum input_got got;
	struct line line;
	bool torn = false;
	uint64_t before = f->way == FRAME_AUTO ? 0 : queued_to(other_sink(f, s));
	int r = 0;

	if (input_fill(&s->in) < 0 && !s->in.ended) {
		if (errno != EAGAIN)
			frame_abort(f, strerror(errno));
		return false;
	}
	while (r == 0 && !f->failed && !f->quitting && (got = input_line(&s->in, &line)) != INPUT_NOTHING &&
		got != INPUT_END) {
		torn = got == INPUT_TORN || (got == INPUT_PIECE && lacks_newline(&line));
		r = f->way == FRAME_AUTO ? frame_undecided_line(f, s, got, &line) : lane_line(f, s, got, &line);
	}
	if (r == 0 && s->in.ended && f->way == FRAME_AUTO)
		r = frame_decide(f, FRAME_PIPE);
	if (r < 0)
		frame_abort(f, "out of memory");
	if (f->failed)
		return false;
	couple(f, s, before);
	if (s->in.ended)
		source_end(f, s, torn);
	if (f->filter->flush && f->started_filter)
		f->filter->flush(f->filter->state, f);
	return s->open;
}

static void
note_hangup(struct frame *f, struct source *s)
{
	s->hung_up = true;
	if (s->lane == LANE_DOWN)
		wrap_client_left(f);
}

static void
source_ready(void *arg, short revents)
{
	struct source *s = arg;

	if (s->paused && !(revents & POLLIN))
		note_hangup(s->frame, s);
	else
		read_once(s->frame, s);
	frame_settle(s->frame);
}

/*
 * What was sent before still goes its way, when there is room: at most what a pipe can hold, for
 * the sender may not stop.
 */
void
source_finish(struct frame *f, struct source *s)
{
	struct output *out = &lane_sink(f, s->lane)->out;

	while (s->open && !out->full && !stopped(f, s) && f->behind++ < LEFT_BEHIND / INPUT_BLOCK && read_once(f, s))
		output_flush(out);
	if (s->open && !out->full && !stopped(f, s) && !f->failed)
		source_end(f, s, false);
}

void
frame_client_left(struct frame *f)
{
	struct source *s = &f->sources[LANE_DOWN];

	if (f->left)
		return;
	f->left = true;
	source_finish(f, s);
	if (s->open)
		note_hangup(f, s);
}

/* The other end of a sink, in words. */
static const char *
sink_name(struct frame *f, const struct sink *k)
{
	if (f->way == FRAME_PIPE)
		return "standard output";
	if (f->way == FRAME_ATTACH)
		return "the chain";
	if (f->way == FRAME_PROXY)
		return "the conductor";
	return k == lane_sink(f, LANE_UP) ? "the client" : "the agent";
}

static void
sink_failed(struct frame *f, struct sink *k)
{
	bool to_client = f->way != FRAME_ATTACH && k == lane_sink(f, LANE_UP);
	int error = k->out.error;

	if (error != EPIPE && error != ECONNRESET) {
		frame_say(f, "writing to %s: %s", sink_name(f, k), strerror(error));
		frame_fail(f, EXIT_FAILED);
	}
	if (to_client)
		frame_client_left(f);
}

static void
sink_ready(void *arg, short revents)
{
	struct sink *k = arg;

	/* Nobody reads it any more: told before something is written. */
	if ((revents & (POLLERR | POLLHUP | POLLNVAL)) && !k->out.error) {
		output_fail(&k->out, EPIPE);
		sink_failed(k->frame, k);
	}
	frame_settle(k->frame);
}

static void
flush_sinks(struct frame *f)
{
	struct sink *k;
	size_t i;

	for (i = 0; i < LANES; i++) {
		k = &f->sinks[i];
		if (!k->open)
			continue;
		if (!k->out.error && output_flush(&k->out) < 0)
			sink_failed(f, k);
		if (k->last && drained(k))
			sink_close(f, k);
		else
			loop_watch(f->loop, &k->watch, k->out.error ? LOOP_PAUSED : k->out.n ? POLLOUT : 0);
	}
	if (f->agent.running) {
		output_flush(&f->agent.err);
		loop_watch(f->loop, &f->agent.err_watch, f->agent.err.n ? POLLOUT : LOOP_PAUSED);
	}
}

static void
pace_sources(struct frame *f)
{
	struct source *s;
	struct sink *own, *other;
	size_t i;

	for (i = 0; i < LANES; i++) {
		s = &f->sources[i];
		if (!s->open)
			continue;
		own = lane_sink(f, s->lane);
		other = lane_sink(f, s->lane == LANE_DOWN ? LANE_UP : LANE_DOWN);
		if (s->coupled && !other->out.full)
			s->coupled = false;
		s->paused = own->out.full || s->coupled || stopped(f, s);
		loop_watch(f->loop, &s->watch, !s->paused ? POLLIN : s->hung_up ? LOOP_PAUSED : io_hangup_events(&s->in.io));
	}
}

/* Has everything come that will? */
static bool
all_in(struct frame *f)
{
	switch (f->way) {
	case FRAME_WRAP:
		return wrap_over(f) && !lane_owed(f, LANE_UP);
	case FRAME_LINK:
		return !f->sources[LANE_UP].open && !lane_owed(f, LANE_UP);
	default:
		return !f->sources[0].open && !lane_owed(f, LANE_DOWN) && !lane_owed(f, LANE_UP);
	}
}

/* No more of it is wanted: the agent's side has ended. What it has not sent yet stays with it. */
static void
source_close(struct frame *f, struct source *s)
{
	if (!s->open)
		return;
	s->open = false;
	loop_remove_fd(f->loop, &s->watch);
	input_close(&s->in);
}

static void
end_filter(struct frame *f)
{
	const struct filter *filter = f->filter;
	struct frame_event e = {.kind = FRAME_EXIT, .from = ACP_AGENT, .status = f->agent.status};

	source_close(f, &f->sources[LANE_DOWN]);
	if (f->way == FRAME_WRAP)
		frame_tell(f, &e);
	f->started_filter = false;
	if (filter->end)
		frame_fail(f, filter->end(filter->state, f));
	f->sinks[LANE_DOWN].last = f->sinks[LANE_UP].last = true;
}

void
frame_settle(struct frame *f)
{
	if (f->failed)
		return;
	flush_sinks(f);
	if (f->quitting) {
		pace_sources(f);
		if (drained(&f->sinks[LANE_DOWN]) && drained(&f->sinks[LANE_UP]))
			loop_stop(f->loop);
		return;
	}
	if (f->left)
		source_finish(f, &f->sources[LANE_DOWN]);
	if ((f->way == FRAME_WRAP || f->way == FRAME_LINK) && !f->sources[LANE_DOWN].open && !held_in(f, LANE_DOWN) &&
		!lane_owed(f, LANE_DOWN))
		f->sinks[LANE_DOWN].last = true;
	if (f->started_filter && all_in(f))
		end_filter(f);
	flush_sinks(f);
	pace_sources(f);
	if (f->started_filter && f->filter->settled)
		f->filter->settled(f->filter->state, f);
	if (f->begun && !f->started_filter && drained(&f->sinks[LANE_DOWN]) && drained(&f->sinks[LANE_UP]))
		loop_stop(f->loop);
}

