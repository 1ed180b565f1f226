/* Starts the filter, reads and pauses the sides, and ends the filter. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

/* Bytes of held lines: a direction that holds more is not read. */
enum { HELD_MOST = 1024 * 1024 };

/* --- the filter begins --- */

int
frame_refuse_unsuited(struct frame *f, const struct transport *t)
{
	if ((f->filter->needs & ~t->gives) == 0)
		return 0;
	frame_warn(f, "%s (use -- COMMAND, acp-conduct -f, or a proxy chain)", t->lacks);
	return EXIT_USAGE;
}

void
frame_report_signal(struct frame *f, int signal)
{
	if (signal == SIGUSR1) {
		frame_event(f, &(struct frame_event){.kind = FRAME_ROTATE, .from = ACP_UNKNOWN});
		frame_log_reopen(f);
	}
	frame_event(f, &(struct frame_event){.kind = FRAME_SIGNAL, .from = ACP_UNKNOWN, .status = signal});
	frame_log_write(f);
}

int
frame_begin(struct frame *f)
{
	const struct filter *filter = f->filter;
	int status = frame_refuse_unsuited(f, f->transport);

	/* A log file keeps its old contents until the chain has accepted us. */
	if (status == 0 && f->transport->copies)
		status = frame_log_open(f);
	if (status == 0) {
		f->stage = STAGE_BEGUN;
		status = filter->start && filter->start(filter->state, f) < 0 ? EXIT_FAILED : 0;
	}
	if (status == 0) {
		f->stage = STAGE_RUNNING;
		if (f->early_signal)
			frame_report_signal(f, f->early_signal);
		return 0;
	}
	frame_fail(f, status);
	f->failed = true;
	loop_stop(f->loop);
	return -1;
}

/* --- what happens to a side --- */

static bool
side_line(void *arg, enum input_got got, const struct line *line)
{
	struct side *s = arg;
	struct frame *f = s->frame;
	const struct output *back;

	if (f->failed || f->exiting)
		return true;
	back = &f->to[acp_back(s->dir)]->end.out;
	if (!s->reading)
		s->before = output_total(back);
	s->reading = true;
	if (f->transport->line(s, got, line) < 0)
		frame_abort(f, "out of memory");
	return true;
}

/*
 * Pauses a side only if its own messages filled the opposite queue; otherwise we could deadlock with an agent that writes before
 * it reads.
 */
static void
couple(struct side *s)
{
	const struct side *back = s->frame->to[acp_back(s->dir)];
	const struct output *out = &back->end.out;

	if (s->reading)
		s->coupled = back != s->frame->to[s->dir] && out->full && output_total(out) > s->before;
	s->reading = false;
}

static void
report_batch(struct frame *f)
{
	if (f->stage != STAGE_RUNNING)
		return;
	frame_event(f, &(struct frame_event){.kind = FRAME_BATCH, .from = ACP_UNKNOWN});
	frame_log_write(f);
}

static void
side_ended(struct side *s)
{
	struct frame *f = s->frame;

	if (s->end.in.error) {
		frame_warn(f, "%s: %s", side_input(s), strerror(s->end.in.error));
		frame_fail(f, EXIT_FAILED);
	}
	if (f->stage == STAGE_WAITING && !f->failed)
		f->transport->begin(f);
	if (!f->transport->copies && !f->failed && !f->exiting)
		frame_event(f, &(struct frame_event){.kind = FRAME_EOF, .from = s->from, .torn = s->end.torn});
	report_batch(f);
	if (f->transport->left)
		f->transport->left(f);
}

void
side_end(struct side *s)
{
	if (!endpoint_can_read(&s->end))
		return;
	endpoint_close_in(&s->end);
	side_ended(s);
}

/* The output of a side is closed: its reader has left, or the queue is written. */
static void
output_closed(struct side *s)
{
	struct frame *f = s->frame;
	int error = s->end.out.error;

	if (error && error != EPIPE && error != ECONNRESET) {
		frame_warn(f, "writing to %s: %s", s == &f->far ? "the agent" : f->transport->output, strerror(error));
		frame_fail(f, EXIT_FAILED);
	}
	if (error && s == &f->near && !f->transport->copies)
		frame_client_left(f);
	/* A direction that the filter has closed begins no grace period for its reader. */
	if (!error && !f->closed[s == &f->far ? ACP_DOWN : ACP_UP] && f->transport->left)
		f->transport->left(f);
}

static void
side_event(void *arg, enum endpoint_event event)
{
	struct side *s = arg;
	struct frame *f = s->frame;

	switch (event) {
	case ENDPOINT_READ:
		couple(s);
		report_batch(f);
		break;
	case ENDPOINT_ENDED:
		couple(s);
		side_ended(s);
		break;
	case ENDPOINT_HUNG_UP:
		if (s == &f->near && f->transport->left)
			f->transport->left(f);
		break;
	case ENDPOINT_WROTE:
		if (f->stage == STAGE_RUNNING)
			frame_event(f, &(struct frame_event){.kind = FRAME_WRITABLE, .from = ACP_UNKNOWN});
		break;
	case ENDPOINT_CLOSED:
		output_closed(s);
		break;
	}
	frame_settle(f);
}

static int
side_open(struct frame *f, struct side *s, int in, int out)
{
	s->frame = f;
	s->end = (struct endpoint){.line = side_line, .event = side_event, .arg = s};
	return endpoint_open(&s->end, f->loop, in, out, f->options->limit);
}

int
near_open(struct frame *f, int in, int out)
{
	f->from[ACP_DOWN] = f->from[ACP_UP] = f->to[ACP_DOWN] = f->to[ACP_UP] = &f->near;
	f->near.from = ACP_UNKNOWN;
	return side_open(f, &f->near, in, out);
}

int
far_open(struct frame *f, int in, int out)
{
	f->from[ACP_UP] = f->to[ACP_DOWN] = &f->far;
	f->near.from = ACP_CLIENT;
	f->far.dir = ACP_UP;
	f->far.from = ACP_AGENT;
	return side_open(f, &f->far, in, out);
}

int
stdio_open(struct frame *f)
{
	int in = proc_move_high(STDIN_FILENO), out = proc_move_high(STDOUT_FILENO);

	if (in >= 0 && out >= 0 && near_open(f, in, out) == 0)
		return 0;
	frame_warn(f, "standard input or output: %s", strerror(errno));
	return EXIT_FAILED;
}

void
frame_client_left(struct frame *f)
{
	if (f->client_left)
		return;
	f->client_left = true;
	endpoint_drain(&f->near.end);
	if (f->transport->left)
		f->transport->left(f);
}

/* --- after each event --- */

static bool
is_written(const struct side *s)
{
	return !endpoint_can_write(&s->end) || s->end.out.n == 0;
}

static bool
all_written(const struct frame *f)
{
	return is_written(&f->near) && is_written(&f->far);
}

bool
frame_holds_lines(const struct frame *f, enum acp_direction dir)
{
	return (f->held_lines[dir] > 0 || f->kept_open[dir]) && endpoint_can_write(&f->to[dir]->end);
}

static bool
holds_messages(const struct frame *f, enum acp_direction dir)
{
	for (const struct held *h = f->held; h; h = h->next)
		if (h->dir == dir && !h->line)
			return true;
	return false;
}

static void
pace(struct frame *f, struct side *s)
{
	bool paused = f->exiting;

	if (!s->frame)
		return;
	if (s->coupled && !f->to[acp_back(s->dir)]->end.out.full)
		s->coupled = false;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (s == f->from[dir] && endpoint_can_write(&f->to[dir]->end))
			paused |= f->paused[dir] || f->held_bytes[dir] > HELD_MOST;
	endpoint_pause(&s->end, paused || s->coupled || f->to[s->dir]->end.out.full);
}

/* Will no further message come? */
static bool
is_over(const struct frame *f)
{
	if (endpoint_can_read(&f->from[ACP_UP]->end) || frame_holds_lines(f, ACP_UP))
		return false;
	if (f->from[ACP_UP] == f->from[ACP_DOWN] && frame_holds_lines(f, ACP_DOWN))
		return false;
	return !f->transport->over || f->transport->over(f);
}

static void
end_filter(struct frame *f)
{
	const struct filter *filter = f->filter;

	/* The agent's side has ended: nothing more is read from the client. */
	endpoint_close_in(&f->near.end);
	if (f->transport->ending)
		f->transport->ending(f);
	f->stage = STAGE_ENDED;
	if (filter->end)
		frame_fail(f, filter->end(filter->state, f));
	endpoint_finish(&f->near.end);
	endpoint_finish(&f->far.end);
}

static void
settle(void *arg)
{
	struct frame *f = arg;
	struct side *down = f->from[ACP_DOWN];

	if (f->failed)
		return;
	if (f->exiting) {
		pace(f, &f->near);
		/* The agent's further output is read and discarded: an agent that writes before it reads would not take the queue. */
		if (f->far.frame)
			endpoint_pause(&f->far.end, is_written(&f->far));
		if (all_written(f))
			loop_stop(f->loop);
		return;
	}
	if (f->far.frame && !endpoint_can_read(&down->end) && !holds_messages(f, ACP_DOWN) && !frame_holds_lines(f, ACP_DOWN))
		endpoint_finish(&f->far.end);
	if (f->stage == STAGE_RUNNING && is_over(f))
		end_filter(f);
	pace(f, &f->near);
	pace(f, &f->far);
	if (f->stage == STAGE_ENDED && all_written(f))
		loop_stop(f->loop);
}

void
frame_settle(struct frame *f)
{
	f->settle.run = settle;
	f->settle.arg = f;
	loop_add_task(f->loop, &f->settle);
}
