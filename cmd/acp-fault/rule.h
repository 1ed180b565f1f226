/* rule: which faults hit which messages, and when. The command line is one rule, and each line of a plan is another. */
#ifndef RULE_H
#define RULE_H

#include "cmd/acp-fault/chance.h"
#include "lib/filter/select.h"

/* What an option of a fault says, and what has come of it. */
struct argument {
	bool given;
	double p;              /* 1 where it has none */
	uint64_t n;            /* a number: of messages, bytes, or bytes a second */
	uint64_t us, more_us;  /* times */
	struct select *method; /* requests of this method; or NULL */
	int code;
	const char *text;
	char *words;           /* what the option's argument was, cut up */
	uint64_t matches, hits; /* so far */
};

struct rule {
	unsigned line;         /* of the plan; 0: the command line */
	char **words;          /* that line's; or NULL */
	struct select *select;
	struct argument of[FAULTS];
	/* How --exit-after ends. */
	bool torn;
	int exit_status, exit_signal;
	/* When: matches count from from_match and from `at` on, and each every-th of them is hit. */
	uint64_t from_match, every;
	bool once;
	bool timed, relative;  /* at is given; it counts from the first hit of the rule before */
	uint64_t at;           /* us */
	bool alone;            /* it selects no messages: what can happen without one happens at `at` */
	bool struck;           /* that has happened */
	uint64_t first_hit;    /* us; UINT64_MAX: none yet */
};

struct work;
struct fault_kind {
	enum fault fault;
	const char *option, *name; /* name: in the report */
	/* Takes the option's argument, which it may cut up and keep. NULL, or what was expected instead. */
	const char *(*take)(struct argument *, char *text);
	/* Can it hit this message? NULL: any. */
	bool (*applies)(const struct argument *, const struct message *);
	/* Does it. 0, or -1 out of memory. NULL: not to a line, but to the end of a direction. */
	int (*act)(struct work *);
	unsigned flags;
};
enum {
	KIND_DICE = 1,   /* how it does it depends on chance */
	KIND_COUNTS = 2, /* it hits once, when n matches have come */
	KIND_ALONE = 4,  /* it can happen at a time, without a message */
};
/* In the order in which they are done to a line. */
extern const struct fault_kind fault_kinds[FAULTS];
const struct fault_kind *fault_kind(enum fault);

/* 0, or -1 out of memory. */
int rule_init(struct rule *);
void rule_free(struct rule *);
/* Has it a fault at all? */
bool rule_has_faults(const struct rule *);
/* Does anything that it does depend on the seed? */
bool rule_needs_seed(const struct rule *);
/* When its time comes (us); UINT64_MAX: it is not known yet. A relative one stands after the rule that it counts from. */
uint64_t rule_time(const struct rule *);
/* Does the fault hit this message, which it applies to? Counts it. */
bool rule_hits(struct rule *, const struct fault_kind *, uint64_t now, const struct chance *);
/* The rule has hit something. */
void rule_hit(struct rule *, uint64_t now);

#endif
