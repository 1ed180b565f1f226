/*
 * ci: writes the results of a check for CI systems, as XML of JUnit or as commands of a GitHub workflow. The caller makes
 * the texts plain (text_plain, text_lines). Each function appends, and returns 0, or -1 out of memory.
 */
#ifndef CI_H
#define CI_H

#include "lib/base/bytes.h"

struct ci_case {
	struct slice class, name;
	const char *failure;  /* the type of the failure; NULL: the case passes */
	struct slice message; /* the failure, in one line */
	struct slice text;    /* the failure in several lines, or a remark about a case that passes */
	bool skipped;
};
int ci_junit_begin(struct buf *, struct slice suite, uint64_t tests, uint64_t failures, uint64_t skipped);
int ci_junit_case(struct buf *, const struct ci_case *);
int ci_junit_end(struct buf *);

enum ci_level { CI_ERROR, CI_WARNING, CI_NOTICE };
/* An annotation of a line in a file. file NULL: of the run. */
int ci_github(struct buf *, enum ci_level, const char *file, uint64_t line, const char *title, struct slice text);

#endif
