/* report_parts: what the files of report share; for cmd/acp-replay/report*.c only. */
#ifndef REPLAY_REPORT_PARTS_H
#define REPLAY_REPORT_PARTS_H

#include "cmd/acp-replay/report.h"

struct report {
	struct report_spec spec;
	struct buf out;       /* not written yet */
	uint64_t turns, differing, messages, differences;
	int cases;            /* of REPORT_JUNIT: the file in which they wait for the totals; else -1 */
};

/* Writes what is in out to a descriptor. 0, or -1 with errno. */
int report_write(struct report *, int fd);
/* "session S, turn 2: what the user said"; plain, without control characters. 0 or -1. */
int report_put_title(struct buf *, const struct diff_turn *);
/* Plain text, or what a JSON text says, in one line that no terminal takes for a command. 0 or -1. */
int report_put_plain(struct buf *, struct slice text);
int report_put_json(struct buf *, struct slice json);
/* The differences of a turn, as people read them. 0 or -1. */
int report_put_found(struct buf *, const struct diff_turn *, bool color);

/* One per format: a turn goes into out, and what stands at the end. 0 or -1. */
int report_text_turn(struct report *, const struct diff_turn *);
int report_text_end(struct report *);
int report_json_turn(struct report *, const struct diff_turn *);
int report_json_end(struct report *);
int report_junit_turn(struct report *, const struct diff_turn *);
int report_junit_end(struct report *);

#endif
