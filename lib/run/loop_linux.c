/* What the loop watches on Linux: descriptors by epoll, signals by signalfd. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/run/loop_parts.h"
#include "lib/run/proc_parts.h"

enum { EVENTS = 64 }; /* that one wait returns; the others come with the next */

struct loop_system {
	int epoll;
	struct loop_fd **watchers;  /* by descriptor: what epoll knows */
	size_t nwatchers;
	struct loop_fd *files;      /* always ready, and unknown to epoll */
	struct loop_fd *changed;    /* since the last wait */
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
room_for(struct loop *l, int fd)
{
	size_t n = (size_t)fd + 16, i;
	struct loop_fd **at;

	if ((size_t)fd < l->system->nwatchers)
		return 0;
	at = realloc(l->system->watchers, n * sizeof(*at));
	if (!at)
		return -1;
	for (i = l->system->nwatchers; i < n; i++)
		at[i] = NULL;
	l->system->watchers = at;
	l->system->nwatchers = n;
	return 0;
}

/*
 * Updates the events that epoll reports for a descriptor, which several may watch. poll takes all descriptors each time:
 * for a router with many of them that costs more than the rest of its work. 0, or -1 with errno.
 */
static int
update_epoll(struct loop *l, int fd, bool was_known)
{
	struct epoll_event e = {.data.fd = fd};

	for (const struct loop_fd *f = l->system->watchers[fd]; f; f = f->next)
		e.events |= (unsigned short)f->known_events;
	/* Where its owner has closed it already, the kernel has forgotten it. */
	if (!l->system->watchers[fd]) {
		epoll_ctl(l->system->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (epoll_ctl(l->system->epoll, was_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0)
		return 0;
	if (errno != ENOENT && errno != EEXIST)
		return -1;
	return epoll_ctl(l->system->epoll, was_known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
}

static void
unlink_from(struct loop_fd **at, const struct loop_fd *f)
{
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

static void
unregister_fd(struct loop *l, struct loop_fd *f)
{
	if (!f->known)
		return;
	unlink_from(f->file ? &l->system->files : &l->system->watchers[f->known_fd], f);
	f->known = false;
	if (!f->file)
		update_epoll(l, f->known_fd, true);
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
register_fd(struct loop *l, struct loop_fd *f)
{
	bool was_known;

	if (room_for(l, f->fd) < 0)
		return -1;
	f->known_fd = f->fd;
	f->known_events = f->events;
	if (f->file)
		return 0;
	was_known = l->system->watchers[f->fd] != NULL;
	if (!f->known)
		link_to(&l->system->watchers[f->fd], f);
	if (update_epoll(l, f->fd, was_known) == 0)
		return 0;
	unlink_from(&l->system->watchers[f->fd], f);
	f->known = false;
	/* A file is always ready, and a bad descriptor is its owner's to find. */
	if (errno != EPERM && errno != EBADF)
		return -1;
	f->file = true;
	link_to(&l->system->files, f);
	return 0;
}

/* Does the kernel know what is wanted? */
static bool
is_settled(const struct loop_fd *f)
{
	return loop_wants(f) ? f->known && f->known_fd == f->fd && f->known_events == f->events : !f->known;
}

void
loop_watch(struct loop *l, struct loop_fd *f, short events)
{
	f->events = events;
	if (!f->added || f->changed || is_settled(f))
		return;
	f->changed = true;
	f->next_changed = l->system->changed;
	l->system->changed = f;
}

void
loop_system_add(struct loop *l, struct loop_fd *f)
{
	f->known = f->file = f->changed = false;
	loop_watch(l, f, f->events);
}

void
loop_system_remove(struct loop *l, struct loop_fd *f)
{
	struct loop_fd **at = &l->system->changed;

	unregister_fd(l, f);
	while (f->changed && *at != f)
		at = &(*at)->next_changed;
	if (f->changed)
		*at = f->next_changed;
	f->changed = false;
}

/* Tells epoll what has changed since the last time. */
int
loop_system_prepare(struct loop *l)
{
	struct loop_fd *f;

	/* All that goes, before a new descriptor has the number of an old one. */
	for (f = l->system->changed; f; f = f->next_changed)
		if (!loop_wants(f) || f->fd != f->known_fd)
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
		loop_note(l, f, (unsigned short)(f->known_events & (POLLIN | POLLOUT)));
	n = epoll_wait(l->system->epoll, events, EVENTS, l->ready ? 0 : wait_ms);
	l->now = loop_clock();
	if (n < 0)
		return errno == EINTR ? 0 : -1;
	/* A descriptor may have no watchers: it was closed without being removed, and somebody else has a copy. */
	for (int i = 0; i < n; i++)
		for (f = l->system->watchers[events[i].data.fd]; f; f = f->next)
			loop_note(l, f, events[i].events);
	return 0;
}
