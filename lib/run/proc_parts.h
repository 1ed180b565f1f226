/* proc_parts: what the files of proc share. */
#ifndef PROC_PARTS_H
#define PROC_PARTS_H

#include "lib/run/proc.h"

/* Closes every descriptor from 3 on, now or at the exec. 0, or -1 with errno. */
int proc_close_others(bool at_exec);
/* Default dispositions and an empty mask. */
void proc_reset_signals(void);
/* Waits for a child. */
void proc_reap(pid_t);

#endif
