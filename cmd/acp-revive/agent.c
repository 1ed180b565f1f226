/* The process of the agent, its three pipes, and the last lines of its standard error. */
#include <errno.h>
#include <signal.h>

#include "revive.h"

enum { HALF_CLOSED = 1 * 1000 * 1000 }; /* us that a process may run after it has closed a pipe; then it is killed */

void
agent_kill(struct agent *a, int signal, const char *why)
{
	if (!a->killed_for)
		a->killed_for = why;
	proc_signal(a->child.pid, signal);
}

void
agent_close(struct revive *r)
{
	struct agent *a = &r->agent;

	loop_remove_timer(r->loop, &a->half_closed);
	endpoint_close(&a->pipes);
	endpoint_close(&a->errors.in);
	a->unread = proc_close(a->unread);
	if (a->child.added) {
		proc_signal(a->child.pid, SIGKILL);
		loop_reap(r->loop, &a->child);
	}
}

/* --- its end --- */

static void
on_event(void *arg, enum endpoint_event event)
{
	struct revive *r = arg;
	struct agent *a = &r->agent;
	bool closed = event == ENDPOINT_ENDED || (event == ENDPOINT_CLOSED && a->pipes.out.error);

	if (closed && !a->ended && !a->half_closed.added)
		loop_add_timer(r->loop, &a->half_closed, HALF_CLOSED);
	/* The agent sees the end of its input only when no copy of the pipe is open. */
	if (event == ENDPOINT_CLOSED && !closed)
		a->unread = proc_close(a->unread);
	revive_changed(r);
}

static void
on_half_closed(void *arg)
{
	struct revive *r = arg;

	if (!r->end.begun)
		agent_kill(&r->agent, SIGKILL, endpoint_can_read(&r->agent.pipes) ? "closed its standard input" : "closed its standard output");
}

static void
on_exit_of_process(void *arg, int status)
{
	struct revive *r = arg;

	r->agent.ended = true;
	r->agent.status = status;
	loop_remove_timer(r->loop, &r->agent.half_closed);
	/* Processes that the agent has started must not write beside the next agent. */
	proc_signal(r->agent.child.pid, SIGKILL);
	endpoint_drain(&r->agent.pipes);
	revive_changed(r);
}

/* --- from one process to the next --- */

void
agent_get_unread(struct agent *a, struct buf *to)
{
	need(io_unread(a->unread, to));
	a->unread = -1;
	need(output_take(&a->pipes.out, to));
}

bool
agent_start(struct revive *r)
{
	struct agent *a = &r->agent;
	struct proc_spec spec = {.argv = r->options->command, .first_pid = a->first, .death_signal = SIGKILL, .unread = &a->unread};
	enum proc_stage stage = PROC_FORK;
	int ours[3];

	agent_close(r);
	*a = (struct agent){.first = a->first, .errors.tail = a->errors.tail, .unread = -1, .half_closed = {.expired = on_half_closed, .arg = r},
		.pipes = {.line = r->agent_line, .event = on_event, .arg = r}};
	a->child = (struct loop_child){.pid = proc_start_piped(&spec, 3, ours, &stage), .ended = on_exit_of_process, .arg = r};
	r->deaths.processes++;
	if (a->child.pid < 0) {
		r->end.status = cli_not_started(revive_name, spec.argv[0], stage == PROC_EXEC, errno);
		return false;
	}
	if (!a->first)
		a->first = a->child.pid;
	loop_add_child(r->loop, &a->child);
	if ((endpoint_open(&a->pipes, r->loop, ours[1], ours[0], r->options->line_limit) |
		report_source_open(&a->errors, &r->report, NULL, ours[2])) < 0) {
		report_line(&r->report, "%s", strerror(errno));
		r->end.status = EXIT_FAILED;
		return false;
	}
	a->pipes.out.keeps = true;
	if (r->options->verbose)
		report_line(&r->report, "agent: pid %ld", (long)a->child.pid);
	return true;
}
