/* pretty: a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/run/out.h"

/*
 * out: what it is written to, for its colours and its width. fold: are runs of chunks one line? -1: where it is a log, only on
 * a terminal, in place. NULL when out of memory.
 */
struct pretty *pretty_new(const struct out *, enum cli_color, int fold);
void pretty_free(struct pretty *);

#endif
