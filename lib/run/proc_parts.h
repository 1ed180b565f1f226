/*
 * proc_parts: for the files of proc, loop and log. proc_linux.c and proc_portable.c have proc_die_with_parent, proc_close_range,
 * proc_group_lives and proc_self. proc.c and proc_guardian.c call each other.
 */
#ifndef PROC_PARTS_H
#define PROC_PARTS_H

#include "lib/run/proc.h"

/* In a child: asks the system for a signal when the parent dies, where it can send one. */
void proc_die_with_parent(int signal);
/* Does the work of proc_close_others in one system call. False where the system has none. */
bool proc_close_range(bool at_exec);
/* Sets all signals to their default dispositions, and empties the signal mask. */
void proc_reset_signals(void);
/* Moves a descriptor to a number above 7 (6 and 7 are a link's), close-on-exec. The new number; -1 where fd is -1, or with errno. */
int proc_raise(int fd);
/* Waits for a child to end, and reaps it. */
void proc_reap(pid_t);

#endif
