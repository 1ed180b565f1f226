#include "lib/run/loop_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

static int
list_reserve(struct list *l, size_t n)
{
	size_t cap = l->cap ? l->cap * 2 : 8;
	void **at;

	if (n <= l->cap)
		return 0;
	at = realloc(l->at, cap * sizeof(*at));
	if (!at)
		return -1;
	l->at = at;
	l->cap = cap;
	return 0;
}

static int
list_add(struct list *l, void *p)
{
	if (list_reserve(l, l->n + 1) < 0)
		return -1;
	l->at[l->n++] = p;
	return 0;
}

static void
list_remove(struct list *l, const void *p)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (l->at[i] == p) {
			l->at[i] = NULL;
			l->holes++;
		}
	}
}

/* Closes the holes; not while it is walked. */
static void
list_pack(struct list *l)
{
	size_t i, n = 0;

	if (l->holes == 0)
		return;
	for (i = 0; i < l->n; i++)
		if (l->at[i])
			l->at[n++] = l->at[i];
	l->n = n;
	l->holes = 0;
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
		c->ended(c->arg, info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status);
	}
}

void
loop_signal(struct loop *l, int signal)
{
	if (signal == SIGCHLD)
		look_for_ended(l);
	else if (l->caught)
		l->caught(l->arg, signal);
}

/* nohup: a hang-up that was ignored when we were started stays so. */
static bool
is_ignored_hangup(int signal)
{
	struct sigaction was;

	return signal == SIGHUP && sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler == SIG_IGN;
}

int
loop_out_of_the_way(int fd)
{
	int high;

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	close(fd);
	return high;
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
	free(l->ready.at);
	free(l->timers.at);
	free(l->children.at);
	free(l);
}

/* --- descriptors --- */

bool
loop_wants(const struct loop_fd *f)
{
	return f->events != LOOP_PAUSED && f->fd >= 0;
}

int
loop_add_fd(struct loop *l, struct loop_fd *f)
{
	if (f->added)
		return 0;
	if (list_reserve(&l->ready, l->nfds + 1) < 0)
		return -1;
	l->nfds++;
	f->added = true;
	f->number = ++l->last_number;
	loop_system_add(l, f);
	return 0;
}

void
loop_remove_fd(struct loop *l, struct loop_fd *f)
{
	if (!f->added)
		return;
	loop_system_remove(l, f);
	list_remove(&l->ready, f);
	f->added = false;
	l->nfds--;
}

/* Notes what a descriptor is ready for. Those that are ready are kept in the order in which they were added. */
void
loop_note(struct loop *l, struct loop_fd *f, unsigned events)
{
	struct list *r = &l->ready;
	struct loop_fd *before;
	size_t i;

	f->revents = (short)(events & ((unsigned short)f->known_events | POLLHUP | POLLERR));
	if (!f->revents)
		return;
	for (i = r->n++; i > 0; i--) {
		before = r->at[i - 1];
		if (before->number < f->number)
			break;
		r->at[i] = before;
	}
	r->at[i] = f;
}

static void
run_fds(struct loop *l)
{
	struct loop_fd *f;
	size_t i;

	for (i = 0; i < l->ready.n && !l->stopped; i++) {
		f = l->ready.at[i];
		/* An earlier function may have removed it, or pointed it elsewhere. */
		if (f && f->fd == f->known_fd)
			f->ready(f->arg, f->revents);
	}
}

/* --- timers and children --- */

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
loop_reap(struct loop *l, struct loop_child *c)
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
	uint64_t first = UINT64_MAX, now, ms;
	size_t i;

	for (i = 0; i < l->timers.n; i++) {
		t = l->timers.at[i];
		if (t && t->due < first)
			first = t->due;
	}
	if (first == UINT64_MAX)
		return -1;
	now = loop_clock();
	if (first <= now)
		return 0;
	ms = (first - now + 999) / 1000;
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

/* Before it waits. 0, or -1 with errno. */
static int
prepare(struct loop *l)
{
	list_pack(&l->timers);
	list_pack(&l->children);
	return loop_system_prepare(l);
}

static int
run_ready(struct loop *l, int wait_ms)
{
	l->ready.n = l->ready.holes = 0;
	if (loop_system_wait(l, wait_ms) < 0)
		return -1;
	run_fds(l);
	run_timers(l);
	run_tasks(l);
	return 0;
}

int
loop_run(struct loop *l)
{
	l->stopped = false;
	run_tasks(l);
	while (!l->stopped) {
		if (prepare(l) < 0)
			return -1;
		/* Signals alone are not waited for. */
		if (l->nfds == 1 && l->timers.n == 0 && l->children.n == 0)
			break;
		if (run_ready(l, time_left(l)) < 0)
			return -1;
	}
	return 0;
}

int
loop_turn(struct loop *l, int *wait_ms)
{
	run_tasks(l);
	if (prepare(l) < 0 || run_ready(l, 0) < 0 || prepare(l) < 0)
		return -1;
	*wait_ms = loop_system_has_ready(l) ? 0 : time_left(l);
	return 0;
}

void
loop_stop(struct loop *l)
{
	l->stopped = true;
}
