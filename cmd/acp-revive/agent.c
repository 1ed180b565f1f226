#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "lib/acp/msg.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/run/proc.h"
#include "revive.h"

enum {
	STDERR_LINE = 16 * 1024,      /* longer lines come in pieces, a line each */
	TAIL = 2048,                  /* bytes of standard error that an error quotes */
	HALF_CLOSED = 1 * 1000 * 1000, /* us between the end of a pipe and that of the process; then it is killed */
};

/* --- its standard error --- */

static bool
relay_error(void *arg, enum input_got got, const struct line *line)
{
	struct agent *a = arg;
	struct slice text = line->text;
	SCOPED struct buf plain = {0};

	if (got == INPUT_PIECE && text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	if (got == INPUT_PIECE && text.n == 0)
		return true;
	text_keep_tail(&a->tail, text, TAIL);
	if (text_plain(&plain, text) < 0 || buf_add(&plain, "\n", 1) < 0 || !cli_write_now(STDERR_FILENO, buf_slice(&plain))) {
		a->own.discarded++;
	} else if (a->own.discarded) {
		cli_warn(revive_name, "%llu lines of the agent's standard error were left out", (unsigned long long)a->own.discarded);
		a->own.discarded = 0;
	}
	return true;
}

/* --- its input --- */

void
agent_finish(struct agent *a)
{
	a->own.finishing = true;
	endpoint_finish(&a->pipes);
}

int
agent_get_unread(struct agent *a, struct buf *to)
{
	struct slice text, first;
	struct output_part part;
	struct msg m;
	int r = io_unread(a->own.unread, to);

	a->own.unread = -1;
	while (r == 0 && output_remove(&a->pipes.out, &part)) {
		r = buf_add_slice(to, part.text);
		block_drop(part.block);
	}
	/* The end of a line that was half read is no JSON object: it has a bracket too many. */
	text = buf_slice(to);
	if (line_next(&text, &first) && first.n > 0 && msg_scan(first, &m, NULL) == MSG_NOISE) {
		memmove(to->p, text.p, text.n);
		to->n = text.n;
	}
	return r;
}

/* --- its life --- */

bool
agent_runs(const struct agent *a)
{
	return !a->own.ended || endpoint_can_read(&a->pipes);
}

/* What it said last is read before its owner learns of its end. */
static void
changed(struct agent *a)
{
	if (!agent_runs(a))
		endpoint_read_now(&a->own.errors, true);
	a->changed(a->arg);
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct agent *a = arg;

	return a->line(a->arg, got, line);
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct agent *a = arg;
	bool closed = event == ENDPOINT_ENDED || (event == ENDPOINT_CLOSED && a->pipes.out.error);

	if (closed && !a->own.ended && !a->own.half_closed.added)
		loop_add_timer(a->loop, &a->own.half_closed, HALF_CLOSED);
	/* The agent sees the end only if nobody holds the pipe. */
	if (event == ENDPOINT_CLOSED && !closed)
		a->own.unread = proc_close(a->own.unread);
	changed(a);
}

static void
on_exit_of_process(void *arg, int status)
{
	struct agent *a = arg;

	a->own.ended = true;
	a->status = status;
	loop_remove_timer(a->loop, &a->own.half_closed);
	/* What it has started must not write beside the next process. */
	proc_signal(a->child.pid, SIGKILL);
	endpoint_drain(&a->pipes);
	changed(a);
}

static void
on_half_closed(void *arg)
{
	struct agent *a = arg;

	if (!a->own.finishing)
		agent_kill(a, SIGKILL, endpoint_can_read(&a->pipes) ? "closed its standard input" : "closed its standard output");
}

void
agent_kill(struct agent *a, int signal, const char *why)
{
	if (!a->killed_for)
		a->killed_for = why;
	proc_signal(a->child.pid, signal);
}

/* Closes what is left of the last process. */
static void
close_process(struct agent *a)
{
	loop_remove_timer(a->loop, &a->own.half_closed);
	endpoint_close(&a->pipes);
	endpoint_close(&a->own.errors);
	a->own.unread = proc_close(a->own.unread);
	if (a->child.added) {
		proc_signal(a->child.pid, SIGKILL);
		loop_reap(a->loop, &a->child);
	}
}

int
agent_start(struct agent *a)
{
	struct proc_fd fds[3];
	struct proc_spec spec = {.argv = a->argv, .fds = fds, .nfds = 3, .again = a->own.first, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;
	int theirs[3], ours[3], error;

	if (a->own.first)
		close_process(a);
	a->own = (struct agent_life){.first = a->own.first, .unread = -1, .half_closed = {.expired = on_half_closed, .arg = a},
		.errors = {.line = relay_error, .arg = a}};
	a->pipes = (struct endpoint){.line = on_line, .event = on_event, .arg = a};
	a->killed_for = NULL;
	a->tail.n = 0;
	if (proc_pipes(3, theirs, ours) < 0)
		goto fail;
	for (int i = 0; i < 3; i++)
		fds[i] = (struct proc_fd){theirs[i], i};
	a->child = (struct loop_child){.pid = proc_start(&spec, &stage), .ended = on_exit_of_process, .arg = a};
	error = errno;
	if (a->child.pid > 0)
		a->own.unread = io_copy_end((int[]){theirs[0], ours[0]});
	for (int i = 0; i < 3; i++) {
		close(theirs[i]);
		if (a->child.pid < 0)
			close(ours[i]);
	}
	if (a->child.pid < 0)
		return cli_not_started(revive_name, spec.argv[0], stage == PROC_EXEC, error);
	if (a->own.first == 0)
		a->own.first = a->child.pid;
	loop_add_child(a->loop, &a->child);
	if (endpoint_open(&a->pipes, a->loop, ours[1], ours[0], a->line_limit) < 0 ||
		endpoint_open(&a->own.errors, a->loop, ours[2], -1, STDERR_LINE) < 0)
		goto fail;
	a->pipes.out.keeps = true;
	return 0;
fail:
	cli_warn(revive_name, "%s", strerror(errno));
	return EXIT_FAILED;
}

void
agent_free(struct agent *a)
{
	if (a->own.first)
		close_process(a);
	buf_free(&a->tail);
}
