/*
 * chain: the components from client to agent, the state of each, and the flow that connects them. In a direct chain neighbours share
 * pipes, of which acp-conduct holds both ends open and reads nothing. In a read chain every message passes through acp-conduct. A
 * chain stays what it is from its beginning to its end.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/acp/acp.h"
#include "lib/base/cli.h"
#include "lib/run/loop.h"
#include "lib/run/proc.h"
#include "lib/run/report.h"

enum kind {
	KIND_FILTER, /* both directions: 0 and 1 face the client, 6 and 7 the agent */
	KIND_DOWN,   /* one direction, from 0 to 1 */
	KIND_UP,
	KIND_PROXY,  /* the proxy-chain protocol on 0 and 1 */
	KIND_AGENT,  /* the end of both directions */
	KIND_PEER,   /* an agent beside the row, which one proxy calls by its name */
};

/* What to do when a component dies. */
enum on_crash { CRASH_RESTART, CRASH_BYPASS, CRASH_FAIL };

/* The state of a component. The table in life.c says what each event does in each state. */
enum life {
	LIFE_NONE,        /* not started */
	LIFE_STARTED,     /* the process runs, and nobody has sent it initialize */
	LIFE_ASKED,       /* the process has been sent initialize, and has not responded */
	LIFE_READY,
	LIFE_ASKED_AGAIN, /* the process is a restarted one, which acp-conduct has sent initialize */
	LIFE_CLOSED,      /* the process has closed a descriptor that it should use, and gets the grace period to end */
	LIFE_DYING,       /* the process has died; acp-conduct kills the rest of its group, and reads what it wrote */
	LIFE_ENDED,       /* the process has ended, but others of its group run */
	LIFE_GONE,        /* the process and its group have ended, and no process follows */
	LIFE_STATES,
};

/* What happens to a component. */
enum event {
	EVENT_ASKED,       /* its process has been sent initialize for the first time */
	EVENT_INITIALIZED, /* its process has responded to initialize */
	EVENT_CLOSED,      /* its process has closed the descriptor process.closed, and runs on */
	EVENT_EXPIRED,     /* process.timer has expired */
	EVENT_OVERRUN,     /* more than CHAIN_BOUND bytes are queued for it */
	EVENT_ENDED,       /* its process has ended in order */
	EVENT_STOPPED,     /* its process has ended because acp-conduct sent a signal */
	EVENT_DIED,        /* its process has ended too early */
	EVENT_SETTLED,     /* acp-conduct has read what its dead process wrote; the group may be gone */
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
	pid_t first;           /* of the first process; 0 before it is started */
	struct loop_child child;
	struct report_source errors;
	int status;            /* as waitpid returned it when the last process ended */
	char how[32];          /* the status in words */
	enum event end;        /* how the last process ended: EVENT_ENDED, EVENT_STOPPED or EVENT_DIED */
	int signal_sent;       /* the last signal that acp-conduct sent because the process did not end in time; 0: none */
	bool asked_to_end;     /* acp-conduct sent SIGTERM because the client had left, or nobody needed the process any more */
	bool due;              /* chosen to get the next signal (signal_all) */
	struct loop_timer timer;  /* its purpose depends on the state */
	const char *closed;    /* the name of the descriptor that the process has closed; NULL: none */
};

struct deaths {
	struct proc_deaths counted;
	bool too_many; /* the last one was one more than --restarts allows */
	uint64_t restarts;
};

struct command {
	const char *text;     /* as in the command line; NULL: only argv is known */
	char **words;         /* argv, if chain_free frees it; else NULL */
	char *const *argv;
};

struct component {
	struct chain *chain;
	char *name;
	enum kind kind;
	char *peer;           /* the name by which the proxy of a peer calls it; NULL: the component is no peer */
	size_t owner;         /* the index of the proxy of a peer */
	struct command command;
	enum on_crash on_crash;
	enum { NEXT_NONE, NEXT_PROCESS, NEXT_DIALECT, NEXT_BYPASS } next; /* what follows a death (NEXT_DIALECT: the other dialect) */
	enum life life;
	struct process process;
	struct deaths deaths;
	struct port *near, *far;                              /* of a read chain: on the client's and the agent's side; a proxy's are one */
	struct link *in[ACP_DIRECTIONS], *out[ACP_DIRECTIONS]; /* of a direct chain; NULL if the component takes no part in that direction */
};

enum { CHAIN_BOUND = 128 * 1024 * 1024 /* bytes: admission keeps every queue shorter than this */ };

/* What a death has cost. */
struct losses {
	size_t unread;   /* messages that the dead process had not read: the next process or the neighbour of a bypassed proxy gets them */
	size_t failed;   /* requests that got an error */
	size_t lost;     /* notifications that are lost, at most */
	bool unknown;    /* nothing of this could be counted */
};

/* How messages get from one component to the next: in direct.c and process.c. */
struct flow {
	/* Makes the pipes of a component's next process, and fills in the descriptors that it gets. Returns their number, or -1 with errno. */
	ssize_t (*open_pipes)(struct component *, struct proc_fd *);
	/* Does what follows once that process runs. */
	void (*started)(struct component *);
	/* May the component end by itself, because its input has ended or nobody reads its output? */
	bool (*may_end)(const struct component *);
	/* After a death: begins to read what the dead process has written, and what it has left unread. */
	void (*read_rest)(struct component *);
	/* Has all of that been read? */
	bool (*is_settled)(struct component *);
	/* Prepares what the dead process has left for the next process, or for the neighbours of a bypassed proxy. Counts the losses. */
	void (*recover)(struct component *, struct losses *);
	/* Closes the pipes of a component that no process follows, so that its neighbours see the end. over: its group has ended, too. */
	void (*close_pipes)(struct component *, bool over);
	/* May its process group still hold a pipe that the chain waits for? */
	bool (*holds_pipes)(const struct component *);
	/* Has its input ended in a direction, but not its output? */
	bool (*holds_up)(const struct component *);
	/* Treats the client as one that has left. */
	void (*client_left)(struct chain *);
	/*
	 * Ends the chain because a component has failed; no request is accepted any more. status: the exit status, if no component has
	 * set one; 0: the components' count.
	 */
	void (*fail)(struct component *, const char *what, int status);
	/* Forwards the end as far as it can without waiting; hurry: whatever is in progress. Returns false if nothing is left to do. */
	bool (*proceed)(struct chain *, bool hurry);
	/* A digest that changes with any progress. */
	uint64_t (*progress)(const struct chain *);
	/* Does the client alone hold up the messages that are on their way up? */
	bool (*is_client_slow)(const struct chain *);

	/* Read chains only, from here on. Has everything been delivered? */
	bool (*is_over)(const struct chain *);
	/* How many messages has the agent not read? */
	size_t (*count_unread)(struct component *);
	/* Appends, for people, what has passed through the component. */
	void (*describe)(const struct component *, struct buf *);
	/* Connects the neighbours of a dead proxy, and forwards what the proxy had not read. */
	void (*bypass)(struct component *);
	/* Chooses the dialect that a proxy has not been tried in. False: there is none. */
	bool (*set_other_dialect)(struct component *);
	/* Sends initialize to the new process of a component. 0, or -1. */
	int (*ask_again)(struct component *);
};

/*
 * How the chain ends: the flow forwards the end of the input from component to component. There is one deadline, which moves with every
 * progress. After a grace period without progress the flow forwards the ends whatever is in progress. Then the components that hold up
 * a direction get SIGTERM, then all components, and then those that remain get SIGKILL.
 */
enum { END_KILL_AFTER = 2 * 1000000 /* us between TERM and KILL, and between the steps after the deadline */ };
struct end {
	struct loop_timer timer;
	struct loop_task follow;
	bool begun;
	uint64_t progress;     /* the digest of flow->progress */
	uint64_t progress_at;  /* us: when the digest changed last */
	unsigned steps;        /* how often the grace period has expired */
	bool broken;           /* a component has failed: requests get an error */
	int signals;           /* how many acp-conduct has received */
	int forced;            /* the exit status, in the place of the components'; 0: theirs counts */
	int agent_status, other_status, own_status;
};

struct chain_options {
	struct cli_rate restarts;     /* how many deaths of a component are allowed */
	uint64_t grace, init_timeout; /* us */
	bool verbose;
};

struct chain {
	struct component *components; /* the row, from client to agent, the agent last; then the peers */
	size_t n;                     /* in the row */
	size_t total;                 /* in the row, and peers */
	bool has_agent;               /* false: acp-conduct is itself a proxy */
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
 * Adds a component at the end of the row, or a peer of the last component. Its command is split into words; or, if command is NULL, argv
 * is borrowed. The component is valid until the next is added. NULL with errno (EINVAL: the command is empty).
 */
struct component *chain_add(struct chain *, enum kind, const char *command, char *const *argv);
/*
 * Adds one of acp-conduct's own filters before the component at this index. The filter denies nothing, so it is bypassed if it dies too
 * often, and no session ends because of it. The words (the last is NULL) are copied. Returns 0, or -1 out of memory.
 */
int chain_insert(struct chain *, size_t at, const char *const *words);
/* Is this the base name of the program that the component runs? */
bool chain_runs(const struct component *, const char *program);
/* Gives all components their names, anew where they have some. Returns 0, or -1 with errno. */
int chain_name(struct chain *);
/* Frees the components. */
void chain_free(struct chain *);

/* The agent, or NULL. */
struct component *chain_agent(struct chain *);
/* The name of a kind of components, for people. */
const char *chain_kind(enum kind);
/* Its index among the components. */
size_t chain_index(const struct component *);
/* Does its process run? */
static inline bool
life_runs(const struct component *c)
{
	return c->life > LIFE_NONE && c->life < LIFE_DYING;
}
/* Have its process and its group ended, or were they never started? */
static inline bool
life_is_over(const struct component *c)
{
	return c->life == LIFE_NONE || c->life == LIFE_GONE;
}

/* --- end.c --- */

/* Begins the end, and the grace period. */
void end_begin(struct chain *);
/* Begins the grace period again, because the end has made progress. */
void end_renew(struct chain *);
/* Continues the end, and decides which ports are read, once the callers have returned. */
void end_follow(void *chain);
/* us since the last progress. */
uint64_t end_idle(struct chain *);
/* us that the chain may make no progress. */
uint64_t end_period(const struct chain *);
/* Sets the timer to the next check of progress, after a part of that period. */
void end_wait(struct chain *);

/* --- engine.c --- */

/* Starts the components, connects them until the chain has ended, and returns the exit status. */
int engine_run(struct chain *);
/* Handles SIGINT, SIGTERM or SIGHUP; arg: the chain. */
void engine_signal(void *chain, int signal);

#endif
