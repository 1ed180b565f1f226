/* report: what a comparison has found, for people, programs and CI systems. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include "cmd/acp-replay/diff.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_JUNIT };

/* "text", "json" or "junit": 0, or -1. */
int report_read_format(const char *text, enum report_format *);

struct report_spec {
	enum report_format format;
	int fd;                        /* where it goes; not closed */
	bool color;                    /* of REPORT_TEXT */
	const char *name[DIFF_SIDES];  /* of the recording; of the other one, or what was started */
};

struct report;

/* NULL with errno. */
struct report *report_new(const struct report_spec *);
/* A turn is over. 0, or -1 with errno. */
int report_turn(struct report *, const struct diff_turn *);
/* Writes what is left to be said. 0, or -1 with errno. */
int report_end(struct report *);
void report_free(struct report *);

#endif
