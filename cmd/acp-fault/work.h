/* work: what the faults do to a line, and what acp-fault knows of its two directions. */
#ifndef WORK_H
#define WORK_H

#include "cmd/acp-fault/fault.h"
#include "cmd/acp-fault/queue.h"
#include "cmd/acp-fault/report.h"

/* Who a line is, in the report. */
struct named {
	struct subject subject; /* its slices point into the two */
	struct buf method, id;
};

struct track {
	struct queue queue;
	uint64_t n;            /* messages so far */
	uint64_t number;       /* of the line whose message was shown last */
	bool shown;            /* it has not left yet */
	bool response;         /* it is one */
	bool hit;              /* a rule hits it: */
	struct rule *hits[FAULTS];
	struct named now;
	struct queue behind;   /* lines that wait for another to go before them ... */
	enum fault behind_why; /* ... FAULT_REORDER: the next message, FAULT_OVERTAKE: the next response ... */
	const struct rule *behind_rule;
	uint64_t behind_until; /* ... until then; the first of them: */
	struct named behind_name;
	bool closed;           /* it has ended, though its sender goes on */
	uint64_t linger_until; /* its sender has ended, it has not; 0: it is not so */
};

struct fault_state {
	const struct options *options;
	struct frame *frame;
	struct log *report; /* or NULL */
	struct track tracks[ACP_DIRECTIONS];
	const struct rule *death; /* it has died as this one says */
	bool failed;
};

/* A line that is being worked on, by one fault after the other. */
struct work {
	struct fault_state *x;
	enum acp_direction dir;
	struct track *track;
	const struct outgoing_line *line; /* NULL: it happens at a time, to no message */
	struct subject subject;
	struct rule *rule;    /* whose fault it is now */
	struct chance chance;
	struct parcel *parcel; /* what leaves */
	size_t message_at, message_n; /* where the message lies in its text: all of the line, or what its envelope carries */
	bool gone;            /* it does not leave */
	enum fault waits;     /* for another to go before it; FAULTS: it does not */
};

/* match.c */
/* Does this fault of the rule hit messages? Otherwise it happens at a time, or at the end of a direction. */
bool match_is_for_messages(const struct rule *, const struct fault_kind *);
/* Each rule has dice of its own. */
struct chance match_chance(const struct fault_state *, const struct rule *, enum acp_direction, uint64_t n);
/* Notes in the direction which of the rule's faults hit this message. Where two rules have the same one, the first does it. */
void match_rule(struct fault_state *, struct rule *, enum acp_direction, const struct message *);

/* work.c */
/* The session that a message names in its parameters; p NULL: none. */
struct slice work_session(const struct msg *);

/* Each: 0, or -1 out of memory. */
int work_noise(struct work *);
int work_error(struct work *);
int work_hang(struct work *);
int work_drop(struct work *);
int work_stale_session(struct work *);
int work_wrong_id(struct work *);
int work_id_type(struct work *);
int work_corrupt(struct work *);
int work_truncate(struct work *);
int work_duplicate(struct work *);
int work_reorder(struct work *);
int work_overtake(struct work *);
int work_delay(struct work *);
int work_stall(struct work *);
int work_split(struct work *);
int work_bandwidth(struct work *);
int work_close(struct work *);
int work_exit(struct work *);

#endif
