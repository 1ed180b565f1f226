#include "lib/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/bytes.h"

/* Pointers of one kind that come and go, also while they are walked: a removed one leaves a hole. */
struct list {
	void **at;
	size_t n, cap;
};

struct loop {
	struct list fds, timers, children;
	struct pollfd *polled;
	size_t npolled;
	struct loop_fd signals;
	void (*caught)(void *arg, int signal);
	void *arg;
	sigset_t mask, old;
	uint64_t now;
	bool stopped;
};

static int
list_add(struct list *l, void *p)
{
	size_t cap = l->cap ? l->cap * 2 : 8;
	void **at;

	if (l->n == l->cap) {
		at = realloc(l->at, cap * sizeof(*at));
		if (!at)
			return -1;
		l->at = at;
		l->cap = cap;
	}
	l->at[l->n++] = p;
	return 0;
}

static void
list_remove(struct list *l, const void *p)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->at[i] == p)
			l->at[i] = NULL;
}

/* Closes the holes; not while it is walked. */
static void
list_pack(struct list *l)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		if (l->at[i])
			l->at[n++] = l->at[i];
	l->n = n;
}

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

static void
look_for_ended(struct loop *l)
{
	struct loop_child *c;
	siginfo_t info;
	size_t i;

	for (i = 0; i < l->children.n; i++) {
		c = l->children.at[i];
		if (!c || c->reported)
			continue;
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			continue;
		c->reported = true;
		c->ended(c->arg, info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status);
	}
}

static void
signals_ready(void *arg, short revents)
{
	struct loop *l = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (read(l->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			look_for_ended(l);
		else if (l->caught)
			l->caught(l->arg, (int)info.ssi_signo);
	}
}

/* nohup: a hang-up that was ignored when we were started stays so. */
static bool
is_ignored_hangup(int signal)
{
	struct sigaction was;

	return signal == SIGHUP && sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler == SIG_IGN;
}

struct loop *
loop_new(const int *signals, void (*caught)(void *arg, int signal), void *arg)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->caught = caught;
	l->arg = arg;
	l->now = loop_clock();
	sigemptyset(&l->mask);
	sigaddset(&l->mask, SIGCHLD);
	for (; *signals; signals++)
		if (!is_ignored_hangup(*signals))
			sigaddset(&l->mask, *signals);
	/* An ignored SIGCHLD would reap children behind our back; a file that grows too large is an error of write. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR ||
		sigprocmask(SIG_BLOCK, &l->mask, &l->old) < 0) {
		free(l);
		return NULL;
	}
	l->signals.fd = signalfd(-1, &l->mask, SFD_CLOEXEC | SFD_NONBLOCK);
	l->signals.events = POLLIN;
	l->signals.ready = signals_ready;
	l->signals.arg = l;
	if (l->signals.fd < 0 || loop_add_fd(l, &l->signals) < 0) {
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
	if (l->signals.fd >= 0)
		close(l->signals.fd);
	sigprocmask(SIG_SETMASK, &l->old, NULL);
	free(l->fds.at);
	free(l->timers.at);
	free(l->children.at);
	free(l->polled);
	free(l);
}

int
loop_add_fd(struct loop *l, struct loop_fd *f)
{
	if (!f->added && list_add(&l->fds, f) < 0)
		return -1;
	f->added = true;
	return 0;
}

void
loop_remove_fd(struct loop *l, struct loop_fd *f)
{
	if (f->added)
		list_remove(&l->fds, f);
	f->added = false;
}

int
loop_add_timer(struct loop *l, struct loop_timer *t, uint64_t after_us)
{
	t->due = loop_clock() + after_us;
	if (!t->added && list_add(&l->timers, t) < 0)
		return -1;
	t->added = true;
	return 0;
}

void
loop_remove_timer(struct loop *l, struct loop_timer *t)
{
	if (t->added)
		list_remove(&l->timers, t);
	t->added = false;
}

int
loop_add_child(struct loop *l, struct loop_child *c)
{
	if (!c->added && list_add(&l->children, c) < 0)
		return -1;
	c->added = true;
	c->reported = false;
	/* It may have ended already, its signal eaten on behalf of another. */
	return kill(getpid(), SIGCHLD);
}

void
loop_bury(struct loop *l, struct loop_child *c)
{
	if (c->added)
		list_remove(&l->children, c);
	c->added = false;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Milliseconds until the first timer is due, rounded up; -1 for ever. */
static int
time_left(const struct loop *l)
{
	const struct loop_timer *t;
	uint64_t first = UINT64_MAX, ms;
	size_t i;

	for (i = 0; i < l->timers.n; i++) {
		t = l->timers.at[i];
		if (t && t->due < first)
			first = t->due;
	}
	if (first == UINT64_MAX)
		return -1;
	if (first <= l->now)
		return 0;
	ms = (first - l->now + 999) / 1000;
	return ms < 60000 ? (int)ms : 60000;
}

/* The first that is due of the first n, which are those that were there when the run began. */
static struct loop_timer *
due_timer(const struct loop *l, size_t n)
{
	struct loop_timer *t, *first = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		t = l->timers.at[i];
		if (t && t->due <= l->now && (!first || t->due < first->due))
			first = t;
	}
	return first;
}

/* In the order in which they are due. */
static void
run_timers(struct loop *l)
{
	struct loop_timer *t;
	size_t n = l->timers.n;

	while (!l->stopped && (t = due_timer(l, n))) {
		loop_remove_timer(l, t);
		t->expired(t->arg);
	}
}

/* Fills in what poll is asked; the same order as fds. */
static int
gather(struct loop *l)
{
	struct loop_fd *f;
	struct pollfd *p;
	size_t i;

	list_pack(&l->fds);
	list_pack(&l->timers);
	list_pack(&l->children);
	if (l->npolled < l->fds.n) {
		p = realloc(l->polled, l->fds.cap * sizeof(*p));
		if (!p)
			return -1;
		l->polled = p;
		l->npolled = l->fds.cap;
	}
	for (i = 0; i < l->fds.n; i++) {
		f = l->fds.at[i];
		l->polled[i].fd = f->events == LOOP_PAUSED ? -1 : f->fd;
		l->polled[i].events = f->events == LOOP_PAUSED ? 0 : f->events;
		l->polled[i].revents = 0;
	}
	return 0;
}

static void
run_fds(struct loop *l, size_t n)
{
	struct loop_fd *f;
	size_t i;

	for (i = 0; i < n && !l->stopped; i++) {
		f = l->fds.at[i];
		/* An earlier function may have removed it, or pointed it elsewhere. */
		if (f && l->polled[i].revents && f->fd == l->polled[i].fd)
			f->ready(f->arg, l->polled[i].revents);
	}
}

int
loop_run(struct loop *l)
{
	size_t n;
	int r;

	l->stopped = false;
	while (!l->stopped) {
		if (gather(l) < 0)
			return -1;
		n = l->fds.n;
		if (n == 1 && l->timers.n == 0 && l->children.n == 0)
			break;
		l->now = loop_clock();
		r = poll(l->polled, n, time_left(l));
		l->now = loop_clock();
		if (r < 0 && errno != EINTR)
			return -1;
		if (r > 0)
			run_fds(l, n);
		if (!l->stopped)
			run_timers(l);
	}
	return 0;
}

void
loop_stop(struct loop *l)
{
	l->stopped = true;
}
