/* work: the faults, and the state of the two directions. */
#ifndef WORK_H
#define WORK_H

#include "cmd/acp-fault/fault.h"
#include "cmd/acp-fault/queue.h"
#include "lib/run/log.h"

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
	struct buf about;      /* it, as a record of the report begins */
	struct queue waiting;  /* lines that wait for another line to pass them: */
	enum fault waiting_fault; /* FAULT_REORDER: the next message; FAULT_OVERTAKE: the next response */
	const struct rule *waiting_rule;
	uint64_t waiting_until; /* us: they wait no longer than this */
	struct buf waiting_about; /* the first of them, likewise */
	bool closed;           /* acp-fault has ended it; its sender has not */
	uint64_t linger_until; /* us: its sender has ended; it is kept open until then; or 0 */
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
	size_t message_at, message_n; /* where the message lies in the line: all of it, or what a proxy/successor envelope carries */
	bool dropped;         /* it does not leave */
	enum fault waits;     /* FAULT_REORDER, FAULT_OVERTAKE: it waits for another to pass it; FAULTS: it does not wait */
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
 * Writes how records of the report begin that are about the n-th message of a direction (t: us; method and id: JSON text, or p
 * NULL), or where it is NULL about the time now, after the n-th message. 0, or -1 out of memory.
 */
int report_begin(struct buf *, const struct fault_state *, enum acp_side from, uint64_t n, const struct message *);
/* Appends a record to the report, if there is one. details: a format for further members, which begins with a comma; or empty. */
void report_add(struct log *, const struct buf *about, const struct rule *, enum fault, const char *details, ...)
	__attribute__((format(printf, 5, 6)));

#endif
