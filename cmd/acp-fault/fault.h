/*
 * fault: the options of acp-fault. Its rules say which faults hit which messages, and when: the command line is one rule, and each
 * line of a plan is another.
 */
#ifndef FAULT_H
#define FAULT_H

#include "cmd/acp-fault/chance.h"
#include "lib/filter/select.h"
#include "lib/frame/frame_options.h"

/* The option of a fault in a rule, and how often it matched. */
struct argument {
	bool set;              /* the rule has this option */
	double p;              /* the probability; 1 if the option has none */
	uint64_t n;            /* a number: of messages, bytes, or bytes a second */
	uint64_t us, more_us;  /* times */
	struct select *method; /* requests of this method; or NULL */
	int code;
	const char *text;
	char *words;           /* a copy of the option's argument, into which `text` may point */
	uint64_t matches, hits; /* so far */
};

struct rule {
	unsigned line;         /* of the plan; 0: the command line */
	char **words;          /* the words of that line; or NULL */
	struct select *select;
	struct argument of[FAULTS];
	/* How --exit-after ends. */
	bool torn;
	uint64_t exit_status;
	int exit_signal;
	/* When: matches count from the from_match-th on, and from the time `at` on; of these each every-th is hit. */
	uint64_t from_match, every;
	bool once;
	bool timed, relative;  /* `at` is set; `at` counts from the first hit of the rule before this one */
	uint64_t at;           /* us */
	bool by_time;          /* it selects no messages: faults that need no message happen at the time `at` */
	bool happened;         /* these faults have happened */
	uint64_t first_hit;    /* us; UINT64_MAX: none yet */
};

struct work;
struct fault_kind {
	enum fault fault;
	const char *option, *name; /* name: in the report */
	/* Reads the option's argument, which it may change and point into. Returns NULL, or what was expected, a static text. */
	const char *(*read)(struct argument *, char *text);
	/* Returns whether it can hit this message. NULL: it can hit any. */
	bool (*applies)(const struct argument *, const struct message *);
	/* Applies it to the line, and reports it. Returns 0, or -1 when out of memory. NULL: it hits the end of a direction, not a line. */
	int (*act)(struct work *);
	unsigned flags;
};
enum {
	KIND_DICE = 1,    /* what it does depends on chance */
	KIND_COUNTS = 2,  /* it hits once: the n-th match */
	KIND_BY_TIME = 4, /* it can happen at a time, without a message */
};
/* In the order in which they are applied to a line. */
extern const struct fault_kind fault_kinds[FAULTS];
const struct fault_kind *fault_kind(enum fault);

/* Returns whether the rule has a fault. */
bool rule_has_faults(const struct rule *);
/* Returns whether anything that it does depends on the seed. */
bool rule_needs_seed(const struct rule *);
/* Returns the time from which the rule applies (us); UINT64_MAX: not known yet. For a relative one, rule[-1] is the rule before. */
uint64_t rule_time(const struct rule *);
/* Notes the time of a hit (us): the first one counts. */
void rule_hit(struct rule *, uint64_t now);

struct options {
	struct rule *rules; /* first that of the command line, then one for each line of a plan */
	size_t nrules;
	uint64_t seed;
	const char *report; /* or NULL */
	char *inputs[2];    /* the path of the plan, or NULL; NULL */
	struct frame_options frame;
};

static const char fault_name[] = "acp-fault";

/* Runs the filter. Returns the exit status, or raises the signal of --exit-signal. */
int fault_run(const struct options *);

#endif
