/* The frame around an agent that it has started: its three pipes, its life and its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/frame_parts.h"

enum { STDERR_LINE = 64 * 1024, AFTER_TERM = 2 * 1000 * 1000, LAST_STDERR_MS = 1000 };

static void
relay_stderr(struct frame *f, enum input_got got, const struct line *line)
{
	struct agent *a = &f->agent;
	struct frame_event e = {.kind = FRAME_STDERR, .from = ACP_AGENT, .number = line->number, .text = line->text};
	bool whole = got == INPUT_LINE;

	/* A piece of a very long line that ends it has its newline. */
	if (got == INPUT_PIECE && line->last && e.text.n > 0 && e.text.p[e.text.n - 1] == '\n') {
		e.text.n--;
		whole = true;
	}
	frame_tell(f, &e);
	if (a->err.full || output_hold(&a->err, line->block, slice(e.text.p, e.text.n + whole)) < 0)
		a->unsaid++;
}

static void
stderr_ready(void *arg, short revents)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;
	struct line line;
	enum input_got got;

	(void)revents;
	if (input_fill(&a->log) < 0 && !a->log.ended)
		return;
	while ((got = input_line(&a->log, &line)) != INPUT_NOTHING && got != INPUT_END)
		relay_stderr(f, got, &line);
	if (f->filter->flush)
		f->filter->flush(f->filter->state, f);
	if (got == INPUT_END || a->log.ended) {
		loop_remove_fd(f->loop, &a->log_watch);
		input_close(&a->log);
	}
	frame_settle(f);
}

static void
say_unsaid(struct frame *f)
{
	struct agent *a = &f->agent;
	struct buf line = {0};

	if (a->unsaid == 0)
		return;
	/* In their place among the others, however slowly they are read. */
	if (buf_printf(&line, "%s: %llu lines of the agent's standard error were left out\n", f->filter->name,
		(unsigned long long)a->unsaid) == 0 && output_mend(&a->err) == 0)
		output_copy(&a->err, buf_slice(&line));
	buf_free(&line);
	a->unsaid = 0;
}

static void
err_ready(void *arg, short revents)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;

	if (revents & (POLLERR | POLLHUP | POLLNVAL))
		output_fail(&a->err, EPIPE);
	frame_settle(f);
	if (!a->err.full)
		say_unsaid(f);
}

static void
have_patience(struct frame *f, uint64_t us)
{
	if (loop_add_timer(f->loop, &f->agent.patience, us) < 0)
		frame_abort(f, strerror(errno));
}

static void
agent_ended(void *arg, int status)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;

	a->ended = true;
	a->status = status;
	/* What it started may hold its pipes open. */
	have_patience(f, f->options->grace);
	frame_settle(f);
}

/* An agent that is slow to take what the client left behind is given its time. */
static bool
still_taking(const struct frame *f)
{
	const struct sink *k = &f->sinks[LANE_DOWN];

	return k->open && k->out.n > 0 && k->out.written > f->agent.taken;
}

/* It may be what the filter holds back that the agent, or who reads it, is waiting for. */
static bool
filter_is_late(struct frame *f)
{
	return lane_owed(f, LANE_DOWN) || lane_owed(f, LANE_UP);
}

/* The client has left and the agent has not, or the agent has and its pipes have not ended. */
static void
out_of_patience(void *arg)
{
	struct frame *f = arg;
	struct agent *a = &f->agent;

	if (a->ended && f->sources[LANE_UP].open && f->sources[LANE_UP].paused) {
		/* Not the agent's side is late, but the client that has not read yet. */
		have_patience(f, f->options->grace);
		return;
	}
	if (wrap_over(f))
		return;
	if (a->ended) {
		a->overdue = true;
		f->behind = 0;
		source_finish(f, &f->sources[LANE_UP]);
		source_end(f, &f->sources[LANE_UP], false);
		if (!a->log.ended) {
			loop_remove_fd(f->loop, &a->log_watch);
			input_close(&a->log);
		}
		frame_settle(f);
		return;
	}
	if (!a->stopped && (still_taking(f) || filter_is_late(f))) {
		wrap_client_left(f);
		return;
	}
	if (!a->stopped)
		frame_say(f, "the agent did not end within the grace period: sending it SIGTERM");
	proc_signal(a->child.pid, a->stopped ? SIGKILL : SIGTERM);
	a->stopped = true;
	have_patience(f, AFTER_TERM);
}

void
wrap_client_left(struct frame *f)
{
	struct agent *a = &f->agent;

	if (!a->running || a->ended || a->stopped)
		return;
	a->taken = f->sinks[LANE_DOWN].out.written;
	have_patience(f, f->options->grace);
}

bool
wrap_over(const struct frame *f)
{
	return f->agent.ended && f->agent.log.ended && !f->sources[LANE_UP].open;
}

/* Both ends of three pipes: what the agent gets, and what stays here. */
static int
make_pipes(int theirs[3], int ours[3])
{
	int p[2], i;

	for (i = 0; i < 3; i++) {
		if (proc_pipe(p) < 0)
			return -1;
		theirs[i] = i == 0 ? p[0] : p[1];
		ours[i] = i == 0 ? p[1] : p[0];
	}
	return 0;
}

static int
watch_stderr(struct frame *f, int fd)
{
	struct agent *a = &f->agent;
	int err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 8);

	if (input_open(&a->log, fd, STDERR_LINE) < 0)
		return -1;
	if (err < 0 || output_open(&a->err, err) < 0)
		output_fail(&a->err, EBADF);
	a->log_watch = (struct loop_fd){.fd = a->log.io.fd, .events = POLLIN, .ready = stderr_ready, .arg = f};
	a->err_watch = (struct loop_fd){.fd = a->err.io.fd, .events = LOOP_PAUSED, .ready = err_ready, .arg = f};
	if (loop_add_fd(f->loop, &a->log_watch) < 0)
		return -1;
	return loop_add_fd(f->loop, &a->err_watch);
}

/* 0, or the exit status that says why not. */
int
wrap_start(struct frame *f)
{
	struct agent *a = &f->agent;
	int theirs[3], ours[3], i, error;
	struct proc_fd fds[3];
	struct proc_spec spec = {.argv = f->options->command, .fds = fds, .nfds = 3, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;

	if (make_pipes(theirs, ours) < 0)
		goto fail;
	for (i = 0; i < 3; i++)
		fds[i] = (struct proc_fd){theirs[i], i};
	a->child = (struct loop_child){.pid = proc_start(&spec, &stage), .ended = agent_ended, .arg = f};
	error = errno;
	for (i = 0; i < 3; i++)
		close(theirs[i]);
	if (a->child.pid < 0)
		return cli_not_started(f->filter->name, spec.argv[0], stage == PROC_EXEC, error);
	a->running = true;
	a->patience = (struct loop_timer){.expired = out_of_patience, .arg = f};
	if (sink_open(f, LANE_DOWN, ours[0]) < 0 || source_open(f, LANE_UP, ACP_AGENT, ours[1]) < 0 ||
		watch_stderr(f, ours[2]) < 0 || loop_add_child(f->loop, &a->child) < 0)
		goto fail;
	return 0;
fail:
	frame_say(f, "%s", strerror(errno));
	return EXIT_FAILED;
}

/* A reader of our standard error that is merely slow gets the rest. */
static void
finish_stderr(struct output *err)
{
	struct pollfd p = {.fd = err->io.fd, .events = POLLOUT};

	while (output_flush(err) == 1 && poll(&p, 1, LAST_STDERR_MS) > 0)
		;
	output_close(err);
}

/* Nothing of it is left running: its group lives as long as it is not buried. */
void
wrap_end(struct frame *f)
{
	struct agent *a = &f->agent;

	if (!a->running)
		return;
	proc_signal(a->child.pid, a->ended && !a->overdue ? SIGTERM : SIGKILL);
	loop_remove_timer(f->loop, &a->patience);
	loop_bury(f->loop, &a->child);
	input_close(&a->log);
	say_unsaid(f);
	finish_stderr(&a->err);
}
