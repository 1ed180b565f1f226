/*
 * chain: the components from client to agent, their processes, and the links between them. A link is one direction between two
 * neighbours: a pipe that both of them hold (conduct keeps a copy of either end for a restart, and reads nothing), or, where
 * conduct reads, two pipes with a port at the end of each.
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
#include "terminal.h"

enum kind {
	KIND_FILTER, /* both directions: 0 and 1 face the client, 6 and 7 the agent */
	KIND_DOWN,   /* one direction, from 0 to 1 */
	KIND_UP,
	KIND_PROXY,  /* the proxy-chain protocol on 0 and 1 */
	KIND_AGENT,  /* the end of both directions */
};

/* What becomes of a chain when a component dies. */
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
	struct port *from, *to;            /* conduct reads what the writer writes, writes what the reader reads; NULL: they share a pipe */
	bool ended;                        /* nobody will write to it any more */
	struct loop_fd watch;
};

enum life {
	LIFE_NONE,  /* not started */
	LIFE_RUNS,
	LIFE_DYING, /* its process has died and is to be replaced, once its group is gone and what it wrote is read */
	LIFE_ENDED, /* its process has ended, others of its group go on */
	LIFE_GONE,
};

struct component {
	struct chain *chain;
	char *name;
	enum kind kind;
	const char *command; /* as it was written; NULL: argv is */
	char **words;       /* what `argv` is, where it is ours */
	char *const *argv;
	struct link *in[ACP_DIRECTIONS], *out[ACP_DIRECTIONS]; /* NULL where it does not stand in that direction */
	struct port *near, *far;             /* where conduct reads and writes it on either side; a proxy's are the same */
	enum life life;
	pid_t pid;
	pid_t first;        /* what that was in its first life; 0 before */
	struct loop_child child;
	struct report_source errors;
	int sent;           /* the last signal that ended our patience with it; 0: none */
	bool told;          /* it was asked to end */
	bool pressed;       /* it is to get the next of these signals */

	/* Crashes. */
	enum on_crash on_crash; /* of the agent: restart or fail */
	uint64_t *deaths;   /* when it died, in the time that counts, us */
	size_t ndeaths;
	bool used_up;       /* ... and it may not be started again */
	uint64_t restarts;
	int status;               /* of the death that is being dealt with */
	size_t unread;            /* of the agent: messages that it had not read when it closed its output */
	bool doomed;              /* it is not replaced */
	bool taken_out;           /* its neighbours are joined */
	uint64_t pause;           /* us until the next look at its group */
	struct loop_timer timer;  /* that look; or until a proxy has initialized again */
	struct loop_timer closed; /* it has closed a descriptor that it should use; unless it ends soon, it counts as dead */
	const char *closing;      /* which, in words; NULL: none */
};

struct chain {
	struct component *components; /* from client to agent, the agent last */
	size_t n;
	struct link *links;
	size_t nlinks;
	struct link *client[ACP_DIRECTIONS];   /* the client's own descriptors, where a component has them */
	bool has_agent;               /* else conduct is a proxy */
	struct route *route;
	bool routed;                  /* conduct reads somewhere from the start; the components start with the first initialize */
	size_t restarts;              /* so often may a component die in ... */
	uint64_t window;              /* ... this time, us */
	const char *allowed;          /* --restarts, as it was written */
	struct loop *loop;
	struct report report;
	struct terminal terminal;
	void (*ended)(void *component, int status); /* a component's process has ended */
	struct proc_guardian guardian;
	struct loop_child guardian_watch;
	uint64_t grace; /* us */
	bool verbose;

	/* The end of the chain: one state and one deadline (end). */
	struct loop_timer patience, settle, look;
	uint64_t moved;    /* a digest of how far everything is ... */
	uint64_t since;    /* ... and when it changed last, us */
	uint64_t pause;    /* between two looks at what lingers, us */
	int late;          /* how often the deadline has passed */
	bool hurried;      /* a signal: nobody waits for responses any more */
	bool given_up;     /* the grace period is over: the end is passed on, whatever is under way */
	int signals;       /* caught so far */
	int forced;        /* the exit status, whatever the components say; 0: none */
	int agent_status, other_status;
};

/* Adds a component after those that are there: a CMD, or an argv that is borrowed. 0, or -1 with errno (EINVAL: no words). */
int chain_add_command(struct chain *, enum kind, const char *command);
int chain_add_argv(struct chain *, enum kind, char *const *argv);
/* Adds one before the component at this place; the words, NULL at the end, are copied. NULL out of memory. */
struct component *chain_insert(struct chain *, size_t at, enum kind, const char *const *words);
/* Is that, by its base name, the program that it runs? */
bool chain_runs(const struct component *, const char *program);
/* Names the components, also anew. 0, or -1 with errno. */
int chain_name(struct chain *);
/* Starts one that has its links. 0, or the exit status, after a line that says why. */
int chain_start(struct component *);
/* Its process is forgotten, and what it said is read. */
void chain_bury(struct component *);
/* Counts a death. Has it died more often than it may, in the time that counts? */
bool chain_died_too_often(struct component *);
void chain_free(struct chain *);

/* NULL: there is none. */
struct component *chain_agent(struct chain *);
/* Closes our copy of one end of a link, and stops watching it. The numbers 0 and 1 stay taken, so that no other file lands there. */
void chain_close(struct link *, int *copy);
/* The name of a kind. */
const char *chain_kind(enum kind);
/* Does another process take its place when it dies? Of the agent only where that was asked for. */
bool chain_may_return(const struct component *);
/* Its place in the chain. */
size_t chain_index(const struct component *);
/* Does it stand in that direction? */
bool chain_stands_in(const struct component *, enum acp_direction);

#endif
