/* proc: starts and ends other programs, and prepares the descriptors for them. */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_fd {
	int ours, number; /* our descriptor, and its number in the child */
};

enum { PROC_FDS = 8 };

struct proc_guardian;

struct proc_spec {
	char *const *argv;        /* executed by execvp; a program named acp-... is first looked for beside the running one */
	const struct proc_fd *fds; /* at most PROC_FDS; 0, 1 and 2 are inherited unless listed, every other descriptor is closed */
	size_t nfds;
	bool ucspi;               /* sets PROTO=ACP in the child's environment; else PROTO is removed */
	pid_t first_pid;          /* of a restart: the first process, for ACP_RESTARTED in the environment; 0: that is removed */
	int death_signal;         /* the child gets it when we die, where the system can send it (Linux); 0: none */
	int directory;            /* a descriptor of the child's working directory; 0: ours */
	char *const *variables;   /* NAME=VALUE, NULL-terminated: replace ours in the child's environment; or NULL */
	int *unread;              /* proc_start_piped stores here an io_copy_end of the child's input, for io_unread; or NULL */
	struct proc_guardian *guardian; /* gets the child's group before the program runs; or NULL */
};

/*
 * Starts a child in a process group of its own, with default signal dispositions and an empty signal mask. Waits until it runs. Returns
 * its pid, or -1 with errno. *stage (or NULL) is the step that failed: PROC_EXEC with ENOENT means that the command was not found (exit
 * status 127), with another error that it could not be executed (126).
 */
enum proc_stage { PROC_FORK, PROC_EXEC };
pid_t proc_start(const struct proc_spec *, enum proc_stage *stage);

/*
 * As proc_start, with pipes as the child's standard input, output and, where n is 3, error, in place of spec->fds. ours: the other ends, which
 * the caller closes, unless it fails.
 */
pid_t proc_start_piped(const struct proc_spec *, size_t n, int ours[], enum proc_stage *stage);

/* Sends a signal to a child's process group. */
void proc_signal(pid_t group, int signal);
/* Does a process of the group live? Zombies do not count: init may reap an orphan late. */
bool proc_group_lives(pid_t group);
/* Does the process run, or is it stopped, or does it wait for a processor or a disk? False where the system cannot tell. */
bool proc_is_awake(pid_t pid);
/* In place of waitpid's status where only the name of a signal is known, and no signal of this system has it. */
enum { PROC_SIGNAL_UNKNOWN = 126 };
/* Converts waitpid's status to a shell's: the exit status, or 128+N for signal N. */
int proc_status(int status);
/* Describes waitpid's status in words, in buf: "exit status 3", "signal KILL", "unknown signal". Returns buf. */
const char *proc_describe(int status, char *buf, size_t size);
/* The name of a signal, such as "KILL" for 9; NULL for an unknown number. */
const char *proc_signal_name(int signal);

/* The latest deaths of a program that is started again. All zero at first; the owner frees `times`. */
struct proc_deaths {
	uint64_t *times; /* us: a ring of as many as the limit allows */
	size_t n;        /* how many were allowed */
};
struct cli_rate;
/* Counts a death that was now (us). Returns whether the limit allows another start; not so out of memory. */
bool proc_may_return(struct proc_deaths *, const struct cli_rate *limit, uint64_t now);

/* The path of the running program; the caller frees it. NULL with errno, also where the system cannot report it. */
char *proc_self(void);
/* The path of a program of that name in the directory of the running one; the caller frees it. NULL with errno. */
char *proc_beside(const char *name);
/*
 * Splits a component's CMD into words, and removes quotes, where nothing in it needs a shell. Else the words are "/bin/sh", "-c" and CMD,
 * with exec in front of a simple command, so that no shell waits for the program. NULL-terminated, one allocation that the caller
 * frees; NULL with errno (EINVAL: CMD has no words).
 */
char **proc_words(const char *command);

/* In a child: closes every descriptor from 3 on, now or at the exec. 0, or -1 with errno. */
int proc_close_others(bool at_exec);
/* Closes a descriptor, unless it is -1, and preserves errno. Returns -1. */
int proc_close(int fd);
/* A pipe with both ends close-on-exec, above descriptor 7. 0, or -1 with errno. */
int proc_pipe(int fds[2]);
/* Makes n pipes for a child's standard input, output and error: the child's ends and ours. 0, or -1 with errno: no pipe is left. */
int proc_pipes(size_t n, int theirs[], int ours[]);
/*
 * Opens /dev/null at each of 0, 1 and 2 that is closed, so that no other file gets these numbers. At 1 it is opened for reading: writes
 * fail there, as on a closed descriptor. 0, or -1 with errno.
 */
int proc_open_stdio(void);
/* Copies a descriptor to a number above 7, close-on-exec. The copy, or -1 with errno. */
int proc_copy(int fd);
/* Moves a descriptor to a number above 7, close-on-exec. /dev/null takes the place of 0, 1 or 2. The new number, or -1 with errno. */
int proc_move_high(int fd);

/*
 * A guardian is a small process that knows the process groups of our children. If we are killed, it sends them SIGTERM and two seconds
 * later SIGKILL. SIGPIPE has to be ignored (loop_new does it), because the guardian may be killed, too: then the orders have no effect.
 */
struct proc_guardian {
	int fd; /* the pipe for orders; -1: there is no guardian */
	pid_t pid;
};
/* Starts a guardian. 0, or -1 with errno. */
int proc_guardian_start(struct proc_guardian *);
/* Names a group to the guardian. proc_start does this in the child itself, before the program runs. */
void proc_guardian_add(struct proc_guardian *, pid_t group);
/* Reports that a group has ended. */
void proc_guardian_remove(struct proc_guardian *, pid_t group);
/* Ends the guardian, which leaves the groups alone, and reaps it. */
void proc_guardian_stop(struct proc_guardian *);

#endif
