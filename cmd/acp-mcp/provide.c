/* The commands of --provide. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-mcp/mcp.h"
#include "lib/run/proc.h"
#include "lib/run/socket.h"

/* Microseconds before the first and the second signal to a command that is to end; steps of the wait at the end. */
enum { KILL_AFTER = 2 * 1000 * 1000, LAST_STEPS = 200, LAST_STEP_MS = 10 };

const struct provided *
provide_by_id(const struct mcp *m, struct slice id)
{
	for (size_t i = 0; i < m->options->nprovided; i++)
		if (json_string_eq(buf_slice(&m->options->provided[i].id), id))
			return &m->options->provided[i];
	return NULL;
}

bool
provide_by_connection(const struct mcp *m, struct slice id)
{
	/* A connection's id begins with the id of its server, without the closing quote, and a '-'. */
	for (const struct provided *p = m->options->provided; p < m->options->provided + m->options->nprovided; p++)
		if (id.n > p->id.n && memcmp(id.p, p->id.p, p->id.n - 1) == 0 && id.p[p->id.n - 1] == '-')
			return true;
	return false;
}

bool
provide_may_start(const struct mcp *m, const struct provided *p)
{
	const struct command *c;
	uint64_t n = 0;

	LL_FOREACH(m->commands, c)
		n += c->what == p && !c->child.reported;
	return n < m->options->connections;
}

/* --- commands --- */

static void
forget(struct command *c)
{
	LL_DELETE(c->mcp->commands, c);
	c->runs = false;
	loop_remove_timer(frame_loop(c->mcp->frame), &c->kill_timer);
	loop_reap(frame_loop(c->mcp->frame), &c->child);
}

static bool
input_has_ended(const struct command *c)
{
	struct pollfd input = {.fd = c->input, .events = POLLIN};
	int unread;

	/* At the end of input poll reports data, but there is none. */
	return poll(&input, 1, 0) > 0 && ioctl(c->input, FIONREAD, &unread) == 0 && unread == 0;
}

static void
command_ended(void *arg, int status)
{
	struct command *c = arg;
	char text[64];

	if (!c->input_closed && !c->signalled && !input_has_ended(c))
		frame_warn(c->mcp->frame, "server %.*s: %s has ended: %s", (int)c->what->name.n, c->what->name.p, c->what->words[0],
			proc_describe(status, text, sizeof(text)));
	/* Ends the rest of the command's process group, whose id cannot be used again before the command is reaped. */
	proc_signal(c->child.pid, SIGTERM);
	c->signalled = true;
	if (proc_group_lives(c->child.pid))
		loop_add_timer(frame_loop(c->mcp->frame), &c->kill_timer, KILL_AFTER);
	else
		forget(c);
	c->ended(c->arg);
}

static void
kill_timer_expired(void *arg)
{
	struct command *c = arg;

	proc_signal(c->child.pid, c->signalled ? SIGKILL : SIGTERM);
	if (c->child.reported) {
		forget(c);
		c->ended(c->arg);
		return;
	}
	if (!c->signalled)
		loop_add_timer(frame_loop(c->mcp->frame), &c->kill_timer, KILL_AFTER);
	c->signalled = true;
}

int
command_start(struct command *c, int pipes[2])
{
	const struct proc_fd fds[] = {{c->input, STDIN_FILENO}, {c->input, STDOUT_FILENO}};
	const struct proc_spec spec = {.argv = c->what->words, .fds = fds, .nfds = 2, .death_signal = SIGKILL};
	enum proc_stage stage = PROC_FORK;

	c->child = (struct loop_child){.ended = command_ended, .arg = c};
	c->child.pid = pipes ? proc_start_piped(&spec, 2, pipes, &stage) : proc_start(&spec, &stage);
	if (c->child.pid < 0) {
		cli_not_started(tool_name, c->what->words[0], stage == PROC_EXEC, errno);
		return -1;
	}
	c->runs = true;
	c->kill_timer = (struct loop_timer){.expired = kill_timer_expired, .arg = c};
	LL_PREPEND(c->mcp->commands, c);
	loop_add_child(frame_loop(c->mcp->frame), &c->child);
	return 0;
}

void
command_finish(struct command *c, bool ours)
{
	/* What came first was the cause: after the command's own end the other side disconnects, too. */
	if (!c->runs || c->kill_timer.added)
		return;
	c->input_closed = ours;
	loop_add_timer(frame_loop(c->mcp->frame), &c->kill_timer, KILL_AFTER);
}

static bool
all_ended(const struct mcp *m)
{
	const struct command *c;
	siginfo_t info;

	LL_FOREACH(m->commands, c) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)c->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
			return false;
	}
	return true;
}

/* --- a command that serves a shim directly --- */

struct local {
	struct local *next;
	struct command command;
	struct loop_fd shim; /* a copy of the socket, to notice the end of the shim */
};

static void
close_shim(struct local *l)
{
	if (l->shim.fd < 0)
		return;
	loop_remove_fd(frame_loop(l->command.mcp->frame), &l->shim);
	close(l->shim.fd);
	l->shim.fd = -1;
}

static void
local_ended(void *arg)
{
	struct local *l = arg;

	/* The shim sees the end, though processes that the command has left may still hold the socket. */
	if (l->shim.fd >= 0)
		socket_shut(l->shim.fd);
	close_shim(l);
	if (l->command.runs)
		return;
	LL_DELETE(l->command.mcp->locals, l);
	free(l);
}

static void
shim_gone(void *arg, short revents)
{
	struct local *l = arg;

	(void)revents;
	close_shim(l);
	command_finish(&l->command, true);
}

void
provide_serve(struct mcp *m, const struct provided *p, int fd)
{
	struct local *l = NULL;

	if (!provide_may_start(m, p)) {
		frame_warn(m->frame, "server %.*s: a connection is refused: there are %llu (--max-connections)", (int)p->name.n, p->name.p,
			(unsigned long long)m->options->connections);
	} else if (!(l = calloc(1, sizeof(*l)))) {
		mcp_fail(m, "out of memory");
	} else {
		l->command = (struct command){.mcp = m, .what = p, .input = fd, .ended = local_ended, .arg = l};
		l->shim = (struct loop_fd){.fd = fd, .events = 0, .ready = shim_gone, .arg = l};
		if (command_start(&l->command, NULL) == 0) {
			LL_PREPEND(m->locals, l);
			loop_add_fd(frame_loop(m->frame), &l->shim);
			return;
		}
	}
	close(fd);
	free(l);
}

void
provide_end_all(struct mcp *m)
{
	const struct timespec step = {0, LAST_STEP_MS * 1000000L};
	struct command *c;

	LL_FOREACH(m->commands, c)
		proc_signal(c->child.pid, SIGTERM);
	for (int i = 0; i < LAST_STEPS && !all_ended(m); i++)
		nanosleep(&step, NULL);
	while ((c = m->commands)) {
		proc_signal(c->child.pid, SIGKILL);
		forget(c);
	}
	while (m->locals)
		local_ended(m->locals);
}
