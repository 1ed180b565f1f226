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
	KIND_AGENT,  /* the end of both lanes */
};

struct chain;
struct component;

/* One lane between two neighbours. */
struct link {
	struct chain *chain;
	enum lane lane;
	struct component *writer, *reader; /* NULL: the client */
	int rd, wr;                        /* our copies; -1: none */
	bool ended;                        /* nobody will write to it any more */
	struct loop_fd watch;
};

enum life {
	LIFE_NONE,  /* not started */
	LIFE_RUNS,
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
};

struct chain {
	struct component *components; /* from client to agent, the agent last */
	size_t n;
	struct link *links;           /* those of the client first in each lane */
	size_t nlinks;
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
/* Names the components and makes the links between them. 0, or -1 with errno. */
int chain_join(struct chain *);
/*
 * Starts all components, the agent first and the reader of the client's messages last, so that
 * none is read before all run. 0, or the exit status, after a line that says which did not start.
 */
int chain_start(struct chain *);
void chain_free(struct chain *);

struct component *chain_agent(struct chain *);
/* The link from the client, or to it. */
struct link *chain_client(struct chain *, enum lane);
/* Lets go of a copy. The numbers 0 and 1 stay taken, so that no other file lands there. */
void chain_close(int *copy);
/* The name of a kind. */
const char *chain_kind(enum kind);

#endif
