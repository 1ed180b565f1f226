/* The loop on Linux: descriptors by epoll, signals by signalfd. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/run/loop_parts.h"
#include "lib/run/proc_parts.h"

enum { EVENTS = 64 }; /* that one wait returns at most; the next wait returns the others */

struct loop_system {
	int epoll;
	struct loop_fd **watchers;  /* for each descriptor the list of those that epoll watches */
	size_t nwatchers;
	struct loop_fd *files;      /* always ready: epoll refuses them */
	struct loop_fd *changed;    /* to be registered before the next wait */
	struct loop_fd signals;
};

static void
signals_ready(void *arg, short revents)
{
	struct loop *l = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (read(l->system->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop_signal(l, (int)info.ssi_signo);
}

int
loop_system_open(struct loop *l)
{
	struct loop_system *s = calloc(1, sizeof(*s));

	l->system = s;
	if (!s)
		return -1;
	s->epoll = proc_raise(epoll_create1(EPOLL_CLOEXEC));
	s->signals.fd = proc_raise(signalfd(-1, &l->mask, SFD_CLOEXEC | SFD_NONBLOCK));
	s->signals.events = POLLIN;
	s->signals.ready = signals_ready;
	s->signals.arg = l;
	if (s->epoll < 0 || s->signals.fd < 0)
		return -1;
	loop_add_fd(l, &s->signals);
	return 0;
}

void
loop_system_close(struct loop *l)
{
	struct loop_system *s = l->system;

	if (!s)
		return;
	proc_close(s->signals.fd);
	proc_close(s->epoll);
	free(s->watchers);
	free(s);
}

/* --- descriptors --- */

static int
make_room_for(struct loop *l, int fd)
{
	size_t n = (size_t)fd + 16, i;
	struct loop_fd **watchers;

	if ((size_t)fd < l->system->nwatchers)
		return 0;
	watchers = realloc(l->system->watchers, n * sizeof(*watchers));
	if (!watchers)
		return -1;
	for (i = l->system->nwatchers; i < n; i++)
		watchers[i] = NULL;
	l->system->watchers = watchers;
	l->system->nwatchers = n;
	return 0;
}

/*
 * Gives epoll the events that the descriptor's watchers want. (epoll and not poll: poll gets all descriptors in each call, which cost a
 * chain with many of them more than the rest of its work.) 0, or -1 with errno.
 */
static int
update_epoll(struct loop *l, int fd, bool was_watched)
{
	struct epoll_event e = {.data.fd = fd};

	for (const struct loop_fd *f = l->system->watchers[fd]; f; f = f->next)
		e.events |= (unsigned short)f->watched_events;
	/* This fails if the owner has closed the descriptor already: then the kernel has removed it. */
	if (!l->system->watchers[fd]) {
		epoll_ctl(l->system->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (epoll_ctl(l->system->epoll, was_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0)
		return 0;
	if (errno != ENOENT && errno != EEXIST)
		return -1;
	return epoll_ctl(l->system->epoll, was_watched ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
}

static void
unregister_fd(struct loop *l, struct loop_fd *f)
{
	struct loop_fd **list;

	if (!f->watched)
		return;
	list = f->file ? &l->system->files : &l->system->watchers[f->watched_fd];
	LL_DELETE(*list, f);
	f->watched = false;
	if (!f->file)
		update_epoll(l, f->watched_fd, true);
	f->file = false;
}

static int
register_fd(struct loop *l, struct loop_fd *f)
{
	bool was_watched;

	if (make_room_for(l, f->fd) < 0)
		return -1;
	f->watched_fd = f->fd;
	f->watched_events = f->events;
	if (f->file)
		return 0;
	was_watched = l->system->watchers[f->fd] != NULL;
	if (!f->watched)
		LL_PREPEND(l->system->watchers[f->fd], f);
	f->watched = true;
	if (update_epoll(l, f->fd, was_watched) == 0)
		return 0;
	LL_DELETE(l->system->watchers[f->fd], f);
	f->watched = false;
	/* EPERM: it is a file. EBADF: reported as ready, it makes its owner's next read or write fail. */
	if (errno != EPERM && errno != EBADF)
		return -1;
	f->file = true;
	f->watched = true;
	LL_PREPEND(l->system->files, f);
	return 0;
}

/* Is the descriptor registered with the events that its owner wants? */
static bool
is_settled(const struct loop_fd *f)
{
	return loop_wants(f) ? f->watched && f->watched_fd == f->fd && f->watched_events == f->events : !f->watched;
}

void
loop_set_events(struct loop *l, struct loop_fd *f, short events)
{
	f->events = events;
	if (!f->added || f->changed || is_settled(f))
		return;
	f->changed = true;
	LL_PREPEND2(l->system->changed, f, next_changed);
}

void
loop_system_add(struct loop *l, struct loop_fd *f)
{
	f->watched = f->file = f->changed = false;
	loop_set_events(l, f, f->events);
}

void
loop_system_remove(struct loop *l, struct loop_fd *f)
{
	unregister_fd(l, f);
	if (f->changed)
		LL_DELETE2(l->system->changed, f, next_changed);
	f->changed = false;
}

int
loop_system_prepare(struct loop *l)
{
	struct loop_fd *f;

	/* Removals come first: a new descriptor may have the number of an old one. */
	for (f = l->system->changed; f; f = f->next_changed)
		if (!loop_wants(f) || f->fd != f->watched_fd)
			unregister_fd(l, f);
	while ((f = l->system->changed)) {
		l->system->changed = f->next_changed;
		f->changed = false;
		if (!is_settled(f) && register_fd(l, f) < 0)
			return -1;
	}
	return 0;
}

int
loop_system_wait(struct loop *l, int wait_ms)
{
	struct epoll_event events[EVENTS];
	struct loop_fd *f;
	int n;

	for (f = l->system->files; f; f = f->next)
		loop_note(l, f, (unsigned short)(f->watched_events & (POLLIN | POLLOUT)));
	n = epoll_wait(l->system->epoll, events, EVENTS, l->ready ? 0 : wait_ms);
	l->now = loop_clock();
	if (n < 0)
		return errno == EINTR ? 0 : -1;
	/* epoll still reports a descriptor that we have closed if another process has a copy: it has no watchers. */
	for (int i = 0; i < n; i++)
		for (f = l->system->watchers[events[i].data.fd]; f; f = f->next)
			loop_note(l, f, events[i].events);
	return 0;
}
