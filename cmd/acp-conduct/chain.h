/*
 * chain: the components from client to agent, and the links that join them. Conduct keeps a copy
 * of both ends of each link, as long as it means something (supervise).
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/acp.h"
#include "lib/loop.h"
#include "lib/proc.h"
#include "report.h"
#include "terminal.h"

enum kind {
	KIND_FILTER, /* both lanes: 0 and 1 face the client, 6 and 7 the agent */
	KIND_DOWN,   /* one lane, from 0 to 1 */
	KIND_UP,
	KIND_PROXY,  /* the proxy-chain protocol on 0 and 1 */
	KIND_AGENT,  /* the end of both lanes */
};

/* What becomes of a chain when a component dies. */
enum on_crash { CRASH_RESTART, CRASH_BYPASS, CRASH_FAIL };

struct chain;
struct component;
struct port;
struct relay;
struct revival;
struct route;

/* One lane between two neighbours. */
struct link {
	struct chain *chain;
	enum lane lane;
	struct component *writer, *reader; /* NULL: the client */
	int rd, wr;                        /* our copies; -1: none */
	bool ended;                        /* nobody will write to it any more */
	struct relay *relay;               /* reads it instead of, or for, its reader; NULL: none */
	struct loop_fd watch;
};

enum life {
	LIFE_NONE,  /* not started */
	LIFE_RUNS,
	LIFE_MENDING, /* a filter that has died and is to be started again */
	LIFE_ENDED, /* its process has ended, others of its group go on */
	LIFE_GONE,
};

struct component {
	struct chain *chain;
	char *name;
	enum kind kind;
	char **words;       /* what `argv` is, where it is ours */
	char *const *argv;
	struct link *in[LANES], *out[LANES]; /* NULL where it does not stand in that lane */
	enum life life;
	pid_t pid;
	struct loop_child child;
	struct report_source errors;
	int sent;           /* the last signal that ended our patience with it; 0: none */
	bool told;          /* it was asked to end */

	/* Crashes. */
	enum on_crash on_crash;
	uint64_t *deaths;   /* when it died, in the window that counts, us */
	size_t ndeaths;
	struct revival *revival;   /* of a filter, since its first death; NULL before */
	struct loop_timer mending; /* until a filter's group is gone; until a proxy has initialized again */

	/* Of a routed chain. */
	struct port *port;  /* where its messages come out, of a proxy and of the agent */
};

struct chain {
	struct component *components; /* from client to agent, the agent last */
	size_t n;
	struct link *links;
	size_t nlinks;
	struct link *client[LANES];   /* the client's own descriptors, where a component has them */
	bool has_agent;               /* else conduct is a proxy */
	struct route *route;          /* NULL: all is wired directly */
	size_t restarts;              /* so often may a component die in ... */
	uint64_t window;              /* ... this time, us */
	struct loop *loop;
	struct report report;
	struct terminal terminal;
	struct proc_guardian guardian;
	uint64_t grace; /* us */
	bool verbose;

	/* What supervise knows. */
	struct loop_timer patience, look;
	uint64_t moved;    /* a digest of how far everything is ... */
	uint64_t since;    /* ... and when it changed last, us */
	uint64_t pause;    /* between two looks at what lingers, us */
	int signals;       /* caught so far */
	int forced;        /* the exit status, whatever the components say; 0: none */
	int agent_status, other_status;
};

/* Adds a component behind those that are there: a CMD, or an argv that is borrowed. 0, or -1 with errno (EINVAL: no words). */
int chain_add_command(struct chain *, enum kind, const char *command);
int chain_add_argv(struct chain *, enum kind, char *const *argv);
/* Is that, by its base name, the program that it runs? */
bool chain_runs(const struct component *, const char *program);
/* Names the components. 0, or -1 with errno. */
int chain_name(struct chain *);
/* Makes the links between them, where all is wired directly. 0, or -1 with errno. */
int chain_join(struct chain *);
/* Starts those that do not run yet, the agent first. 0, or the exit status, and which it was where it is known. */
int chain_start_rest(struct chain *, struct component **bad);
/* Starts one. 0, or the exit status, after a line that says why. */
int chain_start_one(struct chain *, struct component *);
/*
 * Starts all components, the agent first and the reader of the client's messages last, so that
 * none is read before all run. 0, or the exit status, after a line that says which did not start.
 */
int chain_start(struct chain *);
void chain_free(struct chain *);

/* NULL: there is none. */
struct component *chain_agent(struct chain *);
/* The link from the client, or to it; NULL where conduct itself reads and writes there. */
struct link *chain_client(struct chain *, enum lane);
/* Lets go of a copy. The numbers 0 and 1 stay taken, so that no other file lands there. */
void chain_close(int *copy);
/* The name of a kind. */
const char *chain_kind(enum kind);

#endif
