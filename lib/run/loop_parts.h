/* loop_parts: what the loop shares with the part of it that differs between systems (loop_linux.c, loop_portable.c). */
#ifndef LOOP_PARTS_H
#define LOOP_PARTS_H

#include <signal.h>

#include "lib/run/loop.h"

struct loop {
	struct loop_fd *ready;      /* in the order in which they were added */
	struct loop_timer *timers;  /* by due */
	struct loop_child *children;
	size_t nfds;                /* added */
	uint64_t last_number;
	struct loop_task *tasks;    /* in the order in which they run */
	void (*caught)(void *arg, int signal);
	void *arg;
	sigset_t mask, old;
	uint64_t now;
	bool stopped;
	struct loop_system *system; /* its own */
};

/* --- what it has for the system's part --- */

/* Notes what a descriptor is ready for. */
void loop_note(struct loop *, struct loop_fd *, unsigned events);
/* A signal has come. */
void loop_signal(struct loop *, int signal);
/* Is it to be watched? */
bool loop_wants(const struct loop_fd *);

/* --- what the system's part has: loop_watch, and --- */

/* Catches the signals of the mask, which are blocked but while it waits. 0, or -1 with errno; close it in any case. */
int loop_system_open(struct loop *);
void loop_system_close(struct loop *);
void loop_system_add(struct loop *, struct loop_fd *);
void loop_system_remove(struct loop *, struct loop_fd *);
/* To be called before it waits. 0, or -1 with errno. */
int loop_system_prepare(struct loop *);
/* Waits until something is ready, wait_ms at most (-1: for ever), and notes it. 0, or -1 with errno. */
int loop_system_wait(struct loop *, int wait_ms);

#endif
