#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/acp/msg.h"
#include "lib/base/cli.h"
#include "lib/base/text.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"
#include "revive.h"

enum {
	STDERR_LINE = 16 * 1024,      /* longer lines come in pieces, a line each */
	TAIL = 2048,                  /* bytes of standard error that an error quotes */
	HALF_CLOSED = 1 * 1000 * 1000, /* us between the end of a pipe and that of the process; then it is killed */
};

struct agent_process {
	struct agent *agent;
	struct loop_child child;
	pid_t first;               /* the process id of the first agent in this place, or 0 */
	bool reaped, finishing;
	struct loop_timer half_closed;
	struct endpoint errors;
	int unread;                /* a second reading end of its input where the system cannot open one later; or -1 */
	uint64_t discarded;        /* lines of standard error that found no room */
};

/* --- its standard error --- */

static bool
relay_error(void *arg, enum input_got got, const struct line *line)
{
	struct agent_process *p = arg;
	struct slice text = line->text;
	SCOPED struct buf plain = {0};

	if (got == INPUT_PIECE && text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	if (got == INPUT_PIECE && text.n == 0)
		return true;
	text_keep_tail(&p->agent->tail, text, TAIL);
	if (text_plain(&plain, text) < 0 || buf_add(&plain, "\n", 1) < 0 || !cli_write_now(STDERR_FILENO, buf_slice(&plain))) {
		p->discarded++;
	} else if (p->discarded) {
		cli_warn(revive_name, "%llu lines of the agent's standard error were left out", (unsigned long long)p->discarded);
		p->discarded = 0;
	}
	return true;
}

/* --- its input --- */

void
agent_finish(struct agent *a)
{
	a->process->finishing = true;
	endpoint_finish(&a->pipes);
}

int
agent_take_unread(struct agent *a, struct buf *to)
{
	struct agent_process *p = a->process;
	struct output_part part;
	int fd = p->unread, r = 0;
	const char *newline;
	size_t first;
	struct msg m;
	ssize_t n;

	if (fd < 0 && endpoint_can_write(&a->pipes))
		fd = system_reopen(a->pipes.out.io.fd, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	else if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK); /* only the agent's group shared it, and that has ended */
	while (fd >= 0 && (r = buf_reserve(to, INPUT_BLOCK)) == 0 && (n = read(fd, to->p + to->n, INPUT_BLOCK)) > 0)
		to->n += (size_t)n;
	if (fd != p->unread)
		proc_close(fd);
	while (r == 0 && output_take(&a->pipes.out, &part)) {
		r = buf_add_slice(to, part.text);
		block_drop(part.block);
	}
	/* The end of a line that was half read is no JSON object: it has a bracket too many. */
	newline = to->n ? memchr(to->p, '\n', to->n) : NULL;
	first = newline ? (size_t)(newline - to->p) : to->n;
	if (first > 0 && msg_scan(slice(to->p, first), &m, NULL) == MSG_NOISE) {
		first += newline != NULL;
		memmove(to->p, to->p + first, to->n - first);
		to->n -= first;
	}
	return r;
}

/* --- its life --- */

/* It has ended when its process has, and its output has been read. */
static void
end_if_over(struct agent_process *p)
{
	struct agent *a = p->agent;

	if (p->reaped && !endpoint_can_read(&a->pipes) && a->running) {
		endpoint_take(&p->errors, true);
		loop_remove_timer(a->loop, &p->half_closed);
		a->running = false;
	}
	a->changed(a->arg);
}

static bool
on_line(void *arg, enum input_got got, const struct line *line)
{
	struct agent *a = ((struct agent_process *)arg)->agent;

	return a->line(a->arg, got, line);
}

static void
on_event(void *arg, enum endpoint_event event)
{
	struct agent_process *p = arg;
	bool closed = event == ENDPOINT_ENDED || (event == ENDPOINT_CLOSED && p->agent->pipes.out.error);

	if (closed && !p->reaped && !p->half_closed.added)
		loop_add_timer(p->agent->loop, &p->half_closed, HALF_CLOSED);
	end_if_over(p);
}

static void
on_error(void *arg, enum endpoint_event event)
{
	(void)arg;
	(void)event;
}

static void
on_exit_of_process(void *arg, int status)
{
	struct agent_process *p = arg;

	p->reaped = true;
	p->agent->status = status;
	/* What it has started must not write beside the next process. */
	proc_signal(p->child.pid, SIGKILL);
	endpoint_drain(&p->agent->pipes);
	end_if_over(p);
}

static void
on_half_closed(void *arg)
{
	struct agent_process *p = arg;

	if (!p->reaped && !p->finishing)
		agent_kill(p->agent, SIGKILL, endpoint_can_read(&p->agent->pipes) ? "closed its standard input" : "closed its standard output");
}

void
agent_kill(struct agent *a, int signal, const char *why)
{
	if (!a->killed_for)
		a->killed_for = why;
	proc_signal(a->process->child.pid, signal);
}

/* Closes what is left of the last process. */
static void
close_process(struct agent_process *p)
{
	struct agent *a = p->agent;

	loop_remove_timer(a->loop, &p->half_closed);
	endpoint_close(&a->pipes);
	endpoint_close(&p->errors);
	p->unread = proc_close(p->unread);
	if (p->child.added) {
		proc_signal(p->child.pid, SIGKILL);
		loop_reap(a->loop, &p->child);
	}
}

int
agent_start(struct agent *a)
{
	struct agent_process *p = a->process;
	struct proc_fd fds[3];
	struct proc_spec spec = {.argv = a->argv, .fds = fds, .nfds = 3, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;
	int theirs[3], ours[3], error;

	if (p)
		close_process(p);
	else if (!(p = a->process = calloc(1, sizeof(*p))))
		goto fail;
	spec.again = p->first;
	*p = (struct agent_process){.agent = a, .first = p->first, .unread = -1,
		.half_closed = {.expired = on_half_closed, .arg = p}, .errors = {.line = relay_error, .event = on_error, .arg = p}};
	a->pipes = (struct endpoint){.line = on_line, .event = on_event, .arg = p};
	a->killed_for = NULL;
	a->tail.n = 0;
	if (proc_pipes(3, theirs, ours) < 0)
		goto fail;
	for (int i = 0; i < 3; i++)
		fds[i] = (struct proc_fd){theirs[i], i};
	p->child = (struct loop_child){.pid = proc_start(&spec, &stage), .ended = on_exit_of_process, .arg = p};
	error = errno;
	p->unread = system_reopen(ours[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (p->unread >= 0)
		p->unread = proc_close(p->unread);
	else
		p->unread = fcntl(theirs[0], F_DUPFD_CLOEXEC, 8);
	for (int i = 0; i < 3; i++)
		close(theirs[i]);
	if (p->child.pid < 0) {
		for (int i = 0; i < 3; i++)
			close(ours[i]);
		return cli_not_started(revive_name, spec.argv[0], stage == PROC_EXEC, error);
	}
	a->pid = p->child.pid;
	if (p->first == 0)
		p->first = a->pid;
	loop_add_child(a->loop, &p->child);
	a->running = true;
	if (endpoint_open(&a->pipes, a->loop, ours[1], ours[0], a->line_limit) < 0 ||
		endpoint_open(&p->errors, a->loop, ours[2], -1, STDERR_LINE) < 0)
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
	if (a->process)
		close_process(a->process);
	buf_free(&a->tail);
	free(a->process);
}
