/* loop_parts: shared by loop.c and the part of the loop that differs between systems (loop_linux.c, loop_portable.c). */
#ifndef LOOP_PARTS_H
#define LOOP_PARTS_H

#include <signal.h>

#include "lib/run/loop.h"

struct loop {
	struct loop_fd *ready;      /* ready descriptors, in the order of adding */
	struct loop_timer *timers;  /* by due */
	struct loop_child *children;
	size_t nfds;                /* how many loop_fd are added */
	uint64_t last_number;
	struct loop_task *tasks;    /* in the order in which they run */
	void (*caught)(void *arg, int signal);
	void *arg;
	sigset_t mask, old;
	uint64_t now;
	bool stopped;
	struct loop_system *system; /* private to the system's part */
};

/* --- loop.c has these for the system's part --- */

/* Adds a descriptor with these events of poll to the ready ones. */
void loop_note(struct loop *, struct loop_fd *, unsigned events);
/* Handles a signal that was caught: reports ended children, or calls the owner. */
void loop_signal(struct loop *, int signal);
/* Does its owner want the descriptor watched? */
bool loop_wants(const struct loop_fd *);

/* --- the system's part has these, and loop_set_events --- */

/* Begins to catch the signals of the mask, which the loop has blocked. 0, or -1 with errno; loop_system_close follows in any case. */
int loop_system_open(struct loop *);
void loop_system_close(struct loop *);
void loop_system_add(struct loop *, struct loop_fd *);
void loop_system_remove(struct loop *, struct loop_fd *);
/* Registers the changes since the last wait; to be called before each wait. 0, or -1 with errno. */
int loop_system_prepare(struct loop *);
/* Waits for ready descriptors and signals, wait_ms at most (-1: without limit), and calls loop_note for each. 0, or -1 with errno. */
int loop_system_wait(struct loop *, int wait_ms);

#endif
