/*
 * proc_parts: what the files of proc share. proc_group_lives and proc_self differ between systems, too.
 * proc_guardian.c and proc.c call each other: each group that is started is named to the guardian, itself a child.
 */
#ifndef PROC_PARTS_H
#define PROC_PARTS_H

#include "lib/run/proc.h"

/* In a child: sends us a signal when our parent dies, where the system can. (proc_linux.c, proc_portable.c) */
void proc_die_with_parent(int signal);
/* What proc_close_others does, in one call. False where the system has none. (Likewise) */
bool proc_close_range(bool at_exec);
/* Default dispositions and an empty mask. */
void proc_reset_signals(void);
/* Moves a descriptor above 7, where a link's are, close-on-exec. -1 with errno: it was none, or is closed. */
int proc_raise(int fd);
/* Waits for a child. */
void proc_reap(pid_t);

#endif
