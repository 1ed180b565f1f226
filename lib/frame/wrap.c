/* The transport around an agent that the tool starts: the agent's three pipes, its life and its end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/frame/frame_parts.h"

enum { STDERR_LINE = 64 * 1024, AFTER_TERM = 2 * 1000 * 1000, LAST_STDERR_MS = 1000 };

static bool
relay_stderr(void *arg, enum input_got got, const struct line *line)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;
	struct frame_event e = {.kind = FRAME_STDERR, .from = ACP_AGENT, .number = line->number, .text = line->text, .relayed = true};
	bool whole = got == INPUT_LINE;
	SCOPED struct buf plain = {0};

	/* The last piece of a very long line includes the newline. */
	if (got == INPUT_PIECE && line->last && e.text.n > 0 && e.text.p[e.text.n - 1] == '\n') {
		e.text.n--;
		whole = true;
	}
	frame_event(f, &e);
	if (a->err.out.full || text_plain(&plain, e.text) < 0 || (whole && buf_add(&plain, "\n", 1) < 0) ||
		endpoint_put(&a->err, NULL, buf_slice(&plain)) < 0)
		a->discarded++;
	return true;
}

static void
log_event(void *arg, enum endpoint_event event)
{
	struct frame *f = arg;

	(void)event;
	frame_log_write(f);
	frame_settle(f);
}

static void
report_discarded(struct frame *f)
{
	struct agent *a = &f->agent;
	SCOPED struct buf line = {0};

	if (a->discarded == 0)
		return;
	/* The notice joins the queue of lines, even if our stderr is read slowly. */
	if (buf_printf(&line, "%s: %" PRIu64 " lines of the agent's standard error were left out", f->filter->name,
		a->discarded) == 0)
		endpoint_put_line(&a->err, NULL, buf_slice(&line), false);
	a->discarded = 0;
}

static void
err_event(void *arg, enum endpoint_event event)
{
	struct frame *f = arg;

	(void)event;
	if (!f->agent.err.out.full)
		report_discarded(f);
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
	return f->agent.state == AGENT_ENDED && !endpoint_can_read(&f->agent.log);
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
		a->overdue = endpoint_can_read(&f->far.end) || endpoint_can_read(&a->log) || f->far.end.out.n > 0;
		endpoint_drain(&f->far.end);
		endpoint_drain(&a->log);
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
	int err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	a->log = (struct endpoint){.line = relay_stderr, .event = log_event, .arg = f};
	a->err = (struct endpoint){.event = err_event, .arg = f};
	if (endpoint_open(&a->log, f->loop, fd, -1, STDERR_LINE) < 0)
		return -1;
	return err < 0 ? 0 : endpoint_open(&a->err, f->loop, -1, err, 0);
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
	endpoint_close(&a->log);
	report_discarded(f);
	/* A slow reader of our standard error still gets the queue. */
	endpoint_flush(&a->err, LAST_STDERR_MS, INT_MAX);
	endpoint_close(&a->err);
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
