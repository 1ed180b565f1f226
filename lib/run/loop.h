/*
 * loop: the one event loop, on epoll or poll. Descriptors, timers, signals and children; no threads. A descriptor may be watched
 * by several, and a file is always ready.
 */
#ifndef LOOP_H
#define LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;

/*
 * What the loop watches is embedded in structures of its owner, which fills in the function, arg
 * and what to watch for, adds it, and removes it before it goes away or is filled in anew (also from inside a function).
 */
struct loop_fd {
	int fd;       /* -1: not watched now */
	short events; /* in poll's names; 0 still reports POLLHUP and POLLERR; LOOP_PAUSED none */
	void (*ready)(void *arg, short revents);
	void *arg;
	bool added;
	/* The loop's own. */
	uint64_t number;
	struct loop_fd *next;         /* with the same descriptor, or of the files; with poll, of all */
	struct loop_fd *next_changed;
	struct loop_fd *ready_before, *ready_after; /* ready_before: NULL where it is not ready */
	bool changed, watched, file;
	int watched_fd;
	short watched_events, revents;
};
enum { LOOP_PAUSED = -1 };

struct loop_timer {
	uint64_t due; /* us on the clock of loop_now; those that are due run in this order */
	void (*expired)(void *arg);
	void *arg;
	bool added;
	struct loop_timer *prev, *next; /* the loop's own */
};

/* Something to do once before the loop waits again, after all that is ready now: tasks run in the order in which they were added. */
struct loop_task {
	void (*run)(void *arg);
	void *arg;
	bool added;
	struct loop_task *prev, *next; /* the loop's own */
};

struct loop_child {
	pid_t pid;
	void (*ended)(void *arg, int status); /* status as waitpid has it; the zombie stays until loop_reap */
	void *arg;
	bool added, reported;
	struct loop_child *prev, *next; /* the loop's own */
};

/*
 * A loop that catches the given signals (0 at the end of the list; not a SIGHUP that is ignored,
 * as nohup does it) and SIGCHLD, and ignores SIGPIPE and SIGXFSZ. NULL with errno.
 */
struct loop *loop_new(const int *signals, void (*caught)(void *arg, int signal), void *arg);
void loop_free(struct loop *);

/* Adding takes no memory, and cannot fail. */
void loop_add_fd(struct loop *, struct loop_fd *);
void loop_remove_fd(struct loop *, struct loop_fd *);
/* It is to be watched for these from now on. To be called, too, when its descriptor has become another. */
void loop_watch(struct loop *, struct loop_fd *, short events);
void loop_add_timer(struct loop *, struct loop_timer *, uint64_t after_us);
void loop_remove_timer(struct loop *, struct loop_timer *);
void loop_add_task(struct loop *, struct loop_task *);
void loop_remove_task(struct loop *, struct loop_task *);
void loop_add_child(struct loop *, struct loop_child *);
/* Reaps a child that has ended; until then its process id, and so its group's, is not given to another. */
void loop_reap(struct loop *, struct loop_child *);

/* Monotonic microseconds, as of when the loop last woke up; and as of now. */
uint64_t loop_now(const struct loop *);
uint64_t loop_clock(void);
/* Runs until loop_stop, or until nothing is left to wait for. 0, or -1 with errno where waiting fails. */
int loop_run(struct loop *);
void loop_stop(struct loop *);

/* Runs what is ready or due, and waits for nothing. 0, or -1 with errno. */
int loop_turn(struct loop *);

#endif
