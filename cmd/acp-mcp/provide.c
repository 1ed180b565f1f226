#include "cmd/acp-mcp/provide.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/proc.h"

enum { BURY_TRIES = 200, BURY_PAUSE_MS = 10 };

/* A command that serves a shim of the agent's. */
struct local {
	struct local *next;
	struct mcp *mcp;
	struct loop_child child;
};

const struct provided *
provide_by_id(const struct mcp *m, struct slice id)
{
	size_t i;

	for (i = 0; i < m->options->nprovided; i++)
		if (json_string_eq(buf_slice(&m->options->provided[i].id), id))
			return &m->options->provided[i];
	return NULL;
}

const struct provided *
provide_by_name(const struct mcp *m, struct slice name)
{
	size_t i;

	for (i = 0; i < m->options->nprovided; i++)
		if (json_string_eq(buf_slice(&m->options->provided[i].name), name))
			return &m->options->provided[i];
	return NULL;
}

int
provide_put(const struct provided *p, struct buf *to)
{
	return buf_add_string(to, "{\"type\":\"acp\",\"name\":") | buf_add(to, p->name.p, p->name.n)
		| buf_add_string(to, ",\"id\":") | buf_add(to, p->id.p, p->id.n)
		| buf_printf(to, ",\"%s\":", acp_server_id) | buf_add(to, p->id.p, p->id.n) | buf_add(to, "}", 1);
}

static pid_t
start(const struct provided *p, int in, int out)
{
	const struct proc_fd fds[] = {{in, STDIN_FILENO}, {out, STDOUT_FILENO}};
	const struct proc_spec spec = {.argv = p->words, .fds = fds, .nfds = 2, .death_signal = SIGKILL};
	enum proc_stage stage;
	pid_t pid = proc_start(&spec, &stage);

	if (pid < 0)
		cli_not_started(tool_name, p->words[0], stage == PROC_EXEC, errno);
	return pid;
}

static void
close_pair(const int *fds)
{
	close(fds[0]);
	close(fds[1]);
}

pid_t
provide_start(struct mcp *m, const struct provided *p, int *in, int *out)
{
	int down[2], up[2];
	pid_t pid;

	if (proc_pipe(down) < 0)
		goto fail;
	if (proc_pipe(up) < 0) {
		close_pair(down);
		goto fail;
	}
	pid = start(p, down[0], up[1]);
	close(down[0]);
	close(up[1]);
	*in = down[1];
	*out = up[0];
	if (pid < 0) {
		close(*in);
		close(*out);
	}
	return pid;
fail:
	frame_say(m->frame, "%s: %s", p->words[0], strerror(errno));
	return -1;
}

static void
local_ended(void *arg, int status)
{
	struct local *l = arg, **at = &l->mcp->locals;

	(void)status;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	loop_bury(frame_loop(l->mcp->frame), &l->child);
	free(l);
}

void
provide_serve(struct mcp *m, const struct provided *p, int fd)
{
	struct local *l = calloc(1, sizeof(*l));

	if (!l) {
		close(fd);
		mcp_fail(m, "out of memory");
		return;
	}
	*l = (struct local){.next = m->locals, .mcp = m, .child = {.pid = start(p, fd, fd), .ended = local_ended, .arg = l}};
	close(fd);
	if (l->child.pid < 0) {
		free(l);
		return;
	}
	m->locals = l;
	if (loop_add_child(frame_loop(m->frame), &l->child) < 0)
		mcp_fail(m, "out of memory");
}

void
provide_end(const struct loop_child *child)
{
	proc_signal(child->pid, SIGTERM);
}

void
provide_bury(struct mcp *m, struct loop_child *child)
{
	const struct timespec pause = {0, BURY_PAUSE_MS * 1000000L};
	siginfo_t info = {0};
	int i;

	/* Its own life is in nobody's way any more: all else has been written. */
	for (i = 0; i < BURY_TRIES && info.si_pid == 0; i++)
		if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			nanosleep(&pause, NULL);
	proc_signal(child->pid, SIGKILL);
	loop_bury(frame_loop(m->frame), child);
}

void
provide_end_all(struct mcp *m)
{
	struct local *l;

	for (l = m->locals; l; l = l->next)
		provide_end(&l->child);
	while ((l = m->locals)) {
		provide_bury(m, &l->child);
		m->locals = l->next;
		free(l);
	}
}
