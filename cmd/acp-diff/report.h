/* report: what a comparison has found, for people, programs and CI systems. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-diff/diff.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };

/* Writes the report to a descriptor. 0, or -1 with errno. */
int report(struct diff *, enum format, int fd, bool color);

/* What the formats share (report.c); all return 0, or -1. */
struct report {
	struct diff *diff;
	struct buf out;  /* not written yet */
	int fd;
	bool color, begun;
	struct buf label, value[SIDES]; /* scratch */
};

/* The value of a difference on a side, as it is shown; p NULL where there is none. */
int report_value(struct report *, const struct found *, enum side, struct slice *);
/* "session 1, turn 2: what the user said", as plain text (text.h). */
int report_put_title(struct report *, struct buf *, const struct section *);
/* The differences of a section, as people read them. */
int report_put_found(struct report *, struct buf *, const struct section *);
/* "2 differences in 1 of 3 turns, 38 messages; 1 moved" */
int report_put_sum(const struct diff *, struct buf *);

int report_text(struct report *, const struct section *);
int report_json(struct report *, const struct section *);
int report_junit(struct report *, const struct section *);
int report_junit_begin(struct report *);

#endif
