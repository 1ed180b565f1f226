/* The transport around an agent that the tool starts: the agent's three pipes, its life and its end. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

enum { AFTER_TERM = 2 * 1000 * 1000, LAST_WORDS = 1000 * 1000 }; /* us */

/* The report relays each line of the agent's standard error, and then calls this. */
static void
stderr_line(void *arg, const char *name, const struct line *line)
{
	(void)name;
	frame_event(arg,
		&(struct frame_event){.kind = FRAME_STDERR, .from = ACP_AGENT, .number = line->number, .text = line->text, .relayed = true});
}

static void
stderr_changed(void *arg)
{
	struct frame *f = arg;

	frame_log_write(f);
	frame_settle(f);
}

static void
agent_ended(void *arg, int status)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;

	a->state = AGENT_ENDED;
	a->status = status;
	/* Processes that the agent has started may hold its pipes open. */
	loop_add_timer(f->loop, &f->agent.exit_timer, f->options->grace);
	frame_settle(f);
}

static bool
wrap_over(const struct frame *f)
{
	return f->agent.state == AGENT_ENDED && !endpoint_can_read(&f->agent.errors.in);
}

static void
extend_exit_timer(struct frame *f)
{
	struct agent *a = &f->agent;

	if (a->state != AGENT_RUNNING || a->stopped)
		return;
	a->last_written = f->far.end.out.written;
	loop_add_timer(f->loop, &f->agent.exit_timer, f->options->grace);
}

/* The client has left and the agent still runs, or the agent has ended and its pipes are still open. */
static void
exit_timer_expired(void *arg)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;
	/* After the client has left, a slow agent may still read its queue. */
	bool reads = endpoint_can_write(&f->far.end) && f->far.end.out.n > 0 && f->far.end.out.written > a->last_written;

	if (a->state == AGENT_ENDED && endpoint_can_read(&f->far.end) && f->far.end.paused && !f->far.coupled) {
		/* The agent's output waits for the client to read, so that the agent is not late. */
		loop_add_timer(f->loop, &f->agent.exit_timer, f->options->grace);
	} else if (a->state == AGENT_ENDED) {
		a->overdue = endpoint_can_read(&f->far.end) || endpoint_can_read(&a->errors.in) || f->far.end.out.n > 0;
		endpoint_drain(&f->far.end);
		endpoint_drain(&a->errors.in);
		/* A process that the agent has started may hold the agent's input, too, and not read it. */
		output_fail(&f->far.end.out, EPIPE);
		frame_settle(f);
	} else if (!a->stopped && (reads || frame_holds_lines(f, ACP_DOWN) || frame_holds_lines(f, ACP_UP))) {
		/* The agent, or the client, may wait for lines that the filter holds. */
		extend_exit_timer(f);
	} else {
		if (!a->stopped)
			frame_warn(f, "the agent did not end within the grace period: sending it SIGTERM");
		proc_signal(a->child.pid, a->stopped ? SIGKILL : SIGTERM);
		a->stopped = true;
		loop_add_timer(f->loop, &f->agent.exit_timer, AFTER_TERM);
	}
}

/* After an agent has closed its output, acts as if the client had left: the agent has nothing more to say. */
static void
wrap_left(struct frame *f)
{
	if (!endpoint_can_read(&f->far.end))
		side_end(&f->near);
	extend_exit_timer(f);
}

static int
open_stderr(struct frame *f, int fd)
{
	struct agent *a = &f->agent;
	int r = report_open(&a->report, f->filter->name, f->loop);

	a->report.on_line = stderr_line;
	a->report.arg = f;
	a->errors = (struct report_source){.changed = stderr_changed, .arg = f};
	return report_source_open(&a->errors, &a->report, NULL, fd) < 0 ? -1 : r;
}

static int
wrap_open(struct frame *f)
{
	struct agent *a = &f->agent;
	int ours[3], error;
	struct proc_spec spec = {.argv = f->options->command, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;

	error = stdio_open(f);
	if (error)
		return error;
	a->child = (struct loop_child){.pid = proc_start_piped(&spec, 3, ours, &stage), .ended = agent_ended, .arg = f};
	if (a->child.pid < 0)
		return cli_not_started(f->filter->name, spec.argv[0], stage == PROC_EXEC, errno);
	a->state = AGENT_RUNNING;
	a->exit_timer = (struct loop_timer){.expired = exit_timer_expired, .arg = f};
	if (far_open(f, ours[1], ours[0]) < 0 || open_stderr(f, ours[2]) < 0) {
		frame_warn(f, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	loop_add_child(f->loop, &a->child);
	return 0;
}

static void
wrap_ending(struct frame *f)
{
	frame_event(f, &(struct frame_event){.kind = FRAME_EXIT, .from = ACP_AGENT, .status = f->agent.status});
}

static void
wrap_kill(struct frame *f)
{
	if (f->agent.state == AGENT_RUNNING)
		proc_signal(f->agent.child.pid, SIGTERM);
}

static int
wrap_status(const struct frame *f)
{
	const struct agent *a = &f->agent;

	return a->state == AGENT_ENDED && !a->stopped ? proc_status(a->status) : 0;
}

/* Ends all processes of the agent, whose process group exists until the agent is reaped. */
static void
wrap_close(struct frame *f)
{
	struct agent *a = &f->agent;

	if (a->state == AGENT_NOT_STARTED)
		return;
	proc_signal(a->child.pid, a->state == AGENT_ENDED && !a->overdue ? SIGTERM : SIGKILL);
	loop_remove_timer(f->loop, &a->exit_timer);
	loop_reap(f->loop, &a->child);
	endpoint_close(&a->errors.in);
	buf_free(&a->errors.tail);
	/* A slow reader of our standard error still gets the queue. */
	report_close(&a->report, LAST_WORDS, UINT64_MAX);
}

const struct transport transport_wrap = {
	.input = "client",
	.output = "the client",
	.gives = FILTER_EDITS | FILTER_SENDS,
	.open = wrap_open,
	.line = plain_line,
	.message = plain_message,
	.put = plain_put,
	.left = wrap_left,
	.over = wrap_over,
	.ending = wrap_ending,
	.close = wrap_close,
	.kill = wrap_kill,
	.status = wrap_status,
};
