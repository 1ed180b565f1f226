/* report: what a comparison has found, for people, programs and CI systems. */
#ifndef REPORT_H
#define REPORT_H

#include "cmd/acp-diff/diff.h"
#include "lib/run/out.h"

struct report {
	struct diff *diff;
	struct out out;
	bool color;
	bool begun;
	bool xml;        /* what is put is escaped */
	bool failed;     /* with errno: nothing more is put */
	struct buf text, value[SIDES]; /* scratch */
};

/* --- what the formats share (report.c) --- */

void put(struct report *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_slice(struct report *, struct slice);
/* As plain text (text.h). */
void put_plain(struct report *, struct slice);
/* "session/update tool_call", likewise. */
void put_label(struct report *, const struct item *);
/* "session 1, turn 2: what the user said", likewise. */
void put_title(struct report *, const struct section *);

/* The value of a difference on a side, as it is shown; p NULL where there is none. */
struct slice report_value(struct report *, const struct found *, enum side);
/* The differences of a section, as people read them. */
void report_found(struct report *, const struct section *);

/* --- the formats --- */

void report_text(struct report *, const struct section *);
void report_json(struct report *, const struct section *);
void report_junit(struct report *, const struct section *);

/* What stands at the end, and in junit at the beginning. */
void report_text_end(struct report *);
void report_json_end(struct report *);
void report_junit_begin(struct report *);
void report_junit_end(struct report *);

#endif
