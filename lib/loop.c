#include "lib/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
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
	int epoll;
	struct epoll_event *events;
	size_t nevents;
	bool some_file; /* is always ready, and unknown to epoll */
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

/* Descriptors of ours are not to be taken for those that a process may be given: 6 and 7 make a link. */
static int
out_of_the_way(int fd)
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
	l->epoll = out_of_the_way(epoll_create1(EPOLL_CLOEXEC));
	l->signals.fd = out_of_the_way(signalfd(-1, &l->mask, SFD_CLOEXEC | SFD_NONBLOCK));
	l->signals.events = POLLIN;
	l->signals.ready = signals_ready;
	l->signals.arg = l;
	if (l->epoll < 0 || l->signals.fd < 0 || loop_add_fd(l, &l->signals) < 0) {
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
	if (l->epoll >= 0)
		close(l->epoll);
	sigprocmask(SIG_SETMASK, &l->old, NULL);
	free(l->fds.at);
	free(l->timers.at);
	free(l->children.at);
	free(l->events);
	free(l);
}

/*
 * Tells epoll what is known now of a descriptor, which several may watch. Poll would have to be told of all descriptors each
 * time: that costs a router with many of them more than the rest of its work. 0, or -1 with errno.
 */
static int
tell_epoll(struct loop *l, int fd, bool was_known)
{
	struct epoll_event e = {.data.fd = fd};
	const struct loop_fd *f;
	bool wanted = false;
	size_t i;

	for (i = 0; i < l->fds.n; i++) {
		f = l->fds.at[i];
		if (!f || !f->known || f->known_fd != fd)
			continue;
		wanted = true;
		e.events |= (unsigned short)f->known_events;
	}
	/* Where its owner has closed it already, the kernel has forgotten it. */
	if (!wanted) {
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (epoll_ctl(l->epoll, was_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0)
		return 0;
	if (errno != ENOENT && errno != EEXIST)
		return -1;
	return epoll_ctl(l->epoll, was_known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
}

static void
forget(struct loop *l, struct loop_fd *f)
{
	if (!f->known)
		return;
	f->known = false;
	tell_epoll(l, f->known_fd, true);
}

static int
learn(struct loop *l, struct loop_fd *f)
{
	bool was_known = f->known;

	f->known = true;
	f->known_fd = f->fd;
	f->known_events = f->events;
	if (tell_epoll(l, f->fd, was_known) == 0)
		return 0;
	f->known = false;
	/* A file is always ready, and a bad descriptor is its owner's to find. */
	return errno == EPERM || errno == EBADF ? 0 : -1;
}

int
loop_add_fd(struct loop *l, struct loop_fd *f)
{
	if (f->added)
		return 0;
	if (list_add(&l->fds, f) < 0)
		return -1;
	f->added = true;
	f->known = false;
	return 0;
}

void
loop_remove_fd(struct loop *l, struct loop_fd *f)
{
	if (!f->added)
		return;
	forget(l, f);
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

/* Tells epoll what has changed since the last time. 0, or -1 with errno. */
static int
gather(struct loop *l)
{
	struct epoll_event *events;
	struct loop_fd *f;
	size_t i;

	list_pack(&l->fds);
	list_pack(&l->timers);
	list_pack(&l->children);
	if (l->nevents < l->fds.n) {
		events = realloc(l->events, l->fds.cap * sizeof(*events));
		if (!events)
			return -1;
		l->events = events;
		l->nevents = l->fds.cap;
	}
	/* All that goes, before a new descriptor has the number of an old one. */
	for (i = 0; i < l->fds.n; i++) {
		f = l->fds.at[i];
		if (f->events == LOOP_PAUSED || f->fd != f->known_fd)
			forget(l, f);
	}
	l->some_file = false;
	for (i = 0; i < l->fds.n; i++) {
		f = l->fds.at[i];
		f->revents = 0;
		if (f->events == LOOP_PAUSED || f->fd < 0)
			continue;
		if ((!f->known || f->events != f->known_events) && learn(l, f) < 0)
			return -1;
		if (!f->known)
			f->revents = f->events & (POLLIN | POLLOUT);
		l->some_file = l->some_file || f->revents;
	}
	return 0;
}

/* An event of what nobody watches: it was closed without being removed, and somebody else has a copy. */
static void
note(struct loop *l, const struct epoll_event *e)
{
	struct loop_fd *f;
	size_t i;

	for (i = 0; i < l->fds.n; i++) {
		f = l->fds.at[i];
		if (f->known && f->known_fd == e->data.fd)
			f->revents = (short)(e->events & ((unsigned short)f->known_events | POLLHUP | POLLERR));
	}
}

/* In the order in which they were added. */
static void
run_fds(struct loop *l, size_t n)
{
	struct loop_fd *f;
	short revents;
	size_t i;

	for (i = 0; i < n && !l->stopped; i++) {
		f = l->fds.at[i];
		/* An earlier function may have removed it, or pointed it elsewhere. */
		if (!f || !f->revents || (f->known && f->fd != f->known_fd))
			continue;
		revents = f->revents;
		f->revents = 0;
		f->ready(f->arg, revents);
	}
}

int
loop_run(struct loop *l)
{
	size_t n;
	int r, i;

	l->stopped = false;
	while (!l->stopped) {
		if (gather(l) < 0)
			return -1;
		n = l->fds.n;
		if (n == 1 && l->timers.n == 0 && l->children.n == 0)
			break;
		l->now = loop_clock();
		r = epoll_wait(l->epoll, l->events, (int)n, l->some_file ? 0 : time_left(l));
		l->now = loop_clock();
		if (r < 0 && errno != EINTR)
			return -1;
		for (i = 0; i < r; i++)
			note(l, &l->events[i]);
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
