/*
 * chain: the components from client to agent, what each process of theirs is doing, and the one of two flows that connects them.
 * A chain is direct, so that neighbours share a pipe of which acp-conduct keeps both ends and reads nothing; or it is read, so
 * that every message passes through acp-conduct. It never changes from one to the other.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/acp/acp.h"
#include "lib/run/loop.h"
#include "lib/run/proc.h"
#include "report.h"

enum kind {
	KIND_FILTER, /* both directions: 0 and 1 face the client, 6 and 7 the agent */
	KIND_DOWN,   /* one direction, from 0 to 1 */
	KIND_UP,
	KIND_PROXY,  /* the proxy-chain protocol on 0 and 1 */
	KIND_AGENT,  /* the end of both directions */
	KIND_PEER,   /* an agent that a proxy reaches by its name, beside the row */
};

/* What to do when a component dies. */
enum on_crash { CRASH_RESTART, CRASH_BYPASS, CRASH_FAIL };

/* The state of a component: what events do in each of them is one table, in life.c. */
enum life {
	LIFE_NONE,        /* not started */
	LIFE_STARTED,     /* it runs, and was not asked to initialize */
	LIFE_ASKED,       /* it was asked to initialize, and has not responded */
	LIFE_READY,
	LIFE_ASKED_AGAIN, /* restarted, and asked to initialize by acp-conduct */
	LIFE_CLOSED,      /* it has closed a descriptor that it should use, and gets the grace period to end */
	LIFE_DYING,       /* its process has died; the others of its group are killed, and what it wrote is read */
	LIFE_ENDED,       /* its process has ended, but others of its group still run */
	LIFE_GONE,        /* its process and its group have ended, and no process follows */
	LIFE_STATES,
};

/* What happens to it. */
enum event {
	EVENT_ASKED,       /* it was sent its first initialize */
	EVENT_INITIALIZED, /* it has responded to that */
	EVENT_CLOSED,      /* it has closed process.closed, and runs */
	EVENT_EXPIRED,     /* process.timer has */
	EVENT_OVERRUN,     /* too much is queued for it */
	EVENT_ENDED,       /* its process has ended in order */
	EVENT_STOPPED,     /* its process has ended because acp-conduct has sent a signal */
	EVENT_DIED,        /* its process has ended too early */
	EVENT_SETTLED,     /* what its process wrote is read; its group may be gone */
	EVENTS,
};

struct chain;
struct component;
struct direct;
struct link;
struct port;
struct route;

struct process {
	pid_t pid;             /* of the current process */
	pid_t first;           /* of the first one; 0 before that */
	struct loop_child child;
	struct report_source errors;
	int status;            /* of the last end of its process, as from waitpid ... */
	char how[32];          /* ... in words ... */
	enum event end;        /* ... and what that was: EVENT_ENDED, EVENT_STOPPED or EVENT_DIED */
	int signal_sent;       /* the last signal that acp-conduct sent because it did not end in time; 0: none */
	bool asked_to_end;     /* acp-conduct sent SIGTERM as the client left, or as nobody needed it any more */
	bool due;              /* chosen to get the next signal (signal_all) */
	struct loop_timer timer;  /* what it is for depends on the state */
	uint64_t interval;     /* us until the next check of its process group */
	const char *closed;    /* the name of the descriptor that it has closed; NULL: none */
};

/* Its deaths that --restarts allowed. */
struct deaths {
	uint64_t *times; /* us, of the last ones: a ring of as many as may be within the time */
	size_t n;
	bool too_many;
	uint64_t restarts;
};

struct command {
	const char *text;     /* as in the command line; NULL: argv is */
	char **words;         /* argv, if it is ours to free; else NULL */
	char *const *argv;
};

struct component {
	struct chain *chain;
	char *name;
	enum kind kind;
	char *peer;           /* of a peer: the name by which its proxy calls it; else NULL */
	size_t owner;         /* of a peer: the index of that proxy */
	struct command command;
	enum on_crash on_crash;
	enum { NEXT_NONE, NEXT_PROCESS, NEXT_DIALECT, NEXT_BYPASS } next; /* what follows a death (NEXT_DIALECT: a process that is asked in the other one) */
	enum life life;
	struct process process;
	struct deaths deaths;
	struct port *near, *far;                              /* in a read chain: on the client's and the agent's side; a proxy has one for both */
	struct link *in[ACP_DIRECTIONS], *out[ACP_DIRECTIONS]; /* in a direct chain; NULL if it does not take part in that direction */
};

enum { CHAIN_BOUND = 128 * 1024 * 1024 /* bytes: admission keeps every queue shorter than this */ };

/* What a death has cost; n of each. */
struct losses {
	size_t unread;   /* messages that wait for the next process, or went past a proxy to its neighbour */
	size_t failed;   /* requests that got an error */
	size_t lost;     /* notifications, at most */
	bool unknown;    /* nobody has counted */
};

/* How messages get from one component to the next: direct.c and process.c. */
struct flow {
	/* Makes the pipes of a component's next process, which gets these descriptors: their number, or -1 with errno. Then the process runs. */
	ssize_t (*open_pipes)(struct component *, struct proc_fd *);
	void (*started)(struct component *);
	/* May it end by itself? Its input has ended, or nobody reads what it writes. */
	bool (*may_end)(const struct component *);
	/* Its process has died: begins to read what that wrote and what it left unread. Is that done? */
	void (*read_rest)(struct component *);
	bool (*is_settled)(struct component *);
	/* Prepares what a dead process had for the next process, or for the neighbours of one that is bypassed. */
	void (*recover)(struct component *, struct losses *);
	/* Nothing follows a process: its neighbours see the end. over: its group has ended, too. */
	void (*close_pipes)(struct component *, bool over);
	/* May its group still hold a pipe that the chain waits for? */
	bool (*holds_pipes)(const struct component *);
	/* Has its input ended in a direction, but not its output? */
	bool (*holds_up)(const struct component *);
	/* The client is to be treated as if it had left. */
	void (*client_left)(struct chain *);
	/* A component has failed: no request is accepted any more, and the chain ends. status: if no component has set one; 0: it has. */
	void (*fail)(struct component *, const char *what, int status);
	/* Goes on with the end, if nothing has to be waited for; hurry: whatever is in progress. Returns false if there is nothing left to do. */
	bool (*proceed)(struct chain *, bool hurry);
	/* A digest that changes with any progress. */
	uint64_t (*progress)(const struct chain *);
	/* Does what is on its way up wait for the client alone? */
	bool (*is_client_slow)(const struct chain *);
	/* Read chains only. Has everything been delivered? */
	bool (*is_over)(const struct chain *);
	/* How many messages has the agent not read? For people: what has passed through a component. */
	size_t (*count_unread)(struct component *);
	void (*describe)(const struct component *, struct buf *);
	/* Proxies only: connects the neighbours of a dead one, and forwards what it had not read; sets the dialect that was not tried, if that is a choice. */
	void (*bypass)(struct component *);
	bool (*set_other_dialect)(struct component *);
	/* Asks its new process to initialize (0 or -1). */
	int (*ask_again)(struct component *);
};

/*
 * How the chain ends: its flow forwards the ends of inputs, one after the other. There is one deadline, which moves as long as there is
 * progress. When there was none for the grace period, the ends are forwarded whatever is in progress; then the components that hold up
 * a direction get SIGTERM; then all components do; then those that remain get SIGKILL.
 */
enum { END_KILL_AFTER = 2 * 1000000 /* us between TERM and KILL, and between the steps after the deadline */ };
struct end {
	struct loop_timer timer;
	struct loop_task follow;
	bool begun;
	uint64_t progress;     /* a digest of how far everything has come ... */
	uint64_t progress_at;  /* ... and when it changed last, us */
	unsigned steps;        /* how often the grace period has expired */
	bool broken;           /* a component has failed: requests get an error */
	int signals;           /* that acp-conduct has received */
	int forced;            /* the exit status, whatever that of the components is; 0: none */
	int agent_status, other_status;
};

struct chain_options {
	size_t restarts;              /* how often a component may die within ... */
	uint64_t window;              /* ... this time, us */
	const char *allowed;          /* --restarts, as in the command line */
	uint64_t grace, init_timeout; /* us */
	bool verbose;
};

struct chain {
	struct component *components; /* the row, from client to agent, the agent last; then the peers */
	size_t n;                     /* in the row */
	size_t total;                 /* with the peers */
	bool has_agent;               /* else acp-conduct is a proxy */
	bool has_proxies;
	const struct flow *flow;
	struct direct *direct;        /* of a direct chain; else NULL */
	struct route *route;          /* of a read chain; else NULL */
	struct chain_options options;
	struct loop *loop;
	struct report report;
	struct proc_guardian guardian;
	struct loop_child guardian_watch;
	struct end end;
};

/*
 * Adds a component at the end of the row, or a peer of the last one: a command, which is split into words; or, where that
 * is NULL, an argv, which is borrowed. Valid until the next is added. NULL with errno (EINVAL: the command is empty).
 */
struct component *chain_add(struct chain *, enum kind, const char *command, char *const *argv);
/*
 * Adds a filter of ours before the component at this index. It denies nothing, and a session must not end because of it: it is
 * bypassed if it dies too often. The words (the last is NULL) are copied. Returns 0, or -1 out of memory.
 */
int chain_insert(struct chain *, size_t at, const char *const *words);
/* Does it run this program, by its base name? */
bool chain_runs(const struct component *, const char *program);
/* Names all components, also those that have names. Returns 0, or -1 with errno. */
int chain_name(struct chain *);
/* Frees the components. */
void chain_free(struct chain *);

/* The agent, or NULL. */
struct component *chain_agent(struct chain *);
/* The name of a kind, for people. */
const char *chain_kind(enum kind);
/* Its index among the components. */
size_t chain_index(const struct component *);
/* Its process runs. */
static inline bool
life_runs(const struct component *c)
{
	return c->life > LIFE_NONE && c->life < LIFE_DYING;
}
/* Its process and its group have ended, or were never started. */
static inline bool
life_is_over(const struct component *c)
{
	return c->life == LIFE_NONE || c->life == LIFE_GONE;
}

/* --- end.c --- */

/* The end begins: the grace period starts. */
void end_begin(struct chain *);
/* Starts it again, because the end has made progress. */
void end_renew(struct chain *);
/* Continues the end, and decides what is read, once the callers have returned. */
void end_follow(void *chain);
/* For how long there was no progress, us. */
uint64_t end_idle(struct chain *);
/* How long the chain may make no progress, us. Checks that after a part of this time. */
uint64_t end_period(const struct chain *);
void end_wait(struct chain *);

/* --- engine.c --- */

/* Starts the components, connects them until the chain has ended, and returns the exit status. */
int engine_run(struct chain *);
/* Handles SIGINT, SIGTERM or SIGHUP; arg: the chain. */
void engine_signal(void *chain, int signal);

#endif
