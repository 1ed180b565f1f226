/* pretty: a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/run/out.h"

/*
 * out: the output, which decides on colours and width. fold: 1: a run of chunks is one line; 0: each chunk is a line; -1: fold
 * only if the output is a terminal, where the line grows in place. Returns NULL if out of memory.
 */
struct pretty *pretty_new(const struct out *, enum cli_color, int fold);
void pretty_free(struct pretty *);

#endif
