/*
 * loop: an event loop on epoll or poll, without threads. It watches descriptors, timers, signals and children, and runs tasks. Several
 * loop_fd may watch the same descriptor. A regular file is always ready.
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
 * The owner embeds a loop_fd, timer, task or child in a structure of its own, fills in the members above `added`, and adds it. The owner
 * removes it before freeing it or filling it in again; callbacks may do that, too.
 */
struct loop_fd {
	int fd;       /* -1: not watched */
	short events; /* POLLIN, POLLOUT; with 0 POLLHUP and POLLERR are still reported, with LOOP_PAUSED no event */
	void (*ready)(void *arg, short revents);
	void *arg;
	bool added;
	/* Private. */
	uint64_t number;
	struct loop_fd *next;         /* epoll: of the same descriptor, or of the files; poll: of all */
	struct loop_fd *next_changed;
	struct loop_fd *ready_before, *ready_after; /* ready_before: NULL where it is not ready */
	bool changed, watched, file;
	int watched_fd;
	short watched_events, revents;
};
enum { LOOP_PAUSED = -1 };

struct loop_timer {
	uint64_t due; /* us on the clock of loop_now; the earliest expires first */
	void (*expired)(void *arg);
	void *arg;
	bool added;
	struct loop_timer *prev, *next; /* the loop's own */
};

/* A function that runs once, after the ready descriptors and due timers and before the loop waits again. Tasks run in the order of adding. */
struct loop_task {
	void (*run)(void *arg);
	void *arg;
	bool added;
	struct loop_task *prev, *next; /* the loop's own */
};

struct loop_child {
	pid_t pid;
	void (*ended)(void *arg, int status); /* status as of waitpid; the zombie remains until loop_reap */
	void *arg;
	bool added, reported;
	struct loop_child *prev, *next; /* the loop's own */
};

/*
 * Makes a loop that catches the signals (a list that ends with 0) and SIGCHLD, and ignores SIGPIPE and SIGXFSZ. A SIGHUP that was ignored
 * at the start, as under nohup, stays ignored. NULL with errno.
 */
struct loop *loop_new(const int *signals, void (*caught)(void *arg, int signal), void *arg);
/* Frees the loop (NULL: has no effect) and restores the signal mask. */
void loop_free(struct loop *);

/* Adding takes no memory, and cannot fail. */
void loop_add_fd(struct loop *, struct loop_fd *);
void loop_remove_fd(struct loop *, struct loop_fd *);
/* Changes the events that are watched for. To be called also after f->fd was changed. */
void loop_set_events(struct loop *, struct loop_fd *, short events);
void loop_add_timer(struct loop *, struct loop_timer *, uint64_t after_us);
void loop_remove_timer(struct loop *, struct loop_timer *);
void loop_add_task(struct loop *, struct loop_task *);
void loop_remove_task(struct loop *, struct loop_task *);
void loop_add_child(struct loop *, struct loop_child *);
/* Reaps a child that has ended. Until then the system does not reuse its process id, which is also its group's. */
void loop_reap(struct loop *, struct loop_child *);

/* When the loop last woke up, in us of the monotonic clock. */
uint64_t loop_now(const struct loop *);
/* The monotonic clock, us. */
uint64_t loop_clock(void);
/* Runs until loop_stop, or until no descriptor, timer or child is left. 0, or -1 with errno where waiting fails. */
int loop_run(struct loop *);
/* Ends loop_run after the current callback. */
void loop_stop(struct loop *);

/* Handles the ready descriptors, due timers and tasks, and does not wait. 0, or -1 with errno. */
int loop_run_once(struct loop *);

#endif
