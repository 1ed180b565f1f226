/* proc: starting and ending other programs. */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A descriptor of ours that the child gets as its number `as`. */
struct proc_fd {
	int ours, as;
};

enum { PROC_FDS = 8 };

struct proc_guardian;

struct proc_spec {
	char *const *argv;        /* executed directly (execvp; one named acp-... beside the running program, if there is one) */
	const struct proc_fd *fds; /* at most PROC_FDS; every other one is closed in the child, but 0, 1 and 2 are inherited where they are not named */
	size_t nfds;
	bool ucspi;               /* PROTO=ACP in its environment; else PROTO is removed */
	pid_t again;              /* ACP_RESTARTED=PID likewise: it takes the place of one that died, PID being the first there; or 0 */
	int death_signal;         /* what it gets when we die, where the system can send it (Linux); 0 for none */
	int directory;            /* a descriptor: where it runs; 0: where we do */
	char *const *variables;   /* NAME=VALUE, NULL-terminated: in its environment in place of ours of that name; or NULL */
	int *unread;              /* proc_start_piped: a copy of an end of its input (io_copy_end), by which what it leaves unread is found; or NULL */
	struct proc_guardian *guardian; /* gets the group before the program runs; NULL for none */
};

/*
 * Starts a child in a process group of its own, with default signal dispositions and an empty
 * mask. Waits until it runs. Returns its pid, or -1 with errno: ENOENT means that the command was
 * not found (exit status 127), other errors of exec that it could not be executed (126); *stage
 * says which, where it is not NULL.
 */
enum proc_stage { PROC_FORK, PROC_EXEC };
pid_t proc_start(const struct proc_spec *, enum proc_stage *stage);

/*
 * The same with pipes as its standard input, output and, where n is 3, error; spec->fds do not count. ours: their other ends,
 * to be closed; where it fails there are none.
 */
pid_t proc_start_piped(const struct proc_spec *, size_t n, int ours[], enum proc_stage *stage);

/* Sends a signal to a child's process group. */
void proc_signal(pid_t group, int signal);
/* Is a process left in the group? Zombies do not count: an orphan may wait long to be reaped. */
bool proc_group_lives(pid_t group);
/* waitpid's status as a shell counts it: the exit status, or 128+N. */
int proc_status(int status);
/* "exit status 3", "signal KILL": in words, in a static table or in buf. */
const char *proc_describe(int status, char *buf, size_t size);
/* "KILL" for 9; NULL for what is no signal. */
const char *proc_signal_name(int signal);

/* The path of the program that runs, to be freed. NULL with errno: ENOMEM, or where the system does not say it. */
char *proc_self(void);
/* The path of a program in the directory of the one that runs, to be freed; NULL with errno. */
char *proc_beside(const char *name);
/*
 * Splits a component's CMD into words, quotes included, to execute directly where nothing in it needs a shell; else
 * {"/bin/sh", "-c", CMD}, with exec in front of a simple command, so that no shell waits for it. NULL-terminated, one
 * allocation (free it); NULL with errno (EINVAL: no words).
 */
char **proc_words(const char *command);

/* Closes every descriptor from 3 on, now or at the exec; in a child. 0, or -1 with errno. */
int proc_close_others(bool at_exec);
/* Closes a descriptor, unless it is -1; errno stays as it was. Returns -1. */
int proc_close(int fd);
/* A pipe with both ends close-on-exec, above descriptor 7. 0, or -1 with errno. */
int proc_pipe(int fds[2]);
/* n of them for a child: its ends, which are those of its standard input, output and error, and ours. 0, or -1 with errno and none. */
int proc_pipes(size_t n, int theirs[], int ours[]);
/*
 * Opens /dev/null at each of 0, 1 and 2 that is closed, so that no other file lands there; at 1 for
 * reading, so that what is written there fails as it would have, and is not lost in silence. 0 or -1.
 */
int proc_stdio(void);
/* Copies a descriptor above 7, close-on-exec. -1 with errno. */
int proc_copy(int fd);
/* Moves a descriptor that is ours alone above 7, close-on-exec; /dev/null takes the place of 0, 1 or 2. -1 with errno. */
int proc_claim(int fd);

/*
 * A guardian: a small process that gets the groups that live and, when we die without a goodbye, sends them TERM and, 2 s after,
 * KILL. SIGPIPE has to be ignored (loop_new does it): where the guardian was killed, all is as without one.
 */
struct proc_guardian {
	int fd; /* -1: none */
	pid_t pid;
};
/* 0, or -1 with errno. */
int proc_guardian_start(struct proc_guardian *);
/* A group lives; it has gone. (proc_start adds a child's, in the child: there is no moment without.) */
void proc_guardian_add(struct proc_guardian *, pid_t group);
void proc_guardian_remove(struct proc_guardian *, pid_t group);
/* Says goodbye and reaps it. */
void proc_guardian_stop(struct proc_guardian *);

#endif
