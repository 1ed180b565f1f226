#include "lib/run/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/base/bytes.h"

/* Pointers of one kind that come and go, also while they are walked: a removed one leaves a hole. */
struct list {
	void **at;
	size_t n, cap, holes;
};

enum { EVENTS = 64 }; /* that one wait tells of; the others wait their turn */

struct loop {
	struct list ready, timers, children;
	int epoll;
	size_t nfds;                /* added */
	uint64_t last_number;
	struct loop_fd **watchers;  /* by descriptor: what epoll knows */
	size_t nwatchers;
	struct loop_fd *files;      /* always ready, and unknown to epoll */
	struct loop_fd *changed;    /* since the last wait */
	struct loop_task *tasks;    /* in the order in which they run */
	struct loop_fd signals;
	void (*caught)(void *arg, int signal);
	void *arg;
	sigset_t mask, old;
	uint64_t now;
	bool stopped;
};

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
	free(l->ready.at);
	free(l->timers.at);
	free(l->children.at);
	free(l->watchers);
	free(l);
}

/* --- descriptors --- */

/* Where it is linked: with those of the same descriptor, or with the files. */
static struct loop_fd **
chain_of(struct loop *l, const struct loop_fd *f)
{
	return f->file ? &l->files : &l->watchers[f->known_fd];
}

static int
room_for(struct loop *l, int fd)
{
	size_t n = (size_t)fd + 16, i;
	struct loop_fd **at;

	if ((size_t)fd < l->nwatchers)
		return 0;
	at = realloc(l->watchers, n * sizeof(*at));
	if (!at)
		return -1;
	for (i = l->nwatchers; i < n; i++)
		at[i] = NULL;
	l->watchers = at;
	l->nwatchers = n;
	return 0;
}

/*
 * Tells epoll what is wanted now of a descriptor, which several may watch. Poll would have to be told of all descriptors each
 * time: that costs a router with many of them more than the rest of its work. 0, or -1 with errno.
 */
static int
tell_epoll(struct loop *l, int fd, bool was_known)
{
	struct epoll_event e = {.data.fd = fd};
	const struct loop_fd *f;

	for (f = l->watchers[fd]; f; f = f->next)
		e.events |= (unsigned short)f->known_events;
	/* Where its owner has closed it already, the kernel has forgotten it. */
	if (!l->watchers[fd]) {
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
unlink_from(struct loop_fd **at, const struct loop_fd *f)
{
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

static void
forget(struct loop *l, struct loop_fd *f)
{
	if (!f->known)
		return;
	unlink_from(chain_of(l, f), f);
	f->known = false;
	if (!f->file)
		tell_epoll(l, f->known_fd, true);
	f->file = false;
}

static void
link_to(struct loop_fd **chain, struct loop_fd *f)
{
	f->next = *chain;
	*chain = f;
	f->known = true;
}

static int
learn(struct loop *l, struct loop_fd *f)
{
	bool was_known;

	if (room_for(l, f->fd) < 0)
		return -1;
	f->known_fd = f->fd;
	f->known_events = f->events;
	if (f->file)
		return 0;
	was_known = l->watchers[f->fd] != NULL;
	if (!f->known)
		link_to(&l->watchers[f->fd], f);
	if (tell_epoll(l, f->fd, was_known) == 0)
		return 0;
	unlink_from(&l->watchers[f->fd], f);
	f->known = false;
	/* A file is always ready, and a bad descriptor is its owner's to find. */
	if (errno != EPERM && errno != EBADF)
		return -1;
	f->file = true;
	link_to(&l->files, f);
	return 0;
}

static bool
is_wanted(const struct loop_fd *f)
{
	return f->events != LOOP_PAUSED && f->fd >= 0;
}

/* Does the kernel know what is wanted? */
static bool
is_settled(const struct loop_fd *f)
{
	return is_wanted(f) ? f->known && f->known_fd == f->fd && f->known_events == f->events : !f->known;
}

void
loop_watch(struct loop *l, struct loop_fd *f, short events)
{
	f->events = events;
	if (!f->added || f->changed || is_settled(f))
		return;
	f->changed = true;
	f->next_changed = l->changed;
	l->changed = f;
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
	f->known = f->file = f->changed = false;
	f->number = ++l->last_number;
	loop_watch(l, f, f->events);
	return 0;
}

void
loop_remove_fd(struct loop *l, struct loop_fd *f)
{
	struct loop_fd **at = &l->changed;

	if (!f->added)
		return;
	forget(l, f);
	while (f->changed && *at != f)
		at = &(*at)->next_changed;
	if (f->changed)
		*at = f->next_changed;
	list_remove(&l->ready, f);
	f->added = f->changed = false;
	l->nfds--;
}

/* Tells epoll what has changed since the last time. 0, or -1 with errno. */
static int
tell_changes(struct loop *l)
{
	struct loop_fd *f;

	/* All that goes, before a new descriptor has the number of an old one. */
	for (f = l->changed; f; f = f->next_changed)
		if (!is_wanted(f) || f->fd != f->known_fd)
			forget(l, f);
	while ((f = l->changed)) {
		l->changed = f->next_changed;
		f->changed = false;
		if (!is_settled(f) && learn(l, f) < 0)
			return -1;
	}
	return 0;
}

/* Notes what a descriptor is ready for. Those that are ready are kept in the order in which they were added. */
static void
note(struct loop *l, struct loop_fd *f, unsigned events)
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

static bool
note_files(struct loop *l)
{
	struct loop_fd *f;

	for (f = l->files; f; f = f->next)
		note(l, f, (unsigned short)(f->known_events & (POLLIN | POLLOUT)));
	return l->ready.n > 0;
}

/* Of a descriptor that nobody watches any more: it was closed without being removed, and somebody else has a copy. */
static void
note_event(struct loop *l, const struct epoll_event *e)
{
	struct loop_fd *f;

	for (f = l->watchers[e->data.fd]; f; f = f->next)
		note(l, f, e->events);
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

/* Waits until something is ready or due, wait_ms at most (-1: for ever). 0, or -1 with errno. */
static int
wait_for_events(struct loop *l, int wait_ms)
{
	struct epoll_event events[EVENTS];
	int n, i;

	l->ready.n = l->ready.holes = 0;
	n = epoll_wait(l->epoll, events, EVENTS, note_files(l) ? 0 : wait_ms);
	l->now = loop_clock();
	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (i = 0; i < n; i++)
		note_event(l, &events[i]);
	return 0;
}

/* Before it waits. 0, or -1 with errno. */
static int
prepare(struct loop *l)
{
	list_pack(&l->timers);
	list_pack(&l->children);
	return tell_changes(l);
}

static int
run_ready(struct loop *l, int wait_ms)
{
	if (wait_for_events(l, wait_ms) < 0)
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

static bool
file_is_ready(const struct loop *l)
{
	const struct loop_fd *f;

	for (f = l->files; f; f = f->next)
		if (f->known_events & (POLLIN | POLLOUT))
			return true;
	return false;
}

int
loop_turn(struct loop *l, int *wait_ms)
{
	run_tasks(l);
	if (prepare(l) < 0 || run_ready(l, 0) < 0 || prepare(l) < 0)
		return -1;
	*wait_ms = file_is_ready(l) ? 0 : time_left(l);
	return 0;
}

int
loop_descriptor(const struct loop *l)
{
	return l->epoll;
}

void
loop_stop(struct loop *l)
{
	l->stopped = true;
}
