/* The guardian (proc.h): the orders to it, and the process itself. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/bytes.h"
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

/* Ends the groups, of which there are n. */
static void
end_groups(const pid_t *groups, size_t n)
{
	struct timespec step = {0, STEP * 1000000L};
	size_t live = 0;

	for (size_t i = 0; i < n; i++)
		proc_signal(groups[i], SIGTERM);
	for (int waited = 0; waited < KILL_AFTER && live < n; waited += STEP) {
		while (live < n && !proc_group_lives(groups[live]))
			live++;
		if (live < n)
			nanosleep(&step, NULL);
	}
	for (size_t i = 0; i < n; i++)
		proc_signal(groups[i], SIGKILL);
}

/* Obeys orders; groups: an array of pid_t. True after the order to end; false where the parent died without it. */
static bool
obey_all(struct buf *groups, int fd)
{
	FILE *orders = fdopen(fd, "r");
	pid_t *at, id;
	long group;
	char verb;

	/* No signal has a handler here, so none interrupts the reading. */
	while (orders && fscanf(orders, " %c%ld", &verb, &group) == 2) {
		if (verb == '.')
			return true;
		id = (pid_t)group;
		/* If memory runs out, this group alone remains without a guardian, which has no way to report it. */
		if (verb == '+')
			(void)buf_add(groups, &id, sizeof(id));
		at = (pid_t *)(void *)groups->p;
		for (size_t i = 0; verb == '-' && i < groups->n / sizeof(id); i++) {
			if (at[i] == id) {
				groups->n -= sizeof(id);
				at[i--] = at[groups->n / sizeof(id)];
			}
		}
	}
	return false;
}

/* Leaves the terminal's session and the group, ignores the signals that end our parent, and closes every descriptor but the orders. */
static _Noreturn void
become_guardian(int fd)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
	struct buf groups = {0};

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
		end_groups((const pid_t *)(const void *)groups.p, groups.n / sizeof(pid_t));
	buf_free(&groups);
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
