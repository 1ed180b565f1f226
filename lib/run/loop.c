#include "lib/run/loop_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/run/proc_parts.h"

uint64_t
loop_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
loop_now(const struct loop *l)
{
	return l->now;
}

/* Reports the children that have ended. After each report it starts from the first: the callback may add and remove children. */
static void
report_ended(struct loop *l)
{
	struct loop_child *c = l->children;
	siginfo_t info;

	while (c) {
		info.si_pid = 0;
		if (c->reported || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) {
			c = c->next;
			continue;
		}
		c->reported = true;
		c->ended(c->arg, info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status);
		c = l->children;
	}
}

void
loop_signal(struct loop *l, int signal)
{
	if (signal == SIGCHLD)
		report_ended(l);
	else if (l->caught)
		l->caught(l->arg, signal);
}

struct loop *
loop_new(const int *signals, void (*caught)(void *arg, int signal), void *arg)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct sigaction was;

	if (!l)
		return NULL;
	l->caught = caught;
	l->arg = arg;
	l->now = loop_clock();
	sigemptyset(&l->mask);
	sigaddset(&l->mask, SIGCHLD);
	/* nohup starts us with SIGHUP ignored. */
	for (; *signals; signals++)
		if (*signals != SIGHUP || sigaction(SIGHUP, NULL, &was) < 0 || was.sa_handler != SIG_IGN)
			sigaddset(&l->mask, *signals);
	/* With SIGCHLD ignored the kernel would reap our children. With SIGXFSZ ignored write reports EFBIG. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR ||
		sigprocmask(SIG_BLOCK, &l->mask, &l->old) < 0) {
		free(l);
		return NULL;
	}
	if (loop_system_open(l) < 0) {
		loop_free(l);
		return NULL;
	}
	return l;
}

void
loop_free(struct loop *l)
{
	if (!l)
		return;
	loop_system_close(l);
	sigprocmask(SIG_SETMASK, &l->old, NULL);
	free(l);
}

/* --- descriptors --- */

bool
loop_wants(const struct loop_fd *f)
{
	return f->events != LOOP_PAUSED && f->fd >= 0;
}

void
loop_add_fd(struct loop *l, struct loop_fd *f)
{
	if (f->added)
		return;
	l->nfds++;
	f->added = true;
	f->number = ++l->last_number;
	loop_system_add(l, f);
}

static void
forget_ready(struct loop *l, struct loop_fd *f)
{
	if (f->ready_before)
		DL_DELETE2(l->ready, f, ready_before, ready_after);
	f->ready_before = NULL;
}

void
loop_remove_fd(struct loop *l, struct loop_fd *f)
{
	if (!f->added)
		return;
	loop_system_remove(l, f);
	forget_ready(l, f);
	f->added = false;
	l->nfds--;
}

static int
by_number(const struct loop_fd *a, const struct loop_fd *b)
{
	return a->number < b->number ? -1 : 1;
}

void
loop_note(struct loop *l, struct loop_fd *f, unsigned events)
{
	f->revents = (short)(events & ((unsigned short)f->watched_events | POLLHUP | POLLERR));
	if (f->revents)
		DL_INSERT_INORDER2(l->ready, f, by_number, ready_before, ready_after);
}

/* --- timers and children --- */

/* Timers that are due at the same time expire in the order of adding. */
static int
by_due(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->due <= b->due ? -1 : 1;
}

void
loop_add_timer(struct loop *l, struct loop_timer *t, uint64_t after_us)
{
	loop_remove_timer(l, t);
	t->due = loop_clock() + after_us;
	DL_INSERT_INORDER(l->timers, t, by_due);
	t->added = true;
}

void
loop_remove_timer(struct loop *l, struct loop_timer *t)
{
	if (t->added)
		DL_DELETE(l->timers, t);
	t->added = false;
}

void
loop_add_child(struct loop *l, struct loop_child *c)
{
	if (!c->added)
		DL_APPEND(l->children, c);
	c->added = true;
	c->reported = false;
	/* The child may have ended before, and its SIGCHLD may have been handled already. */
	kill(getpid(), SIGCHLD);
}

void
loop_reap(struct loop *l, struct loop_child *c)
{
	if (c->added)
		DL_DELETE(l->children, c);
	c->added = false;
	proc_reap(c->pid);
}

/* Milliseconds until the first timer is due, rounded up, a minute at most; -1: there is no timer. */
static int
time_left(const struct loop *l)
{
	uint64_t now, ms;

	if (!l->timers)
		return -1;
	now = loop_clock();
	if (l->timers->due <= now)
		return 0;
	ms = (l->timers->due - now + 999) / 1000;
	return ms < 60000 ? (int)ms : 60000;
}

/* --- tasks --- */

void
loop_add_task(struct loop *l, struct loop_task *t)
{
	if (!t->added)
		DL_APPEND(l->tasks, t);
	t->added = true;
}

void
loop_remove_task(struct loop *l, struct loop_task *t)
{
	if (t->added)
		DL_DELETE(l->tasks, t);
	t->added = false;
}

static void
run_tasks(struct loop *l)
{
	struct loop_task *t;

	while (!l->stopped && (t = l->tasks)) {
		loop_remove_task(l, t);
		t->run(t->arg);
	}
}

/* --- the loop --- */

static int
run_ready(struct loop *l, int wait_ms)
{
	struct loop_fd *f;
	struct loop_timer *t;

	while (l->ready)
		forget_ready(l, l->ready);
	if (loop_system_wait(l, wait_ms) < 0)
		return -1;
	while (!l->stopped && (f = l->ready)) {
		forget_ready(l, f);
		/* An earlier callback may have changed its descriptor. */
		if (f->fd == f->watched_fd)
			f->ready(f->arg, f->revents);
	}
	while (!l->stopped && (t = l->timers) && t->due <= l->now) {
		loop_remove_timer(l, t);
		t->expired(t->arg);
	}
	run_tasks(l);
	return 0;
}

int
loop_run(struct loop *l)
{
	l->stopped = false;
	run_tasks(l);
	while (!l->stopped) {
		if (loop_system_prepare(l) < 0)
			return -1;
		/* The last descriptor is the one for signals: there is no peer to wait for. */
		if (l->nfds == 1 && !l->timers && !l->children)
			break;
		if (run_ready(l, time_left(l)) < 0)
			return -1;
	}
	return 0;
}

int
loop_run_once(struct loop *l)
{
	run_tasks(l);
	return loop_system_prepare(l) < 0 ? -1 : run_ready(l, 0);
}

void
loop_stop(struct loop *l)
{
	l->stopped = true;
}
