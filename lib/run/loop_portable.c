/*
 * The loop on other systems: descriptors by poll, signals by a pipe that their handler writes to. Signals are unblocked only while poll
 * waits, so that they interrupt no other call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/run/loop_parts.h"
#include "lib/run/proc.h"

struct loop_system {
	struct loop_fd *first;      /* all added, in the order of adding */
	struct pollfd *polled;      /* the argument of poll: an element for each that loop_wants, in the same order */
	size_t cap;
	struct loop_fd signals;
	struct sigaction was[NSIG]; /* to be restored */
};

/* The write end of the pipe, or -1. It is global because a signal handler has no argument for it. */
static volatile sig_atomic_t signalled = -1;

static void
on_signal(int signal)
{
	unsigned char which = (unsigned char)signal;
	int error = errno;
	/* Fails where the pipe is full: enough signals wait already. */
	ssize_t r = write((int)signalled, &which, 1);

	(void)r;
	errno = error;
}

static void
signals_ready(void *arg, short revents)
{
	struct loop *l = arg;
	unsigned char which;

	(void)revents;
	while (read(l->system->signals.fd, &which, 1) == 1)
		loop_signal(l, which);
}

int
loop_system_open(struct loop *l)
{
	struct loop_system *s = calloc(1, sizeof(*s));
	struct sigaction action = {.sa_handler = on_signal, .sa_mask = l->mask};
	int ends[2];

	l->system = s;
	if (!s || proc_pipe(ends) < 0) {
		free(s);
		l->system = NULL;
		return -1;
	}
	signalled = ends[1];
	s->signals = (struct loop_fd){.fd = ends[0], .events = POLLIN, .ready = signals_ready, .arg = l};
	if (fcntl((int)signalled, F_SETFL, O_NONBLOCK) < 0 || fcntl(s->signals.fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&l->mask, i) == 1 && sigaction(i, &action, &s->was[i]) < 0)
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
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&l->mask, i) == 1)
			sigaction(i, &s->was[i], NULL);
	proc_close(s->signals.fd);
	if (signalled >= 0)
		close((int)signalled);
	signalled = -1;
	free(s->polled);
	free(s);
}

/* --- descriptors --- */

void
loop_set_events(struct loop *l, struct loop_fd *f, short events)
{
	(void)l;
	f->events = events;
}

void
loop_system_add(struct loop *l, struct loop_fd *f)
{
	LL_APPEND(l->system->first, f);
}

void
loop_system_remove(struct loop *l, struct loop_fd *f)
{
	LL_DELETE(l->system->first, f);
}

int
loop_system_prepare(struct loop *l)
{
	struct loop_system *s = l->system;
	struct pollfd *polled;

	if (l->nfds <= s->cap)
		return 0;
	polled = realloc(s->polled, 2 * l->nfds * sizeof(*polled));
	if (!polled)
		return -1;
	s->polled = polled;
	s->cap = 2 * l->nfds;
	return 0;
}

int
loop_system_wait(struct loop *l, int wait_ms)
{
	const struct pollfd *p = l->system->polled;
	nfds_t n = 0;
	int r, error;

	for (struct loop_fd *f = l->system->first; f; f = f->next) {
		if (!loop_wants(f))
			continue;
		f->watched_fd = f->fd;
		f->watched_events = f->events;
		l->system->polled[n++] = (struct pollfd){.fd = f->fd, .events = f->events};
	}
	sigprocmask(SIG_UNBLOCK, &l->mask, NULL);
	r = poll(l->system->polled, n, wait_ms);
	error = errno;
	sigprocmask(SIG_BLOCK, &l->mask, NULL);
	l->now = loop_clock();
	errno = error;
	if (r < 0)
		return error == EINTR || error == EAGAIN ? 0 : -1;
	/* A bad descriptor is reported as ready, and makes its owner's next read or write fail. */
	for (struct loop_fd *f = l->system->first; f; f = f->next)
		if (loop_wants(f)) {
			loop_note(l, f, (unsigned short)(p->revents & POLLNVAL ? f->events & (POLLIN | POLLOUT) : p->revents));
			p++;
		}
	return 0;
}
