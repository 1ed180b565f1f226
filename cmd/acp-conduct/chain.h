/*
 * chain: the components from client to agent, their processes, and the links between them. A link is one direction between two
 * neighbours: a pipe that both of them hold (conduct keeps a copy of both ends for a restart, and reads nothing), or, if conduct
 * reads, two pipes with a port at the end of each.
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
	KIND_PEER,   /* an agent that a proxy reaches by its name; it stands beside the row */
};

/* What to do when a component dies. */
enum on_crash { CRASH_RESTART, CRASH_BYPASS, CRASH_FAIL };

struct chain;
struct component;
struct port;
struct route;

struct link {
	struct chain *chain;
	enum acp_direction dir;
	struct component *writer, *reader; /* NULL: the client, or conduct */
	int rd, wr;                        /* our copies of its ends; -1: none */
	struct port *from, *to;            /* that conduct reads the writer with, and writes to the reader with; NULL: they share a pipe */
	bool ended;                        /* its writer has gone */
	struct loop_fd watch;
};

enum life {
	LIFE_NONE,  /* not started */
	LIFE_RUNS,
	LIFE_DYING, /* its process has died, and is replaced once its group is gone and everything that it wrote is read */
	LIFE_ENDED, /* its process has ended, but others of its group still run */
	LIFE_GONE,
};

struct component {
	struct chain *chain;
	char *name;
	enum kind kind;
	char *peer;           /* of a peer: the name by which its proxy knows it; else NULL */
	size_t owner;         /* of a peer: the index of that proxy */
	const char *command;  /* as in the command line; NULL: argv is */
	char **words;         /* argv, if it is ours to free; else NULL */
	char *const *argv;
	struct link *in[ACP_DIRECTIONS], *out[ACP_DIRECTIONS]; /* NULL if it does not take part in that direction */
	struct port *near, *far; /* that conduct writes it through, on the client's and the agent's side; a proxy has one for both */
	enum life life;
	pid_t pid;            /* of the current process */
	pid_t first;          /* of its first process; 0 before that */
	struct loop_child child;
	struct report_source errors;
	int signal_sent;      /* the last signal that conduct sent because it did not end in time; 0: none */
	bool asked_to_end;    /* conduct sent SIGTERM as the client left, or because it had closed a descriptor */
	bool to_signal;       /* signal_all is about to signal it */

	/* Crashes. */
	enum on_crash on_crash; /* of the agent and of peers: restart or fail */
	uint64_t *deaths;       /* the times of its deaths within chain.window, us */
	size_t ndeaths;
	bool limit_reached;     /* it has died more often than --restarts allows */
	uint64_t restarts;
	int status;             /* of the last end of its process, as from waitpid ... */
	char how[32];           /* ... and in words */
	size_t unread;          /* of the agent: messages that it had not read when it closed its output */
	bool no_restart;        /* this death is not followed by a restart or bypass */
	bool bypassed;          /* it is bypassed, not restarted */
	uint64_t group_interval;       /* us until the next check of its process group */
	struct loop_timer timer;       /* that check; or how long a restarted proxy or agent may take to initialize */
	struct loop_timer closed_timer; /* it has closed a descriptor that it should use, and counts as dead when this expires */
	const char *closed_name;       /* the name of that descriptor; NULL: none */
};

struct chain {
	struct component *components; /* the row, from client to agent, the agent last; then the peers */
	size_t n;                     /* in the row */
	size_t total;                 /* with the peers */
	struct link *links;
	size_t nlinks;
	struct link *client[ACP_DIRECTIONS]; /* the client's own descriptors, if a component has them; else NULL */
	bool has_agent;               /* else conduct is a proxy */
	struct route *route;
	bool routed;                  /* conduct reads some hop from the start; the components start with the first initialize */
	size_t restarts;              /* how often a component may die within ... */
	uint64_t window;              /* ... this time, us */
	const char *allowed;          /* --restarts, as in the command line */
	struct loop *loop;
	struct report report;
	void (*ended)(void *component, int status); /* called when a component's process has ended */
	struct proc_guardian guardian;
	struct loop_child guardian_watch;
	uint64_t grace;               /* --grace, us */
	bool verbose;

	/* The end of the chain: one state and one deadline (end). */
	struct loop_timer deadline, settle, groups_timer;
	uint64_t last_progress;   /* a digest of how far everything has come ... */
	uint64_t progress_at;     /* ... and when it changed last, us */
	uint64_t groups_interval; /* us between two checks of process groups that have outlived their component */
	int deadlines_passed;
	bool grace_over;          /* the grace period is over: ends are forwarded whatever is in progress */
	int signals;              /* that conduct has received: after one the end does not wait for responses */
	int forced;               /* the exit status, whatever that of the components is; 0: none */
	int agent_status, other_status;
};

/*
 * Adds a component at the end of the row, or a peer of the last one: a command, which is split into words, or an argv, which is
 * borrowed. Returns 0, or -1 with errno (EINVAL: the command is empty).
 */
int chain_add_command(struct chain *, enum kind, const char *command);
int chain_add_argv(struct chain *, enum kind, char *const *argv);
/* Adds a component before the one at this index. The words (the last is NULL) are copied. Returns it, or NULL out of memory. */
struct component *chain_insert(struct chain *, size_t at, enum kind, const char *const *words);
/* Does it run this program, by its base name? */
bool chain_runs(const struct component *, const char *program);
/* Names all components, also those that have names. Returns 0, or -1 with errno. */
int chain_name(struct chain *);
/* Starts the process of a component that has its links. Returns 0, or the exit status after it has reported why. */
int chain_start(struct component *);
/* Forgets the process of a component, and reads the rest of its stderr. */
void chain_bury(struct component *);
/* Counts a death. Returns true if it has now died more often than --restarts allows. */
bool chain_count_death(struct component *);
/* Frees the components and links. */
void chain_free(struct chain *);

/* The agent, or NULL. */
struct component *chain_agent(struct chain *);
/* Closes our copy of one end of a link, and stops watching it. Of 0, 1 and 2 it opens /dev/null, so that no other file gets that number. */
void chain_close(struct link *, int *copy);
/* The name of a kind, for people. */
const char *chain_kind(enum kind);
/* Does the chain go on without this process? It is restarted or bypassed, the agent only with --on-agent-crash restart. */
bool chain_may_return(const struct component *);
/* Its index among the components. */
size_t chain_index(const struct component *);
/* Does it take part in that direction? */
bool chain_stands_in(const struct component *, enum acp_direction);

#endif
