/*
 * ci: what a check has found, for CI systems: XML as JUnit writes it, and commands of a GitHub workflow. The texts are plain
 * (text_plain, text_lines). Each appends: 0, or -1 out of memory.
 */
#ifndef CI_H
#define CI_H

#include "lib/base/bytes.h"

struct ci_case {
	struct slice class, name;
	const char *failure;  /* the type of what has failed; NULL: nothing has */
	struct slice message; /* of the failure, in one line */
	struct slice text;    /* of the failure; or what is said of a case that passes */
	bool skipped;
};
int ci_junit_begin(struct buf *, struct slice suite, uint64_t tests, uint64_t failures, uint64_t skipped);
int ci_junit_case(struct buf *, const struct ci_case *);
int ci_junit_end(struct buf *);

enum ci_level { CI_ERROR, CI_WARNING, CI_NOTICE };
/* file NULL: there is none. */
int ci_github(struct buf *, enum ci_level, const char *file, uint64_t line, const char *title, struct slice text);

#endif
