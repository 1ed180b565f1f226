/* The guardian (proc.h): the orders to it, and the process itself. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/run/proc_parts.h"

enum {
	KILL_AFTER = 2000, /* ms between TERM and KILL */
	STEP = 20,         /* ms between two checks whether the groups live */
};

/* --- orders --- */

/* Writes an order, one line: +GROUP adds a group, -GROUP removes one, .0 ends the guardian. */
static void
order(struct proc_guardian *g, char verb, pid_t group)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%c%ld\n", verb, (long)group);

	if (g->fd >= 0 && write(g->fd, text, (size_t)n) < 0 && errno == EPIPE)
		g->fd = proc_close(g->fd);
}

/* --- the process --- */

struct groups {
	pid_t *ids;
	size_t n, cap;
};

static void
groups_add(struct groups *g, pid_t group)
{
	size_t cap = g->cap ? g->cap * 2 : 16;
	pid_t *ids;

	if (g->n == g->cap) {
		ids = realloc(g->ids, cap * sizeof(*ids));
		if (!ids)
			return; /* only this group remains without a guardian, which has no way to report it */
		g->ids = ids;
		g->cap = cap;
	}
	g->ids[g->n++] = group;
}

static bool
groups_live(const struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (proc_group_lives(g->ids[i]))
			return true;
	return false;
}

static void
groups_signal(const struct groups *g, int signal)
{
	for (size_t i = 0; i < g->n; i++)
		proc_signal(g->ids[i], signal);
}

static void
end_groups(const struct groups *g)
{
	struct timespec step = {0, STEP * 1000000L};

	groups_signal(g, SIGTERM);
	for (int waited = 0; waited < KILL_AFTER && groups_live(g); waited += STEP)
		nanosleep(&step, NULL);
	groups_signal(g, SIGKILL);
}

/* Obeys orders. True after the order to end; false where the parent died without it. */
static bool
obey_all(struct groups *g, int fd)
{
	FILE *orders = fdopen(fd, "r");
	long group;
	char verb;

	/* No signal has a handler here, so none interrupts the reading. */
	while (orders && fscanf(orders, " %c%ld", &verb, &group) == 2) {
		if (verb == '.')
			return true;
		if (verb == '+')
			groups_add(g, (pid_t)group);
		for (size_t i = 0; verb == '-' && i < g->n; i++)
			if (g->ids[i] == group)
				g->ids[i--] = g->ids[--g->n];
	}
	return false;
}

/* Leaves the terminal's session and the group, ignores the signals that end our parent, and closes every descriptor but the orders. */
static _Noreturn void
become_guardian(int fd)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
	struct groups groups = {0};

	setsid();
	proc_reset_signals();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (dup2(fd, 0) < 0)
		_exit(125);
	close(1);
	close(2);
	if (proc_close_others(false) < 0)
		_exit(125);
	if (!obey_all(&groups, 0))
		end_groups(&groups);
	free(groups.ids);
	_exit(0);
}

int
proc_guardian_start(struct proc_guardian *g)
{
	int fds[2];
	pid_t pid;

	*g = (struct proc_guardian){.fd = -1};
	if (proc_pipe(fds) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become_guardian(fds[0]);
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return -1;
	}
	*g = (struct proc_guardian){fds[1], pid};
	return 0;
}

void
proc_guardian_add(struct proc_guardian *g, pid_t group)
{
	order(g, '+', group);
}

void
proc_guardian_remove(struct proc_guardian *g, pid_t group)
{
	order(g, '-', group);
}

void
proc_guardian_stop(struct proc_guardian *g)
{
	order(g, '.', 0);
	proc_close(g->fd);
	if (g->pid > 0)
		proc_reap(g->pid);
	*g = (struct proc_guardian){.fd = -1};
}
