/*
 * fault: what the files of acp-fault share. Rules say which faults hit which messages, and when: the command line is one rule, and
 * each line of a plan is another. A line that is hit becomes a parcel, which the faults change, and which leaves through the queue of
 * its direction. All times are in microseconds.
 */
#ifndef FAULT_H
#define FAULT_H

#include "lib/filter/select.h"
#include "lib/frame/frame_options.h"
#include "lib/run/log.h"

/* --- chance (chance.c): each number depends on the seed and on what it is for, and on nothing else --- */

/* The numbers are part of what a seed means: a new fault comes last. */
enum fault {
	FAULT_NOISE,
	FAULT_DROP,
	FAULT_CORRUPT,
	FAULT_TRUNCATE,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_STALL,
	FAULT_EXIT,
	FAULT_SPLIT,
	FAULT_BANDWIDTH,
	FAULT_ERROR,
	FAULT_HANG,
	FAULT_WRONG_ID,
	FAULT_ID_TYPE,
	FAULT_STALE_SESSION,
	FAULT_OVERTAKE,
	FAULT_CLOSE,
	FAULT_LINGER,
	FAULT_PAD,
	FAULTS,
};

/* The n-th message of a direction, for one of the rules. */
struct chance {
	uint64_t seed, dir, n;
};

/*
 * Returns a number below `below` (not 0) for a fault to this message. which: 1 for the first number that a fault needs, 2 for the
 * second, ...; 0 is the one of chance_hits.
 */
uint64_t chance_below(const struct chance *, enum fault, unsigned which, uint64_t below);
/* Returns whether a fault of this probability hits this message. */
bool chance_hits(const struct chance *, enum fault, double probability);
/* Returns a random seed, below 2^32 so that it is short enough to be typed again. */
uint64_t chance_seed(void);

/* --- the lines of a direction that wait to be sent, in order (queue.c) --- */

struct rule;

/* A line in a queue, and how it leaves. */
struct parcel {
	struct parcel *prev, *next;
	uint64_t ready; /* it does not leave before this time */
	uint64_t stall; /* how long the direction stands still before it */
	uint64_t due;   /* when it leaves: set by queue_add */
	/* For a line that leaves in pieces: */
	uint64_t piece; /* bytes of a piece; 0: as the rate requires */
	uint64_t pause; /* us between two pieces */
	uint64_t rate;  /* bytes a second; 0: no limit */
	size_t sent;    /* bytes that have left */
	bool close;     /* the direction ends after it */
	const struct rule *exit; /* acp-fault exits after it, as this rule says; or NULL */
	struct held *held; /* the line; NULL: the parcel is `text` alone */
	bool changed;   /* `text` is sent in place of the held line, newline included */
	struct buf text;
};

/* Zero it to begin. */
struct queue {
	struct parcel *first;
	uint64_t due;   /* of the last one */
	uint64_t busy;  /* no piece leaves before this time */
	bool closes;    /* the direction ends after one that was added: what comes after this one is discarded */
	size_t stalls;  /* parcels before which the direction stands still */
	size_t unheld;  /* bytes of the parcels without a held line */
};

void queue_free(struct queue *);
/* Returns an empty parcel, or NULL when out of memory. */
struct parcel *parcel_new(uint64_t ready);
/* Does not release the held line. NULL is allowed. */
void parcel_free(struct parcel *);
/* Appends the parcel, which the queue takes over. */
void queue_add(struct queue *, struct parcel *);
/* Returns when the first parcel, or its next piece, leaves; UINT64_MAX: the queue is empty. */
uint64_t queue_time(const struct queue *);
/*
 * Returns how many bytes of the first parcel, whose text has n bytes, leave now: its next piece. Sets the time before which no
 * other piece leaves. end: all that is left of it leaves.
 */
size_t queue_piece(struct queue *, size_t n, uint64_t now, bool end);
/* Removes the first parcel of a queue that is not empty. The caller frees it. */
struct parcel *queue_remove_first(struct queue *);

/* --- rules --- */

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
	bool applied;          /* the fault was applied; a hit is not, if another fault has the message */
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
	bool timed, relative;  /* `at` is set; `at` counts from the first fault that the rule before this one has applied */
	uint64_t at;           /* us */
	bool by_time;          /* the rule chooses no messages: faults that need no message happen at the time `at` */
	bool happened;         /* these faults have happened */
	uint64_t first_hit;    /* us: when a fault of it was first applied; UINT64_MAX: not yet */
};

struct work;
struct fault_kind {
	enum fault fault;
	const char *option, *name; /* name: in the report */
	/* Reads the option's argument, which it may change and point into. Returns NULL, or what was expected, a static text. */
	const char *(*read)(struct argument *, char *text);
	/* The part of a message that it changes; p NULL: it cannot hit this one. NULL: it can hit any. */
	struct slice (*part)(const struct msg *);
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

/* --- the state of the two directions --- */

/* The state of a direction. */
struct track {
	struct queue queue;
	uint64_t n;            /* messages so far */
	uint64_t number;       /* of the line of the last message */
	bool pending;          /* that line has not come to `line` yet */
	bool response;         /* the last message is a response */
	bool hit;              /* at least one rule hits it: */
	struct rule *hits[FAULTS];
	struct buf id;         /* its id */
	struct buf about;      /* the beginning of a record of the report about it */
	struct queue waiting;  /* lines that wait for another line to pass them: */
	enum fault waiting_fault; /* FAULT_REORDER: the next message; FAULT_OVERTAKE: the next response */
	const struct rule *waiting_rule;
	uint64_t waiting_until; /* us: they leave at this time at the latest */
	struct buf waiting_about; /* the beginning of a record of the report about the first of them */
	bool closed;           /* acp-fault has ended the direction, its sender has not */
	uint64_t linger_until; /* us: its sender has ended, but the direction stays open until then; or 0 */
};

struct fault_state {
	const struct options *options;
	struct frame *frame;
	struct log *report; /* or NULL */
	struct track tracks[ACP_DIRECTIONS];
	const struct rule *death; /* the rule by which acp-fault exits; or NULL */
	bool failed;              /* out of memory, or refused at the start */
};

/* A line to which one fault after the other is applied. */
struct work {
	struct fault_state *x;
	enum acp_direction dir;
	struct track *track;
	const struct outgoing_line *line; /* NULL: the faults happen at a time, to no message */
	const struct buf *about;
	enum fault fault;     /* the current fault, and its rule */
	struct rule *rule;
	struct chance chance;
	struct parcel *parcel; /* the line as it will leave */
	size_t message_at, message_n; /* the place of the message in the line: all of it, or the inner message of a proxy/successor */
	bool dropped;         /* the line does not leave */
	enum fault waits;     /* FAULT_REORDER, FAULT_OVERTAKE: the line waits for another one to pass it; FAULTS: it does not wait */
};

/* rule.c */
/* Returns whether this fault of the rule hits messages. Otherwise it happens at a time, or at the end of a direction. */
bool match_is_for_messages(const struct rule *, const struct fault_kind *);
/* Returns the chance of the n-th message of a direction; each rule has its own. */
struct chance match_chance(const struct fault_state *, const struct rule *, enum acp_direction, uint64_t n);
/* Notes in the track which faults of the rule hit this message. Of two rules with the same fault the first one counts. */
void match_rule(struct fault_state *, struct rule *, enum acp_direction, const struct message *);

/* kinds.c */
/*
 * Writes the beginning of the records of the report about the n-th message of a direction; NULL: about the time now, after the n-th
 * message. 0, or -1 out of memory.
 */
int report_begin(struct buf *, const struct fault_state *, enum acp_side from, uint64_t n, const struct message *);
/* Appends a record to the report, if there is one. details: a format for further members, which begins with a comma; or empty. */
void report_add(struct log *, const struct buf *about, const struct rule *, enum fault, const char *details, ...)
	__attribute__((format(printf, 5, 6)));

#endif
